// What was counted, as tune and store counters take and print it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"
#include "problem/shape_list.h"
#include "store/store.h"

namespace gemmsmith::test {
namespace {

const Environment kEnvironment{"H200", 2};

// One shape with a plan, a rival that finds more in L2, and the library's choice.
class StoreCounters : public testing::Test {
 protected:
  void SetUp() override {
    Store store = *Store::open(path_, Store::Mode::kReadWrite);
    for (const char* id : {"1-tune", "2-count"})
      ASSERT_TRUE(
          store.start_run(gemmsmith::Run{id, kEnvironment, "2026-01-31T12:00:00Z", "", 1, "{}"}));
    add(store, Kind::kKernel, "sm90_ws:w2", 8, 70, 1.5);
    add(store, Kind::kKernel, "sm90_ws:w1", 9, 95, 2.5);
    add(store, Kind::kVendor, "cublaslt:a66", 10, 90, 1.25);
    Winner winner;
    winner.problem = problem_;
    winner.source = WinnerSource::kKernel;
    winner.config = "sm90_ws:w2";
    winner.run = "1-tune";
    ASSERT_TRUE(store.set_winner(kEnvironment, winner, {"selected", 1, 1}));
  }

  void add(Store& store, Kind kind, const char* config, double us, double l2_hits, double ipc) {
    Measurement row;
    row.problem = problem_;
    row.kind = kind == Kind::kVendor ? Kind::kLtTuned : kind;
    row.config = config;
    row.stage = Stage::kFinal;
    row.run = "1-tune";
    row.median_us = us;
    row.ratio = 10 / us;
    const StoredMeasurement timed{kEnvironment, "", row};
    ASSERT_TRUE(store.record(kEnvironment, {&timed, 1}));
    gemmsmith::StoredCounters counted{kEnvironment, problem_, kind, config, "",
                                      "2-count",    "GH100",  2,    1,      {}};
    counted.values[Counter::kL2ReadSectors] = 100;
    counted.values[Counter::kL2ReadHits] = l2_hits;
    counted.values[Counter::kL2WriteSectors] = 0;
    counted.values[Counter::kL2WriteHits] = 0;
    counted.values[Counter::kIpc] = ipc;
    if (us == 9) counted.values.energy_uj = 4200.5;
    ASSERT_TRUE(store.record_counters({&counted, 1}));
  }

