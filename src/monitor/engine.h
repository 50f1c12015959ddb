// engine.h -- the monitor's judgement: samples in, decisions out. Pure logic without clock, file or
// GPU, so that what it does to a live process is what it does to a recorded series.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "monitor/policy.h"
#include "problem/problem.h"
#include "problem/target.h"
#include "space/config.h"

namespace gemmsmith::monitor {

// One look at one problem's plan.
struct Sample {
  double t_s = 0;
  Problem problem;
  std::vector<std::optional<double>> values;  // by metrics()
  bool throttled = false;                     // clocks were held down by power, heat or hardware
  // One of a few calls that the plan served while it is left: the way back is judged by those
  // alone, once there are any.
  bool of_left = false;
};

// What serves a problem: a config, or where there is none cuBLASLt's heuristic.
using Serving = std::optional<Config>;
std::string serving_text(const Serving& serving);  // the config's text, or "cublaslt heuristic"

enum class Verb {
  kLeave,   // the plan is given up for another
  kReturn,  // the plan serves again
  kHold,    // bad, but nothing that another plan would help, or nothing is left to try
};
const char* name(Verb verb);  // leave return hold

struct Decision {
  double t_s = 0;
  Problem problem;
  Verb verb = Verb::kLeave;
  std::string rule;
  std::string metric;
  double value = 0;      // the metric, in the sample that decided
  double threshold = 0;  // the rule's, or where it returns
  int samples = 0;       // in a row
  std::string action;    // what was done
  Serving from, to;
  std::string reason;  // a sentence
};

// The next plan for a problem, none of `tried`; nothing where there is none.
using NextPlan =
    std::function<std::optional<Config>(const Problem&, const std::vector<Config>& tried)>;

// Whether whoever serves has a config at hand: a process that runs compiles nothing.
using CanServe = std::function<bool(const Problem&, const Config&)>;

class Engine {
 public:
  // Without `can_serve`, everything legal can be.
  Engine(Policy policy, Target target, NextPlan next_plan, CanServe can_serve = nullptr);

  // The plan that a problem starts with. A problem that is sampled without one is served by
  // cuBLASLt: nothing can be done about it.
  void serve(const Problem& problem, Config plan);

  // Judges one sample; at most one decision comes of it.
  std::optional<Decision> judge(const Sample& sample);

  Serving serving(const Problem& problem) const;
  // The plan, where something else serves. Null while the plan serves.
  const Serving* left(const Problem& problem) const;

 private:
  // The plan that was left, and the rule by which. What served after it, and was left too, may be
  // slow by its nature: it is no step on the way back.
  struct Left {
    std::size_t rule = 0;
    Serving plan;
  };
  struct Watch {
    Serving now;
    std::vector<Config> tried;
    std::optional<Left> left;
    std::vector<int> bad;    // samples in a row, by rule
    std::vector<int> free;   // of those, in a row without clocks held down
    int good = 0;            // in a row, by the rule that left the plan
    bool is_probed = false;  // samples of the plan came since it was left
    int patience = 1;        // factor on return_after: doubles when a return was a mistake
    int since_return = -1;   // samples since the last return; -1: none lately
    int forgive_after = 0;   // such samples until patience is forgotten
    bool said_hold = false;
  };

  std::optional<Decision> leave(Watch& watch, const Sample& sample, std::size_t rule);
  std::optional<Decision> go_back(Watch& watch, const Sample& sample);
  std::optional<Decision> hold(Watch& watch, const Sample& sample, std::size_t rule,
                               std::string reason);
  // What `action` makes of the serving; nothing where it is not possible.
  std::optional<Serving> apply(Action action, const Watch& watch, const Problem& problem) const;
  Decision decision(const Watch& watch, const Sample& sample, std::size_t rule, Verb verb) const;

  Policy policy_;
  Target target_;
  NextPlan next_plan_;
  CanServe can_serve_;
  std::map<std::string, Watch> watches_;  // by describe(problem)
};

// The same config with the largest legal tile K that is smaller by 16 or more, of those that can be
// served; nothing where there is none.
std::optional<Config> smaller_tile_k(const Config& config, const Problem& problem,
                                     const Target& target, const CanServe& can_serve = nullptr);

// Nothing where every rule's metric is among `present` (by metrics()); else an error that names the
// rule's place in the policy and what there is. `where` is what lacks it.
Result<void> check_metrics(const Policy& policy, const std::vector<bool>& present,
                           const std::string& where);

}  // namespace gemmsmith::monitor
