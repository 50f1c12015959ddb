#include "monitor/policy.h"

#include <toml++/toml.h>

#include <array>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/numbers.h"

namespace gemmsmith::monitor {
namespace {

constexpr double kMostRatio = 100;

constexpr std::array<Metric, 9> kMetrics = {{
    {"latency_ratio", 1, kMostRatio, "latency over what the plan promised"},
    {"l2_miss_pct", 0, 100, "L2 lookups that missed"},
    {"sm_throughput_pct", 0, 100, "the busiest unit of the SMs, of its peak"},
    {"bank_conflict_pct", 0, 100, "shared-memory wavefronts that only conflicts made"},
    {"dram_pct", 0, 100, "device memory, of its peak"},
    {"occupancy_pct", 0, 100, "warps resident, of the most an SM holds"},
    {"ipc", 0, 4, "instructions a cycle and SM"},
    {"power_pct", 0, 100, "of the power limit"},
    {"sm_clock_pct", 0, 100, "of the highest SM clock"},
}};

constexpr std::array<Action, 3> kActions = {Action::kSmallerTileK, Action::kNextPlan,
                                            Action::kCublasLt};
constexpr int kMostSamples = 1'000'000;

constexpr std::string_view kDefault = R"([[rule]]
name = "l2_thrash"
metric = "l2_miss_pct"
above = 20
after = 3
return_at = 15
return_after = 10
actions = ["smaller_tile_k", "next_plan", "cublaslt"]

[[rule]]
name = "slower_than_promised"
metric = "latency_ratio"
above = 1.25
after = 5
return_at = 1.1
return_after = 20
unless_throttled = true
actions = ["next_plan", "cublaslt"]
)";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// Without a comment; a # inside quotes is none.
std::string_view without_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') quoted = !quoted;
    if (line[i] == '#' && !quoted) return line.substr(0, i);
  }
  return line;
}

// "a" with nothing that needs escaping.
bool is_plain_string(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"' &&
         text.substr(1, text.size() - 2).find_first_of("\"\\") == std::string_view::npos;
}

bool is_string_list(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return false;
  text = trimmed(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!is_plain_string(trimmed(text.substr(0, comma)))) return false;
    text = trimmed(text.substr(std::min(comma + 1, text.size())));
  }
  return true;
}

bool is_value(std::string_view text) {
  if (is_plain_string(text) || is_string_list(text) || text == "true" || text == "false")
    return true;
  // What a number may hold in TOML and in C alike: no "inf", no "1.", no ".5".
  if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) return false;
  const std::size_t dot = text.find('.');
  const auto is_digit = [&](std::size_t at) {
    return at < text.size() && text[at] >= '0' && text[at] <= '9';
  };
  if (dot != std::string_view::npos && (dot == 0 || !is_digit(dot - 1) || !is_digit(dot + 1)))
    return false;
  const std::size_t first = text[0] == '+' || text[0] == '-' ? 1 : 0;
  if (text.size() > first + 1 && text[first] == '0' && is_digit(first + 1)) return false;
  return parse_double(text).has_value();
}

// Lets through, before toml++ 3.3 sees it, only what a policy consists of: that parser does not
// survive every malformed text (see base/settings.cpp).
Result<void> check_lines(std::string_view text, const std::string& source) {
  std::set<std::string_view> keys;  // of the rule so far
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view content = trimmed(without_comment(line));
    if (content == "[[rule]]") keys.clear();
    if (content.empty() || content == "[[rule]]") continue;
    const auto wrong = [&](std::string_view at, const char* expected) {
      return fail(ErrorCode::kBadInput, "{}:{}:{}: '{}': expected {}", source, number,
                  at.data() - line.data() + 1, at, expected);
    };
    const std::size_t equals = content.find('=');
    if (equals == std::string_view::npos || content.front() == '[')
      return wrong(content, "[[rule]] or name = value");
    const std::string_view key = trimmed(content.substr(0, equals));
    if (key.empty() || key.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") != key.npos)
      return wrong(content, "[[rule]] or name = value");
    const std::string_view value = trimmed(content.substr(equals + 1));
    if (value.empty())
      return wrong(content, "a number, true, false, \"a string\" or [\"a\", \"list\"] behind =");
    if (!is_value(value))
      return wrong(value, "a number, true, false, \"a string\" or [\"a\", \"list\"]");
    // Where toml++ sees a second one differs between its versions.
    if (!keys.insert(key).second) return wrong(key, "each key once in a rule");
  }
  return {};
}

