#include "measure/verifier.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>

#include "base/numbers.h"
#include "measure/accuracy.h"

namespace gemmsmith {
namespace {

// A NaN as f16 and as bf16, and twice so as f32: poison and guard in one, so that one fill makes
// both.
constexpr std::uint16_t kPoison = 0x7fff;
constexpr std::int64_t kBandBytes = 32 << 10;
// Up to here the naive kernel is quick enough to be the reference (a few ms).
constexpr double kNaiveFlop = 4e9;
// And up to here where there is no other reference, or to explain a failure.
constexpr double kNaivePatienceFlop = 2e12;

bool is_poison(std::uint32_t bits, int element_bytes) {
  return bits == (element_bytes == 4 ? kPoison * 0x10001U : kPoison);
}

MatrixShape shape_of_result(const Problem& p) { return stored_d(p); }

}  // namespace

Verifier::Verifier(const Driver& driver, const HarnessKernels& kernels, CUstream stream,
                   std::uint64_t seed)
    : driver_(&driver), kernels_(&kernels), stream_(stream), seed_(seed) {}

Result<Verifier> Verifier::create(const Driver& driver, const HarnessKernels& kernels,
                                  CUstream stream, std::uint64_t seed) {
  Verifier verifier(driver, kernels, stream, seed);
  GEMMSMITH_TRY(verifier.checks_, DeviceBuffer::allocate(driver, sizeof(Checks)));
  GEMMSMITH_TRY(verifier.checks_host_, PinnedBuffer::allocate(driver, sizeof(Checks)));
  GEMMSMITH_TRY(verifier.checks_clear_, PinnedBuffer::allocate(driver, sizeof(Checks)));
  GEMMSMITH_TRY(verifier.samples_,
                DeviceBuffer::allocate(driver, kSamples * (sizeof(Position) + 3 * sizeof(double))));
  GEMMSMITH_TRY(verifier.before_, Event::create(driver));
  GEMMSMITH_TRY(verifier.after_, Event::create(driver));
  const Checks clear = {};
  std::memcpy(verifier.checks_clear_.pointer(), &clear, sizeof(clear));
  return verifier;
}

plan::Operands Verifier::operands(const Inputs& inputs, const Region& d) const {
  char* const base = static_cast<char*>(arena_.pointer());
  return {base + inputs.a.start, base + inputs.b.start, base + inputs.c.start, base + d.start};
}

Result<void> Verifier::poison(const Region& region) const {
  return kernels_->fill_pattern(stream_, at(region.band_start), region.words(), kPoison);
}

// C is always there: where beta is 0 it holds NaN, which must not reach the result.
Result<void> Verifier::fill_inputs(const Inputs& inputs, bool exact, IntegerRange range) {
  const std::uint64_t first = draws_ * 8 + (exact ? 0 : 4);
  const Problem& p = problem_;
  if (exact) {
    GEMMSMITH_CHECK(kernels_->fill_integers(stream_, at(inputs.a.start), stored_a(p), p.type,
                                            range.low, range.high, seed_, first));
    GEMMSMITH_CHECK(kernels_->fill_integers(stream_, at(inputs.b.start), stored_b(p), p.type,
                                            range.low, range.high, seed_, first + 1));
    if (has_c())
      GEMMSMITH_CHECK(kernels_->fill_integers(stream_, at(inputs.c.start), stored_c(p),
                                              p.output_type(), -2, 2, seed_, first + 2));
    return {};
  }
  GEMMSMITH_CHECK(
      kernels_->fill_normal(stream_, at(inputs.a.start), stored_a(p), p.type, seed_, first));
  GEMMSMITH_CHECK(
      kernels_->fill_normal(stream_, at(inputs.b.start), stored_b(p), p.type, seed_, first + 1));
  if (has_c())
    GEMMSMITH_CHECK(kernels_->fill_normal(stream_, at(inputs.c.start), stored_c(p), p.output_type(),
                                          seed_, first + 2));
  return {};
}

Result<void> Verifier::copy_inputs(const Inputs& inputs) {
  const std::pair<const Region*, const Region*> copies[] = {
      {&inputs.a, &inputs.copy_a}, {&inputs.b, &inputs.copy_b}, {&inputs.c, &inputs.copy_c}};
  for (const auto& [source, copy] : copies) {
    GEMMSMITH_CHECK(
        check(*driver_,
              driver_->MemcpyDtoDAsync_v2(at(copy->band_start), at(source->band_start),
                                          static_cast<std::size_t>(source->words()) * 2, stream_),
              "copying operands"));
  }
  return {};
}

Result<void> Verifier::fill() {
  GEMMSMITH_CHECK(kernels_->fill_pattern(stream_, arena_.address(), used_bytes_ / 2, kPoison));
  GEMMSMITH_CHECK(fill_inputs(exact_, true, probe_range(problem_)));
  GEMMSMITH_CHECK(fill_inputs(random_, false, {}));
  GEMMSMITH_CHECK(copy_inputs(exact_));
  return copy_inputs(random_);
}

Result<void> Verifier::prepare(const Problem& problem, Launch& vendor) {
  problem_ = problem;
  vendor_ = &vendor;
  ++draws_;
  std::int64_t end = 0;
  const auto next = [&end](const MatrixShape& shape, int alignment) {
    const Region region = place(shape, alignment, end, kBandBytes);
    end = region.band_end;
    return region;
  };
  for (Inputs* inputs : {&exact_, &random_}) {
    inputs->a = next(stored_a(problem), problem.alignment.a);
    inputs->b = next(stored_b(problem), problem.alignment.b);
    inputs->c = next(stored_c(problem), problem.alignment.c);
    inputs->copy_a = next(stored_a(problem), problem.alignment.a);
    inputs->copy_b = next(stored_b(problem), problem.alignment.b);
    inputs->copy_c = next(stored_c(problem), problem.alignment.c);
  }
  for (Region* d : {&d_, &d_repeat_, &expected_exact_, &expected_random_})
    *d = next(stored_d(problem), problem.alignment.d);
  used_bytes_ = round_up(end, 2);
  if (static_cast<std::int64_t>(arena_.size()) < used_bytes_) {
    arena_ = DeviceBuffer();
    GEMMSMITH_TRY(arena_, DeviceBuffer::allocate(*driver_, static_cast<std::size_t>(used_bytes_)));
  }
  GEMMSMITH_CHECK(fill());
  inputs_suspect_ = false;
  return compute_expected(vendor);
}

// Corners first, of the first matrix and of the last: edges of ragged tiles are where kernels err.
static std::vector<Verifier::Position> draw_positions(const Problem& problem, int samples,
                                                      std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto m = static_cast<std::int32_t>(problem.m);
  const auto n = static_cast<std::int32_t>(problem.n);
  const auto last = static_cast<std::int32_t>(problem.batch - 1);
  std::vector<Verifier::Position> positions = {
      {0, 0, 0}, {0, 0, n - 1}, {last, m - 1, 0}, {last, m - 1, n - 1}};
  std::uniform_int_distribution<std::int32_t> matrix(0, last);
  std::uniform_int_distribution<std::int32_t> row(0, m - 1);
  std::uniform_int_distribution<std::int32_t> col(0, n - 1);
  while (static_cast<int>(positions.size()) < samples) {
    const std::int32_t in = last > 0 ? matrix(random) : 0;
    const std::int32_t i = row(random);
    positions.push_back({in, i, col(random)});
  }
  return positions;
}

// "(3, 5)", of a batch "(3, 5) of matrix 7".
static std::string place_text(const Problem& problem, const Verifier::Position& at) {
  std::string text = fmt::format("({}, {})", at.row, at.col);
  return problem.is_batched() ? text + fmt::format(" of matrix {}", at.matrix) : text;
}

Result<std::vector<double>> Verifier::gather_host(CUdeviceptr data, const MatrixShape& shape,
                                                  int samples) {
  const CUdeviceptr positions = samples_.address();
  const CUdeviceptr values = positions + kSamples * (sizeof(Position) + 2 * sizeof(double));
  GEMMSMITH_CHECK(
      kernels_->gather(stream_, data, shape, problem_.output_type(), positions, samples, values));
  std::vector<double> result(static_cast<std::size_t>(samples));
  GEMMSMITH_CHECK(
      copy_to_host(*driver_, result.data(), values, result.size() * sizeof(double), stream_));
  return result;
}

Result<std::vector<ExactElement>> Verifier::sample(const plan::Operands& operands,
                                                   const std::vector<Position>& positions) {
  const int samples = static_cast<int>(positions.size());
  const CUdeviceptr where = samples_.address();
  const CUdeviceptr sums = where + kSamples * sizeof(Position);
  const CUdeviceptr magnitudes = sums + kSamples * sizeof(double);
  GEMMSMITH_CHECK(copy_to_device(*driver_, where, positions.data(),
                                 positions.size() * sizeof(Position), stream_));
  GEMMSMITH_CHECK(
      kernels_->reference_sampled(stream_, problem_, operands, where, samples, sums, magnitudes));
  std::vector<double> host(2 * kSamples);
  GEMMSMITH_CHECK(copy_to_host(*driver_, host.data(), sums, host.size() * sizeof(double), stream_));
  std::vector<ExactElement> elements(static_cast<std::size_t>(samples));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = {host[i], host[kSamples + i], 0.0};
  if (has_c()) {
    GEMMSMITH_TRY(
        const std::vector<double> c,
        gather_host(reinterpret_cast<CUdeviceptr>(operands.c), stored_c(problem_), samples));
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i].c = c[i];
  }
  return elements;
}

