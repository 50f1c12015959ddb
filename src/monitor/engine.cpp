#include "monitor/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "space/family.h"

namespace gemmsmith::monitor {
namespace {

constexpr int kTileKStep = 16;
// A plan that is left again this many samples after a return was not ready to come back.
constexpr int kMistakeWithin = 3;  // times the rule's `after`
constexpr int kMostPatience = 64;

}  // namespace

std::string serving_text(const Serving& serving) {
  return serving ? to_text(*serving) : "cublaslt heuristic";
}

const char* name(Verb verb) {
  switch (verb) {
    case Verb::kLeave:
      return "leave";
    case Verb::kReturn:
      return "return";
    case Verb::kHold:
      return "hold";
  }
  return "hold";
}

std::optional<Config> smaller_tile_k(const Config& config, const Problem& problem,
                                     const Target& target, const CanServe& can_serve) {
  const int index = config.family->index_of("tile_k");
  if (index < 0) return std::nullopt;
  const int most = config.at("tile_k") - kTileKStep;
  const std::vector<int>& values =
      config.family->parameters[static_cast<std::size_t>(index)].values;
  for (auto value = values.rbegin(); value != values.rend(); ++value) {
    if (*value > most) continue;
    Config smaller = config;
    smaller.set("tile_k", *value);
    if (broken_rule({problem, target}, smaller) != nullptr) continue;
    if (!can_serve || can_serve(problem, smaller)) return smaller;
  }
  return std::nullopt;
}

Result<void> check_metrics(const Policy& policy, const std::vector<bool>& present,
                           const std::string& where) {
  for (const Rule& rule : policy.rules) {
    if (present[rule.metric]) continue;
    std::string there;
    for (std::size_t i = 0; i < metrics().size(); ++i)
      if (present[i]) there += fmt::format("{}{}", there.empty() ? "" : ", ", metrics()[i].name);
    return fail(ErrorCode::kBadInput,
                "{}:{}:{}: the rule '{}' needs {}, which {} does not have: it has {}",
                policy.source, rule.line, rule.column, rule.name, metrics()[rule.metric].name,
                where, there.empty() ? "no metric" : there);
  }
  return {};
}

Engine::Engine(Policy policy, Target target, NextPlan next_plan, CanServe can_serve)
    : policy_(std::move(policy)),
      target_(std::move(target)),
      next_plan_(std::move(next_plan)),
      can_serve_(std::move(can_serve)) {}

void Engine::serve(const Problem& problem, Config plan) {
  Watch watch;
  watch.tried = {plan};
  watch.now = std::move(plan);
  watch.bad.resize(policy_.rules.size(), 0);
  watch.free.resize(policy_.rules.size(), 0);
  watches_[describe(problem)] = std::move(watch);
}

Serving Engine::serving(const Problem& problem) const {
  const auto found = watches_.find(describe(problem));
  return found == watches_.end() ? std::nullopt : found->second.now;
}

const Serving* Engine::left(const Problem& problem) const {
  const auto found = watches_.find(describe(problem));
  if (found == watches_.end() || !found->second.left) return nullptr;
  return &found->second.left->plan;
}

Decision Engine::decision(const Watch& watch, const Sample& sample, std::size_t rule,
                          Verb verb) const {
  const Rule& by = policy_.rules[rule];
  Decision d;
  d.t_s = sample.t_s;
  d.problem = sample.problem;
  d.verb = verb;
  d.rule = by.name;
  d.metric = metrics()[by.metric].name;
  d.value = sample.values[by.metric].value_or(0);
  d.threshold = by.threshold;
  d.samples = watch.bad[rule];
  d.from = d.to = watch.now;
  return d;
}

std::optional<Decision> Engine::judge(const Sample& sample) {
  const auto found = watches_.find(describe(sample.problem));
  if (found == watches_.end()) return std::nullopt;
  Watch& watch = found->second;
  if (sample.of_left) {
    watch.is_probed = watch.left.has_value();
    return watch.is_probed ? go_back(watch, sample) : std::nullopt;
  }
  if (watch.since_return >= 0 && ++watch.since_return > watch.forgive_after) {
    watch.since_return = -1;
    watch.patience = 1;
  }
  for (std::size_t i = 0; i < policy_.rules.size(); ++i) {
    const Rule& rule = policy_.rules[i];
    const std::optional<double>& value = sample.values[rule.metric];
    // A metric that is missing for a moment says nothing, good or bad.
    if (!value) continue;
    watch.bad[i] = rule.is_bad(*value) ? watch.bad[i] + 1 : 0;
    watch.free[i] = rule.is_bad(*value) && !sample.throttled ? watch.free[i] + 1 : 0;
  }
  for (std::size_t i = 0; i < policy_.rules.size(); ++i) {
    const Rule& rule = policy_.rules[i];
    if (watch.bad[i] < rule.after) continue;
    // Under a power cap the clocks are let go between two looks again and again.
    if (rule.unless_throttled && watch.free[i] < rule.after) {
      auto held = hold(watch, sample, i, "the clocks are held down, which slows every plan");
      if (held) return held;
      continue;
    }
    return leave(watch, sample, i);
  }
  if (watch.is_probed) return std::nullopt;
  return go_back(watch, sample);
}

std::optional<Serving> Engine::apply(Action action, const Watch& watch,
                                     const Problem& problem) const {
  if (!watch.now) return std::nullopt;  // nothing is behind the heuristic
  switch (action) {
    case Action::kSmallerTileK:
      if (auto smaller = smaller_tile_k(*watch.now, problem, target_, can_serve_))
        return Serving(*smaller);
      return std::nullopt;
    case Action::kNextPlan:
      if (auto next = next_plan_(problem, watch.tried)) return Serving(*std::move(next));
      return std::nullopt;
    case Action::kCublasLt:
      return Serving();
  }
  return std::nullopt;
}

std::optional<Decision> Engine::hold(Watch& watch, const Sample& sample, std::size_t rule,
                                     std::string reason) {
  if (watch.said_hold) return std::nullopt;
  watch.said_hold = true;
  Decision d = decision(watch, sample, rule, Verb::kHold);
  d.reason = std::move(reason);
  return d;
}

std::optional<Decision> Engine::leave(Watch& watch, const Sample& sample, std::size_t rule) {
  const Rule& by = policy_.rules[rule];
  std::string impossible;
  for (const Action action : by.actions) {
    const std::optional<Serving> next = apply(action, watch, sample.problem);
    if (!next) {
      impossible += fmt::format("{}{}", impossible.empty() ? "" : ", ", name(action));
      continue;
    }
    Decision d = decision(watch, sample, rule, Verb::kLeave);
    d.action = name(action);
    d.to = *next;
    d.reason = fmt::format("{} was {} {:g} in {} samples, last {:.4g}", d.metric,
                           by.above ? "above" : "below", by.threshold, d.samples, d.value);
    if (!impossible.empty()) d.reason += fmt::format("; not possible here: {}", impossible);
    if (watch.since_return >= 0 && watch.since_return <= kMistakeWithin * by.after) {
      watch.patience = std::min(2 * watch.patience, kMostPatience);
      d.reason += fmt::format("; the return was too early, the next waits {} samples",
                              by.return_after * watch.patience);
    }
    if (!watch.left) {
      watch.left = Left{rule, watch.now};
      watch.is_probed = false;
    }
    watch.now = *next;
    if (watch.now) watch.tried.push_back(*watch.now);
    std::fill(watch.bad.begin(), watch.bad.end(), 0);
    std::fill(watch.free.begin(), watch.free.end(), 0);
    watch.good = 0;
    watch.since_return = -1;
    watch.said_hold = false;
    return d;
  }
  return hold(watch, sample, rule, "nothing is left to try");
}

std::optional<Decision> Engine::go_back(Watch& watch, const Sample& sample) {
  if (!watch.left) {
    if (std::all_of(watch.bad.begin(), watch.bad.end(), [](int n) { return n == 0; }))
      watch.said_hold = false;
    return std::nullopt;
  }
  const std::size_t by = watch.left->rule;
  const Rule& rule = policy_.rules[by];
  const std::optional<double>& value = sample.values[rule.metric];
  if (!value) return std::nullopt;
  watch.good = rule.is_good(*value) ? watch.good + 1 : 0;
  if (watch.good < rule.return_after * watch.patience) return std::nullopt;
  Decision d = decision(watch, sample, by, Verb::kReturn);
  d.samples = watch.good;
  d.threshold = rule.return_at;
  d.action = "return";
  d.to = watch.left->plan;
  d.reason = fmt::format("{} was {} {:g} in {} samples, last {:.4g}", d.metric,
                         rule.above ? "at most" : "at least", rule.return_at, d.samples, d.value);
  watch.now = watch.left->plan;
  watch.left.reset();
  // What was tried may be tried again, in the same order.
  watch.tried = {*watch.now};
  watch.good = 0;
  watch.is_probed = false;
  watch.since_return = 0;
  watch.forgive_after = std::max(rule.return_after * watch.patience, kMistakeWithin * rule.after);
  watch.said_hold = false;
  return d;
}

}  // namespace gemmsmith::monitor
