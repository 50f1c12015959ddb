// The tuner's side of the worker: whatever a worker does, the candidate that ran then is the one
// that failed, and the others are measured.
#include "measure/worker_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "space/family.h"
#include "support/scratch.h"

namespace gemmsmith {
namespace {

using testing::ScopedVariable;
using testing::ScratchFolder;

// Kernels whose bytes do not matter; a tile_m of 256 spills.
class FakeKernels : public KernelProvider {
 public:
  std::string version() const override { return "nvrtc 13.0"; }
  Result<std::vector<KernelInfo>> prepare(std::span<const Config> configs, const Problem&,
                                          const std::string& architecture) override {
    EXPECT_EQ(architecture, "sm_90a");
    std::vector<KernelInfo> infos;
    for (const Config& config : configs) {
      const bool spills = config.at("tile_m") == 256;
      infos.push_back({kernel_text(config), spills ? Status::kSpill : Status::kOk,
                       spills ? "8 bytes spill stores" : "", 0.5});
    }
    return infos;
  }
  Result<std::string> cubin(const Config&, const Problem&, const std::string&) override {
    return std::string(
        "\x7f"
        "ELF\n\0bytes",
        11);
  }
  Result<std::string> utility_cubin(const std::string& file, const std::string&) override {
    return "cubin of " + file + "\n{}";
  }
};

Config config(int group, int tile_m = 64) {
  Config config = default_config(sm80_mma_family());
  config.set("group", group);
  config.set("tile_m", tile_m);
  return config;
}

Problem problem() {
  Problem problem;
  problem.m = 64;
  problem.n = 64;
  problem.k = 64;
  return *make_problem(problem);
}

class WorkerBenchTest : public ::testing::Test {
 protected:
  std::unique_ptr<WorkerBench> open(const std::string& script) {
    script_.emplace("FAKE_WORKER", script.c_str());
    BenchSettings settings;
    settings.candidate_timeout_s = 0.3;
    WorkerOptions options;
    options.executable = GEMMSMITH_FAKE_WORKER;
    options.arguments = {};
    options.prepare_timeout_s = 0.5;
    options.group = 3;
    auto bench = WorkerBench::open(0, settings, std::make_unique<FakeKernels>(), options);
    if (!bench) {
      error_ = bench.error();
      return nullptr;
    }
    return std::move(*bench);
  }

  std::vector<std::string> requests() const {
    std::ifstream file(log_path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  long count(const std::string& op) const {
    const std::vector<std::string> all = requests();
    return std::count(all.begin(), all.end(), op);
  }

  ScratchFolder folder_;
  std::string log_path_ = (folder_ / "log").string();
  ScopedVariable log_{"FAKE_WORKER_LOG", log_path_.c_str()};
  std::optional<ScopedVariable> script_;
  Error error_;
};

std::vector<Config> five_configs() {
  return {config(1), config(2), config(4), config(8), config(16)};
}

// Screens five configs of which `bad` misbehaves; all others must come back ok.
void expect_only(WorkerBench& bench, std::size_t bad, Status status, const std::string& detail) {
  const std::vector<Config> configs = five_configs();
  const auto rows = bench.screen(problem(), configs, Setting::kChained);
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i) {
    EXPECT_EQ((*rows)[i].config, to_text(configs[i]));
    EXPECT_EQ((*rows)[i].status, i == bad ? status : Status::kOk) << (*rows)[i].detail;
  }
  EXPECT_NE((*rows)[bad].detail.find(detail), std::string::npos) << (*rows)[bad].detail;
}

TEST_F(WorkerBenchTest, LearnsTheDeviceFromTheWorker) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  EXPECT_EQ(bench->device().target.name, "NVIDIA H200");
  EXPECT_EQ(bench->device().uuid, "GPU-fake");
  EXPECT_EQ(bench->device().cublas_version, "13.1.0");
  EXPECT_EQ(bench->device().compiler_version, "nvrtc 13.0");
}

TEST_F(WorkerBenchTest, AnswersInTheOrderOfTheConfigs) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 0, Status::kOk, "");
}

