#include "search/ranked.h"

namespace gemmsmith {
namespace {

class Ranked : public Strategy {
 public:
  explicit Ranked(std::vector<Config> configs) : configs_(std::move(configs)) {}

  std::string name() const override { return "ranked"; }

  std::vector<Config> ask(int count) override {
    std::vector<Config> asked;
    for (; count > 0 && next_ < configs_.size(); --count) asked.push_back(configs_[next_++]);
    return asked;
  }

  void tell(const Config&, const Measurement&) override {}

 private:
  std::vector<Config> configs_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_ranked(const SearchSpace& space) {
  return std::make_unique<Ranked>(space.configs);
}

}  // namespace gemmsmith