Result<bool> Verifier::samples_match(const Region& expected,
                                     const std::vector<ExactElement>& elements) {
  GEMMSMITH_TRY(
      const std::vector<double> values,
      gather_host(at(expected.start), stored_d(problem_), static_cast<int>(elements.size())));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    // The sums are integers, so rounding to f32 in between changes nothing below 2^24.
    if (values[i] != round_to_type(exact_value(problem_, elements[i]), problem_.output_type()))
      return false;
  }
  return true;
}

Result<void> Verifier::compute_expected(Launch& vendor) {
  positions_ = draw_positions(problem_, kSamples, seed_ + draws_);
  GEMMSMITH_CHECK(vendor.enqueue(operands(random_, expected_random_), stream_));
  if (exact_possible()) {
    const plan::Operands exact = operands(exact_, expected_exact_);
    const bool naive = problem_.flop() <= kNaiveFlop;
    if (naive)
      GEMMSMITH_CHECK(kernels_->reference(stream_, problem_, exact));
    else
      GEMMSMITH_CHECK(vendor.enqueue(exact, stream_));
    GEMMSMITH_TRY(const std::vector<ExactElement> elements, sample(exact, positions_));
    GEMMSMITH_TRY(bool match, samples_match(expected_exact_, elements));
    // A vendor algorithm that reduces split-K partials in 16 bits is no reference.
    if (!match && !naive && problem_.flop() <= kNaivePatienceFlop) {
      GEMMSMITH_CHECK(kernels_->reference(stream_, problem_, exact));
      GEMMSMITH_TRY(match, samples_match(expected_exact_, elements));
    }
    if (!match)
      return fail(ErrorCode::kInternal,
                  "no trustworthy reference for {}: its integers differ from FP64 sums",
                  describe(problem_));
  }
  GEMMSMITH_TRY(random_elements_, sample(operands(random_, expected_random_), positions_));
  return {};
}

