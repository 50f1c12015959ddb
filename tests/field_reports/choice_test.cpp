// Field reports on what gets chosen: the same store gives the same kernel, whatever is wrong never
// wins, and exactly the shapes that were asked for are tuned.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/files.h"
#include "cli/run_program.h"
#include "field_reports/small_recording.h"
#include "report/scoreboard.h"
#include "search/fake_bench.h"
#include "search/tuner.h"
#include "space/family.h"
#include "support/scratch.h"

namespace gemmsmith::test {
namespace {

using nlohmann::json;

std::vector<std::string> with_shapes(std::vector<std::string> arguments,
                                     const std::vector<std::string>& shapes) {
  for (const std::string& shape : shapes) {
    arguments.emplace_back("--mnk");
    arguments.push_back(shape);
  }
  return arguments;
}

json winners_of(const std::string& store) {
  const ProgramResult shown = run_program({"store", "show", "--store", store, "--json"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  return json::parse(shown.out, nullptr, false);
}

// The plan alone: the run's name says when it was.
json plans_of(const std::string& store) {
  json plans = winners_of(store);
  for (json& plan : plans) plan.erase("run");
  return plans;
}

// G6: tuned once, every later process makes the same choice, and tuning is visible on the disk.
TEST(FieldReports, G6_OneStoreOneChoiceInTwentyProcesses) {
  const std::string folder = fresh_folder();
  const std::string store = folder + "/s.db";
  const SmallRecording recording;
  const std::string device = recording.write(folder);
  const auto tune =
      with_shapes({"tune", "--device", device, "--store", store, "-q"}, recording.shapes);
  ASSERT_EQ(run_program(tune).exit_code, 0);
  const json first = winners_of(store);
  ASSERT_EQ(first.size(), recording.shapes.size()) << "a tuning write was lost";
  for (const json& winner : first)
    EXPECT_EQ(winner["config"], SmallRecording::config(recording.fastest));

  std::vector<json> seen(20);
  std::vector<std::thread> processes;
  for (std::size_t i = 0; i < seen.size(); ++i)
    processes.emplace_back([&, i] {
      if (i % 2 == 0) {
        auto again = tune;
        again.insert(again.end(), {"--seed", std::to_string(100 + i)});
        EXPECT_EQ(run_program(again).exit_code, 0);
      }
      seen[i] = winners_of(store);
    });
  for (std::thread& process : processes) process.join();
  for (const json& winners : seen) EXPECT_EQ(winners, first);
}

// G6: searched anew with the same seed, near-equal candidates included, the choice is the same.
TEST(FieldReports, G6_TheSameSeedChoosesTheSameAmongNearEquals) {
  SmallRecording recording;
  recording.fastest = -1;  // all within 2 %
  std::set<std::string> choices;
  for (int run = 0; run < 5; ++run) {
    const std::string folder = fresh_folder();
    ASSERT_EQ(run_program(with_shapes({"tune", "--device", recording.write(folder), "--store",
                                       folder + "/s.db", "--seed", "7", "-q"},
                                      recording.shapes))
                  .exit_code,
              0);
    choices.insert(plans_of(folder + "/s.db").dump());
  }
  EXPECT_EQ(choices.size(), 1U);
}

// G7: a wrong candidate, first or fastest or anywhere, disqualifies itself and none of the others,
// and is counted.
TEST(FieldReports, G7_AWrongCandidateAnywhereNeitherWinsNorSpoilsTheRest) {
  Problem problem = *parse_mnk("64_4096_64", {});
  constexpr int kConfigs = 6;
  for (int wrong = 0; wrong < kConfigs; ++wrong)
    for (const bool is_fastest : {false, true}) {
      const testing::ScratchFolder folder;
      FakeBench bench;
      const std::string bad = SmallRecording::config(wrong);
      const std::string best = SmallRecording::config((wrong + 3) % kConfigs);
      bench.broken = {bad};
      bench.ratio = [&](const Problem&, const std::string& config, Stage, Setting) {
        if (config == bad) return is_fastest ? 20.0 : 0.5;
        return config == best ? 1.5 : 1.1;
      };
      TunerOptions options;
      options.vendor_budget = 0;
      options.candidates = [&](const Problem&) {
        std::vector<Config> configs;
        for (int i = 0; i < kConfigs; ++i)
          configs.push_back(*parse_config(SmallRecording::config(i), kernel_families()));
        return configs;
      };
      auto store = Store::open(folder / "s.db", Store::Mode::kReadWrite);
      ASSERT_TRUE(store) << store.error().what;
      ASSERT_TRUE(tune(bench, *store, std::span(&problem, 1), options));
      const Environment environment = environment_of(bench);
      const auto winner = store->winner(environment, problem);
      ASSERT_TRUE(winner && *winner);
      EXPECT_EQ((*winner)->config, best) << "wrong was number " << wrong;
      std::vector<Measurement> rows;
      const auto stored = store->measurements(environment, problem);
      ASSERT_TRUE(stored) << stored.error().what;
      for (const StoredMeasurement& row : *stored) rows.push_back(row.measurement);
      EXPECT_GT(report::make_scoreboard(rows).failed, 0) << "the wrong one is not reported";
    }
}

// G7 through the program: every way of failing, at every place, in a recording.
TEST(FieldReports, G7_NoFailedCandidateOfARecordingIsEverChosen) {
  for (const Status status :
       {Status::kCompile, Status::kSpill, Status::kSerialised, Status::kLaunch, Status::kTimeout,
        Status::kFault, Status::kWrong, Status::kNondeterministic, Status::kFloor})
    for (const int bad : {0, 4}) {
      SmallRecording recording;
      recording.bad = bad;  // the first, or what would have been the fastest
      recording.bad_status = status;
      const std::string folder = fresh_folder();
      const ProgramResult result = run_program(with_shapes(
          {"tune", "--device", recording.write(folder), "--store", folder + "/s.db", "--json"},
          recording.shapes));
      ASSERT_EQ(result.exit_code, 0) << result.err;
      for (const json& winner : winners_of(folder + "/s.db")) {
        EXPECT_NE(winner["config"], SmallRecording::config(bad)) << name(status);
        EXPECT_TRUE(bad == recording.fastest ||
                    winner["config"] == SmallRecording::config(recording.fastest))
            << name(status) << " " << winner;
      }
    }
}

// The same, asked for by name: the failure has its name, and there is a line that repeats it.
TEST(FieldReports, G7_AFailureOfARecordingIsNamed) {
  for (const Status status : {Status::kTimeout, Status::kFault, Status::kWrong,
                              Status::kNondeterministic, Status::kLaunch}) {
    SmallRecording recording;
    recording.bad = 1;
    recording.bad_status = status;
    const std::string device = recording.write(fresh_folder());
    for (const char* verb : {"verify", "bench", "eval"}) {
      const ProgramResult result = run_program({verb, "--device", device, "--mnk", "64_4096_64",
                                                "--config", SmallRecording::config(1), "--json"});
      EXPECT_EQ(result.exit_code, 1) << verb << " " << name(status);
      EXPECT_NE(result.out.find(std::string("\"status\": \"") + name(status) + "\""),
                std::string::npos)
          << verb << " " << result.out;
      EXPECT_NE(result.err.find("64_4096_64 " + SmallRecording::config(1) + ": " + name(status)),
                std::string::npos)
          << verb << " " << result.err;
      EXPECT_NE(result.err.find("  repeat with: gemmsmith " + std::string(verb)), std::string::npos)
          << result.err;
    }
  }
}

// M6: the list decides, in either form; a repeated line counts once, and nothing else is tuned.
TEST(FieldReports, M6_TunesExactlyTheList) {
  SmallRecording recording;
  recording.shapes = {"64_4096_64", "128_256_512", "256_128_64", "512_64_128"};
  const std::string folder = fresh_folder();
  const std::string device = recording.write(folder);
  std::ofstream(folder + "/list.csv") << "m,n,k\n128,256,512\n256,128,64\n128,256,512\n";
  std::ofstream(folder + "/list.jsonl") << R"({"m":128,"n":256,"k":512})"
                                        << "\n"
                                        << R"({"m":256,"n":128,"k":64})"
                                        << "\n";
  for (const char* list : {"list.csv", "list.jsonl"}) {
    const std::string store = folder + "/" + list + ".db";
    const ProgramResult result = run_program(
        {"tune", "--device", device, "--shapes", folder + "/" + list, "--store", store, "-q"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::multiset<std::string> tuned;
    for (const json& winner : winners_of(store)) tuned.insert(winner["shape"].get<std::string>());
    EXPECT_EQ(tuned, (std::multiset<std::string>{"128_256_512", "256_128_64"})) << list;
    EXPECT_NE(result.out.find("256_128_64"), std::string::npos) << result.out;
    EXPECT_EQ(result.out.find("512_64_128"), std::string::npos) << result.out;
  }
}

// M4: results of another driver are neither used nor lost.
TEST(FieldReports, M4_AnotherDriversResultsAreKeptApart) {
  const std::string folder = fresh_folder();
  const std::string store = folder + "/s.db";
  SmallRecording old_driver;
  SmallRecording new_driver;
  new_driver.driver = "590.2";
  new_driver.fastest = 1;
  const std::string devices[] = {old_driver.write(folder, "old.csv"),
                                 new_driver.write(folder, "new.csv")};
  for (const std::string& device : devices)
    ASSERT_EQ(run_program(with_shapes({"tune", "--device", device, "--store", store, "-q"},
                                      old_driver.shapes))
                  .exit_code,
              0);
  std::multiset<std::string> configs;
  for (const json& winner : winners_of(store)) configs.insert(winner["config"].get<std::string>());
  EXPECT_EQ(configs.count(SmallRecording::config(4)), 2U);
  EXPECT_EQ(configs.count(SmallRecording::config(1)), 2U);
}

}  // namespace
}  // namespace gemmsmith::test
