// gemmsmith report --html and --csv: what they write, and what the page refuses to.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "cli/run_program.h"
#include "device/device_json.h"
#include "device/recording.h"

namespace gemmsmith::test {
namespace {

// One shape with final rows of lt_tuned and of one kernel of ours, and its sidecar.
std::string small_recording(const std::string& folder) {
  const std::string path = folder + "/small.csv";
  const std::string run = "20260101T000000.000Z-0001-tune";
  const std::string row = "64,64,64,1,f16,f32,tn,";
  const std::string figures = ",cold,final," + run + ",2,2,2,1.1,1.09,1.11,,0\n";
  EXPECT_TRUE(write_file_atomic(path, std::string(kRecordingHeader) + "\n" + row +
                                          "lt_tuned,cublaslt:a66.t20.s35,ok,chained" + figures +
                                          row + "kernel,sm90_ws:n8,ok,chained" + figures + row +
                                          "kernel,sm90_ws:n8,ok,foreign" + figures));
  DeviceInfo info;
  info.target = *known_target("h200");
  EXPECT_TRUE(write_file_atomic(sidecar_path(path),
                                R"({"device":)" + device_to_json(info) + R"(,"runs":{}})"));
  return path;
}

TEST(ReportPage, IsOneFileAndLeavesStdoutAlone) {
  const std::string folder = fresh_folder();
  const std::string recording = small_recording(folder);
  const std::string page = folder + "/r.html";
  const ProgramResult result =
      run_program({"report", "--recording", recording, "--html", page, "--curves",
                   std::string(GEMMSMITH_SOURCE_DIR) + "/bench/search/results/skinny.csv"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, page + ": 1 shape, 0.3 MB; open it in a browser\n");
  const std::string html = *read_file(page);
  EXPECT_NE(html.find("\"command\":\"gemmsmith report --recording " + recording),
            std::string::npos);
  EXPECT_NE(html.find("\"split\":\"skinny\""), std::string::npos);
  EXPECT_NE(html.find("\"name\":\"NVIDIA H200\""), std::string::npos);
}

TEST(ReportPage, WritesNothingOverWhatItReads) {
  const std::string folder = fresh_folder();
  const std::string recording = small_recording(folder);
  const std::string before = *read_file(recording);
  for (const std::string& file : {recording, folder + "/small.json"}) {
    const ProgramResult result = run_program({"report", "--recording", recording, "--html", file});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err, "gemmsmith: " + file + " is the recording itself (" + file +
                              "): name another file\n");
  }
  EXPECT_EQ(*read_file(recording), before);
}

// A recording's floors and roofs are its device's, which only the sidecar names.
TEST(ReportPage, WithoutTheSidecarThereIsNone) {
  const std::string folder = fresh_folder();
  const std::string recording = small_recording(folder);
  std::filesystem::remove(folder + "/small.json");
  const ProgramResult result =
      run_program({"report", "--recording", recording, "--html", folder + "/r.html"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err,
            "gemmsmith: cannot open " + folder + "/small.json: No such file or directory\n");
  EXPECT_FALSE(std::filesystem::exists(folder + "/r.html"));
  EXPECT_EQ(run_program({"report", "--recording", recording}).exit_code, 0);
}

TEST(ReportPage, OfSeveralRecordingsNamesEach) {
  const std::string one = fresh_folder(), two = fresh_folder();
  const std::string first = small_recording(one), second = small_recording(two);
  const std::vector<std::string> arguments = {
      "report", "--recording", first, "--recording", second, "--html", one + "/r.html"};
  const ProgramResult result = run_program(arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(read_file(one + "/r.html")->find(first + ", " + second), std::string::npos);
  DeviceInfo other;
  other.target = *known_target("a100");
  ASSERT_TRUE(write_file_atomic(sidecar_path(second),
                                R"({"device":)" + device_to_json(other) + R"(,"runs":{}})"));
  const ProgramResult refused = run_program(arguments);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find(second + " was measured on NVIDIA A100"), std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("report on them one by one"), std::string::npos) << refused.err;
}

TEST(ReportPage, WithoutFinalRowsThereIsNothingToDraw) {
  const std::string folder = fresh_folder();
  const std::string recording = small_recording(folder);
  ASSERT_TRUE(write_file_atomic(recording, std::string(kRecordingHeader) + "\n"));
  const ProgramResult result =
      run_program({"report", "--recording", recording, "--html", folder + "/r.html"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "gemmsmith: " + recording +
                            " holds no shape with final measurements of lt_tuned: nothing to "
                            "draw\n");
}

TEST(ReportCsv, HasFloorsWhereTheDeviceIsKnown) {
  const std::string folder = fresh_folder();
  const std::string recording = small_recording(folder);
  const std::vector<std::string> arguments = {"report", "--recording", recording, "--csv"};
  const std::string with = run_program(arguments).out;
  EXPECT_NE(with.find(",0.600,\n"), std::string::npos) << with;
  std::filesystem::remove(folder + "/small.json");
  const ProgramResult without = run_program(arguments);
  EXPECT_EQ(without.exit_code, 0) << without.err;
  EXPECT_NE(without.out.find(",1,,,\n"), std::string::npos) << without.out;
}

TEST(ReportPage, FlagsThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(run_program({"report", "--html", "r.html", "--markdown"}).exit_code, 2);
  EXPECT_EQ(run_program({"report", "--curves", "c.csv"}).exit_code, 2);
}

}  // namespace
}  // namespace gemmsmith::test
