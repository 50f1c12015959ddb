#include "report/objectives.h"

#include <fmt/format.h>

#include "base/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace gemmsmith::report {
namespace {

using Term = std::optional<double>;

Term log_of(Term value) { return value && *value > 0 ? Term(std::log(*value)) : std::nullopt; }
Term share(Term percent) { return percent ? Term(*percent / 100) : std::nullopt; }
Term negative(Term value) { return value ? Term(-*value) : std::nullopt; }

Term time_term(const CountedConfig& c) { return log_of(c.ratio); }
Term energy(const CountedConfig& c) {
  const Term log = log_of(c.counted.values.energy_uj);
  return negative(log);
}
Term workspace(const CountedConfig& c) {
  return c.workspace_bytes ? Term(-std::log1p(*c.workspace_bytes / kMib)) : std::nullopt;
}
Term l2_hits(const CountedConfig& c) { return share(l2_hit_percent(c.counted.values)); }
Term sm_throughput(const CountedConfig& c) { return share(sm_percent(c.counted.values)); }
Term dram_throughput(const CountedConfig& c) {
  return negative(share(c.counted.values[Counter::kDramPercent]));
}
Term dram_traffic(const CountedConfig& c) {
  const Term bytes = dram_bytes(c.counted.values);
  const double least = c.counted.problem.min_bytes();
  return bytes && *bytes > 0 && least > 0 ? log_of(least / *bytes) : std::nullopt;
}
Term bank_conflicts(const CountedConfig& c) {
  return negative(share(bank_conflict_percent(c.counted.values)));
}

constexpr std::array<Objective, 8> kObjectives = {{
    {"time", time_term, "ln of lt_tuned's time over the config's, back to back", false},
    {"energy", energy, "ln of a launch's microjoules, negative", true},
    {"workspace", workspace, "ln of 1 and the MiB of workspace, negative", false},
    {"l2_hit_rate", l2_hits, "share of L2's sectors that were found", true},
    {"sm_throughput", sm_throughput, "share of the SMs' peak", true},
    {"dram_throughput", dram_throughput, "share of device memory's peak, negative", true},
    {"dram_bytes", dram_traffic, "ln of the bytes that must move over those that did", true},
    {"bank_conflicts", bank_conflicts, "share of shared-memory wavefronts, negative", true},
}};

Result<const Objective*> find_objective(std::string_view name) {
  for (const Objective& one : kObjectives)
    if (name == one.name) return &one;
  return fail(ErrorCode::kBadInput, "unknown objective '{}': expected {}", name, objective_names());
}

std::vector<std::string_view> pieces(std::string_view text) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t comma = text.find(',');
    found.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return found;
    text.remove_prefix(comma + 1);
  }
}

Result<void> refuse_second(bool is_there, const Objective& objective) {
  if (is_there)
    return fail(ErrorCode::kBadInput, "objective '{}' is there twice: expected it once",
                objective.name);
  return {};
}

}  // namespace

std::span<const Objective> objectives() { return kObjectives; }

std::string objective_names() {
  std::string names;
  for (const Objective& one : kObjectives)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  return names;
}

Result<std::vector<const Objective*>> parse_objectives(std::string_view text) {
  std::vector<const Objective*> wanted;
  for (const std::string_view piece : pieces(text)) {
    GEMMSMITH_TRY(const Objective* const one, find_objective(piece));
    GEMMSMITH_CHECK(
        refuse_second(std::find(wanted.begin(), wanted.end(), one) != wanted.end(), *one));
    wanted.push_back(one);
  }
  return wanted;
}

Result<std::vector<Weighted>> parse_reward(std::string_view text) {
  std::vector<Weighted> terms;
  for (const std::string_view piece : pieces(text)) {
    const std::size_t equals = piece.find('=');
    if (equals == std::string_view::npos)
      return fail(ErrorCode::kBadInput, "'{}': expected an objective and its weight, as time=1",
                  piece);
    GEMMSMITH_TRY(const Objective* const one, find_objective(piece.substr(0, equals)));
    const auto weight = parse_double(piece.substr(equals + 1));
    if (!weight || !std::isfinite(*weight))
      return fail(ErrorCode::kBadInput, "weight of {}: '{}' is not a number", one->name,
                  piece.substr(equals + 1));
    GEMMSMITH_CHECK(
        refuse_second(std::any_of(terms.begin(), terms.end(),
                                  [&](const Weighted& term) { return term.objective == one; }),
                      *one));
    terms.push_back({one, *weight});
  }
  return terms;
}

std::vector<std::size_t> pareto_front(std::span<const CountedConfig> configs,
                                      std::span<const Objective* const> wanted) {
  struct Point {
    std::size_t index;
    std::vector<double> terms;
  };
  std::vector<Point> points;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    Point point{i, {}};
    for (const Objective* objective : wanted)
      if (const auto term = objective->term(configs[i])) point.terms.push_back(*term);
    if (point.terms.size() == wanted.size()) points.push_back(std::move(point));
  }
  const auto beats = [](const Point& a, const Point& b) {
    bool is_better = false;
    for (std::size_t i = 0; i < a.terms.size(); ++i) {
      if (a.terms[i] < b.terms[i]) return false;
      is_better = is_better || a.terms[i] > b.terms[i];
    }
    return is_better;
  };
  std::vector<std::size_t> front;
  for (const Point& point : points)
    if (std::none_of(points.begin(), points.end(),
                     [&](const Point& other) { return beats(other, point); }))
      front.push_back(point.index);
  return front;
}

std::optional<double> reward(const CountedConfig& config, std::span<const Weighted> terms) {
  double sum = 0;
  for (const Weighted& term : terms) {
    const auto value = term.objective->term(config);
    if (!value) return std::nullopt;
    sum += term.weight * *value;
  }
  return sum;
}

}  // namespace gemmsmith::report
