// kernel_chooser.h -- which kernel of a plan table serves a problem that the table has no plan for.
//
// Nothing is measured. Every kernel of the table takes m, n and k as launch arguments, so a trained
// policy rates them all for the problem, and the best-rated one that no constraint forbids is it.
// Whether it beats tuned cuBLASLt is another question, which the table itself answers: by what its
// plans of the nearest problems gained. docs/agent.md ("Selection in the product") has the figures
// that the rule was made from, and its error.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plan/plan_table.h"
#include "policy/kernel_model.h"
#include "policy/network.h"
#include "problem/target.h"
#include "space/family.h"

namespace gemmsmith::plan {

// What a table's plans say of a problem that has none.
struct Evidence {
  enum class Verdict {
    kTrusted,
    kNotPlain,       // a batch, groups or an epilogue: nothing was shown of these
    kTooFewPlans,    // of the same work
    kTooFar,         // the nearest ones are of other sizes altogether
    kTooLittleGain,  // they gained less than what a choice without measurement loses
  };
  Verdict verdict = Verdict::kTooFewPlans;
  double gain = 0;       // mean logarithm of what the nearest plans gained over tuned cuBLASLt
  double sure_gain = 0;  // the same less a standard deviation among them
  double doublings = 0;  // to the farthest of them
};

// One sentence, without a full stop: "the 8 nearest plans gained 15.2 % over tuned cuBLASLt in the
// mean, and 12.7 % less a standard deviation".
std::string describe(const Evidence& evidence);

// The same of a trusted problem for which no kernel is legal, or of any other: `best` is
// best_kernel()'s, which need not be asked for where the evidence is not trusted.
std::string describe(const Evidence& evidence, const PlanEntry* best);

// Immutable once made: any number of threads may ask at once.
class KernelChooser {
 public:
  // Plans that are asked what they gained; what they must have gained less a standard deviation, as
  // a factor (where they disagree, the problem may be like the lesser ones); and how far the last
  // of them may be, which is as far as was tried.
  static constexpr std::size_t kNearest = 8;
  static constexpr double kLeastGain = 1.05;
  static constexpr double kMostDoublings = 3;
  // A kernel that the time model thinks so much slower than its favourite is not chosen, whatever
  // the policy says: recordings hold promising kernels alone, so no policy has seen a tile of 16 x
  // 16 on a product of thousands, and one took it (docs/experiments.md, 22).
  static constexpr double kMostSlower = 2;

  // The table and the network must outlive it.
  KernelChooser(const PlanTable& table, const policy::Network& network, const Target& target);

  // By the problem's plan key alone: sizes, types, layout, alignment class and scalars.
  Evidence evidence(const Problem& problem) const;

  // The plan whose kernel and recipe the policy rates highest of those that are legal for the
  // problem; null where none is. Whether to trust it is evidence()'s. Milliseconds.
  const PlanEntry* best_kernel(const Problem& problem) const;

 private:
  // A recipe of the table, with the plans that launch it.
  struct Candidate {
    Config config;
    policy::KernelShape shape;
    std::vector<const PlanEntry*> plans;  // not empty
  };
  // Those that kMostSlower forbids; `candidates` is not empty.
  void strike_out_slow(const Problem& problem, std::vector<const Candidate*>& candidates) const;
  std::vector<float> ratings(const Problem& problem,
                             std::span<const Candidate* const> candidates) const;

  const PlanTable& table_;
  const policy::Network& network_;
  const Target target_;
  std::vector<Candidate> candidates_;
};

}  // namespace gemmsmith::plan
