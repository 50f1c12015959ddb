// The metrics' names, against the real CUPTI: it knows each chip's without a GPU.
#include "device/metric_set.h"

#include <gtest/gtest.h>

#include <ostream>

#include "device/counters.h"
#include "device/cupti.h"
#include "device/scoped_environment.h"

namespace gemmsmith {
namespace {

using test::ScopedEnvironment;

#define GEMMSMITH_NEEDS_CUPTI() \
  if (const auto cupti = load_cupti(); !cupti) GTEST_SKIP() << cupti.error().what

struct Scheduled {
  const char* chip;
  CounterScope scope;
  std::size_t most_passes;
};
void PrintTo(const Scheduled& scheduled, std::ostream* out) { *out << scheduled.chip; }

class Metrics : public ::testing::TestWithParam<Scheduled> {};

// Each name is the chip's, and all of a scope together take no more launches than is affordable.
TEST_P(Metrics, AreKnownAndFewPasses) {
  GEMMSMITH_NEEDS_CUPTI();
  const auto rows = counter_rows(GetParam().chip, GetParam().scope);
  ASSERT_TRUE(rows);
  std::vector<std::string> names;
  for (const CounterRow* row : *rows) {
    const std::string name = metric_name(*row, GetParam().chip);
    const auto alone = MetricSet::create(GetParam().chip, {name});
    EXPECT_TRUE(alone) << alone.error().what;
    names.push_back(name);
  }
  const auto set = MetricSet::create(GetParam().chip, names);
  ASSERT_TRUE(set) << set.error().what;
  EXPECT_EQ(set->metrics(), names);
  EXPECT_FALSE(set->image().empty());
  EXPECT_GE(set->passes(), 1U);
  EXPECT_LE(set->passes(), GetParam().most_passes);
}

INSTANTIATE_TEST_SUITE_P(Chips, Metrics,
                         ::testing::Values(Scheduled{"GH100", CounterScope::kStandard, 2},
                                           Scheduled{"GH100", CounterScope::kFull, 11},
                                           Scheduled{"GA100", CounterScope::kStandard, 3},
                                           Scheduled{"GA100", CounterScope::kFull, 8}));

TEST(MetricSetTest, AnUnknownMetricIsNamed) {
  GEMMSMITH_NEEDS_CUPTI();
  const auto set = MetricSet::create("GH100", {"gpu__time_duration.sum", "sm__no_such_thing.sum"});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(set.error().what, "CUPTI (" + (*load_cupti())->path +
                                  ") has no metric 'sm__no_such_thing.sum' for the chip GH100");
}

TEST(MetricSetTest, AMetricOfAnotherChipIsUnknown) {
  GEMMSMITH_NEEDS_CUPTI();
  const std::string wgmma = "sm__inst_executed_pipe_tensor_op_gmma.sum";
  EXPECT_TRUE(MetricSet::create("GH100", {wgmma}));
  EXPECT_FALSE(MetricSet::create("GA100", {wgmma}));
}

TEST(MetricSetTest, AnUnknownChipIsNamed) {
  const ScopedEnvironment library("GEMMSMITH_CUPTI", GEMMSMITH_FAKE_CUPTI);
  const ScopedEnvironment refused("FAKE_CUPTI_FAIL", "ProfilerHostInitialize 46");
  const auto set = MetricSet::create("GX999", {"a"});
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(set.error().what,
            "CUPTI (" + std::string(GEMMSMITH_FAKE_CUPTI) +
                ") cannot prepare counters for the chip 'GX999': RESULT_46; a CUPTI as new as the "
                "GPU is needed, with libnvperf_host.so beside it");
}

TEST(Cupti, WithoutTheLibraryTheReasonIsGiven) {
  const ScopedEnvironment library("GEMMSMITH_CUPTI", "/nowhere/libcupti.so.13");
  const auto cupti = load_cupti();
  ASSERT_FALSE(cupti);
  EXPECT_EQ(cupti.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(cupti.error().what,
            "cannot load CUPTI: looked for /nowhere/libcupti.so.13; install the CUDA toolkit 12.6 "
            "or newer or the PyPI package nvidia-cuda-cupti, or set GEMMSMITH_CUPTI to the "
            "library's path");
}

TEST(Cupti, AnotherLibraryIsTooOld) {
  const ScopedEnvironment library("GEMMSMITH_CUPTI", GEMMSMITH_FAKE_DRIVER);
  const auto cupti = load_cupti();
  ASSERT_FALSE(cupti);
  EXPECT_EQ(cupti.error().what,
            std::string(GEMMSMITH_FAKE_DRIVER) +
                " has no cuptiGetResultString: it is too old; install the CUDA toolkit 12.6 or "
                "newer or the PyPI package nvidia-cuda-cupti, or set GEMMSMITH_CUPTI to the "
                "library's path");
}

// Beside the toolkit's other libraries before the loader's path.
TEST(Cupti, IsLookedForInTheToolkitFirst) {
  const ScopedEnvironment home("CUDA_HOME", "/opt/cuda");
  const std::vector<std::string> names = cupti_names();
  ASSERT_GE(names.size(), 4U);
  EXPECT_EQ(names[0], "/opt/cuda/lib64/libcupti.so.13");
  EXPECT_EQ(names[2], "/opt/cuda/extras/CUPTI/lib64/libcupti.so.13");
  EXPECT_EQ(names.back(), "libcupti.so.12");
}

}  // namespace
}  // namespace gemmsmith
