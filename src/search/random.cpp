#include "search/random.h"

#include <algorithm>

#include "search/generator.h"
#include "search/ranked.h"

namespace gemmsmith {
namespace {

class Random : public Strategy {
 public:
  Random(SearchSpace space, std::uint64_t seed) {
    Generator generator(seed);
    const std::size_t hints = std::min(space.hints, space.configs.size());
    for (std::size_t i = space.configs.size(); i > hints + 1; --i)
      std::swap(space.configs[i - 1], space.configs[hints + generator.below(i - hints)]);
    order_ = make_ranked(space);
  }

  std::string name() const override { return "random"; }
  std::vector<Config> ask(int count) override { return order_->ask(count); }
  void tell(const Config&, const Measurement&) override {}

 private:
  std::unique_ptr<Strategy> order_;  // of the shuffled list
};

}  // namespace

std::unique_ptr<Strategy> make_random(const SearchSpace& space, std::uint64_t seed) {
  return std::make_unique<Random>(space, seed);
}

}  // namespace gemmsmith
