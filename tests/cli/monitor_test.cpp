// gemmsmith monitor beside a real process: one that is healthy, one that is thrashed for a while,
// one whose clocks are held down, one that ends and starts anew. The process is a fork that tells
// what a script makes its calls take, and obeys the orders it is given.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_program.h"
#include "watch/watched_process.h"

namespace gemmsmith::test {
namespace {

using nlohmann::json;

const std::string kPlan = "sm90_ws:w2.m128.n128.k128.s2";
const std::string kOther = "sm90_ws:w2.m128.n256";
const std::string kFakeGpu = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f";  // of the fake NVML

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

struct Script {
  std::string device = "GPU-none";
  float promised_us = 200;
  std::vector<std::string> alternates = {};
  // What the plan takes after so many timings; all else takes 215.
  std::function<float(int)> plan_us = [](int) { return 203.0F; };
  int timings = 1'000'000;  // then it ends
};

// Tells 500 timings a second: what takes a real process 5 seconds takes it 0.2.
[[noreturn]] void play(const std::string& path, const Script& script) {
  auto process = watch::WatchedProcess::open(path);
  if (!process) _exit(1);
  watch::ShapeFacts facts;
  facts.key.m = facts.key.n = facts.key.k = 4096;
  facts.key.accumulator = 2;
  facts.device = script.device;
  facts.plan = kPlan;
  facts.promised_us = script.promised_us;
  facts.promised_library_us = script.promised_us * 1.05F;
  facts.alternates = script.alternates;
  watch::Shape* const shape = process->place_of(facts);
  // Until a monitor is there; what was timed before is not looked at.
  while (process->heartbeat_ns() == 0) usleep(1000);
  for (int i = 0; i < script.timings; ++i) {
    const watch::Order order = watch::Order::of(shape->order);
    watch::Timing timing;
    timing.time_ns = watch::now_ns();
    timing.is_probe = order.serving != watch::kPlan && i % 4 == 0;
    timing.serving = timing.is_probe ? order.probe : order.serving;
    timing.latency_us = timing.serving == watch::kPlan ? script.plan_us(i) : 215;
    watch::tell(*shape, timing);
    usleep(2000);
  }
  _exit(0);
}

class ScriptedProcess {
 public:
  ScriptedProcess(const std::string& path, const Script& script) : child_(fork()) {
    if (child_ == 0) play(path, script);
  }
  ~ScriptedProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  ScriptedProcess(const ScriptedProcess&) = delete;
  ScriptedProcess& operator=(const ScriptedProcess&) = delete;

 private:
  pid_t child_;
};

class MonitorTest : public ::testing::Test {
 protected:
  // Runs the monitor until `ready` holds of its output, or 20 seconds are over.
  ProgramResult monitor(
      const std::function<bool(const std::string& out, const std::string& err)>& ready,
      std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"monitor", "--attach", path_, "--interval-ms", "10"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::uint64_t begin = watch::now_ns();
    return run_interrupted(
        arguments, {{"GEMMSMITH_NVML", nvml_ ? GEMMSMITH_FAKE_DRIVER : std::string("/none.so")}},
        [&](const std::string& folder) {
          if (watch::now_ns() - begin > 20'000'000'000) {
            ADD_FAILURE() << "not ready:\n" << contents(folder + "/err");
            return true;
          }
          return ready(contents(folder + "/out"), contents(folder + "/err"));
        });
  }
  std::vector<json> decisions(const std::string& lines) {
    std::vector<json> read;
    std::istringstream text(lines);
    for (std::string line; std::getline(text, line);) read.push_back(json::parse(line));
    return read;
  }