Result<void> Verifier::enqueue_checks(Launch& launch, Effort effort) {
  const HarnessKernels& kernels = *kernels_;
  const Problem& p = problem_;
  const MatrixShape shape = shape_of_result(p);
  GEMMSMITH_CHECK(check(*driver_,
                        driver_->MemcpyHtoDAsync_v2(checks_.address(), checks_clear_.pointer(),
                                                    sizeof(Checks), stream_),
                        "clearing the reports"));
  const auto check_inputs = [&](const Inputs& inputs, std::size_t first) -> Result<void> {
    const std::pair<const Region*, const Region*> pairs[] = {
        {&inputs.a, &inputs.copy_a}, {&inputs.b, &inputs.copy_b}, {&inputs.c, &inputs.copy_c}};
    for (std::size_t i = 0; i < 3; ++i) {
      GEMMSMITH_CHECK(kernels.compare_words(
          stream_, at(pairs[i].first->band_start), at(pairs[i].second->band_start),
          pairs[i].first->words(),
          check_field(offsetof(Checks, inputs) + (first + i) * sizeof(Report))));
    }
    return {};
  };
  if (exact_possible()) {
    GEMMSMITH_CHECK(poison(d_));
    GEMMSMITH_CHECK(launch.enqueue(operands(exact_, d_), stream_));
    GEMMSMITH_CHECK(kernels.compare(stream_, at(d_.start), at(expected_exact_.start), shape,
                                    p.output_type(), false, check_field(offsetof(Checks, exact))));
    GEMMSMITH_CHECK(kernels.check_guard(stream_, arena_.address(), d_, shape, kPoison,
                                        check_field(offsetof(Checks, guard_exact))));
    GEMMSMITH_CHECK(check_inputs(exact_, 0));
  }
  GEMMSMITH_CHECK(poison(d_));
  GEMMSMITH_CHECK(before_.record(stream_));
  GEMMSMITH_CHECK(launch.enqueue(operands(random_, d_), stream_));
  GEMMSMITH_CHECK(after_.record(stream_));
  GEMMSMITH_CHECK(kernels.check_guard(stream_, arena_.address(), d_, shape, kPoison,
                                      check_field(offsetof(Checks, guard_random))));
  GEMMSMITH_CHECK(check_inputs(random_, 3));
  GEMMSMITH_CHECK(kernels.error_norms(stream_, at(d_.start), at(expected_random_.start), shape,
                                      p.output_type(), check_field(offsetof(Checks, norms))));
  GEMMSMITH_CHECK(check(*driver_,
                        driver_->MemcpyHtoDAsync_v2(samples_.address(), positions_.data(),
                                                    positions_.size() * sizeof(Position), stream_),
                        "sending sample positions"));
  GEMMSMITH_CHECK(kernels.gather(stream_, at(d_.start), shape, p.output_type(), samples_.address(),
                                 kSamples, check_field(offsetof(Checks, values))));
  if (effort == Effort::kFull) {
    GEMMSMITH_CHECK(poison(d_repeat_));
    GEMMSMITH_CHECK(launch.enqueue(operands(random_, d_repeat_), stream_));
    GEMMSMITH_CHECK(kernels.compare(stream_, at(d_repeat_.start), at(d_.start), shape,
                                    p.output_type(), true, check_field(offsetof(Checks, repeat))));
    GEMMSMITH_CHECK(kernels.check_guard(stream_, arena_.address(), d_repeat_, shape, kPoison,
                                        check_field(offsetof(Checks, guard_repeat))));
  }
  return check(*driver_,
               driver_->MemcpyDtoHAsync_v2(checks_host_.pointer(), checks_.address(),
                                           sizeof(Checks), stream_),
               "reading the reports");
}

