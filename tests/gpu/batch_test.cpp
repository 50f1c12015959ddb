// Batches by every family, launched directly on operands in exact allocations: all elements of all
// matrices on whole numbers, NaN wherever an input has padding, and no word written beside D's
// elements. Then through the bench, whose verifier and batched baselines they need.
#include <gtest/gtest.h>

#include "gpu/direct.h"
#include "measure/worker_bench.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

constexpr std::uint16_t kNan = 0x7fff;  // as f16 and as bf16

class BatchTest : public DirectTest {
 protected:
  // As make_data(), with NaN in the padding; the extents may be gigabytes.
  Data make_poisoned(const Problem& p) {
    Data data;
    const IntegerRange range = probe_range(p);
    const auto make = [&](const MatrixShape& shape, bool filled, std::uint64_t sequence) {
      auto buffer = DeviceBuffer::allocate(driver(), static_cast<std::size_t>(shape.extent()) * 2);
      EXPECT_TRUE(buffer) << buffer.error().what;
      const CUstream s = stream_.get();
      EXPECT_TRUE(kernels_->fill_pattern(s, buffer->address(), shape.extent(), kNan));
      if (filled) {
        EXPECT_TRUE(kernels_->fill_integers(s, buffer->address(), shape, p.type, range.low,
                                            range.high, 7, sequence));
      }
      return std::move(*buffer);
    };
    data.a = make(stored_a(p), true, 1);
    data.b = make(stored_b(p), true, 2);
    // Where beta is 0, C holds NaN.
    data.c = make(stored_c(p), p.beta != 0, 3);
    data.d = make(stored_d(p), false, 0);
    data.expected = make(stored_d(p), false, 0);
    data.report = std::move(*DeviceBuffer::allocate(driver(), sizeof(Report)));
    EXPECT_TRUE(kernels_->reference(
        stream_.get(), p,
        {data.a.pointer(), data.b.pointer(), data.c.pointer(), data.expected.pointer()}));
    return data;
  }

  // Words of D that are no elements and were written.
  std::uint64_t written_beside(const Data& data, const Problem& p) {
    const MatrixShape shape = stored_d(p);
    Region region;
    region.end = region.band_end = shape.extent() * 2;
    Report report;
    EXPECT_TRUE(
        copy_to_device(driver(), data.report.address(), &report, sizeof report, stream_.get()));
    EXPECT_TRUE(kernels_->check_guard(stream_.get(), data.d.address(), region, shape, kNan,
                                      data.report.address()));
    EXPECT_TRUE(
        copy_to_host(driver(), &report, data.report.address(), sizeof report, stream_.get()));
    return report.count;
  }

  int check_all(const Problem& p) {
    Data data = make_poisoned(p);
    int checked = 0;
    for (const Config& config : gpu::batch_configs(p, target_)) {
      Loaded loaded = load(config, p);
      give_scratch(data, loaded);
      poison(data, p);
      const auto launched = launch(loaded, data, stream_.get());
      EXPECT_TRUE(launched) << launched.error().what;
      const auto finished = stream_.synchronize();
      EXPECT_TRUE(finished) << to_text(config) << ": " << finished.error().what;
      if (!finished) return checked;
      EXPECT_EQ(wrong_elements(data, p), 0U) << describe(p) << " " << to_text(config);
      EXPECT_EQ(written_beside(data, p), 0U) << describe(p) << " " << to_text(config);
      ++checked;
    }
    return checked;
  }
};

// The control: what the tests below count on to be found.
TEST_F(BatchTest, AWordBesideTheElementsIsFound) {
  Problem p = gpu::shape(5, 8, 16);
  p.batch = 3;
  p.ldd = 24;
  p.stride_d = 8;  // interleaved: only the band behind is padding
  p = *make_problem(p);
  for (const std::int64_t padding : {std::int64_t{0}, std::int64_t{4}}) {
    Problem padded = p;
    padded.ldd += padding;
    const Data data = make_poisoned(padded);
    poison(data, padded);
    EXPECT_EQ(written_beside(data, padded), 0U);
    ASSERT_TRUE(kernels_->fill_pattern(stream_.get(), data.d.address(), stored_d(p).extent(), 0));
    EXPECT_EQ(written_beside(data, padded) == 0, padding == 0);
  }
}

TEST_F(BatchTest, EverySizeAndArrangementIsExact) {
  int checked = 0;
  for (const Problem& p : gpu::batch_problems()) {
    checked += check_all(p);
    if (HasFatalFailure()) return;
  }
  fmt::print("checked={}\n", checked);
  EXPECT_GT(checked, 300);
}

// D6: strides beyond 2^31 elements, of A, B and D in turn. Takes up to 20 GB of the device.
TEST_F(BatchTest, MatricesFarApartAreExact) {
  int checked = 0;
  for (const Problem& p : gpu::far_batch_problems()) checked += check_all(p);
  EXPECT_GT(checked, 9);
}

// The verifier, the baselines' batched calls and the timing, as the tuner uses them.
TEST(BatchBench, KernelsPassTheVerifierAndBaselinesRun) {
  GEMMSMITH_NEEDS_GPU();
  auto kernels = NvrtcKernels::open();
  ASSERT_TRUE(kernels) << kernels.error().what;
  BenchSettings settings;
  settings.screen_us = 20;
  settings.screen_repeats = 1;
  settings.candidate_timeout_s = 5;
  auto bench = WorkerBench::open(0, settings, std::move(*kernels));
  ASSERT_TRUE(bench) << bench.error().what;
  const Target& target = (*bench)->device().target;
  const std::vector<Problem> all = gpu::batch_problems();
  int checked = 0;
  for (std::size_t i = 0; i < all.size(); i += i < 110 ? 5 : 1) {
    const Problem& problem = all[i];
    const auto rows =
        (*bench)->screen(problem, gpu::batch_configs(problem, target), Setting::kChained);
    ASSERT_TRUE(rows) << rows.error().what;
    for (const Measurement& row : *rows) {
      EXPECT_EQ(row.status, Status::kOk)
          << describe(row.problem) << " " << row.config << ": " << row.detail;
      ++checked;
    }
  }
  EXPECT_GT(checked, 50);
  Problem plain = gpu::shape(128, 128, 128);
  plain.batch = 64;
  const auto rows = (*bench)->baselines(*make_problem(plain));
  ASSERT_TRUE(rows) << rows.error().what;
  for (const Measurement& row : *rows) {
    fmt::print("{}: status={} us={:.2f} ratio={:.3f} detail={}\n", name(row.kind), name(row.status),
               row.median_us, row.ratio, row.detail);
    if (row.kind != Kind::kCublasAutotune) {  // may know single products only
      EXPECT_EQ(row.status, Status::kOk) << name(row.kind) << ": " << row.detail;
    }
  }
}

}  // namespace
}  // namespace gemmsmith
