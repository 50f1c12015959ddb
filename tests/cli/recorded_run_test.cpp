// The main job end to end on a recorded H200 space, no GPU: tune, the table, the store, a second
// run that finds everything done.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"
#include "device/recording.h"

namespace gemmsmith::test {
namespace {

const std::string kRecording = std::string("recorded:") + GEMMSMITH_SOURCE_DIR +
                               "/data/recordings/h200/grid1000_f16_f32_tn.csv.zst";
const std::string kShapes = std::string(GEMMSMITH_SOURCE_DIR) + "/data/shapes/demo.csv";

TEST(RecordedRun, TunesASliceAndPrintsTheTable) {
  const std::string store = fresh_folder() + "/demo.db";
  const ProgramResult first = run_program(
      {"tune", "--device", kRecording, "--shapes", kShapes, "--store", store, "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto board = nlohmann::json::parse(first.out);
  EXPECT_FALSE(board.empty());

  const ProgramResult again = run_program(
      {"tune", "--device", kRecording, "--shapes", kShapes, "--store", store, "--json"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(nlohmann::json::parse(again.out), board) << "a second run found work left to do";

  const ProgramResult shown = run_program({"store", "show", "--store", store, "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const auto winners = nlohmann::json::parse(shown.out);
  const auto shapes = read_recording(kRecording.substr(9));
  ASSERT_TRUE(shapes.has_value());
  EXPECT_GT(winners.size(), 5U);
}

TEST(RecordedRun, SameSeedSameChoice) {
  std::string shown[2];
  for (std::string& text : shown) {
    const std::string store = fresh_folder() + "/demo.db";
    const ProgramResult run = run_program({"tune", "--device", kRecording, "--shapes", kShapes,
                                           "--store", store, "--seed", "5", "--json"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    auto rows =
        nlohmann::json::parse(run_program({"store", "show", "--store", store, "--json"}).out);
    for (auto& row : rows) row.erase("run");
    text = rows.dump();
  }
  EXPECT_EQ(shown[0], shown[1]);
}

// The recording holds no kernel with a turned compiler knob: each is refused, counted, and costs
// nothing but itself.
TEST(RecordedRun, CompilerKnobsWithoutARecordAreRefusedAndCounted) {
  const std::string folder = fresh_folder();
  nlohmann::json winners[2];
  long refused[2] = {0, 0};
  for (const int with : {0, 1}) {
    const std::string store = folder + "/" + std::to_string(with) + ".db";
    std::vector<std::string> command = {"tune",  "--device", kRecording, "--shapes",
                                        kShapes, "--json",   "--store",  store};
    if (with == 1) command.push_back("--compiler-knobs");
    const ProgramResult run = run_program(command);
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run_program(command).out, run.out) << "a second run found work left to do";
    winners[with] =
        nlohmann::json::parse(run_program({"store", "show", "--store", store, "--json"}).out);
    for (auto& row : winners[with]) row.erase("run");
    SQLite::Database database(store, SQLite::OPEN_READONLY);
    refused[with] = database
                        .execAndGet(
                            "SELECT sum(json_extract(conditions, '$.counts.no_record')) "
                            "FROM run")
                        .getInt();
    SQLite::Statement turned(database,
                             "SELECT count(*), count(DISTINCT status || detail), min(detail) "
                             "FROM measurement WHERE config LIKE '%.rul%'");
    ASSERT_TRUE(turned.executeStep());
    EXPECT_EQ(turned.getColumn(0).getInt() > 0, with == 1);
    if (with == 1) {
      EXPECT_EQ(turned.getColumn(1).getInt(), 1);
      EXPECT_EQ(turned.getColumn(2).getString(), "no record");
    }
  }
  EXPECT_EQ(winners[0], winners[1]);
  // 13 of the demo's shapes have a kernel of ours that was paired; a Hopper kernel has 10 variants.
  EXPECT_GE(refused[1] - refused[0], 13 * 10);
}

// A row joined two kernels' figures and named one of them.
TEST(RecordedRun, APlanAndItsFollowerHaveColumnsOfTheirOwn) {
  const std::string store = fresh_folder() + "/a.db";
  const std::vector<std::string> tune = {"tune",       "--device", kRecording, "--mnk",
                                         "64_2048_64", "--store",  store,      "-q"};
  const ProgramResult text = run_program(tune);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out.rfind("shape       plan ", 0), 0U) << text.out;
  EXPECT_NE(text.out.find("  follower  "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("'between foreign' (between foreign kernels) is the plan's.\n"),
            std::string::npos);
  const auto rows_of = [&](const std::vector<std::string>& command) {
    std::vector<std::string> with_json = command;
    with_json.push_back("--json");
    return nlohmann::json::parse(run_program(with_json).out);
  };
  const nlohmann::json served = rows_of(tune)["shapes"][0]["served"];
  const nlohmann::json shown = rows_of({"store", "show", "--store", store})[0];
  EXPECT_NE(served["config"], served["follower"]);
  EXPECT_EQ(served["config"], shown["config"]);
  EXPECT_EQ(served["follower"], shown["follower"]);
  EXPECT_FALSE(served.contains("foreign_config"));
  // Back to back the follower's, between foreign kernels the plan's; shown is each one's own.
  EXPECT_NEAR(served["chained"].get<double>(), shown["follower_ratio"].get<double>(), 1e-3);
  EXPECT_NEAR(served["chained_us"].get<double>(), shown["follower_us"].get<double>(), 1e-2);
  EXPECT_NEAR(served["foreign"].get<double>(), shown["foreign_ratio"].get<double>(), 1e-3);
  EXPECT_LT(shown["ratio"].get<double>(), shown["follower_ratio"].get<double>());
  std::vector<std::string> csv = tune;
  csv.push_back("--csv");
  const std::string line = run_program(csv).out;
  EXPECT_NE(line.find(",served_follower\n"), std::string::npos);
  EXPECT_TRUE(line.ends_with("," + shown["follower"].get<std::string>() + "\n")) << line;
  const ProgramResult eval =
      run_program({"eval", "--device", kRecording, "--mnk", "64_2048_64", "--store", store});
  EXPECT_NE(eval.err.find("its follower " + shown["follower"].get<std::string>() + " serves\n"),
            std::string::npos)
      << eval.err;
}

// What is measured first are the nearest plans' kernels that the recording has.
TEST(RecordedRun, LikeATableMeasuresItsKernelsFirst) {
  const std::string plans = GEMMSMITH_SOURCE_DIR "/data/plans/h200.plans";
  const auto first_measured = [&](const std::vector<std::string>& more) {
    const std::string path = fresh_folder() + "/a.db";
    std::vector<std::string> command = {"tune",       "--device", kRecording,   "--mnk",
                                        "64_2048_64", "--store",  path,         "-q",
                                        "--budget",   "3",        "--strategy", "ranked"};
    command.insert(command.end(), more.begin(), more.end());
    EXPECT_EQ(run_program(command).exit_code, 0);
    SQLite::Database store(path);
    SQLite::Statement rows(store,
                           "SELECT config FROM measurement WHERE kind = 'kernel' AND "
                           "stage = 'screen' ORDER BY id LIMIT 3");
    std::vector<std::string> configs;
    while (rows.executeStep()) configs.push_back(rows.getColumn(0).getString());
    return configs;
  };
  const auto without = first_measured({});
  const auto with = first_measured({"--like", plans});
  ASSERT_EQ(with.size(), 3U);
  EXPECT_NE(with, without);
  for (const char* shapes : {"64_2048_64", "0_64_64"}) {
    const ProgramResult missing =
        run_program({"tune", "--device", kRecording, "--mnk", shapes, "--store",
                     fresh_folder() + "/a.db", "--like", "/nonexistent.plans"});
    EXPECT_EQ(missing.exit_code, 2) << shapes;
    EXPECT_NE(missing.err.find("/nonexistent.plans"), std::string::npos) << missing.err;
  }
}

TEST(RecordedRun, AShapeThatWasNotRecordedIsToldOnce) {
  const ProgramResult result = run_program({"tune", "--device", kRecording, "--mnk", "100_100_100",
                                            "--store", fresh_folder() + "/a.db", "-q"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.err.substr(0, result.err.find('\n')),
            "failed: 100_100_100 f16/f32 tn: the recording does not hold this shape, but 1000 "
            "shapes of f16/f32 tn; nearest: 128_128_128, 64_128_128, 128_64_128");
}

// A row that changed on the disk is left out, and the user is told.
TEST(RecordedRun, DamagedRowsAreNamed) {
  const std::string store = fresh_folder() + "/a.db";
  ASSERT_EQ(run_program({"tune", "--device", kRecording, "--shapes", kShapes, "--store", store})
                .exit_code,
            0);
  {
    SQLite::Database database(store, SQLite::OPEN_READWRITE);
    database.exec(
        "UPDATE winner SET chained_ratio = 9.9 WHERE rowid = (SELECT min(rowid) FROM winner)");
  }
  const ProgramResult shown = run_program({"store", "show", "--store", store, "--csv"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(shown.err.find("warning: 1 rows of " + store + " are damaged"), std::string::npos)
      << shown.err;
}

TEST(RecordedRun, StoreSurvivesExportAndImport) {
  const std::string folder = fresh_folder();
  const std::string store = folder + "/a.db";
  ASSERT_EQ(run_program({"tune", "--device", kRecording, "--shapes", kShapes, "--store", store})
                .exit_code,
            0);
  std::filesystem::create_symlink("kept.jsonl", folder + "/a.jsonl");
  ASSERT_EQ(run_program({"store", "export", folder + "/a.jsonl", "--store", store}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/a.jsonl"));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder + "/kept.jsonl"));
  ASSERT_EQ(
      run_program({"store", "import", folder + "/a.jsonl", "--store", folder + "/b.db"}).exit_code,
      0);
  EXPECT_EQ(run_program({"store", "show", "--store", store, "--csv"}).out,
            run_program({"store", "show", "--store", folder + "/b.db", "--csv"}).out);
}

}  // namespace
}  // namespace gemmsmith::test