  const std::string folder_ = fresh_folder();
  const std::string path_ = folder_ + "/serve.watch";
  bool nvml_ = false;
};

TEST_F(MonitorTest, AHealthyProcessIsLeftAlone) {
  const ScriptedProcess process(path_, {});
  const std::uint64_t begin = watch::now_ns();
  const ProgramResult result = monitor([&](const std::string&, const std::string&) {
    return watch::now_ns() - begin > 2'000'000'000;
  });
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(has(result.err,
                  "the rule 'l2_thrash' is inactive: nothing measures l2_miss_pct in a running "
                  "process\n"))
      << result.err;
  EXPECT_TRUE(has(result.err, "4096_4096_4096: " + kPlan +
                                  " promised 200.0 us; its first 20 timings were 203.0 us: it is "
                                  "held to 203.0 us\n"))
      << result.err;
  EXPECT_TRUE(has(result.err, "clocks, power and throttling are not known: ")) << result.err;
  EXPECT_TRUE(has(result.err, "the monitor ends: every shape is served by its plan again\n"))
      << result.err;
}

TEST_F(MonitorTest, AThrashedProcessIsRolledBackAndReturns) {
  Script script;
  script.alternates = {kOther};
  script.plan_us = [](int i) { return i >= 200 && i < 600 ? 330.0F : 203.0F; };
  const std::string log = folder_ + "/decisions.jsonl";
  const std::string record = folder_ + "/run.csv";
  const ScriptedProcess process(path_, script);
  const ProgramResult result =
      monitor([](const std::string& out, const std::string&) { return has(out, ": return "); },
              {"--log", log, "--record", record});
  EXPECT_EQ(result.exit_code, 0);
  const auto logged = decisions(contents(log));
  ASSERT_EQ(logged.size(), 2U) << result.out;
  EXPECT_EQ(logged[0]["decision"], "leave");
  EXPECT_EQ(logged[0]["shape"], "4096_4096_4096");
  EXPECT_EQ(logged[0]["rule"], "slower_than_promised");
  EXPECT_EQ(logged[0]["action"], "next_plan");
  EXPECT_EQ(logged[0]["from"], kPlan);
  EXPECT_EQ(logged[0]["to"], kOther);
  EXPECT_EQ(logged[0]["latency_us"], 330);
  EXPECT_EQ(logged[0]["promised_us"], 203);
  EXPECT_EQ(logged[0]["samples"], 5);
  EXPECT_NEAR(logged[0]["value"].get<double>(), 328.0 / 203, 1e-6);
  EXPECT_TRUE(logged[0]["power_w"].is_null());
  EXPECT_EQ(logged[1]["decision"], "return");
  EXPECT_EQ(logged[1]["to"], kPlan);
  EXPECT_TRUE(has(result.out, "leave " + kPlan + " for " + kOther +
                                  ": latency_ratio was above 1.25 in 5 samples, last 1.616 (rule "
                                  "slower_than_promised; 330.0 us against 203.0 us; unavailable: "))
      << result.out;
  // When the record says that it was bad first, it was left within 5 seconds.
  const std::string series = contents(record);
  std::istringstream lines(series);
  double bad_s = 0;
  for (std::string line; std::getline(lines, line);)
    if (has(line, ",330.000,")) {
      bad_s = std::stod(line);
      break;
    }
  EXPECT_GT(bad_s, 0);
  EXPECT_LT(logged[0]["t_s"].get<double>() - bad_s, 5);

  const ProgramResult replayed = run_program({"monitor", "--replay", record, "--json"});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
  const json again = json::parse(replayed.out);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0]["to"], kOther);
  EXPECT_EQ(again[1]["to"], kPlan);
}

TEST_F(MonitorTest, WithoutAnotherPlanTheLibraryServesAndTheLogSaysWhy) {
  Script script;
  script.plan_us = [](int i) { return i >= 100 ? 330.0F : 203.0F; };
  const ScriptedProcess process(path_, script);
  const ProgramResult result = monitor(
      [](const std::string& out, const std::string&) { return !out.empty() && out.back() == '\n'; },
      {"--json"});
  const auto told = decisions(result.out);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["to"], "cublaslt heuristic");
  EXPECT_EQ(told[0]["reason"],
            "latency_ratio was above 1.25 in 5 samples, last 1.616; not possible here: next_plan");
}

