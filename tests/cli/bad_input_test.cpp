// Whatever a user gets wrong is answered with what was wrong, where, and what is expected; and with
// the right exit code.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/run_program.h"

namespace gemmsmith::test {
namespace {

std::string file_with(const std::string& text) {
  const std::string path = fresh_folder() + "/shapes.csv";
  std::ofstream(path) << text;
  return path;
}

struct BadFile {
  const char* text;
  const char* message;  // after "FILE:"
};

class BadShapeFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadShapeFile, IsRefusedWithItsPlace) {
  const std::string path = file_with(GetParam().text);
  const ProgramResult result = run_program({"tune", "--shapes", path});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(path), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Files, BadShapeFile,
                         testing::Values(BadFile{"m,n\n1,2\n", "'k'"},
                                         BadFile{"m,n,k\n1,x,3\n", "'x' is not a whole number"},
                                         BadFile{"m,n,k\n1,-2,3\n", "-2"},
                                         BadFile{"m,n,k\n1,99999999999999999999,3\n",
                                                 "does not fit in 64 bits"},
                                         BadFile{"", "empty"}));

TEST(BadInput, AFolderIsNoShapeFile) {
  const ProgramResult result = run_program({"tune", "--shapes", "/tmp"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "gemmsmith: cannot read /tmp: it is a directory, expected a file\n");
}

TEST(BadInput, AMissingShapeFileIsNamed) {
  const ProgramResult result = run_program({"tune", "--shapes", "/nonexistent.csv"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "gemmsmith: cannot open /nonexistent.csv: No such file or directory\n");
}

struct BadFlag {
  std::vector<std::string> arguments;
  const char* message;
  int exit_code = 2;
};

class BadFlags : public testing::TestWithParam<BadFlag> {};

TEST_P(BadFlags, AreRefusedByName) {
  const ProgramResult result = run_program(GetParam().arguments);
  EXPECT_EQ(result.exit_code, GetParam().exit_code);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadFlags,
    testing::Values(
        BadFlag{{"space", "--mnk", "64_64"},
                "--mnk '64_64': expected three sizes joined by '_', for example 64_4096_64"},
        BadFlag{{"space", "--mnk", "64_-1_64"}, "n = -1: a size must not be negative"},
        BadFlag{{"space", "--mnk", "64_9999999999_64"}, "n = 9999999999: a size must be at most"},
        BadFlag{{"space", "--mnk", "64_64_64", "--type", "f64"},
                "unknown type 'f64': expected f16, bf16 or f32"},
        BadFlag{{"space", "--mnk", "64_64_64", "--layout", "xy"},
                "unknown layout 'xy': expected tn, nn, nt or tt"},
        BadFlag{{"space", "--mnk", "64_64_64", "--type", "bf16", "--acc", "f16"},
                "f16 accumulation needs f16 operands"},
        BadFlag{{"space", "--mnk", "64_64_64", "--lda", "63"},
                "lda = 63: this leading dimension must be at least 64"},
        BadFlag{{"space"}, "no shape given: pass --mnk M_N_K"},
        BadFlag{{"space", "--mnk", "64_64_64", "--why", "sm70"}, "the families are"},
        BadFlag{{"space", "--mnk", "64_64_64", "--target", "b200"}, "unknown target 'b200'"},
        BadFlag{{"frobnicate"}, "frobnicate"}, BadFlag{{}, "subcommand"},
        BadFlag{{"tune", "--mnk", "64_64_64", "--device", "tpu:0"}, "tpu:0"},
        BadFlag{{"tune", "--mnk", "64_64_64", "--device", "cuda:x"}, "cuda:x"},
        BadFlag{
            {"tune", "--mnk", "64_64_64", "--workspace-mib", "1"},
            "workspace_mib = '1' (flag --workspace-mib): expected a whole number of at least 32"},
        BadFlag{{"tune", "--mnk", "64_64_64", "--seed", "one"}, "seed = 'one' (flag --seed)"}));

TEST(BadInput, NoGpuIsAnEnvironmentErrorThatSaysWhatToDo) {
  const ProgramResult result = run_program({"bench", "--mnk", "64_64_64", "--device", "cuda:0"},
                                           {{"GEMMSMITH_LIBCUDA", "/nonexistent/libcuda.so"}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("/nonexistent/libcuda.so"), std::string::npos) << result.err;
}

TEST(BadInput, NvrtcMissingIsAnEnvironmentError) {
  const ProgramResult result =
      run_program({"compile", "--sample", "1"}, {{"GEMMSMITH_NVRTC", "/nonexistent/libnvrtc.so"}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.err.find("/nonexistent/libnvrtc.so"), std::string::npos) << result.err;
}

TEST(BadInput, ZeroSizesAreNothingToDo) {
  for (const char* shape : {"0_64_64", "64_0_64", "64_64_0", "0_0_0"}) {
    const ProgramResult result = run_program({"tune", "--mnk", shape});
    EXPECT_EQ(result.exit_code, 0) << shape << result.err;
    EXPECT_EQ(result.err, "nothing to tune: every shape has a size of zero\n");
  }
}

TEST(BadInput, ConfigFileErrorsNameFileAndLine) {
  const std::string path = fresh_folder() + "/config.toml";
  std::ofstream(path) << "device = \"cuda:0\"\nwrokspace_mib = 64\n";
  const ProgramResult unknown = run_program({"info"}, {{"GEMMSMITH_CONFIG", path}});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find(path + ":2: unknown setting 'wrokspace_mib'"), std::string::npos)
      << unknown.err;
  std::ofstream(path) << "device = = 3\n";
  const ProgramResult broken = run_program({"info"}, {{"GEMMSMITH_CONFIG", path}});
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_NE(broken.err.find(path + ":1:"), std::string::npos) << broken.err;
}

}  // namespace
}  // namespace gemmsmith::test