Result<Verdict> Verifier::verify(Launch& launch, Effort effort) {
  if (inputs_suspect_) {
    // The launch before wrote where it must not and may have hit anything in the arena.
    GEMMSMITH_CHECK(fill());
    GEMMSMITH_CHECK(compute_expected(*vendor_));
    inputs_suspect_ = false;
  }
  Verdict verdict;
  const Result<void> enqueued = enqueue_checks(launch, effort);
  const CUresult finished = driver_->StreamSynchronize(stream_);
  if (finished != CUDA_SUCCESS) {
    verdict.status = Status::kFault;
    verdict.detail = gemmsmith::describe(*driver_, finished);
    return verdict;
  }
  if (!enqueued) {
    verdict.status = Status::kLaunch;
    verdict.detail = enqueued.error().what;
    return verdict;
  }
  return judge(launch, effort);
}

Result<Verdict> Verifier::judge(Launch& launch, Effort effort) {
  Checks checks;
  std::memcpy(&checks, checks_host_.pointer(), sizeof(checks));
  Verdict verdict;
  GEMMSMITH_TRY(verdict.launch_us, elapsed_us(before_, after_));
  // The figures of a wrong result are told too; a NaN among the ratios stays.
  verdict.relative_error = relative_norm(checks.norms[0], checks.norms[1]);
  std::size_t worst = 0;
  for (std::size_t i = 0; i < random_elements_.size(); ++i) {
    const ExactElement& element = random_elements_[i];
    const double error = std::abs(checks.values[i] - exact_value(problem_, element));
    const double ratio = error == 0 ? 0 : error / error_bound(problem_, element);
    if (ratio <= verdict.bound_ratio) continue;
    verdict.bound_ratio = ratio;
    worst = i;
    if (std::isnan(ratio)) break;
  }
  const auto wrong = [&verdict](std::string detail) {
    verdict.status = Status::kWrong;
    verdict.detail = std::move(detail);
    return verdict;
  };

  const std::uint64_t outside =
      checks.guard_exact.count + checks.guard_random.count + checks.guard_repeat.count;
  if (outside != 0) {
    inputs_suspect_ = true;
    verdict.wrote_outside = true;
    return wrong(fmt::format("guard: {} 16-bit words outside D were overwritten", outside));
  }
  constexpr const char* kInputNames[] = {"A", "B", "C"};
  for (std::size_t i = 0; i < 6; ++i) {
    if (checks.inputs[i].count == 0) continue;
    inputs_suspect_ = true;
    return wrong(fmt::format("input: {} 16-bit words of {} were changed", checks.inputs[i].count,
                             kInputNames[i % 3]));
  }
  if (checks.exact.count != 0) {
    const Result<std::string> why = explain_mismatch(launch);
    wrong(fmt::format("integers: {} of {} elements wrong; {}", checks.exact.count,
                      problem_.batch * problem_.m * problem_.n,
                      why ? *why : "run once more, it failed: " + why.error().what));
    // What fails here is the candidate's to pay for, too; it leaves other integers behind.
    if (!why) {
      inputs_suspect_ = true;
      if (driver_->StreamSynchronize(stream_) != CUDA_SUCCESS) verdict.status = Status::kFault;
    }
    return verdict;
  }
  if (!(verdict.bound_ratio <= 1))  // NaN counts as wrong
    return wrong(
        fmt::format("bound: element {} is {:g}, FP64 says {:g}, {:.3g} times the error bound",
                    place_text(problem_, positions_[worst]), checks.values[worst],
                    exact_value(problem_, random_elements_[worst]), verdict.bound_ratio));
  if (checks.norms[0] != checks.norms[0]) return wrong("norm: the result holds NaN");
  if (norm_is_barred(problem_) && verdict.relative_error >= kMaxRelativeError)
    return wrong(fmt::format("norm: relative error {:.3g} against cuBLAS, bar {:g}",
                             verdict.relative_error, kMaxRelativeError));
  if (effort == Effort::kFull && checks.repeat.count != 0) {
    verdict.status = Status::kNondeterministic;
    verdict.detail = fmt::format("{} of {} elements differ between two runs", checks.repeat.count,
                                 problem_.batch * problem_.m * problem_.n);
  }
  return verdict;
}

