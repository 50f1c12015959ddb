// Groups of rows whose sizes only the device knows, launched directly: every element on whole
// numbers, rows of nobody untouched, whatever the sizes; and ends that make no sense do no harm.
#include <gtest/gtest.h>

#include "gpu/direct.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

constexpr std::uint16_t kNan = 0x7fff;  // as f16 and as bf16

class GroupedKernels : public DirectTest {
 protected:
  struct Groups {
    Data data;
    DeviceBuffer ends;
    plan::Operands operands() const {
      plan::Operands operands = data.operands();
      operands.group_ends = static_cast<const std::int32_t*>(ends.pointer());
      return operands;
    }
  };

  DeviceBuffer filled(const MatrixShape& shape, const Problem& p, std::uint64_t sequence) {
    const IntegerRange range = probe_range(p);
    auto buffer = DeviceBuffer::allocate(driver(), static_cast<std::size_t>(shape.extent()) * 2);
    EXPECT_TRUE(buffer) << buffer.error().what;
    EXPECT_TRUE(kernels_->fill_pattern(stream_.get(), buffer->address(), shape.extent(), kNan));
    if (sequence != 0) {
      EXPECT_TRUE(kernels_->fill_integers(stream_.get(), buffer->address(), shape, p.type,
                                          range.low, range.high, 11, sequence));
    }
    return std::move(*buffer);
  }

  // Rows of nobody are NaN in A, and in what is expected.
  Groups make_groups(const gpu::GroupedCase& grouped) {
    const Problem& p = grouped.problem;
    Groups made;
    Problem owned = p;
    owned.m = grouped.ends.back();
    made.data.a = filled(stored_a(p), p, 0);
    if (owned.m > 0) {
      const IntegerRange range = probe_range(p);
      EXPECT_TRUE(kernels_->fill_integers(stream_.get(), made.data.a.address(), stored_a(owned),
                                          p.type, range.low, range.high, 11, 1));
    }
    made.data.b = filled(stored_b(p), p, 2);
    made.data.c = filled(stored_c(p), p, p.beta != 0 ? 3 : 0);
    made.data.d = filled(stored_d(p), p, 0);
    made.data.expected = filled(stored_d(p), p, 0);
    made.data.report = std::move(*DeviceBuffer::allocate(driver(), sizeof(Report)));
    std::int32_t first = 0;
    for (std::size_t g = 0; g < grouped.ends.size(); ++g) {
      Problem one = p;
      one.grouped = false;
      one.batch = 1;
      one.m = grouped.ends[g] - first;
      const auto row = [&](const DeviceBuffer& buffer, std::int64_t ld) {
        return static_cast<std::uint16_t*>(buffer.pointer()) + first * ld;
      };
      if (one.m > 0) {
        EXPECT_TRUE(kernels_->reference(stream_.get(), one,
                                        {row(made.data.a, p.lda),
                                         static_cast<const std::uint16_t*>(made.data.b.pointer()) +
                                             static_cast<std::int64_t>(g) * p.stride_b,
                                         row(made.data.c, p.ldc), row(made.data.expected, p.ldd)}));
      }
      first = grouped.ends[g];
    }
    send_ends(made, grouped.ends);
    return made;
  }
  void send_ends(Groups& made, const std::vector<std::int32_t>& ends) {
    made.ends = std::move(*DeviceBuffer::allocate(driver(), ends.size() * sizeof ends[0]));
    EXPECT_TRUE(copy_to_device(driver(), made.ends.address(), ends.data(),
                               ends.size() * sizeof ends[0], stream_.get()));
  }
  Result<void> run(Loaded& loaded, const Groups& groups) {
    GEMMSMITH_TRY(plan::BoundLaunch bound, plan::bind(driver(), loaded.plan, groups.operands()));
    GEMMSMITH_CHECK(
        check(driver(), plan::launch(driver(), loaded.plan, bound, loaded.functions, stream_.get()),
              "launching"));
    return stream_.synchronize();
  }
};

TEST_F(GroupedKernels, AnyNumbersOfRowsAreExact) {
  int checked = 0;
  for (const gpu::GroupedCase& grouped : gpu::grouped_cases()) {
    const Problem& p = grouped.problem;
    Groups groups = make_groups(grouped);
    for (const Config& config : gpu::grouped_configs(p, target_)) {
      Loaded loaded = load(config, p);
      poison(groups.data, p);
      const auto ran = run(loaded, groups);
      ASSERT_TRUE(ran) << describe(p) << " " << to_text(config) << ": " << ran.error().what;
      // NaN is expected, and equal, in the rows of nobody.
      EXPECT_EQ(wrong_elements(groups.data, p), 0U) << describe(p) << " " << to_text(config);
      ++checked;
    }
  }
  fmt::print("checked={}\n", checked);
  EXPECT_GT(checked, 60);
}

// One launch after the other, the ends new each time, as a router writes them.
TEST_F(GroupedKernels, EndsAreReadWhenTheKernelRuns) {
  const gpu::GroupedCase first = gpu::grouped_cases().at(9);
  const Problem& p = first.problem;
  gpu::GroupedCase other = first;
  for (std::size_t g = 0; g < other.ends.size(); ++g)
    other.ends[g] = static_cast<std::int32_t>((g + 1) * 3);
  for (const Config& config : gpu::grouped_configs(p, target_)) {
    Loaded loaded = load(config, p);
    for (const gpu::GroupedCase& grouped : {first, other, first}) {
      Groups groups = make_groups(grouped);
      poison(groups.data, p);
      ASSERT_TRUE(run(loaded, groups));
      EXPECT_EQ(wrong_elements(groups.data, p), 0U) << to_text(config);
    }
  }
}

// The result is anybody's guess, but the launch ends and D's neighbours stay.
TEST_F(GroupedKernels, EndsThatMakeNoSenseDoNoHarm) {
  const gpu::GroupedCase grouped = gpu::grouped_cases().at(5);
  const Problem& p = grouped.problem;
  Groups groups = make_groups(grouped);
  constexpr std::size_t kBand = 1 << 16;
  const std::size_t bytes = static_cast<std::size_t>(stored_d(p).extent()) * 2;
  groups.data.d = std::move(*DeviceBuffer::allocate(driver(), bytes + kBand));
  for (const std::vector<std::int32_t>& ends :
       {std::vector<std::int32_t>{-5, 1000000, 3, 2, 2147483647, -2147483647},
        {600, 500, 400, 300, 200, 100},
        {2147483647, 2147483647, 2147483647, 2147483647, 2147483647, 2147483647}}) {
    send_ends(groups, ends);
    for (const Config& config : gpu::grouped_configs(p, target_)) {
      Loaded loaded = load(config, p);
      ASSERT_TRUE(kernels_->fill_pattern(stream_.get(), groups.data.d.address(),
                                         static_cast<std::int64_t>(bytes + kBand) / 2, kNan));
      const auto ran = run(loaded, groups);
      ASSERT_TRUE(ran) << to_text(config) << ": " << ran.error().what;
      std::vector<std::uint16_t> band(kBand / 2);
      ASSERT_TRUE(copy_to_host(driver(), band.data(), groups.data.d.address() + bytes, kBand,
                               stream_.get()));
      EXPECT_EQ(std::count(band.begin(), band.end(), kNan),
                static_cast<std::ptrdiff_t>(band.size()))
          << to_text(config);
    }
  }
}

}  // namespace
}  // namespace gemmsmith
