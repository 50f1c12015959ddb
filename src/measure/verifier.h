// verifier.h -- proves a launch right before it is timed: every element on integers whose result is
// known to the bit (large enough to expose a narrow accumulator), sampled elements on random data
// against FP64 with a bound, the whole result against cuBLAS, writes outside D, changed inputs, a C
// that must not be read, and a second run that must give the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "device/measurement.h"
#include "measure/harness_kernels.h"
#include "measure/launch.h"
#include "measure/numerics.h"
#include "measure/operands.h"

namespace gemmsmith {

struct Verdict {
  Status status = Status::kOk;
  std::string detail;
  bool wrote_outside = false;  // of D: other data may have been hit as well
  double launch_us = 0;        // GPU time of one launch, overheads included: a first guess
  double relative_error = 0;   // Frobenius norm against cuBLAS
  double bound_ratio = 0;      // largest error of a sampled element over its bound
};

// kQuick leaves out the second run: for screening launches that take milliseconds.
enum class Effort { kQuick, kFull };

class Verifier {
 public:
  using Position = gemmsmith_kernels::Position;

  static Result<Verifier> create(const Driver& driver, const HarnessKernels& kernels,
                                 CUstream stream, std::uint64_t seed);

  // Draws operands for a problem and computes what is expected. `vendor` gives the result that
  // random data are compared with, and the integers of problems too large for the naive kernel
  // (whose samples are then checked in FP64); it must live until the next prepare(). An Error:
  // memory, or no trustworthy reference.
  Result<void> prepare(const Problem& problem, Launch& vendor);

  // Every check on one launch. A bad launch is a Verdict; an Error means that the harness failed. A
  // fault leaves the context unusable: Status::kFault.
  Result<Verdict> verify(Launch& launch, Effort effort);

  // The timing sets: computes what some elements of `sets` (indices) must be.
  Result<void> prepare_timed(void* base, const OperandLayout& layout,
                             const std::vector<std::int64_t>& sets);
  // Poisons D of one prepared set before a candidate is timed; check_timed looks at it afterwards:
  // was it written, rightly, and nothing beside it?
  Result<void> arm_timed(std::size_t prepared) const;
  Result<Verdict> check_timed(std::size_t prepared);
  std::int64_t timed_set(std::size_t prepared) const { return timed_sets_[prepared].set; }

 private:
  // Everything one verify() reads back, laid out alike on both sides.
  static constexpr int kSamples = 256;
  static constexpr int kTimedSamples = 64;
  struct Checks {
    Report exact, guard_exact, guard_random, repeat, guard_repeat;
    Report inputs[6];  // a, b, c of the exact and of the random data
    double norms[2];
    double values[kSamples];
  };
  // One kind of data: its operands and their untouched copies.
  struct Inputs {
    Region a, b, c, copy_a, copy_b, copy_c;
  };
  struct TimedSet {
    std::int64_t set = 0;
    std::vector<ExactElement> elements;
  };

  Verifier(const Driver& driver, const HarnessKernels& kernels, CUstream stream,
           std::uint64_t seed);
  Result<void> fill();
  Result<void> fill_inputs(const Inputs& inputs, bool exact, IntegerRange range);
  Result<void> copy_inputs(const Inputs& inputs);
  Result<void> compute_expected(Launch& vendor);
  Result<bool> samples_match(const Region& expected, const std::vector<ExactElement>& elements);
  Result<std::vector<ExactElement>> sample(const plan::Operands& operands,
                                           const std::vector<Position>& positions);
  Result<std::vector<double>> gather_host(CUdeviceptr data, const MatrixShape& shape, int samples);
  Result<void> enqueue_checks(Launch& launch, Effort effort);
  Result<Verdict> judge(Launch& launch, Effort effort);
  // An Error where the launch, or something after it, fails.
  Result<std::string> explain_mismatch(Launch& launch);
  Result<void> poison(const Region& region) const;
  plan::Operands operands(const Inputs& inputs, const Region& d) const;
  CUdeviceptr at(std::int64_t offset) const {
    return arena_.address() + static_cast<CUdeviceptr>(offset);
  }
  CUdeviceptr check_field(std::size_t offset) const { return checks_.address() + offset; }
  bool has_c() const { return problem_.beta != 0; }
  bool exact_possible() const { return scales_exactly(problem_); }

  const Driver* driver_;
  const HarnessKernels* kernels_;
  CUstream stream_;
  std::uint64_t seed_;
  std::uint64_t draws_ = 0;  // problems so far: no two see the same data

  Problem problem_;
  Launch* vendor_ = nullptr;
  DeviceBuffer arena_;
  std::int64_t used_bytes_ = 0;
  Inputs exact_, random_;
  Region d_, d_repeat_, expected_exact_, expected_random_;
  std::vector<Position> positions_;
  std::vector<ExactElement> random_elements_;
  bool inputs_suspect_ = false;

  DeviceBuffer checks_;        // a Checks
  PinnedBuffer checks_host_;   // what came back
  PinnedBuffer checks_clear_;  // what it starts from
  DeviceBuffer samples_;       // positions, sums, magnitudes, values
  Event before_, after_;

  void* timed_base_ = nullptr;
  OperandLayout timed_layout_;
  std::vector<Position> timed_positions_;
  std::vector<TimedSet> timed_sets_;
};

}  // namespace gemmsmith