// Runs once more, looks at the first wrong element and, where sums above 2048 could have been the
// reason, repeats with integers whose sums stay small.
Result<std::string> Verifier::explain_mismatch(Launch& launch) {
  const MatrixShape shape = shape_of_result(problem_);
  const CUdeviceptr report = check_field(offsetof(Checks, exact));
  const auto compare_with = [&](const Region& expected) -> Result<Report> {
    const Report clear;
    GEMMSMITH_CHECK(copy_to_device(*driver_, report, &clear, sizeof(clear), stream_));
    GEMMSMITH_CHECK(poison(d_));
    GEMMSMITH_CHECK(launch.enqueue(operands(exact_, d_), stream_));
    GEMMSMITH_CHECK(kernels_->compare(stream_, at(d_.start), at(expected.start), shape,
                                      problem_.output_type(), false, report));
    Report found;
    GEMMSMITH_CHECK(copy_to_host(*driver_, &found, report, sizeof(found), stream_));
    return found;
  };
  GEMMSMITH_TRY(const Report found, compare_with(expected_exact_));
  if (found.count == 0) return std::string("a second run was right");
  const std::int64_t rows = static_cast<std::int64_t>(found.first) / shape.cols;
  const Position first = {
      static_cast<std::int32_t>(rows / shape.rows), static_cast<std::int32_t>(rows % shape.rows),
      static_cast<std::int32_t>(static_cast<std::int64_t>(found.first) % shape.cols)};
  const std::int64_t offset =
      (first.matrix * shape.stride + first.row * shape.ld + first.col) * shape.element_bytes;
  const auto bytes = static_cast<std::size_t>(shape.element_bytes);
  std::uint32_t actual = 0;
  std::uint32_t expected = 0;
  GEMMSMITH_CHECK(copy_to_host(*driver_, &actual, at(d_.start + offset), bytes, stream_));
  GEMMSMITH_CHECK(
      copy_to_host(*driver_, &expected, at(expected_exact_.start + offset), bytes, stream_));
  const std::string place = place_text(problem_, first);
  std::string text = is_poison(actual, shape.element_bytes)
                         ? fmt::format("first {} was never written", place)
                         : fmt::format("first {} is 0x{:0{}x}, not 0x{:0{}x}", place, actual,
                                       2 * bytes, expected, 2 * bytes);
  if (problem_.accumulator != DataType::kF32 || problem_.flop() > kNaivePatienceFlop) return text;

  GEMMSMITH_CHECK(fill_inputs(exact_, true, {-1, 1}));
  GEMMSMITH_CHECK(kernels_->reference(stream_, problem_, operands(exact_, d_repeat_)));
  GEMMSMITH_TRY(const Report small, compare_with(d_repeat_));
  GEMMSMITH_CHECK(fill_inputs(exact_, true, probe_range(problem_)));
  if (small.count == 0)
    text = "accumulator: exact while sums are small, so it is narrower than f32; " + text;
  return text;
}

