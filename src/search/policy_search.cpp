#include "search/policy_search.h"

#include <algorithm>
#include <cmath>

#include "policy/features.h"
#include "policy/history.h"

namespace gemmsmith {
namespace {

policy::Scores score_space(const SearchSpace& space) {
  const std::size_t width = policy::feature_count();
  std::vector<float> rows(space.configs.size() * width);
  const policy::FeatureRows features(space.problem, space.target);
  for (std::size_t i = 0; i < space.configs.size(); ++i)
    features.fill(space.configs[i], std::span(rows).subspan(i * width, width));
  return policy::score_rows(*space.policy, rows);
}

class PolicySearch : public Strategy {
 public:
  explicit PolicySearch(const SearchSpace& space)
      : policy_(space.policy),
        configs_(space.configs),
        hints_(std::min(space.hints, space.configs.size())),
        asked_(space.configs.size(), false),
        budget_(space.budget),
        scores_(score_space(space)),
        history_(*policy_, scores_) {}

  std::string name() const override { return "policy"; }

  std::vector<Config> ask(int count) override {
    std::vector<Config> asked;
    policy::History imagined = history_;
    // What was asked and not yet told is on its way.
    for (std::size_t c = 0; c < configs_.size(); ++c)
      if (asked_[c] && !imagined.is_known(c)) imagined.assume(c);
    for (; count > 0 && asked_count_ < configs_.size(); --count) {
      const std::size_t choice = next(imagined);
      asked_[choice] = true;
      ++asked_count_;
      asked.push_back(configs_[choice]);
      if (count > 1) imagined.assume(choice);
    }
    return asked;
  }

  void tell(const Config& config, const Measurement& result) override {
    const auto found = std::find(configs_.begin(), configs_.end(), config);
    if (found == configs_.end()) return;
    const auto index = static_cast<std::size_t>(found - configs_.begin());
    if (history_.is_known(index)) return;
    if (!asked_[index]) {
      asked_[index] = true;
      ++asked_count_;
    }
    // Ratios are paired with the baseline of their own minute.
    if (result.status == Status::kOk && result.ratio > 0)
      history_.tell(index, static_cast<float>(std::log(result.ratio)));
    else
      history_.tell_failure(index);
  }

 private:
  std::size_t next(const policy::History& imagined) const {
    const auto end_of_hints = asked_.begin() + static_cast<std::ptrdiff_t>(hints_);
    if (const auto hint = std::find(asked_.begin(), end_of_hints, false); hint != end_of_hints)
      return static_cast<std::size_t>(hint - asked_.begin());
    const std::vector<float> wanted =
        policy::preferences(*policy_, scores_, imagined, budget_ - asked_count());
    return static_cast<std::size_t>(std::max_element(wanted.begin(), wanted.end()) -
                                    wanted.begin());
  }
  int asked_count() const { return static_cast<int>(asked_count_); }

  std::shared_ptr<const policy::Network> policy_;
  std::vector<Config> configs_;
  std::size_t hints_;
  std::vector<bool> asked_;
  std::size_t asked_count_ = 0;
  int budget_;
  policy::Scores scores_;
  policy::History history_;
};

}  // namespace

std::unique_ptr<Strategy> make_policy_search(const SearchSpace& space) {
  return std::make_unique<PolicySearch>(space);
}

}  // namespace gemmsmith
