// Where results go is looked at before the work, and machines get a document even of nothing.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace gemmsmith::test {
namespace {

namespace fs = std::filesystem;

const std::string kTree = GEMMSMITH_SOURCE_DIR;
const std::string kRecordingFile = kTree + "/data/recordings/h200/grid1000_f16_f32_tn.csv.zst";
const std::string kRecording = "recorded:" + kRecordingFile;
const std::string kPolicy = kTree + "/data/policy/h200_f16_f32_tn.policy";

TEST(Outputs, OfNothingAreDocumentsAllTheSame) {
  const std::vector<std::vector<std::string>> kCommands = {
      {"tune", "--device", kRecording},
      {"tune", "--device", "model:h200"},
      {"tune", "--device", kRecording, "--dry-run"},
      {"bench", "--device", kRecording},
      {"verify", "--device", kRecording},
      {"eval", "--device", kRecording},
      {"eval", "--device", kRecording, "--mode", "server"},
      {"profile"},
      {"profile", "--l2"},
      {"profile", "--bare", "--config", "sm90_ws:n64"},
      {"explain", "--policy", kPolicy}};
  for (std::vector<std::string> command : kCommands) {
    command.insert(command.end(), {"--mnk", "0_64_64"});
    std::string words;
    for (const std::string& word : command) words += word + " ";
    command.push_back("--json");
    const ProgramResult json = run_program(command);
    EXPECT_EQ(json.exit_code, 0) << words << json.err;
    EXPECT_TRUE(nlohmann::json::accept(json.out)) << words << json.out;
    command.back() = "--csv";
    const ProgramResult csv = run_program(command);
    EXPECT_EQ(csv.exit_code, 0) << words << csv.err;
    EXPECT_NE(csv.out.find("shape") == csv.out.npos ? csv.out.find("m,n,k") : 0U, csv.out.npos)
        << words << csv.out;
    EXPECT_EQ(csv.out.find('\n') + 1, csv.out.size()) << words << "one line, the header";
  }
}

// Hours of training, then "No such file or directory".
TEST(Outputs, AreTriedBeforeTheWork) {
  const std::string nowhere = fresh_folder() + "/none/out";
  // What comes later is missing, too: that it is not what is complained about shows the order.
  const std::vector<std::vector<std::string>> kCommands = {
      {"train", "--recording", "/nonexistent.csv", "--out", nowhere},
      {"train", "--recording", "/nonexistent.csv", "--curve", nowhere},
      {"train", "--recording", "/nonexistent.csv", "--listwise-out", nowhere},
      {"report", "--recording", "/nonexistent.csv", "--html", nowhere},
      {"export", "--mnk", "64_64_64", "--plans", "/nonexistent.plans", "--out", "/proc/none"}};
  for (const std::vector<std::string>& command : kCommands) {
    const ProgramResult result = run_program(command);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(result.err.rfind("gemmsmith: cannot create ", 0), 0U) << command[0] << result.err;
  }
  EXPECT_FALSE(fs::exists(fs::path(nowhere).parent_path()));
}

TEST(Outputs, OfTrainingAreFilesOfTheirOwn) {
  const std::string folder = fresh_folder();
  const ProgramResult twice = run_program({"train", "--recording", "/nonexistent.csv", "--out",
                                           folder + "/p", "--curve", folder + "/./p"});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_EQ(twice.err,
            "gemmsmith: --curve " + folder + "/./p is --out's file, too: name another\n");
  std::ofstream(folder + "/r.csv") << "x";
  const ProgramResult input =
      run_program({"train", "--recording", folder + "/r.csv", "--out", folder + "/r.csv"});
  EXPECT_EQ(input.err,
            "gemmsmith: --out " + folder + "/r.csv is --recording's file, too: name another\n");
}

// Pipes and devices where a file is expected were waited for or read without end.
TEST(Inputs, PipesAndDevicesAreRefusedAtOnce) {
  const std::string pipe = fresh_folder() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [file, kind] : {std::pair(pipe, "pipe"), {std::string("/dev/zero"), "device"}}) {
    const std::string refusal =
        "gemmsmith: cannot read " + file + ": it is a " + kind + ", expected a file\n";
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"explain", "--mnk", "64_64_64", "--policy", file},
          {"report", "--recording", file},
          {"bench", "--mnk", "64_64_64", "--device", "recorded:" + file},
          {"export", "--mnk", "64_64_64", "--plans", file, "--out", fresh_folder()},
          {"train", "--recording", file},
          {"train", "--recording", kRecordingFile, "--config", file},
          {"monitor", "--replay", file},
          {"monitor", "--replay", "x", "--policy", file}}) {
      const ProgramResult result = run_program(command);
      EXPECT_EQ(result.exit_code, 2) << command[0];
      EXPECT_EQ(result.err, refusal) << command[0];
    }
    EXPECT_EQ(run_program({"info"}, {{"GEMMSMITH_CONFIG", file}}).err, refusal);
    EXPECT_EQ(run_program({"store", "show", "--store", file}).err,
              "gemmsmith: store " + file + ": is a pipe or a device, expected a file\n");
  }
}

}  // namespace
}  // namespace gemmsmith::test
