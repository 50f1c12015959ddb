#include "search/strategy.h"

#include "search/evolutionary.h"
#include "search/policy_search.h"
#include "search/random.h"
#include "search/ranked.h"

namespace gemmsmith {

Result<std::unique_ptr<Strategy>> make_strategy(const std::string& name, const SearchSpace& space,
                                                std::uint64_t seed) {
  if (name == "random") return make_random(space, seed);
  if (name == "evolutionary") return make_evolutionary(space, seed);
  if (name == "ranked") return make_ranked(space);
  if (name == "policy") {
    if (space.policy == nullptr)
      return fail(ErrorCode::kBadInput,
                  "the strategy policy needs a trained policy (--policy FILE)");
    return make_policy_search(space);
  }
  return fail(ErrorCode::kBadInput,
              "unknown strategy '{}': expected random, evolutionary, ranked or policy", name);
}

}  // namespace gemmsmith
