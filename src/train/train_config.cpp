// One table of entries serves reading, writing and checking.
#include "train/train_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/strict_json.h"

namespace gemmsmith::train {
namespace {

using nlohmann::ordered_json;

struct Entry {
  const char* name;
  std::variant<int*, double*, std::uint64_t*, std::string*, bool*, std::vector<int>*> value;
  double least = 0;
  double most = 1e9;
};

std::vector<Entry> entries(TrainConfig& c) {
  return {
      {"seed", &c.seed},
      {"hold_out", &c.hold_out},
      {"hidden", &c.hidden, 1, 4096},
      {"adviser_hidden", &c.adviser_hidden, 1, 4096},
      {"value_hidden", &c.value_hidden, 1, 4096},
      {"monitor_share", &c.monitor_share, 0.01, 0.5},
      {"temperature", &c.temperature, 1e-6, 100},
      {"shuffled_labels", &c.shuffled_labels},
      {"list_epochs", &c.list_epochs, 0, 1e6},
      {"list_shapes", &c.list_shapes, 1, 1e6},
      {"value_floor", &c.value_floor, -100, 0},
      {"list_rate", &c.list.rate, 0, 1},
      {"list_temperature", &c.list.temperature, 1e-6, 100},
      {"list_regression", &c.list.regression, 0, 1e6},
      {"list_weight_decay", &c.list.weight_decay, 0, 1},
      {"ppo_iterations", &c.ppo_iterations, 0, 1e6},
      {"ppo_shapes", &c.ppo_shapes, 1, 1e6},
      {"ppo_rollouts", &c.ppo_rollouts, 2, 1e4},
      {"ppo_budgets", &c.ppo_budgets, 1, 1e4},
      {"ppo_epochs", &c.ppo_epochs, 1, 1e3},
      {"ppo_minibatches", &c.ppo_minibatches, 1, 1e4},
      {"ppo_rate", &c.ppo.rate, 0, 1},
      {"ppo_scorer_rate", &c.ppo.scorer_rate, 0, 1},
      {"ppo_clip", &c.ppo.clip, 0, 1},
      {"ppo_entropy", &c.ppo.entropy, 0, 100},
      {"ppo_entropy_end", &c.entropy_end, 0, 100},
      {"ppo_kl_stop", &c.kl_stop, 0, 100},
      {"ppo_value_weight", &c.ppo.value_weight, 0, 100},
      {"ppo_gradient_norm", &c.ppo.gradient_norm, 1e-9, 1e9},
      {"reward_low", &c.reward_low, -100, 0},
      {"reward_high", &c.reward_high, 0, 100},
  };
}

// False where the JSON value is of another kind or out of range.
bool take(const nlohmann::json& value, const Entry& entry) {
  const auto in_range = [&](double x) { return x >= entry.least && x <= entry.most; };
  if (auto* const text = std::get_if<std::string*>(&entry.value)) {
    if (!value.is_string()) return false;
    **text = value.get<std::string>();
    return true;
  }
  if (auto* const flag = std::get_if<bool*>(&entry.value)) {
    if (!value.is_boolean()) return false;
    **flag = value.get<bool>();
    return true;
  }
  if (auto* const seed = std::get_if<std::uint64_t*>(&entry.value)) {
    if (!value.is_number_unsigned()) return false;
    **seed = value.get<std::uint64_t>();
    return true;
  }
  if (auto* const list = std::get_if<std::vector<int>*>(&entry.value)) {
    if (!value.is_array() || value.empty()) return false;
    (*list)->clear();
    for (const nlohmann::json& item : value) {
      if (!item.is_number_integer() || !in_range(item.get<double>())) return false;
      (*list)->push_back(item.get<int>());
    }
    return true;
  }
  if (!value.is_number() || !in_range(value.get<double>())) return false;
  if (auto* const whole = std::get_if<int*>(&entry.value)) {
    if (!value.is_number_integer()) return false;
    **whole = value.get<int>();
    return true;
  }
  **std::get_if<double*>(&entry.value) = value.get<double>();
  return true;
}

std::string expected(const Entry& entry) {
  if (std::holds_alternative<std::string*>(entry.value)) return "a string";
  if (std::holds_alternative<bool*>(entry.value)) return "true or false";
  if (std::holds_alternative<std::uint64_t*>(entry.value)) return "a whole number of at least 0";
  if (std::holds_alternative<std::vector<int>*>(entry.value))
    return fmt::format("a list of whole numbers from {} to {}", entry.least, entry.most);
  return fmt::format("{} from {} to {}",
                     std::holds_alternative<int*>(entry.value) ? "a whole number" : "a number",
                     entry.least, entry.most);
}

}  // namespace

Result<TrainConfig> parse_train_config(std::string_view json, const std::string& file_name) {
  const auto parsed = parse_json(json, Comments::kSkipped);
  if (!parsed) return fail(ErrorCode::kBadInput, "{}: {}", file_name, parsed.error().what);
  const nlohmann::json& document = *parsed;
  if (!document.is_object())
    return fail(ErrorCode::kBadInput, "{}: is not a JSON object", file_name);
  TrainConfig config;
  const std::vector<Entry> known = entries(config);
  for (const auto& item : document.items()) {
    const std::string& name = item.key();
    const nlohmann::json& value = item.value();
    const auto entry = std::find_if(known.begin(), known.end(),
                                    [&](const Entry& candidate) { return candidate.name == name; });
    if (entry == known.end())
      return fail(ErrorCode::kBadInput, "{}: unknown entry '{}' (docs/agent.md lists them)",
                  file_name, name);
    if (!take(value, *entry))
      return fail(ErrorCode::kBadInput, "{}: {}: expected {}, found {}", file_name, name,
                  expected(*entry), value.dump());
  }
  return config;
}

std::string format_train_config(const TrainConfig& config) {
  TrainConfig copy = config;
  ordered_json document;
  for (const Entry& entry : entries(copy))
    std::visit([&](const auto* value) { document[entry.name] = *value; }, entry.value);
  return document.dump(1);
}

}  // namespace gemmsmith::train
