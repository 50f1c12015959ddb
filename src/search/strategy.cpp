#include "search/strategy.h"

#include "search/evolutionary.h"
#include "search/random.h"
#include "search/ranked.h"

namespace gemmsmith {

Result<std::unique_ptr<Strategy>> make_strategy(const std::string& name, const SearchSpace& space,
                                                std::uint64_t seed) {
  if (name == "random") return make_random(space, seed);
  if (name == "evolutionary") return make_evolutionary(space, seed);
  if (name == "ranked") return make_ranked(space);
  return fail(ErrorCode::kBadInput,
              "unknown strategy '{}': expected random, evolutionary or ranked", name);
}

}  // namespace gemmsmith