std::string names_of(std::span<const Metric> all) {
  std::string text;
  for (const Metric& metric : all)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", metric.name);
  return text;
}

// One rule's table, read key by key; each error names where.
class RuleReader {
 public:
  RuleReader(const toml::table& table, const std::string& source)
      : table_(table), source_(source) {}

  Result<Rule> read() {
    GEMMSMITH_CHECK(check_keys());
    Rule rule;
    GEMMSMITH_TRY(rule.name, text("name"));
    GEMMSMITH_CHECK(read_metric(rule));
    GEMMSMITH_CHECK(read_threshold(rule));
    GEMMSMITH_TRY(rule.after, samples("after", rule.after));
    GEMMSMITH_TRY(rule.return_after, samples("return_after", rule.return_after));
    GEMMSMITH_CHECK(read_return(rule));
    if (const toml::node* node = table_.get("unless_throttled")) {
      const auto* flag = node->as_boolean();
      if (flag == nullptr) return bad(*node, "unless_throttled: expected true or false");
      rule.unless_throttled = flag->get();
    }
    GEMMSMITH_CHECK(read_actions(rule));
    return rule;
  }

 private:
  std::string place(const toml::node& node) const {
    return fmt::format("{}:{}:{}", source_, node.source().begin.line, node.source().begin.column);
  }
  tl::unexpected<Error> bad(const toml::node& node, const std::string& what) const {
    return fail(ErrorCode::kBadInput, "{}: {}", place(node), what);
  }
  tl::unexpected<Error> missing(const char* key) const {
    return bad(table_, fmt::format("the rule has no {}", key));
  }

  Result<void> check_keys() const {
    constexpr std::array kKnown = {"name",   "metric",    "above",        "below",
                                   "after",  "return_at", "return_after", "unless_throttled",
                                   "actions"};
    for (const auto& [key, node] : table_) {
      bool known = false;
      for (const char* one : kKnown) known = known || key.str() == one;
      if (!known)
        return bad(node, fmt::format("unknown '{}': expected name, metric, above or below, after, "
                                     "return_at, return_after, unless_throttled, actions",
                                     std::string(key.str())));
    }
    return {};
  }

  Result<std::string> text(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return missing(key);
    const auto* value = node->as_string();
    if (value == nullptr || value->get().empty())
      return bad(*node, fmt::format("{}: expected a string", key));
    return value->get();
  }

  Result<double> number(const toml::node& node, const char* key) const {
    const std::optional<double> value = node.value<double>();
    if (!node.is_number() || !value || !std::isfinite(*value))
      return bad(node, fmt::format("{}: expected a number", key));
    return *value;
  }

