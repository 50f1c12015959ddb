// gemmsmith profile where nothing can be counted, and how profiles are printed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/profile_table.h"
#include "cli/run_program.h"
#include "problem/shape_list.h"

namespace gemmsmith::test {
namespace {

const Variables kFakeGpu = {{"GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_DRIVER},
                            {"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}};

struct Refused {
  const char* label;
  std::vector<std::string> arguments;
  std::string message;
  int exit_code;
};
void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.label; }

class RefusedProfile : public testing::TestWithParam<Refused> {};

TEST_P(RefusedProfile, SaysWhatWasExpected) {
  std::vector<std::string> arguments = {"profile", "--mnk", "64_64_64"};
  arguments.insert(arguments.end(), GetParam().arguments.begin(), GetParam().arguments.end());
  const ProgramResult result = run_program(arguments, kFakeGpu);
  EXPECT_EQ(result.exit_code, GetParam().exit_code);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "gemmsmith: " + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Profile, RefusedProfile,
    testing::Values(
        Refused{"recording",
                {"--device", "recorded:any.csv"},
                "hardware counters can only come from a GPU, not from a recording or a model: pass "
                "--device "
                "cuda:N",
                2},
        Refused{"baseline",
                {"--baseline", "mkl"},
                "--baseline mkl: expected lt_tuned, lt_first, cublas_autotune, cublas or none",
                2},
        Refused{"seconds", {"--seconds", "61"}, "--seconds 61: expected at most 60", 2},
        Refused{"bare",
                {"--bare"},
                "--bare launches what is named and chooses nothing: name configs with --config or "
                "--choices",
                2},
        Refused{"choices",
                {"--choices", "/nonexistent.csv"},
                "cannot open /nonexistent.csv: No such file or directory",
                2}),
    [](const auto& tested) { return std::string(tested.param.label); });

TEST(Profile, AMissingGpuIsSaidAsEverywhere) {
  const ProgramResult result =
      run_program({"profile", "--mnk", "64_64_64"}, {{"GEMMSMITH_LIBCUDA", "/nonexistent"}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(
      result.err.rfind("gemmsmith: cannot load the NVIDIA driver: looked for /nonexistent; ", 0),
      0U)
      << result.err;
}

TEST(Profile, ChoicesAreReadLineByLine) {
  const std::string file = fresh_folder() + "/choices.csv";
  const auto error_of = [&](const std::string& text) {
    EXPECT_TRUE(write_file_atomic(file, text));
    return run_program({"profile", "--mnk", "64_64_64", "--choices", file}, kFakeGpu).err;
  };
  EXPECT_EQ(
      error_of("m,n,k\n64,64,64\n"),
      "gemmsmith: " + file + ", line 1: expected a header with the columns shape and config\n");
  EXPECT_EQ(error_of("shape,config\n64_64_64,sm90_ws:n32\n\n64_64_64\n"),
            "gemmsmith: " + file + ", line 4: 1 fields, the header has 2\n");
}

cli::Profile profile(const char* who, Kind kind, const char* config) {
  cli::Profile p;
  p.problem = *parse_mnk("4096_4096_64", {});
  p.who = who;
  p.timed.problem = p.problem;
  p.timed.kind = kind;
  p.timed.config = config;
  p.timed.median_us = 20;
  p.timed.ratio = 1.25;
  return p;
}

std::vector<cli::Profile> two_profiles() {
  std::vector<cli::Profile> profiles = {profile("ours", Kind::kKernel, "sm90_ws:w2"),
                                        profile("lt_tuned", Kind::kLtTuned, "cublaslt:a66")};
  profiles[0].counted = CounterReport{};
  CounterValues& v = profiles[0].counted->values;
  profiles[0].counted->chip = "GH100";
  profiles[0].counted->kernels = 1;
  profiles[0].counted->passes = 2;
  v[Counter::kTensorPercent] = 40.25;
  v[Counter::kIssuePercent] = 10;
  v[Counter::kSharedPipePercent] = 20;
  v[Counter::kDramPercent] = 72;
  v[Counter::kIpc] = 1.5;
  v[Counter::kDramReadBytes] = 3 << 20;
  profiles[0].load = LoadReport{};
  profiles[0].load->power_w = 480.6;
  profiles[0].load->throttled = 0;
  profiles[0].verdict = {Limiter::kDram, "device memory is at 72 % of its peak"};
  profiles[1].verdict = {Limiter::kUnknown, "no hardware counters"};
  return profiles;
}

TEST(ProfileTable, IsABlockAShapeForPeople) {
  EXPECT_EQ(cli::render_profiles(two_profiles(), OutputFormat::kText),
            R"(4096_4096_64                        target  ours          lt_tuned
time us                                     20.000        20.000
times as fast as lt_tuned                   1.250         1.250
SM throughput (its busiest pipe) %  > 85 %  40.2 not met  -
bank conflicts %                    < 5 %   -             -
L2 hits %                           > 90 %  -             -
DRAM throughput %                   < 80 %  72.0 met      -
occupancy %                         > 50 %  -             -
IPC                                 > 2     1.5 not met   -
tensor pipe %                               40.2          -
issue slots %                               10.0          -
shared-memory pipe %                        20.0          -
L2 sectors % of peak                        -             -
L2 read hits %                              -             -
reads served by L2 %                        -             -
DRAM read MiB                               3.00          -
DRAM written MiB                            -             -
least that must move MiB                    33.00         33.00
SMs with work %                             -             -
CTAs                                        -             -
alone, L2 empty, us                         -             -
power W                                     481           -
energy uJ                                   -             -
SM clock MHz                                -             -
throttled by                                none          -
ours sm90_ws:w2: limited by dram: device memory is at 72 % of its peak
lt_tuned cublaslt:a66: limited by unknown: no hardware counters
)");
}

TEST(ProfileTable, IsARowAKernelForMachines) {
  const auto rows =
      nlohmann::json::parse(cli::render_profiles(two_profiles(), OutputFormat::kJson));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["who"], "ours");
  EXPECT_EQ(rows[0]["limiter"], "dram");
  EXPECT_EQ(rows[0]["dram_pct"], 72);
  EXPECT_EQ(rows[0]["dram_met"], "yes");
  EXPECT_EQ(rows[0]["ipc_met"], "no");
  EXPECT_EQ(rows[0]["l2_hits_met"], "");
  EXPECT_EQ(rows[0]["sm_exact"], "no");
  EXPECT_EQ(rows[0]["power_w"], 480.6);
  EXPECT_EQ(rows[0]["throttled"], "none");
  EXPECT_EQ(rows[1]["limiter"], "unknown");
  EXPECT_EQ(rows[1]["dram_pct"], nullptr);
  EXPECT_EQ(rows[1]["kernels"], 0);
}

// Every counter of the table is a column, so that a profile can be judged again without a GPU.
TEST(ProfileTable, HoldsEveryCounter) {
  const auto rows =
      nlohmann::json::parse(cli::render_profiles(two_profiles(), OutputFormat::kJson));
  for (const CounterRow& counter : counter_table())
    EXPECT_TRUE(rows[0].contains(counter.name)) << counter.name;
}

}  // namespace
}  // namespace gemmsmith::test
