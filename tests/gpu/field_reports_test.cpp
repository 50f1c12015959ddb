// Field reports that need a GPU: how sums are accumulated and split, what overflows, and that the
// same product always has the same bits. Every value is chosen so that an honest kernel's result is
// exact.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "gpu/direct.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

std::uint16_t encode(DataType type, float value) {
  if (type == DataType::kF16) return __half_raw(__float2half(value)).x;
  return __nv_bfloat16_raw(__float2bfloat16(value)).x;
}

float decode(DataType type, std::uint16_t bits) {
  if (type == DataType::kF16) return __half2float(__half(__half_raw{bits}));
  return __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{bits}));
}

constexpr DataType kTypes[] = {DataType::kF16, DataType::kBf16};

class FieldReports : public DirectTest {
 protected:
  using Element = std::function<float(std::int64_t row, std::int64_t l)>;

  void upload(const DeviceBuffer& buffer, const Problem& p, std::int64_t rows,
              const Element& element) {
    std::vector<std::uint16_t> words;
    words.reserve(static_cast<std::size_t>(rows * p.k));
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t l = 0; l < p.k; ++l) words.push_back(encode(p.type, element(row, l)));
    EXPECT_TRUE(
        copy_to_device(driver(), buffer.address(), words.data(), words.size() * 2, stream_.get()));
    EXPECT_TRUE(stream_.synchronize());
  }

  // Every config must give D(i, j) = expected(i, j) exactly; D is NaN before each launch.
  void expect_exact(const Problem& p, const Element& a, const Element& b, const Element& expected) {
    const Data data = make_data(p);
    upload(data.a, p, p.m, a);
    upload(data.b, p, p.n, b);
    const std::vector<Config> configs = gpu::field_report_configs(p, target_);
    EXPECT_GT(configs.size(), 3U);
    for (const Config& config : configs) {
      poison(data, p);
      Loaded loaded = load(config, p);
      ASSERT_TRUE(launch(loaded, data, stream_.get()));
      std::vector<std::uint16_t> d(static_cast<std::size_t>(stored_d(p).extent()));
      ASSERT_TRUE(copy_to_host(driver(), d.data(), data.d.address(), d.size() * 2, stream_.get()))
          << to_text(config);
      int wrong = 0;
      for (std::int64_t i = 0; i < p.m; ++i)
        for (std::int64_t j = 0; j < p.n; ++j) {
          const float got = decode(p.type, d[static_cast<std::size_t>(i * p.ldd + j)]);
          if (got == expected(i, j)) continue;
          if (++wrong == 1)
            ADD_FAILURE() << describe(p) << " " << to_text(config) << ": D(" << i << ", " << j
                          << ") is " << got << ", not " << expected(i, j);
        }
      EXPECT_EQ(wrong, 0) << describe(p) << " " << to_text(config);
    }
  }
};

// G1: the second half of k takes away what the first half gave, all but a small rest. The partial
// sums are beyond what 16 bits hold, so a kernel that keeps them there loses the rest.
TEST_F(FieldReports, G1_PartialSumsAreKeptInF32) {
  for (const DataType type : kTypes)
    for (const Problem& p : gpu::field_report_problems(type)) {
      if (p.k > 20000) continue;
      const std::int64_t half = p.k / 2;
      const auto weight = [](std::int64_t j, std::int64_t l) {
        return static_cast<float>(1 + (j + l) % 7);
      };
      expect_exact(
          p,
          [&](std::int64_t i, std::int64_t l) {
            const float value = static_cast<float>(1 + (i * 3 + l % half) % 5);
            const float rest = l == p.k - 1 ? static_cast<float>(i % 3) : 0.0F;
            return (l < half ? value : -value) + rest;
          },
          [&](std::int64_t j, std::int64_t l) { return weight(j, l % half); },
          [&](std::int64_t i, std::int64_t j) {
            return static_cast<float>(i % 3) * weight(j, half - 1);
          });
    }
}