  ProgramResult run(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"store", "counters", "--store", path_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
  std::vector<std::string> configs(std::vector<std::string> more) const {
    more.emplace_back("--json");
    const ProgramResult result = run(more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<std::string> found;
    for (const auto& row : nlohmann::json::parse(result.out))
      found.push_back(row["config"].get<std::string>());
    return found;
  }

  const std::string folder_ = fresh_folder();
  const std::string path_ = folder_ + "/s.db";
  const Problem problem_ = *parse_mnk("4096_4096_64", {});
};

TEST_F(StoreCounters, StandBesideTimesTargetsAndThePolicy) {
  EXPECT_EQ(
      run({}).out,
      R"(shape         who       config           us  ratio  energy_uj  workspace_mib  sm_throughput  bank_conflicts  l2_hits  dram  occupancy  ipc  missed        policy
4096_4096_64  plan      sm90_ws:w2     8.00  1.250          -              -              -               -     70.0     -          -  1.5  l2_hits, ipc  l2_thrash: l2_miss_pct 30.0 above 20
4096_4096_64  rival     sm90_ws:w1     9.00  1.111     4200.5              -              -               -     95.0     -          -  2.5  none          kept
4096_4096_64  lt_tuned  cublaslt:a66  10.00  1.000          -              -              -               -     90.0     -          -  1.2  l2_hits, ipc  kept
)");
}

TEST_F(StoreCounters, AreARowALaunchForMachines) {
  const ProgramResult result = run({"--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["who"], "plan");
  EXPECT_EQ(rows[0]["l2_hits"], 70);
  EXPECT_EQ(rows[0]["l2_hits_met"], "no");
  EXPECT_EQ(rows[0]["ipc_met"], "no");
  EXPECT_EQ(rows[0]["dram_met"], "");
  EXPECT_EQ(rows[0]["policy"], "l2_thrash: l2_miss_pct 30.0 above 20");
  EXPECT_EQ(rows[0]["chip"], "GH100");
  EXPECT_EQ(rows[0]["l2_read_sectors"], 100);
  EXPECT_EQ(rows[0]["dram_pct"], nullptr);
  for (const CounterRow& counter : counter_table())
    EXPECT_TRUE(rows[0].contains(counter.name)) << counter.name;
}

TEST_F(StoreCounters, AreObjectivesAndRewards) {
  using Configs = std::vector<std::string>;
  EXPECT_EQ(configs({}), (Configs{"sm90_ws:w2", "sm90_ws:w1", "cublaslt:a66"}));
  // The library's choice is slower than the rival and finds less in L2.
  EXPECT_EQ(configs({"--objectives", "time,l2_hit_rate"}), (Configs{"sm90_ws:w2", "sm90_ws:w1"}));
  EXPECT_EQ(configs({"--objectives", "l2_hit_rate"}), (Configs{"sm90_ws:w1"}));
  EXPECT_EQ(configs({"--reward", "time=1,l2_hit_rate=1"}),
            (Configs{"sm90_ws:w1", "sm90_ws:w2", "cublaslt:a66"}));
  EXPECT_EQ(configs({"--reward", "time=1,l2_hit_rate=0.1"}),
            (Configs{"sm90_ws:w2", "sm90_ws:w1", "cublaslt:a66"}));
}

TEST_F(StoreCounters, AreJudgedByAPolicyOfTheUsers) {
  const std::string policy = folder_ + "/p.toml";
  ASSERT_TRUE(write_file_atomic(policy,
                                "[[rule]]\nname = \"lazy\"\nmetric = \"ipc\"\nbelow = 1.4\n"
                                "actions = [\"cublaslt\"]\n"));
  const auto rows = nlohmann::json::parse(run({"--monitor-policy", policy, "--json"}).out);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["policy"], "kept");
  EXPECT_EQ(rows[2]["policy"], "lazy: ipc 1.2 below 1.4");
  ASSERT_TRUE(write_file_atomic(policy,
                                "[[rule]]\nname = \"hot\"\nmetric = \"power_pct\"\nabove = 95\n"
                                "actions = [\"cublaslt\"]\n"));
  const ProgramResult refused = run({"--monitor-policy", policy});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err,
            "gemmsmith: " + policy +
                ":3:10: no rule has a metric that counters tell, power_pct is known of a serving "
                "process only: add one of l2_miss_pct, sm_throughput_pct, bank_conflict_pct, "
                "dram_pct, occupancy_pct, ipc\n");
}

TEST_F(StoreCounters, WrongObjectivesAreRefused) {
  const ProgramResult result = run({"--objectives", "time,ipc"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "gemmsmith: unknown objective 'ipc': expected time, energy, workspace, l2_hit_rate, "
            "sm_throughput, dram_throughput, dram_bytes, bank_conflicts\n");
}

TEST_F(StoreCounters, OtherActionsHaveNoObjectives) {
  const ProgramResult result =
      run_program({"store", "show", "--store", path_, "--objectives", "time"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "gemmsmith: store show: --objectives, --reward and --monitor-policy are for store "
            "counters\n");
}

TEST_F(StoreCounters, OfAnotherEnvironmentAreLeftOut) {
  EXPECT_EQ(run({"--environment", "H100"}).exit_code, 2);
  EXPECT_EQ(configs({"--environment", "H200"}).size(), 3U);
}

TEST(NoCounters, SayHowToGetSome) {
  const std::string path = fresh_folder() + "/s.db";
  ASSERT_TRUE(Store::open(path, Store::Mode::kReadWrite));
  const ProgramResult result = run_program({"store", "counters", "--store", path, "--json"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(result.out).size(), 0U);
  EXPECT_EQ(result.err,
            "nothing was counted: 'gemmsmith tune --counters' counts the finalists of each "
            "shape\n");
}

// A front is of everything that was measured, on a recorded device, too.
TEST(TuneObjectives, TheFrontOfTimeAndWorkspaceNeedsNoCounters) {
  const std::string store = fresh_folder() + "/s.db";
  const std::vector<std::string> tune = {"tune",
                                         "--mnk",
                                         "512_512_12288",
                                         "--device",
                                         "recorded:" GEMMSMITH_SOURCE_DIR
                                         "/data/recordings/h200/longk172_f16_f32_tn.csv.zst",
                                         "--store",
                                         store,
                                         "-q",
                                         "--objectives",
                                         "time,workspace"};
  const ProgramResult tuned = run_program(tune);
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_NE(tuned.out.find("workspace_mib"), std::string::npos) << tuned.out;
  const ProgramResult shown = run_program(
      {"store", "counters", "--store", store, "--objectives", "time,workspace", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const auto front = nlohmann::json::parse(shown.out);
  ASSERT_FALSE(front.empty());
  // Each takes less workspace than who is faster, and nobody takes as little and less time.
  for (const auto& a : front)
    for (const auto& b : front) {
      if (a["ratio"] > b["ratio"]) {
        EXPECT_GT(a["workspace_mib"], b["workspace_mib"]);
      }
    }
  EXPECT_EQ(std::count_if(front.begin(), front.end(),
                          [](const auto& one) { return one["workspace_mib"] == 0; }),
            1);
}

// Before anything is measured.
TEST(TuneCounters, NeedAGpuAndTheirFlag) {
  const auto error_of = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"tune", "--mnk", "64_64_64", "--store",
                                          fresh_folder() + "/s.db"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_EQ(error_of({"--counters", "--device", "recorded:any.csv"}),
            "gemmsmith: --counters: hardware counters can only come from a GPU, not from a "
            "recording or a model: pass --device cuda:N\n");
  EXPECT_EQ(error_of({"--objectives", "time,energy"}),
            "gemmsmith: --reward, --monitor-policy and --objectives, but for time and workspace, "
            "look at what was counted: pass --counters\n");
  EXPECT_EQ(error_of({"--counters", "--reward", "time"}),
            "gemmsmith: 'time': expected an objective and its weight, as time=1\n");
}

}  // namespace
}  // namespace gemmsmith::test