Result<void> Verifier::prepare_timed(void* base, const OperandLayout& layout,
                                     const std::vector<std::int64_t>& sets) {
  timed_base_ = base;
  timed_layout_ = layout;
  timed_positions_ = draw_positions(problem_, kTimedSamples, ~(seed_ + draws_));
  timed_sets_.clear();
  for (const std::int64_t set : sets) {
    GEMMSMITH_TRY(std::vector<ExactElement> elements,
                  sample(layout.at(base, set), timed_positions_));
    timed_sets_.push_back({set, std::move(elements)});
  }
  return {};
}

Result<void> Verifier::arm_timed(std::size_t prepared) const {
  const std::int64_t start = timed_sets_[prepared].set * timed_layout_.stride;
  const auto base = reinterpret_cast<CUdeviceptr>(timed_base_) + static_cast<CUdeviceptr>(start);
  return kernels_->fill_pattern(stream_,
                                base + static_cast<CUdeviceptr>(timed_layout_.d.band_start),
                                timed_layout_.d.words(), kPoison);
}

Result<Verdict> Verifier::check_timed(std::size_t prepared) {
  const TimedSet& timed = timed_sets_[prepared];
  const auto base = reinterpret_cast<CUdeviceptr>(timed_base_) +
                    static_cast<CUdeviceptr>(timed.set * timed_layout_.stride);
  GEMMSMITH_CHECK(copy_to_device(*driver_, checks_.address(), checks_clear_.pointer(),
                                 sizeof(Checks), stream_));
  GEMMSMITH_CHECK(copy_to_device(*driver_, samples_.address(), timed_positions_.data(),
                                 timed_positions_.size() * sizeof(Position), stream_));
  GEMMSMITH_CHECK(kernels_->check_guard(stream_, base, timed_layout_.d, stored_d(problem_), kPoison,
                                        check_field(offsetof(Checks, guard_random))));
  GEMMSMITH_CHECK(kernels_->gather(stream_, base + static_cast<CUdeviceptr>(timed_layout_.d.start),
                                   stored_d(problem_), problem_.output_type(), samples_.address(),
                                   kTimedSamples, check_field(offsetof(Checks, values))));
  Checks checks;
  GEMMSMITH_CHECK(copy_to_host(*driver_, &checks, checks_.address(), sizeof(Checks), stream_));
  Verdict verdict;
  if (checks.guard_random.count != 0) {
    verdict.status = Status::kWrong;
    verdict.wrote_outside = true;
    verdict.detail = fmt::format("guard: {} 16-bit words outside D were overwritten while timed",
                                 checks.guard_random.count);
    return verdict;
  }
  for (std::size_t i = 0; i < timed.elements.size(); ++i) {
    const double error = std::abs(checks.values[i] - exact_value(problem_, timed.elements[i]));
    if (error <= error_bound(problem_, timed.elements[i])) continue;
    verdict.status = Status::kWrong;
    verdict.detail = fmt::format("while timed: element {} is {:g}, FP64 says {:g}",
                                 place_text(problem_, timed_positions_[i]), checks.values[i],
                                 exact_value(problem_, timed.elements[i]));
    return verdict;
  }
  return verdict;
}

}  // namespace gemmsmith