// G3: a sum beyond 65504 is Inf in f16 and never NaN, exact in bf16, and exact in f16 where alpha
// brings it back; for each m around the tiles' heights.
TEST_F(FieldReports, G3_OverflowIsInfinityAndAlphaIsAppliedBefore) {
  const auto eight = [](std::int64_t, std::int64_t) { return 8.0F; };
  const auto signed_eight = [](std::int64_t row, std::int64_t) {
    return row % 2 == 0 ? 8.0F : -8.0F;
  };
  for (const DataType type : kTypes)
    for (Problem p : gpu::overflow_problems(type)) {
      const float sum = 8.0F * 8.0F * 4096.0F;
      expect_exact(p, signed_eight, eight, [&](std::int64_t i, std::int64_t) {
        const float magnitude = type == DataType::kF16 ? HUGE_VALF : sum;
        return i % 2 == 0 ? magnitude : -magnitude;
      });
      p.alpha = 0.125F;
      expect_exact(p, signed_eight, eight,
                   [&](std::int64_t i, std::int64_t) { return i % 2 == 0 ? sum / 8 : -sum / 8; });
    }
}

// G4: without being asked for, no kernel accumulates in f16: 512 of 8192 sixteenths, and the one
// that is left of 2049 ones, where f16 would stand still at 2048.
TEST_F(FieldReports, G4_F32IsTheDefaultAccumulator) {
  for (const DataType type : kTypes) {
    const Problem p = gpu::field_report_problems(type)[2];
    ASSERT_EQ(p.k, 8192);
    const auto one = [](std::int64_t, std::int64_t) { return 1.0F; };
    expect_exact(
        p, one, [](std::int64_t, std::int64_t) { return 0.0625F; },
        [](std::int64_t, std::int64_t) { return 512.0F; });
    expect_exact(
        p,
        [](std::int64_t, std::int64_t l) { return l < 2049    ? 1.0F
                                                  : l == 8191 ? -2048.0F
                                                              : 0.0F; },
        one, one);
  }
}

// G8: a thousand times the same bits, while another stream keeps the GPU busy.
TEST_F(FieldReports, G8_TheSameBitsAThousandTimesUnderLoad) {
  constexpr int kRepeats = 1000;
  const Problem p = gpu::field_report_problems(DataType::kF16)[0];
  const Problem busy = gpu::field_report_problems(DataType::kF16)[1];
  const Data load_data = make_data(busy);
  Loaded busy_kernel = load(gpu::field_report_configs(busy, target_).front(), busy);
  auto other = Stream::create(driver());
  ASSERT_TRUE(other);
  for (const Config& config : gpu::field_report_configs(p, target_)) {
    const Data data = make_data(p);
    for (const auto& [buffer, shape] :
         {std::pair{&data.a, stored_a(p)}, std::pair{&data.b, stored_b(p)}})
      ASSERT_TRUE(kernels_->fill_normal(stream_.get(), buffer->address(), shape, p.type, 5,
                                        static_cast<std::uint64_t>(shape.extent())));
    Loaded loaded = load(config, p);
    ASSERT_TRUE(launch(loaded, data, stream_.get()));
    // The first result is what the others are held against.
    std::vector<std::uint16_t> first(static_cast<std::size_t>(stored_d(p).extent()));
    ASSERT_TRUE(
        copy_to_host(driver(), first.data(), data.d.address(), first.size() * 2, stream_.get()));
    Report report;
    ASSERT_TRUE(copy_to_device(driver(), data.expected.address(), first.data(), first.size() * 2,
                               stream_.get()));
    ASSERT_TRUE(
        copy_to_device(driver(), data.report.address(), &report, sizeof report, stream_.get()));
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      ASSERT_TRUE(launch(busy_kernel, load_data, other->get()));
      ASSERT_TRUE(launch(loaded, data, stream_.get()));
      ASSERT_TRUE(kernels_->compare(stream_.get(), data.d.address(), data.expected.address(),
                                    stored_d(p), p.type, true, data.report.address()));
    }
    ASSERT_TRUE(
        copy_to_host(driver(), &report, data.report.address(), sizeof report, stream_.get()));
    ASSERT_TRUE(other->synchronize());
    EXPECT_EQ(report.count, 0U) << to_text(config);
  }
}

// G9: DeepBench's 512x8x500000, exact however k is split.
TEST_F(FieldReports, G9_HugeKIsExact) {
  for (const DataType type : kTypes) {
    const Problem p = gpu::field_report_problems(type).back();
    const Data data = make_data(p);
    for (const Config& config : gpu::field_report_configs(p, target_)) {
      poison(data, p);
      Loaded loaded = load(config, p);
      ASSERT_TRUE(launch(loaded, data, stream_.get()));
      const auto finished = stream_.synchronize();
      ASSERT_TRUE(finished) << to_text(config) << ": " << finished.error().what;
      EXPECT_EQ(wrong_elements(data, p), 0U) << describe(p) << " " << to_text(config);
    }
  }
}

}  // namespace
}  // namespace gemmsmith