  Result<int> samples(const char* key, int otherwise) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return otherwise;
    const auto* value = node->as_integer();
    if (value == nullptr || value->get() < 1 || value->get() > kMostSamples)
      return bad(*node, fmt::format("{}: expected a whole number from 1 to {}", key, kMostSamples));
    return static_cast<int>(value->get());
  }

  Result<void> read_metric(Rule& rule) const {
    GEMMSMITH_TRY(const std::string wanted, text("metric"));
    const toml::node& node = *table_.get("metric");
    rule.line = static_cast<int>(node.source().begin.line);
    rule.column = static_cast<int>(node.source().begin.column);
    for (std::size_t i = 0; i < kMetrics.size(); ++i)
      if (wanted == kMetrics[i].name) {
        rule.metric = i;
        return {};
      }
    return bad(node,
               fmt::format("unknown metric '{}': expected one of {}", wanted, names_of(kMetrics)));
  }

  Result<void> check_range(const toml::node& node, const char* key, double value,
                           const Rule& rule) const {
    const Metric& metric = kMetrics[rule.metric];
    if (value >= metric.least && value <= metric.most) return {};
    return bad(node, fmt::format("{} = {:g}: expected {} from {:g} to {:g}", key, value,
                                 metric.name, metric.least, metric.most));
  }

  Result<void> read_threshold(Rule& rule) const {
    const toml::node* above = table_.get("above");
    const toml::node* below = table_.get("below");
    if (above != nullptr && below != nullptr)
      return bad(*below, "above and below in one rule: expected one of them");
    if (above == nullptr && below == nullptr) return missing("above or below");
    rule.above = above != nullptr;
    const char* key = rule.above ? "above" : "below";
    const toml::node& node = rule.above ? *above : *below;
    GEMMSMITH_TRY(rule.threshold, number(node, key));
    return check_range(node, key, rule.threshold, rule);
  }

  Result<void> read_return(Rule& rule) const {
    rule.return_at = rule.threshold;
    const toml::node* node = table_.get("return_at");
    if (node == nullptr) return {};
    GEMMSMITH_TRY(rule.return_at, number(*node, "return_at"));
    GEMMSMITH_CHECK(check_range(*node, "return_at", rule.return_at, rule));
    if (rule.is_bad(rule.return_at))
      return bad(*node, fmt::format("return_at = {:g}: expected at {} the threshold {:g}: it would "
                                    "return to what it left",
                                    rule.return_at, rule.above ? "most" : "least", rule.threshold));
    return {};
  }

  Result<void> read_actions(Rule& rule) const {
    const toml::node* node = table_.get("actions");
    if (node == nullptr) return missing("actions");
    const toml::array* list = node->as_array();
    if (list == nullptr || list->empty())
      return bad(*node, "actions: expected a list, for example [\"smaller_tile_k\", \"cublaslt\"]");
    for (const toml::node& item : *list) {
      const auto* text = item.as_string();
      const Action* found = nullptr;
      for (const Action& action : kActions)
        if (text != nullptr && text->get() == name(action)) found = &action;
      if (found == nullptr)
        return bad(item, fmt::format("unknown action '{}': expected smaller_tile_k, next_plan or "
                                     "cublaslt",
                                     text != nullptr ? text->get() : "no string"));
      rule.actions.push_back(*found);
    }
    return {};
  }

  const toml::table& table_;
  const std::string& source_;
};

}  // namespace

const char* name(Action action) {
  switch (action) {
    case Action::kSmallerTileK:
      return "smaller_tile_k";
    case Action::kNextPlan:
      return "next_plan";
    case Action::kCublasLt:
      return "cublaslt";
  }
  return "cublaslt";
}

std::span<const Metric> metrics() { return kMetrics; }

std::string_view default_policy_text() { return kDefault; }

Result<Policy> parse_policy(std::string_view text, const std::string& source) {
  GEMMSMITH_CHECK(check_lines(text, source));
  toml::table table;
  try {
    table = toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::kBadInput, "{}:{}:{}: {}", source, error.source().begin.line,
                error.source().begin.column, error.description());
  }
  Policy policy;
  policy.source = source;
  for (const auto& [key, node] : table)
    if (key.str() != "rule")
      return fail(ErrorCode::kBadInput, "{}:{}:{}: '{}' outside a rule: expected [[rule]] first",
                  source, node.source().begin.line, node.source().begin.column,
                  std::string(key.str()));
  const toml::array* rules = table["rule"].as_array();
  if (rules == nullptr)
    return fail(ErrorCode::kBadInput, "{}: no rule: expected at least one [[rule]]", source);
  for (const toml::node& node : *rules) {
    GEMMSMITH_TRY(Rule rule, RuleReader(*node.as_table(), source).read());
    for (const Rule& other : policy.rules)
      if (other.name == rule.name)
        return fail(ErrorCode::kBadInput, "{}:{}:{}: two rules with the name '{}'", source,
                    node.source().begin.line, node.source().begin.column, rule.name);
    policy.rules.push_back(std::move(rule));
  }
  return policy;
}

Result<Policy> read_policy(const std::filesystem::path& path) {
  GEMMSMITH_TRY(const std::string text, read_file(path, kMostSettingsBytes));
  return parse_policy(text, path.string());
}

}  // namespace gemmsmith::monitor
