#include "plan/kernel_chooser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/result.h"
#include "plan/plan_likeness.h"
#include "policy/features.h"
#include "space/kernel_problem.h"

namespace gemmsmith::plan {
namespace {

// What a doubling of size between the problem and the nearest plan of a kernel takes off its
// rating, which is a logarithm of time. The policy has learnt from times back to back alone; a
// kernel that won near the problem did so between foreign kernels as well (docs/agent.md).
constexpr double kPenaltyOfADoubling = 0.01;

// In the setting where it gained less. Where cuBLASLt's configuration is the plan, ours gained
// nothing that was sure.
double gain_of(const PlanEntry& entry) {
  if (entry.source == PlanSource::kVendor) return 0;
  const double least = std::min(entry.ratio_chained, entry.ratio_foreign);
  return least > 0 ? std::log(least) : 0;
}

std::string gain_text(const Evidence& evidence) {
  return fmt::format(
      "the {} nearest plans gained {:.1f} % over tuned cuBLASLt in the mean, and {:.1f} % less a "
      "standard deviation",
      KernelChooser::kNearest, 100 * std::expm1(evidence.gain),
      100 * std::expm1(evidence.sure_gain));
}

bool is_plain(const Problem& problem) {
  return problem.batch == 1 && !problem.grouped && !problem.has_epilogue();
}

}  // namespace

std::string describe(const Evidence& evidence) {
  switch (evidence.verdict) {
    case Evidence::Verdict::kTrusted:
      return gain_text(evidence);
    case Evidence::Verdict::kNotPlain:
      return "a policy chooses for single products without epilogue only";
    case Evidence::Verdict::kTooFewPlans:
      return fmt::format("the table has fewer than {} plans for such work",
                         KernelChooser::kNearest);
    case Evidence::Verdict::kTooFar:
      return fmt::format("the {} nearest plans are up to {:.1f} doublings of size away, beyond {}",
                         KernelChooser::kNearest, evidence.doublings,
                         KernelChooser::kMostDoublings);
    case Evidence::Verdict::kTooLittleGain:
      return fmt::format("{}: {:.0f} % are asked for", gain_text(evidence),
                         100 * (KernelChooser::kLeastGain - 1));
  }
  return "";
}

std::string describe(const Evidence& evidence, const PlanEntry* best) {
  if (evidence.verdict == Evidence::Verdict::kTrusted && best == nullptr)
    return "no kernel of the table is legal";
  return describe(evidence);
}

KernelChooser::KernelChooser(const PlanTable& table, const policy::Network& network,
                             const Target& target)
    : table_(table), network_(network), target_(target) {
  for (const PlanEntry& entry : table.entries()) {
    // A follower is for what comes behind a kernel of ours, which nobody knows here.
    if (entry.source != PlanSource::kKernel || entry.key.follows == 1) continue;
    const auto same =
        std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
          const PlanEntry& other = *candidate.plans.front();
          return other.kernel == entry.kernel && other.recipe == entry.recipe &&
                 is_same_work(other.key, entry.key);
        });
    if (same != candidates_.end()) {
      same->plans.push_back(&entry);
      continue;
    }
    // A table may come from a program with more families or parameters than this one.
    if (auto config = parse_config(table.text(entry), kernel_families()))
      candidates_.push_back(
          {*config,
           policy::kernel_shape(*config, static_cast<DataType>(entry.key.accumulator)),
           {&entry}});
  }
}

Evidence KernelChooser::evidence(const Problem& problem) const {
  using Verdict = Evidence::Verdict;
  Evidence evidence;
  evidence.verdict = Verdict::kNotPlain;
  if (!is_plain(problem)) return evidence;
  const PlanKey key = key_of(problem);
  struct Neighbour {
    double doublings = 0;
    double gain = 0;
  };
  std::vector<Neighbour> neighbours;
  for (const PlanEntry& entry : table_.entries())
    if (entry.key.follows == 0 && is_same_work(entry.key, key))
      neighbours.push_back({doublings_between(entry.key, key), gain_of(entry)});
  evidence.verdict = Verdict::kTooFewPlans;
  if (neighbours.size() < kNearest) return evidence;
  // Entries ascend by key, so that ties are broken alike everywhere.
  std::stable_sort(
      neighbours.begin(), neighbours.end(),
      [](const Neighbour& a, const Neighbour& b) { return a.doublings < b.doublings; });
  neighbours.resize(kNearest);
  double squares = 0;
  for (const Neighbour& neighbour : neighbours) {
    evidence.gain += neighbour.gain / kNearest;
    squares += neighbour.gain * neighbour.gain / kNearest;
  }
  const double variance = std::max(0.0, squares - evidence.gain * evidence.gain);
  evidence.sure_gain = evidence.gain - std::sqrt(variance);
  evidence.doublings = neighbours.back().doublings;
  if (evidence.doublings > kMostDoublings)
    evidence.verdict = Verdict::kTooFar;
  else if (evidence.sure_gain < std::log(kLeastGain))
    evidence.verdict = Verdict::kTooLittleGain;
  else
    evidence.verdict = Verdict::kTrusted;
  return evidence;
}

std::vector<float> KernelChooser::ratings(const Problem& problem,
                                          std::span<const Candidate* const> candidates) const {
  const std::size_t width = policy::feature_count();
  std::vector<float> rows(candidates.size() * width);
  const policy::FeatureRows features(problem, target_);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    features.fill(candidates[i]->config, std::span(rows).subspan(i * width, width));
  return policy::score_rows(network_, rows).score;
}

void KernelChooser::strike_out_slow(const Problem& problem,
                                    std::vector<const Candidate*>& candidates) const {
  std::vector<double> us;
  for (const Candidate* const candidate : candidates)
    us.push_back(
        policy::model_us(kernel_problem(problem, candidate->config), candidate->shape, target_));
  const double most_us = kMostSlower * *std::min_element(us.begin(), us.end());
  std::vector<const Candidate*> kept;
  for (std::size_t i = 0; i < us.size(); ++i)
    if (us[i] <= most_us) kept.push_back(candidates[i]);
  candidates = std::move(kept);
}

const PlanEntry* KernelChooser::best_kernel(const Problem& problem) const {
  const PlanKey key = key_of(problem);
  std::vector<const Candidate*> candidates;
  for (const Candidate& candidate : candidates_)
    if (is_same_work(candidate.plans.front()->key, key)) candidates.push_back(&candidate);
  if (candidates.empty()) return nullptr;
  strike_out_slow(problem, candidates);
  const std::vector<float> rated = ratings(problem, candidates);
  struct Rated {
    double rating = 0;
    const Candidate* candidate = nullptr;
    const PlanEntry* nearest = nullptr;
  };
  std::vector<Rated> order;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Rated best = {-std::numeric_limits<double>::infinity(), candidates[i], nullptr};
    for (const PlanEntry* plan : candidates[i]->plans) {
      const double rating =
          static_cast<double>(rated[i]) - kPenaltyOfADoubling * doublings_between(plan->key, key);
      if (best.nearest == nullptr || rating > best.rating) best = {rating, candidates[i], plan};
    }
    order.push_back(best);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Rated& a, const Rated& b) { return a.rating > b.rating; });
  // Rules are asked last: most of the best-rated kernels are legal, and rules cost more than
  // ratings.
  for (const Rated& one : order)
    if (broken_rule({problem, target_}, one.candidate->config) == nullptr) return one.nearest;
  return nullptr;
}

}  // namespace gemmsmith::plan
