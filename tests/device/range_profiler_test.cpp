// Counting, against a CUPTI that counts nothing: the order of calls, what ends a collection, and
// what a machine that does not allow counting is told.
#include "device/range_profiler.h"

#include <gtest/gtest.h>

#include <fstream>
#include <ostream>

#include "device/scoped_environment.h"
#include "support/scratch.h"

namespace gemmsmith {
namespace {

using test::ScopedEnvironment;

class RangeProfilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = CudaContext::open(0);
    ASSERT_TRUE(opened) << opened.error().what;
    context_.emplace(*std::move(opened));
  }

  Result<RangeProfiler> open() { return RangeProfiler::open(*context_); }

  std::vector<std::string> calls() const {
    std::ifstream file(log_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  long count(const std::string& call) const {
    const std::vector<std::string> all = calls();
    return std::count(all.begin(), all.end(), call);
  }

  const testing::ScratchFolder folder_;
  const std::string log_ = (folder_ / "log").string();
  const ScopedEnvironment driver_{"GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_DRIVER};
  const ScopedEnvironment library_{"GEMMSMITH_CUPTI", GEMMSMITH_FAKE_CUPTI};
  const ScopedEnvironment logging_{"FAKE_CUPTI_LOG", log_};
  std::optional<CudaContext> context_;
};

TEST_F(RangeProfilerTest, EveryPassIsPreparedAndLaunchedOnce) {
  const ScopedEnvironment passes("FAKE_CUPTI_PASSES", "3");
  const ScopedEnvironment kernels("FAKE_CUPTI_KERNELS", "2");
  {
    auto profiler = open();
    ASSERT_TRUE(profiler) << profiler.error().what;
    EXPECT_EQ(profiler->chip(), "GH100");
    const auto set = profiler->metric_set({"a", "b"});
    ASSERT_TRUE(set) << set.error().what;
    EXPECT_EQ(set->passes(), 3U);
    std::string order;
    const auto values = profiler->collect(
        *set,
        [&] {
          order += 'p';
          return Result<void>();
        },
        [&] {
          order += 'l';
          return Result<void>();
        });
    ASSERT_TRUE(values) << values.error().what;
    EXPECT_EQ(order, "plplpl");
    const std::vector<std::vector<double>> expected = {{100, 101}, {200, 201}};
    EXPECT_EQ(*values, expected);
  }
  const std::vector<std::string> expected = {"ProfilerInitialize",
                                             "ProfilerDeviceSupported",
                                             "DeviceGetChipName",
                                             "ProfilerGetCounterAvailability",
                                             "ProfilerGetCounterAvailability",
                                             "ProfilerHostInitialize",
                                             "ProfilerHostConfigAddMetrics",
                                             "ProfilerHostGetConfigImageSize",
                                             "ProfilerHostGetConfigImage",
                                             "ProfilerHostGetNumOfPasses",
                                             "RangeProfilerEnable",
                                             "RangeProfilerGetCounterDataSize",
                                             "RangeProfilerCounterDataImageInitialize",
                                             "RangeProfilerSetConfig",
                                             "RangeProfilerStart",
                                             "RangeProfilerStop",
                                             "RangeProfilerStart",
                                             "RangeProfilerStop",
                                             "RangeProfilerStart",
                                             "RangeProfilerStop",
                                             "RangeProfilerDecodeData",
                                             "RangeProfilerGetCounterDataInfo",
                                             "ProfilerHostEvaluateToGpuValues",
                                             "ProfilerHostEvaluateToGpuValues",
                                             "RangeProfilerDisable",
                                             "ProfilerHostDeinitialize",
                                             "ProfilerDeInitialize"};
  EXPECT_EQ(calls(), expected);
}

// CUPTI keeps pointers into what a collection allocates until it is disabled.
TEST_F(RangeProfilerTest, EachCollectionIsEnabledAndDisabled) {
  auto profiler = open();
  ASSERT_TRUE(profiler);
  for (int i = 1; i <= 3; ++i) {
    const auto set = profiler->metric_set({"a"});
    ASSERT_TRUE(set);
    const auto nothing = [] { return Result<void>(); };
    ASSERT_TRUE(profiler->collect(*set, nothing, nothing));
    EXPECT_EQ(count("RangeProfilerEnable"), i);
    EXPECT_EQ(count("RangeProfilerDisable"), i);
  }
}

TEST_F(RangeProfilerTest, ALaunchThatFailsEndsWhatWasStarted) {
  auto profiler = open();
  ASSERT_TRUE(profiler);
  const auto set = profiler->metric_set({"a"});
  ASSERT_TRUE(set);
  const auto values = profiler->collect(
      *set, [] { return Result<void>(); },
      []() -> Result<void> { return fail(ErrorCode::kDevice, "as planned"); });
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().what, "as planned");
  EXPECT_EQ(count("RangeProfilerStart"), 1);
  EXPECT_EQ(count("RangeProfilerStop"), 1);
  EXPECT_EQ(count("RangeProfilerDisable"), 1);
  EXPECT_EQ(count("RangeProfilerDecodeData"), 0);
}

TEST_F(RangeProfilerTest, MoreKernelsThanThereIsRoomForAreAnError) {
  const ScopedEnvironment dropped("FAKE_CUPTI_DROPPED", "4");
  auto profiler = open();
  ASSERT_TRUE(profiler);
  const auto set = profiler->metric_set({"a"});
  const auto nothing = [] { return Result<void>(); };
  const auto values = profiler->collect(*set, nothing, nothing);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().what,
            "the launch has 4 kernels more than the 19 that can be counted together");
}

TEST_F(RangeProfilerTest, ALaunchWithoutAKernelIsAnError) {
  const ScopedEnvironment none("FAKE_CUPTI_KERNELS", "0");
  auto profiler = open();
  ASSERT_TRUE(profiler);
  const auto set = profiler->metric_set({"a"});
  const auto nothing = [] { return Result<void>(); };
  const auto values = profiler->collect(*set, nothing, nothing);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().what, "CUPTI counted no kernel of the launch");
}