TEST_F(MonitorTest, AThrottledProcessKeepsItsPlan) {
  nvml_ = true;
  Script script;
  script.device = kFakeGpu;
  script.plan_us = [](int i) { return i >= 100 ? 330.0F : 203.0F; };
  const ScriptedProcess process(path_, script);
  const ProgramResult result = monitor(
      [](const std::string& out, const std::string&) { return !out.empty() && out.back() == '\n'; },
      {"--json"});
  const auto told = decisions(result.out);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["decision"], "hold");
  EXPECT_EQ(told[0]["reason"], "the clocks are held down, which slows every plan");
  EXPECT_EQ(told[0]["throttle"], "sw_power_cap");
  EXPECT_NEAR(told[0]["power_w"].get<double>(), 312.4, 1e-9);
  EXPECT_EQ(told[0]["sm_clock_mhz"], 1980);
}

TEST_F(MonitorTest, WithoutAPromiseTheFirstTimingsAreOne) {
  Script script;
  script.promised_us = 0;
  script.plan_us = [](int i) { return i >= 100 ? 330.0F : 203.0F; };
  const ScriptedProcess process(path_, script);
  const ProgramResult result =
      monitor([](const std::string& out, const std::string&) { return has(out, "leave"); });
  EXPECT_TRUE(has(result.err,
                  "promised nothing: its first 20 timings, 203.0 us, are what it is "
                  "held to\n"))
      << result.err;
}

TEST_F(MonitorTest, AProcessMayComeLateEndAndStartAnew) {
  Script script;
  script.timings = 60;
  std::optional<ScriptedProcess> process;
  int runs = 0;
  const ProgramResult result = monitor([&](const std::string&, const std::string& err) {
    if (runs == 0 && has(err, "waiting for a process that runs with GEMMSMITH_MONITOR=")) {
      process.emplace(path_, script);
      runs = 1;
    }
    const std::size_t ended = err.find(" has ended\n");
    if (runs == 1 && ended != std::string::npos) {
      process.emplace(path_, script);
      runs = 2;
    }
    return runs == 2 && err.find(" has ended\n", ended + 1) != std::string::npos;
  });
  EXPECT_EQ(result.exit_code, 0);
  std::size_t baselines = 0;
  for (std::size_t at = result.err.find("held to"); at != std::string::npos;
       at = result.err.find("held to", at + 1))
    ++baselines;
  EXPECT_EQ(baselines, 2U) << result.err;
}

TEST_F(MonitorTest, WhatCannotBeWatchedIsSaid) {
  const std::string notes = folder_ + "/notes";
  std::ofstream(notes) << "my notes\n";
  const auto failure = [](const std::vector<std::string>& arguments) {
    const ProgramResult result = run_program(arguments);
    return std::pair(result.exit_code, result.err);
  };
  EXPECT_EQ(
      failure({"monitor", "--attach", notes, "--quiet"}),
      std::pair(2, "gemmsmith: " + notes + " is another kind of file: it is left as it is\n"));
  EXPECT_EQ(failure({"monitor"}),
            std::pair(2, std::string("gemmsmith: nothing to watch: pass --attach PATH, the "
                                     "GEMMSMITH_MONITOR of a process, or --replay FILE, a recorded "
                                     "series (docs/monitor.md)\n")));
  EXPECT_EQ(failure({"monitor", "--attach", notes, "--replay", notes}),
            std::pair(2, std::string("gemmsmith: --attach and --replay: expected one of them\n")));
  EXPECT_EQ(failure({"monitor", "--replay", notes, "--log", notes}),
            std::pair(2, std::string("gemmsmith: --log and --record belong to --attach\n")));
  const std::string policy = folder_ + "/p.toml";
  std::ofstream(policy) << "[[rule]]\nname = \"l2\"\nmetric = \"l2_miss_pct\"\nabove = 20\n"
                           "actions = [\"cublaslt\"]\n";
  EXPECT_EQ(failure({"monitor", "--attach", path_, "--policy", policy, "--quiet"}),
            std::pair(2, "gemmsmith: " + policy +
                             ": no rule can be judged live: expected one about latency_ratio, "
                             "power_pct, sm_clock_pct\n"));
  EXPECT_EQ(
      failure({"monitor", "--attach", path_, "--log", folder_ + "/no/log", "--quiet"}),
      std::pair(3, "gemmsmith: cannot write " + folder_ + "/no/log: No such file or directory\n"));
}

}  // namespace
}  // namespace gemmsmith::test
