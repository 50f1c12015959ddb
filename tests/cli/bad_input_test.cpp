// Whatever a user gets wrong is answered with what was wrong, where, and what is expected; and with
// the right exit code.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "cli/run_program.h"

namespace gemmsmith::test {
namespace {

std::string file_with(const std::string& text) {
  const std::string path = fresh_folder() + "/shapes.csv";
  std::ofstream(path) << text;
  return path;
}

struct BadFile {
  const char* name;
  const char* text;
  const char* message;  // after "gemmsmith: FILE:"
};
void PrintTo(const BadFile& file, std::ostream* out) { *out << file.name; }

class BadShapeFile : public testing::TestWithParam<BadFile> {};

TEST_P(BadShapeFile, IsRefusedWithItsPlace) {
  const std::string path = file_with(GetParam().text);
  const ProgramResult result = run_program({"tune", "--shapes", path});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "gemmsmith: " + path + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadShapeFile,
    testing::Values(
        BadFile{"missing_column", "m,n\n1,2\n",
                ":1: k: the header lacks this column: expected m, n and k"},
        BadFile{"letter", "m,n,k\n1,x,3\n", ":2: n: 'x' is not a whole number"},
        BadFile{"negative", "m,n,k\n1,-2,3\n", ":2: n = -2: a size must not be negative"},
        BadFile{"overflow", "m,n,k\n1,99999999999999999999,3\n",
                ":2: n: '99999999999999999999' does not fit in 64 bits"},
        BadFile{"empty", "", ":1: the file is empty: expected a header with m, n and k"},
        BadFile{"only_a_header", "m,n,k\n",
                ": no shapes: expected at least one line below the header"},
        BadFile{"short_line", "m,n,k\n1,2\n", ":2: expected 3 fields as in the header, found 2"},
        BadFile{"column_twice", "m,m,k\n1,2,3\n", ":1: m: the header names this column twice"},
        BadFile{"type", "m,n,k,type\n1,2,3,f64\n",
                ":2: type: unknown type 'f64': expected f16, bf16 or f32"},
        BadFile{"layout", "m,n,k,layout\n1,2,3,ab\n",
                ":2: layout: unknown layout 'ab': expected tn, nn, nt or tt"},
        BadFile{"json_without_k", "{\"m\":1,\"n\":2}\n",
                ":1: k: expected a whole number, found nothing"},
        BadFile{"json_string", "{\"m\":1,\"n\":2,\"k\":\"x\"}\n",
                ":1: k: expected a JSON number, found a JSON string"},
        BadFile{"json_broken", "{\"m\":1\n",
                ":1: not JSON: wrong or cut off at byte 7: expected a line such as "
                "{\"m\":64,\"n\":4096,\"k\":64}"},
        BadFile{"json_doubled_key",
                "{\"m\":1,\"n\":2,\"k\":3}\n{\"m\":1,\"n\":2,\"k\":3,\"m\":4}\n",
                ":2: the key 'm' is given twice: expected a line such as "
                "{\"m\":64,\"n\":4096,\"k\":64}"}),
    [](const auto& tested) { return std::string(tested.param.name); });

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
  const char* name;
  std::vector<std::string> arguments;
  const char* message;
};
void PrintTo(const BadFlag& flag, std::ostream* out) { *out << flag.name; }

class BadFlags : public testing::TestWithParam<BadFlag> {};

TEST_P(BadFlags, AreRefusedByName) {
  const ProgramResult result = run_program(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, GetParam().message + std::string("\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Flags, BadFlags,
    testing::Values(
        BadFlag{
            "two_sizes",
            {"space", "--mnk", "64_64"},
            "gemmsmith: --mnk '64_64': expected three sizes joined by '_', for example 64_4096_64"},
        BadFlag{"negative",
                {"space", "--mnk", "64_-1_64"},
                "gemmsmith: n = -1: a size must not be negative"},
        BadFlag{"overflow",
                {"space", "--mnk", "64_9999999999_64"},
                "gemmsmith: n = 9999999999: a size must be at most 2147483647"},
        BadFlag{"type",
                {"space", "--mnk", "64_64_64", "--type", "f64"},
                "gemmsmith: unknown type 'f64': expected f16, bf16 or f32"},
        BadFlag{"layout",
                {"space", "--mnk", "64_64_64", "--layout", "xy"},
                "gemmsmith: unknown layout 'xy': expected tn, nn, nt or tt"},
        BadFlag{
            "accumulator",
            {"space", "--mnk", "64_64_64", "--type", "bf16", "--acc", "f16"},
            "gemmsmith: accumulator = f16 with type = bf16: f16 accumulation needs f16 operands"},
        BadFlag{"lda",
                {"space", "--mnk", "64_64_64", "--lda", "63"},
                "gemmsmith: lda = 63: this leading dimension must be at least 64"},
        BadFlag{"ldb",
                {"space", "--mnk", "64_64_64", "--ldb", "63"},
                "gemmsmith: ldb = 63: this leading dimension must be at least 64"},
        BadFlag{"ldc",
                {"space", "--mnk", "64_64_64", "--ldc", "63"},
                "gemmsmith: ldc = 63: this leading dimension must be at least 64"},
        BadFlag{"ldd",
                {"space", "--mnk", "64_64_64", "--ldd", "63"},
                "gemmsmith: ldd = 63: this leading dimension must be at least 64"},
        BadFlag{"alpha",
                {"space", "--mnk", "64_64_64", "--alpha", "nan"},
                "--alpha: 'nan': expected a number that a 32-bit float holds\nRun with --help for "
                "more information."},
        BadFlag{"beta",
                {"space", "--mnk", "64_64_64", "--beta", "1e99"},
                "--beta: '1e99': expected a number that a 32-bit float holds\nRun with --help for "
                "more information."},
        BadFlag{"illegal_config",
                {"compile", "--config", "sm90_ws:w2.m128.n256.s99"},
                "gemmsmith: sm90_ws:w2.m128.n256.s99 is not legal on NVIDIA H200: a parameter is "
                "below or above all values that the family offers (values_in_range)"},
        BadFlag{"huge_workspace",
                {"bench", "--mnk", "64_64_64", "--workspace-mib", "9223372036854775807"},
                "gemmsmith: workspace_mib = 9223372036854775807: expected at most 65536"},
        BadFlag{"require_nan",
                {"bench", "--mnk", "64_64_64", "--require", "nan"},
                "--require: 'nan': expected a number of at least 0\nRun with --help for more "
                "information."},
        BadFlag{"require_negative",
                {"bench", "--mnk", "64_64_64", "--require", "-0.5"},
                "--require: '-0.5': expected a number of at least 0\nRun with --help for more "
                "information."},
        BadFlag{"bench_ranked",
                {"bench", "--mnk", "64_64_64", "--ranked", "-5"},
                "--ranked: '-5': expected a whole number of at least 0\nRun with --help for more "
                "information."},
        BadFlag{"verify_ranked",
                {"verify", "--mnk", "64_64_64", "--ranked", "-5"},
                "--ranked: '-5': expected a whole number of at least 0\nRun with --help for more "
                "information."},
        BadFlag{"vendor",
                {"bench", "--mnk", "64_64_64", "--vendor", "-5"},
                "--vendor: '-5': expected a whole number of at least 0\nRun with --help for more "
                "information."},
        BadFlag{"sample_negative",
                {"compile", "--sample", "-1"},
                "--sample: '-1': expected a whole number of at least 1\nRun with --help for more "
                "information."},
        BadFlag{"sample_zero",
                {"compile", "--sample", "0"},
                "--sample: '0': expected a whole number of at least 1\nRun with --help for more "
                "information."},
        BadFlag{"compile_ranked",
                {"compile", "--mnk", "64_64_64", "--ranked", "-1"},
                "--ranked: '-1': expected a whole number of at least 1\nRun with --help for more "
                "information."},
        BadFlag{"budget",
                {"tune", "--mnk", "64_64_64", "--budget", "-1"},
                "--budget: '-1': expected a whole number of at least 0\nRun with --help for more "
                "information."},
        BadFlag{"finalists",
                {"tune", "--mnk", "64_64_64", "--finalists", "0"},
                "--finalists: '0': expected a whole number of at least 1\nRun with --help for more "
                "information."},
        BadFlag{"eval_ranked",
                {"eval", "--mnk", "64_64_64", "--ranked", "0"},
                "--ranked: '0': expected a whole number of at least 1\nRun with --help for more "
                "information."},
        BadFlag{"limit",
                {"space", "--mnk", "64_64_64", "--limit", "-1"},
                "--limit: '-1': expected a whole number of at least 0\nRun with --help for more "
                "information."},
        BadFlag{"device_of_space",
                {"space", "--mnk", "64_64_64", "--device", "foo"},
                "gemmsmith: unknown device 'foo': expected cuda:N, recorded:FILE or "
                "model:a100|h100|h200"},
        BadFlag{"device_of_info",
                {"info", "--device", "foo"},
                "gemmsmith: unknown device 'foo': expected cuda:N, recorded:FILE or "
                "model:a100|h100|h200"},
        BadFlag{"compile_threads",
                {"bench", "--mnk", "64_64_64", "--compile-threads", "abc"},
                "gemmsmith: compile_threads = 'abc' (flag --compile-threads): expected a whole "
                "number of at least 0"},
        BadFlag{
            "strategy",
            {"tune", "--dry-run", "--mnk", "64_64_64", "--strategy", "foo"},
            "gemmsmith: unknown strategy 'foo': expected random, evolutionary, ranked or policy"},
        BadFlag{"duration",
                {"eval", "--mnk", "64_64_64", "--duration", "-1"},
                "--duration: '-1': expected a number of at least 0\nRun with --help for more "
                "information."},
        BadFlag{"no_duration",
                {"eval", "--mnk", "64_64_64", "--duration", "0"},
                "gemmsmith: --target-qps 100 for --duration 0 s: expected both above 0 and at "
                "most 2e+07 requests in all"},
        BadFlag{"endless_list",
                {"space", "--shapes", "/dev/zero"},
                "gemmsmith: cannot read /dev/zero: longer than 67108864 bytes"},
        BadFlag{"no_shape",
                {"space"},
                "gemmsmith: no shape given: pass --mnk M_N_K, for example --mnk 64_4096_64, or "
                "--shapes FILE"},
        BadFlag{"why",
                {"space", "--mnk", "64_64_64", "--why", "sm70"},
                "gemmsmith: config 'sm70': no family or preset of that name; the families are "
                "sm90_ws, sm80_mma, cublaslt"},
        BadFlag{"family",
                {"space", "--mnk", "64_64_64", "--family", "sm70"},
                "gemmsmith: unknown family 'sm70': expected sm90_ws, sm80_mma or cublaslt"},
        BadFlag{"target",
                {"space", "--mnk", "64_64_64", "--target", "b200"},
                "gemmsmith: unknown target 'b200': expected a100, h100 or h200"},
        BadFlag{
            "verb",
            {"frobnicate"},
            "gemmsmith: unknown verb 'frobnicate': expected one of tune, bench, verify, "
            "profile, eval, space, explain, compile, store, export, report, train, monitor, info"},
        BadFlag{"nothing", {}, "A subcommand is required\nRun with --help for more information."},
        BadFlag{"device",
                {"tune", "--mnk", "64_64_64", "--device", "tpu:0"},
                "gemmsmith: unknown device 'tpu:0': expected cuda:N, recorded:FILE or "
                "model:a100|h100|h200"},
        BadFlag{"device_index",
                {"tune", "--mnk", "64_64_64", "--device", "cuda:x"},
                "gemmsmith: device 'cuda:x': expected cuda:N, N a GPU's number"},
        BadFlag{"no_recording",
                {"bench", "--mnk", "64_64_64", "--device", "recorded:/nonexistent.csv"},
                "gemmsmith: cannot open /nonexistent.csv: No such file or directory"},
        BadFlag{"workspace",
                {"tune", "--mnk", "64_64_64", "--workspace-mib", "1"},
                "gemmsmith: workspace_mib = '1' (flag --workspace-mib): expected a whole number of "
                "at least 32"},
        BadFlag{"seed",
                {"tune", "--mnk", "64_64_64", "--seed", "one"},
                "gemmsmith: seed = 'one' (flag --seed): expected a whole number of at least 0"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// What talks to stderr must not die with it, and results that are lost must not look like success.
TEST(Output, AClosedOrFullStreamIsNoCrash) {
  const std::string shapes = std::string(GEMMSMITH_SOURCE_DIR) + "/data/shapes/grid1000.csv";
  const std::string program = GEMMSMITH_PROGRAM;
  const auto exit_of = [](const std::string& command) {
    return WEXITSTATUS(std::system(command.c_str()));  // NOLINT: a redirection is what is tested
  };
  EXPECT_EQ(exit_of(program + " space --mnk zz >/dev/null 2>&-"), 2);
  EXPECT_EQ(exit_of(program + " space --mnk zz >/dev/null 2>/dev/full"), 2);
  EXPECT_EQ(exit_of(program + " tune --dry-run --csv --shapes " + shapes + " >/dev/full 2>&1"), 3);
  EXPECT_EQ(exit_of(program + " tune --dry-run --csv --shapes " + shapes + " >/dev/null 2>&-"), 0);
}

// Reading was once quadratic: 200 000 lines then ran into the test's time limit.
TEST(Input, LongShapeListsAreLinear) {
  const std::string path = fresh_folder() + "/long.csv";
  {
    std::ofstream file(path);
    file << "m,n,k\n";
    for (int i = 1; i <= 200000; ++i) file << i << ",64,64\n";
  }
  const ProgramResult result = run_program({"tune", "--dry-run", "--csv", "--shapes", path});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 200001);
}

TEST(BadInput, ZeroSizesAreNothingToDo) {
  const std::string device = std::string("recorded:") + GEMMSMITH_SOURCE_DIR +
                             "/data/recordings/h200/grid1000_f16_f32_tn.csv.zst";
  for (const auto& [verb, doing] : {std::pair("tune", "tune"), std::pair("bench", "time"),
                                    std::pair("verify", "verify"), std::pair("eval", "evaluate")})
    for (const char* shape : {"0_64_64", "64_0_64", "64_64_0", "0_0_0"}) {
      const ProgramResult result = run_program({verb, "--mnk", shape, "--device", device});
      EXPECT_EQ(result.exit_code, 0) << shape << result.err;
      EXPECT_EQ(result.out, "");
      EXPECT_EQ(result.err,
                std::string("nothing to ") + doing + ": every shape has a size of zero\n");
    }
}

// Everything measured was lost, with exit code 0.
TEST(BadInput, AStoreInMemoryIsRefused) {
  for (const char* name : {":memory:", "file:x?mode=memory"}) {
    const ProgramResult result =
        run_program({"tune", "--mnk", "64_4096_64", "--store", name, "--device", "model:h200"});
    EXPECT_EQ(result.exit_code, 4) << name;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.rfind("gemmsmith: store '" + std::string(name) + "': ", 0), 0U)
        << result.err;
  }
}

TEST(BadInput, ABadLogLevelIsAnErrorQuietOrNot) {
  for (const std::vector<std::string>& given :
       {std::vector<std::string>{"space", "--mnk", "64_64_64"},
        {"space", "--mnk", "64_64_64", "-q"}}) {
    const ProgramResult result = run_program(given, {{"GEMMSMITH_LOG_LEVEL", "loud"}});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.err,
              "gemmsmith: log_level = 'loud' (environment GEMMSMITH_LOG_LEVEL): expected off, "
              "error, warning, info or debug\n");
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

// BUG: a table without rows, and no word why.
TEST(ModelDevice, AShapeWithoutALegalKernelIsTold) {
  const ProgramResult result = run_program({"tune", "--device", "model:h200", "--mnk",
                                            "73_4097_4095", "--store", fresh_folder() + "/a.db"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.err.find("73_4097_4095: no kernel of ours is legal for it; gemmsmith space "
                            "--mnk 73_4097_4095 says why\n"),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace gemmsmith::test