TEST_F(RangeProfilerTest, AProfilerThatIsNeverDoneIsGivenUp) {
  const ScopedEnvironment passes("FAKE_CUPTI_PASSES", "100000");
  auto profiler = open();
  ASSERT_TRUE(profiler);
  const auto set = profiler->metric_set({"a"});
  const auto nothing = [] { return Result<void>(); };
  const auto values = profiler->collect(*set, nothing, nothing);
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().what, "CUPTI asked for more than 256 passes of a schedule of 100000");
}

struct Refusal {
  const char* label;
  const char* variable;
  const char* value;
  ErrorCode code;
  std::string what;
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.label; }

class RefusedRangeProfiler : public RangeProfilerTest,
                             public ::testing::WithParamInterface<Refusal> {};

// Some refuse to open a profiler, some to enable it.
TEST_P(RefusedRangeProfiler, IsToldWhyAndWhatToDo) {
  const ScopedEnvironment planned(GetParam().variable, GetParam().value);
  const auto counted = [&]() -> Result<void> {
    GEMMSMITH_TRY(RangeProfiler profiler, open());
    GEMMSMITH_TRY(const MetricSet set, profiler.metric_set({"a"}));
    const auto nothing = [] { return Result<void>(); };
    GEMMSMITH_TRY([[maybe_unused]] const auto values, profiler.collect(set, nothing, nothing));
    return {};
  }();
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code, GetParam().code);
  EXPECT_EQ(counted.error().what, GetParam().what);
  // Whatever was begun was ended.
  EXPECT_EQ(
      count("ProfilerInitialize"),
      count("ProfilerDeInitialize") + (std::string(GetParam().value) == "ProfilerInitialize 15"));
}

INSTANTIATE_TEST_SUITE_P(
    Errors, RefusedRangeProfiler,
    ::testing::Values(
        Refusal{
            "permission", "FAKE_CUPTI_FAIL", "RangeProfilerEnable 35", ErrorCode::kEnvironment,
            "cannot read hardware counters (enabling the range profiler, RESULT_35): the driver "
            "shows hardware counters to administrators only: run as root (in a container with "
            "CAP_SYS_ADMIN or CAP_PERFMON), or have the driver loaded with "
            "NVreg_RestrictProfilingToAdminUsers=0"},
        Refusal{"another_profiler", "FAKE_CUPTI_FAIL", "RangeProfilerEnable 39",
                ErrorCode::kEnvironment,
                "cannot read hardware counters (enabling the range profiler, RESULT_39): another "
                "profiler holds the hardware counters: end it (ncu, nsys, DCGM's profiling, "
                "cuda-gdb) and try again"},
        Refusal{"virtual_gpu", "FAKE_CUPTI_FAIL", "ProfilerGetCounterAvailability 33",
                ErrorCode::kEnvironment,
                "cannot read hardware counters (asking which counters there are, RESULT_33): this "
                "virtual GPU shows no hardware counters: its host must allow them, or use a whole "
                "GPU"},
        Refusal{"confidential", "FAKE_CUPTI_FAIL", "RangeProfilerEnable 41",
                ErrorCode::kEnvironment,
                "cannot read hardware counters (enabling the range profiler, RESULT_41): "
                "confidential computing hides hardware counters: turn it off or use another GPU"},
        Refusal{"mig", "FAKE_CUPTI_FAIL", "RangeProfilerEnable 43", ErrorCode::kEnvironment,
                "cannot read hardware counters (enabling the range profiler, RESULT_43): this kind "
                "of device shows no hardware counters: use another GPU"},
        Refusal{"broken", "FAKE_CUPTI_FAIL", "ProfilerInitialize 15", ErrorCode::kDevice,
                "starting CUPTI's profiler failed: RESULT_15 (" +
                    std::string(GEMMSMITH_FAKE_CUPTI) + ")"},
        Refusal{
            "vgpu_off", "FAKE_CUPTI_WITHOUT", "vGpu", ErrorCode::kEnvironment,
            "cuda:0 shows no hardware counters: profiling is switched off for this virtual GPU: "
            "its host must allow it"},
        Refusal{"mining", "FAKE_CUPTI_WITHOUT", "cmp", ErrorCode::kEnvironment,
                "cuda:0 shows no hardware counters: it is a mining processor"}),
    [](const auto& tested) { return std::string(tested.param.label); });

}  // namespace
}  // namespace gemmsmith