TEST_F(WorkerBenchTest, GivesBaselinesAndVendorConfigs) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto rows = bench->baselines(problem());
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ(rows->front().kind, Kind::kCublas);
  EXPECT_EQ(rows->back().kind, Kind::kLtTuned);
  const auto configs = bench->vendor_configs(problem(), 2);
  ASSERT_TRUE(configs) << configs.error().what;
  EXPECT_EQ(to_text(configs->at(1)), "cublaslt:a66.t23.s35");
}

TEST_F(WorkerBenchTest, ForeignBaselinesAreTheOtherSetting) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto rows = bench->foreign_baselines(problem());
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 4U);
  for (const Measurement& row : *rows) EXPECT_EQ(row.setting, Setting::kForeign);
}

TEST_F(WorkerBenchTest, AccuracySendsTheKernelAndBringsTheErrors) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto report = bench->accuracy(problem(), config(4));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(report->config, to_text(config(4)));
  EXPECT_EQ(report->relative_error, 2e-4);
  EXPECT_EQ(report->bound_ratio, 0.25);
  EXPECT_EQ(count("kernel"), 1);
}

TEST_F(WorkerBenchTest, AccuracyOfAKernelThatSpillsIsACompileError) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto report = bench->accuracy(problem(), config(1, 256));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kCompile);
  EXPECT_NE(report.error().what.find("spill, 8 bytes spill stores"), std::string::npos)
      << report.error().what;
}

TEST_F(WorkerBenchTest, ServesOursAndTheFourBaselines) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  ServeSettings settings;
  settings.target_qps = 321;
  const auto reports = bench->serve(problem(), config(4), settings);
  ASSERT_TRUE(reports) << reports.error().what;
  ASSERT_EQ(reports->size(), 5U);
  EXPECT_EQ(reports->front().config, to_text(config(4)));
  EXPECT_EQ(reports->front().achieved_qps, 321);
  EXPECT_EQ(reports->back().kind, Kind::kLtTuned);
}

TEST_F(WorkerBenchTest, ServingMayTakeLongerThanAWorkerMayBeSilent) {
  const auto bench = open("alive " + to_text(config(4)));
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto reports = bench->serve(problem(), config(4), {});
  ASSERT_TRUE(reports) << reports.error().what;
  EXPECT_EQ(bench->workers_started(), 1);
}

TEST_F(WorkerBenchTest, AnInterruptEndsServing) {
  const auto bench = open("alive " + to_text(config(4)));
  ASSERT_NE(bench, nullptr) << error_.what;
  set_interrupted(true);
  const auto reports = bench->serve(problem(), config(4), {});
  set_interrupted(false);
  ASSERT_FALSE(reports);
  EXPECT_EQ(reports.error().code, ErrorCode::kInterrupted);
  // The next question goes to a new worker, which does not answer the old one.
  const auto report = bench->accuracy(problem(), config(2));
  ASSERT_TRUE(report) << report.error().what;
  EXPECT_EQ(bench->workers_started(), 2);
}

TEST_F(WorkerBenchTest, AWorkerThatDiesServingIsAnError) {
  const auto bench = open("crash " + to_text(config(4)));
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto reports = bench->serve(problem(), config(4), {});
  ASSERT_FALSE(reports);
  EXPECT_NE(reports.error().what.find("signal 6"), std::string::npos) << reports.error().what;
}

TEST_F(WorkerBenchTest, FinalsGiveBothSettings) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  const Config configs[] = {config(1), config(2)};
  const auto rows = bench->finals(problem(), configs);
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ((*rows)[0].setting, Setting::kChained);
  EXPECT_EQ((*rows)[1].setting, Setting::kForeign);
  EXPECT_EQ((*rows)[3].config, to_text(configs[1]));
}

TEST_F(WorkerBenchTest, SendsAKernelOnceForAllItsLaunchVariants) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  ASSERT_TRUE(bench->screen(problem(), five_configs(), Setting::kChained));
  EXPECT_EQ(count("kernel"), 1);
  ASSERT_TRUE(bench->screen(problem(), five_configs(), Setting::kChained));
  EXPECT_EQ(count("kernel"), 1);
}

