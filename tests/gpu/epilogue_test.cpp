// Bias and activation by every family's kernels, launched directly on whole numbers in exact
// allocations: D against the FP64 formula of a sum that is known exactly, and nothing written
// beside it.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "gpu/direct.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

constexpr int kBiasRange = 9;

double value_of(DataType type, std::uint16_t bits) {
  if (type == DataType::kBf16) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 0x1f;
  const double fraction = (bits & 0x3ff) / 1024.0;
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -14)
                           : exponent == 31 ? (fraction == 0 ? HUGE_VAL : std::nan(""))
                                            : std::ldexp(1 + fraction, exponent - 15);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kGeluErf:
      return x / 2 * std::erfc(-x / std::sqrt(2.0));
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

class EpilogueTest : public DirectTest {
 protected:
  std::vector<std::uint16_t> on_host(const DeviceBuffer& buffer) {
    std::vector<std::uint16_t> elements(buffer.size() / 2);
    EXPECT_TRUE(copy_to_host(driver(), elements.data(), buffer.address(), elements.size() * 2,
                             stream_.get()));
    return elements;
  }

  DeviceBuffer make_bias(const Problem& p) {
    auto bias = DeviceBuffer::allocate(driver(), static_cast<std::size_t>(p.n) * 2);
    EXPECT_TRUE(bias) << bias.error().what;
    EXPECT_TRUE(kernels_->fill_integers(stream_.get(), bias->address(), {1, p.n, p.n}, p.type,
                                        -kBiasRange, kBiasRange, 5, 11));
    return std::move(*bias);
  }

  static bool hold_exactly(const std::vector<std::uint16_t>& sums, const Problem& p) {
    const double most = p.type == DataType::kBf16 ? 256 : 2048;
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        const double sum = value_of(p.type, sums[static_cast<std::size_t>(i * p.ldd + j)]);
        EXPECT_LE(std::abs(sum), most) << describe(p) << ": row " << i << ", column " << j;
        if (!(std::abs(sum) <= most)) return false;
      }
    return true;
  }

  // Elements of D that are not the formula's, and words beside them that were written.
  int wrong(const Data& data, const Problem& p, const std::vector<std::uint16_t>& sums,
            const std::vector<std::uint16_t>& bias) {
    // One rounding to D's type, and some units of f32 before it.
    const double rounding = p.type == DataType::kBf16 ? 0x1p-8 : 0x1p-11;
    const std::vector<std::uint16_t> d = on_host(data.d);
    std::vector<bool> is_element(d.size());
    int wrong = 0;
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        const auto at = static_cast<std::size_t>(i * p.ldd + j);
        is_element[at] = true;
        const double sum = value_of(p.type, sums[at]) +
                           (p.has_bias ? value_of(p.type, bias[static_cast<std::size_t>(j)]) : 0);
        const double expected = activated(p.activation, sum);
        // Below f16's normal numbers its step is 2^-24.
        const double bound = std::abs(expected) * rounding * 1.01 + 0x1p-24;
        const double found = value_of(p.type, d[at]);
        if (!(std::abs(found - expected) <= bound)) ++wrong;
      }
    for (std::size_t at = 0; at < d.size(); ++at) wrong += !is_element[at] && d[at] != 0x7fff;
    return wrong;
  }

  // A kernel with each epilogue: one module, another argument.
  int check_all(const Problem& plain) {
    // Elements so small that D's type holds each sum: what was rounded before the bias is no
    // oracle.
    Data data = make_data(plain, {-1, 1});
    const DeviceBuffer bias = make_bias(plain);
    EXPECT_TRUE(stream_.synchronize());
    const std::vector<std::uint16_t> sums = on_host(data.expected), bias_values = on_host(bias);
    if (!hold_exactly(sums, plain)) return 0;
    int checked = 0;
    for (const Config& config : gpu::epilogue_configs(plain, target_))
      for (const Problem& p : gpu::with_epilogues(plain)) {
        Loaded loaded = load(config, p);
        give_scratch(data, loaded);
        poison(data, plain);
        plan::Operands operands = data.operands();
        operands.bias = bias.pointer();
        const auto launched = launch(loaded, data, operands, stream_.get());
        EXPECT_TRUE(launched) << launched.error().what;
        const auto finished = stream_.synchronize();
        EXPECT_TRUE(finished) << to_text(config) << ": " << finished.error().what;
        if (!finished) return checked;
        EXPECT_EQ(wrong(data, p, sums, bias_values), 0) << describe(p) << " " << to_text(config);
        ++checked;
      }
    return checked;
  }
};

TEST_F(EpilogueTest, EveryKernelFinishesByTheFormula) {
  int checked = 0;
  for (const Problem& p : gpu::epilogue_problems()) {
    checked += check_all(p);
    if (HasFatalFailure()) return;
  }
  fmt::print("checked={}\n", checked);
  EXPECT_GT(checked, 300);
}

}  // namespace
}  // namespace gemmsmith
