// strategy.h -- proposes configs (ask) and learns from results (tell). A strategy sees the problem,
// the space and the results, nothing else; one file each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/measurement.h"
#include "policy/network.h"
#include "space/family.h"

namespace gemmsmith {

// What a strategy may choose from: a finite, ordered list of legal configs, best first by the
// analytic ranker (policy/analytic_ranker.h).
struct SearchSpace {
  Problem problem;
  Target target;
  std::vector<Config> configs;
  std::size_t hints = 0;  // so many configs at the front are asked first, by every strategy
  int budget = 0;         // measurements that will be asked for in all
  std::shared_ptr<const policy::Network> policy;  // what "policy" follows; null: there is none
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  virtual std::string name() const = 0;
  // At most `count` configs of the space, none that was asked before; fewer or none when the space
  // is exhausted.
  virtual std::vector<Config> ask(int count) = 0;
  // Results of earlier asks, failures included, in any order.
  virtual void tell(const Config& config, const Measurement& result) = 0;
};

// "random", "evolutionary", "ranked" (the analytic order itself) or "policy". Errors: kBadInput,
// also for "policy" where the space carries none.
Result<std::unique_ptr<Strategy>> make_strategy(const std::string& name, const SearchSpace& space,
                                                std::uint64_t seed);

}  // namespace gemmsmith