TEST_F(WorkerBenchTest, AKernelThatSpillsIsNotSent) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  const Config configs[] = {config(1, 256), config(1)};
  const auto rows = bench->screen(problem(), configs, Setting::kChained);
  ASSERT_TRUE(rows) << rows.error().what;
  EXPECT_EQ((*rows)[0].status, Status::kSpill);
  EXPECT_EQ((*rows)[0].detail, "8 bytes spill stores");
  EXPECT_EQ((*rows)[0].compile_s, 0.5);
  EXPECT_EQ((*rows)[1].status, Status::kOk);
  EXPECT_EQ(count("kernel"), 1);
  const auto finals = bench->finals(problem(), std::span(configs, 1));
  ASSERT_TRUE(finals);
  ASSERT_EQ(finals->size(), 2U);
  EXPECT_EQ((*finals)[1].setting, Setting::kForeign);
  EXPECT_EQ((*finals)[1].status, Status::kSpill);
}

TEST_F(WorkerBenchTest, AHangingCandidateTimesOut) {
  const auto bench = open("hang " + to_text(config(4)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 2, Status::kTimeout, "no answer for 0.3 s: killed");
  EXPECT_EQ(bench->workers_started(), 2);
}

TEST_F(WorkerBenchTest, ACrashingCandidateFaults) {
  const auto bench = open("crash " + to_text(config(2)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 1, Status::kFault, "the worker ended by signal 6");
}

TEST_F(WorkerBenchTest, OneHangOfAGroupIsFound) {
  const auto bench = open("hang-timing " + to_text(config(2)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 1, Status::kTimeout, "killed");
}

TEST_F(WorkerBenchTest, OneCrashOfAGroupIsFound) {
  const auto bench = open("crash-timing " + to_text(config(16)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 4, Status::kFault, "signal 6");
}

TEST_F(WorkerBenchTest, GarbageAndTruncatedLinesCountAsDeath) {
  auto bench = open("garbage " + to_text(config(1)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 0, Status::kFault, "the worker ended by signal 9");
  bench = open("truncate " + to_text(config(8)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 3, Status::kFault, "the worker ended by signal 9");
}

// A worker that waits for its turn on the GPU says so, and is not given up.
TEST_F(WorkerBenchTest, WaitingForTheDeviceIsNoHang) {
  const auto bench = open("wait");
  ASSERT_NE(bench, nullptr) << error_.what;
  const std::vector<Config> configs = five_configs();
  const auto rows = bench->screen(problem(), configs, Setting::kChained);
  ASSERT_TRUE(rows) << rows.error().what;
  for (const Measurement& row : *rows) EXPECT_EQ(row.status, Status::kOk);
  EXPECT_EQ(bench->workers_started(), 1);
}

// JSON of another form than agreed, wherever it comes.
TEST_F(WorkerBenchTest, WrongTypesCountAsDeath) {
  auto bench = open("wrong-type " + to_text(config(4)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 2, Status::kFault, "the worker ended by signal 9");
  bench = open("wrong-type-need");
  ASSERT_NE(bench, nullptr) << error_.what;
  const std::vector<Config> configs = five_configs();
  EXPECT_EQ(bench->screen(problem(), configs, Setting::kChained).error().code, ErrorCode::kDevice);
  EXPECT_EQ(bench->accuracy(problem(), configs[0]).error().code, ErrorCode::kDevice);
  bench = open("wrong-type-rows");
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto rows = bench->baselines(problem());
  ASSERT_FALSE(rows);
  EXPECT_NE(rows.error().what.find("the worker sent a message of another form"), std::string::npos)
      << rows.error().what;
}

TEST_F(WorkerBenchTest, AReportedFaultIsKeptAndTheRestGoesToANewWorker) {
  const auto bench = open("lost " + to_text(config(1)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 0, Status::kFault, "");
  EXPECT_EQ(bench->workers_started(), 2);
}

// The driver refuses a launch after the candidate was verified: in its group it has no name, alone
// it has, and the worker goes on.
TEST_F(WorkerBenchTest, ALaunchErrorCostsOnlyTheCandidate) {
  for (const std::size_t bad : {std::size_t{0}, std::size_t{4}}) {
    const auto bench = open("error " + to_text(five_configs()[bad]));
    ASSERT_NE(bench, nullptr) << error_.what;
    expect_only(*bench, bad, Status::kLaunch, "launching a kernel failed");
    EXPECT_EQ(bench->workers_started(), 1);
  }
}

TEST_F(WorkerBenchTest, ALaunchErrorInAFinalCostsOnlyTheFinalist) {
  const auto bench = open("error " + to_text(config(1)));
  ASSERT_NE(bench, nullptr) << error_.what;
  const Config configs[] = {config(1), config(2)};
  const auto rows = bench->finals(problem(), configs);
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ((*rows)[0].status, Status::kLaunch);
  EXPECT_EQ((*rows)[1].status, Status::kLaunch);
  EXPECT_EQ((*rows)[1].setting, Setting::kForeign);
  EXPECT_EQ((*rows)[2].status, Status::kOk);
}

TEST_F(WorkerBenchTest, AContextLostWhileAGroupIsTimedHasItsGuiltyFound) {
  const auto bench = open("lost-timing " + to_text(config(2)));
  ASSERT_NE(bench, nullptr) << error_.what;
  expect_only(*bench, 1, Status::kFault, "illegal address");
  EXPECT_EQ(bench->workers_started(), 3);  // the group's loss, and its own
}

TEST_F(WorkerBenchTest, ScreensInEitherSetting) {
  const auto bench = open("crash " + to_text(config(2)));
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto rows = bench->screen(problem(), five_configs(), Setting::kForeign);
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 5U);
  EXPECT_EQ((*rows)[1].status, Status::kFault);
  for (const Measurement& row : *rows) {
    EXPECT_EQ(row.setting, Setting::kForeign);
    EXPECT_EQ(row.stage, Stage::kScreen);
  }
}

TEST_F(WorkerBenchTest, SeveralBadCandidatesAreAllFound) {
  const auto bench = open("hang " + to_text(config(1)) + ";crash " + to_text(config(2)) +
                          ";hang-timing " + to_text(config(8)));
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto rows = bench->screen(problem(), five_configs(), Setting::kChained);
  ASSERT_TRUE(rows) << rows.error().what;
  const Status expected[] = {Status::kTimeout, Status::kFault, Status::kOk, Status::kTimeout,
                             Status::kOk};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ((*rows)[i].status, expected[i]);
  const auto conditions = nlohmann::json::parse(bench->conditions());
  EXPECT_EQ(conditions["counts"]["timeouts"], 2);
  EXPECT_EQ(conditions["counts"]["faults"], 1);
  EXPECT_EQ(conditions["counts"]["workers"], 4 + 1);  // each death, and the group's
}

TEST_F(WorkerBenchTest, AnErrorOfTheProblemIsReturnedAndTheWorkerKept) {
  const auto bench = open("refuse");
  ASSERT_NE(bench, nullptr) << error_.what;
  const auto rows = bench->screen(problem(), five_configs(), Setting::kChained);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().what, "refused");
  EXPECT_EQ(rows.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(bench->workers_started(), 1);
}

TEST_F(WorkerBenchTest, DeathsThatNoCandidateExplainsEndTheProblem) {
  for (const char* script : {"crash-preparing", "hang-preparing"}) {
    const auto bench = open(script);
    ASSERT_NE(bench, nullptr) << error_.what;
    const auto rows = bench->screen(problem(), five_configs(), Setting::kChained);
    ASSERT_FALSE(rows);
    EXPECT_EQ(rows.error().code, ErrorCode::kDevice);
    EXPECT_NE(rows.error().what.find("the worker died 2 times on 64_64_64"), std::string::npos)
        << rows.error().what;
  }
}

TEST_F(WorkerBenchTest, AWorkerThatCannotStartIsAnError) {
  EXPECT_EQ(open("crash-open"), nullptr);
  EXPECT_EQ(error_.code, ErrorCode::kDevice);
  EXPECT_NE(error_.what.find("the worker ended by signal 6"), std::string::npos) << error_.what;
  EXPECT_EQ(open("hang-hello"), nullptr);
  EXPECT_EQ(error_.code, ErrorCode::kTimeout);
  EXPECT_EQ(error_.what, "the worker did not answer within 0.5 s: killed");
}

TEST_F(WorkerBenchTest, AMissingWorkerIsNamed) {
  WorkerOptions options;
  options.executable = "/nonexistent/worker";
  const auto bench = WorkerBench::open(0, {}, std::make_unique<FakeKernels>(), options);
  ASSERT_FALSE(bench);
  EXPECT_EQ(bench.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(bench.error().what,
            "cannot start the worker /nonexistent/worker: No such file or directory");
}

TEST_F(WorkerBenchTest, AnInterruptStopsBetweenRequests) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  set_interrupted(true);
  const auto rows = bench->screen(problem(), five_configs(), Setting::kChained);
  set_interrupted(false);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, ErrorCode::kInterrupted);
}

TEST_F(WorkerBenchTest, ConditionsNameProtocolSettingsAndWorkers) {
  const auto bench = open("");
  ASSERT_NE(bench, nullptr) << error_.what;
  ASSERT_TRUE(bench->screen(problem(), five_configs(), Setting::kChained));
  const auto conditions = nlohmann::json::parse(bench->conditions());
  EXPECT_EQ(conditions["protocol"], "graph-abba-2");
  EXPECT_EQ(conditions["settings"]["final_pairs"], 12);
  EXPECT_EQ(conditions["device"]["name"], "NVIDIA H200");
  EXPECT_EQ(conditions["workers"].size(), 1U);
  EXPECT_EQ(conditions["workers"][0]["problems"], 1);
}

TEST_F(WorkerBenchTest, CountsAConfigAndWhatHasNone) {
  auto bench = open("");
  ASSERT_NE(bench, nullptr);
  const auto ours = bench->count(problem(), {Kind::kKernel, config(4)}, CounterScope::kFull);
  ASSERT_TRUE(ours) << ours.error().what;
  EXPECT_EQ(ours->detail, "kernel full");
  EXPECT_EQ(ours->values[Counter::kIpc], 1.5);
  EXPECT_FALSE(ours->values[Counter::kTimeNs]);
  const auto cublas =
      bench->count(problem(), {Kind::kCublas, std::nullopt}, CounterScope::kStandard);
  ASSERT_TRUE(cublas) << cublas.error().what;
  EXPECT_EQ(cublas->detail, "cublas standard");
}

TEST_F(WorkerBenchTest, SustainsAndMarksLaunches) {
  auto bench = open("");
  ASSERT_NE(bench, nullptr);
  const auto load = bench->sustain(problem(), {Kind::kLtTuned, std::nullopt}, 0.25);
  ASSERT_TRUE(load) << load.error().what;
  EXPECT_EQ(load->detail, "lt_tuned");
  EXPECT_EQ(load->us, 2.5);
  EXPECT_EQ(load->power_w, 500);
  EXPECT_TRUE(bench->launch_marked(problem(), {Kind::kKernel, config(4)}));
}

TEST_F(WorkerBenchTest, WhatTheMachineDoesNotAllowIsPassedOn) {
  auto bench = open("no-permission");
  ASSERT_NE(bench, nullptr);
  const auto counted = bench->count(problem(), {Kind::kKernel, config(4)}, CounterScope::kStandard);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(counted.error().what, "cannot read hardware counters");
  // The worker goes on.
  EXPECT_TRUE(bench->accuracy(problem(), config(4)));
  EXPECT_EQ(bench->workers_started(), 1);
}

TEST_F(WorkerBenchTest, AKernelThatDoesNotCompileIsNotCounted) {
  auto bench = open("");
  ASSERT_NE(bench, nullptr);
  const auto counted =
      bench->count(problem(), {Kind::kKernel, config(1, 256)}, CounterScope::kStandard);
  ASSERT_FALSE(counted);
  EXPECT_EQ(counted.error().code, ErrorCode::kCompile);
}

}  // namespace
}  // namespace gemmsmith
