// What each verb prints without a GPU, and how.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/run_program.h"

namespace gemmsmith::test {
namespace {

TEST(Help, EveryVerbHasExamples) {
  for (const char* verb : {"tune", "bench", "verify", "profile", "eval", "space", "explain",
                           "compile", "store", "export", "report", "train", "monitor", "info"}) {
    const ProgramResult result = run_program({verb, "--help"});
    EXPECT_EQ(result.exit_code, 0) << verb;
    EXPECT_NE(result.out.find("Example"), std::string::npos) << verb;
    EXPECT_NE(result.out.find(std::string("gemmsmith ") + verb), std::string::npos) << verb;
  }
}

TEST(Version, IsPrintedAlone) {
  const ProgramResult result = run_program({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.rfind("gemmsmith ", 0), 0U) << result.out;
}

TEST(Compile, ATargetNamedTwiceIsCompiledOnce) {
  const ProgramResult result =
      run_program({"compile", "--target", "sm_80,sm_80", "--config", "sm80_mma:m128", "--csv"},
                  {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2) << result.out;
}

// The kinds of kernels that a command compiled, as type,acc,out,layout.
std::set<std::string> kinds_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "compile");
  arguments.insert(arguments.end(), {"--target", "sm_80", "--csv"});
  const ProgramResult result = run_program(arguments, {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::set<std::string> kinds;
  std::istringstream lines(result.out);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t begin = line.find(',') + 1;
    kinds.insert(line.substr(begin, line.find(",sm_80") - begin));
  }
  return kinds;
}

TEST(Compile, EveryTypeAndLayoutIsOneCommand) {
  std::set<std::string> all;
  for (const char* types :
       {"f16,f32,f16", "f16,f32,f32", "bf16,f32,bf16", "bf16,f32,f32", "f16,f16,f16"})
    for (const char* layout : {"tn", "nn", "nt", "tt"})
      all.insert(std::string(types) + "," + layout);
  EXPECT_EQ(kinds_of({"--config", "sm80_mma:l1", "--all-types", "--all-layouts"}), all);
}

// What a batch's kernel is called in the failure to repeat tells that it was compiled as one.
TEST(Compile, BatchesHaveKernelsOfTheirOwn) {
  const ProgramResult result =
      run_program({"compile", "--config", "sm80_mma", "--target", "sm_80", "--batch", "8"},
                  {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}, {"FAKE_NVRTC_ERROR", "no"}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("gemmsmith compile --target sm_80 --type f16 --acc f32 --layout tn "
                            "--batch 2 --config sm80_mma\nno\n"),
            std::string::npos)
      << result.err;
}

// Once the list's types gave way to the flags' defaults, and what tune asked for was not there.
TEST(Compile, AShapesTypeIsTheLists) {
  const std::string list = fresh_folder() + "/list.csv";
  std::ofstream(list) << "m,n,k,type\n64,64,64,bf16\n";
  EXPECT_EQ(kinds_of({"--shapes", list, "--ranked", "2"}),
            std::set<std::string>{"bf16,f32,bf16,tn"});
}

TEST(Compile, SaysWhatAKernelTookUnlessItWasThere) {
  const Variables variables = {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC},
                               {"GEMMSMITH_CACHE_DIR", fresh_folder()}};
  const auto talk_of = [&](const char* second) {
    const ProgramResult result =
        run_program({"compile", "--target", "sm_80", "--config", "sm80_mma", "--config", second,
                     "--compile-threads", "3"},
                    variables);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.err.substr(result.err.rfind("2 kernels"));
  };
  // The fake takes no time.
  EXPECT_EQ(talk_of("sm80_mma:s4"),
            "2 kernels, 0 rejected after compiling; 2 compiled now on 3 threads: median 0.00 s, "
            "longest 0.00 s\n");
  EXPECT_EQ(talk_of("sm80_mma:m128"),
            "2 kernels, 0 rejected after compiling; 1 compiled now on 3 threads: median 0.00 s, "
            "longest 0.00 s\n");
  EXPECT_EQ(talk_of("sm80_mma:m128"), "2 kernels, 0 rejected after compiling\n");
}

TEST(Space, WhyNamesTheRule) {
  const ProgramResult result = run_program(
      {"space", "--mnk", "4096_4096_4096", "--why", "sm90_ws:w2.m128.n256.s5", "--csv"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out,
            "shape,config,rule,reason\n"
            "4096_4096_4096,sm90_ws:w2.m128.n256.s5,shared_memory_fits,\"stages, staging and "
            "exchange exceed the "
            "shared memory of a block\"\n");
}

TEST(Space, CountsAddUp) {
  const ProgramResult result =
      run_program({"space", "--mnk", "64_4096_64", "--limit", "0", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = nlohmann::json::parse(result.out);
  ASSERT_EQ(document.size(), 1U);
  EXPECT_EQ(document[0]["problem"], "64_4096_64 f16/f32 tn");
  EXPECT_TRUE(document[0]["configs"].empty());
  long all = 0;
  long parts = 0;
  for (const auto& row : document[0]["removed"]) {
    const std::string rule = row["rule"];
    (rule == "(all combinations)" ? all : parts) += row["removed"].get<long>();
  }
  EXPECT_GT(all, 0);
  EXPECT_EQ(all, parts);
}

TEST(Space, IsOneDocumentHoweverManyProblems) {
  const std::vector<std::string> two = {"space",       "--mnk",   "64_4096_64", "--mnk",
                                        "128_128_128", "--limit", "3"};
  const auto with = [&](const char* flag) {
    std::vector<std::string> arguments = two;
    arguments.push_back(flag);
    return run_program(arguments);
  };
  const auto document = nlohmann::json::parse(with("--json").out);
  ASSERT_EQ(document.size(), 2U);
  EXPECT_EQ(document[1]["problem"], "128_128_128 f16/f32 tn");
  for (const auto& object : document) {
    EXPECT_EQ(object["configs"].size(), 3U);
    EXPECT_FALSE(object["removed"].empty());
  }
  std::istringstream csv(with("--csv").out);
  std::vector<std::string> lines;
  for (std::string line; std::getline(csv, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 1U + 2 * 3U);
  EXPECT_EQ(lines[0], "shape,config,threads,shared_bytes");
  EXPECT_EQ(lines[1].rfind("64_4096_64,sm90_ws:", 0), 0U) << lines[1];
  EXPECT_EQ(lines[6].rfind("128_128_128,", 0), 0U) << lines[6];
}

// A machine whose driver and cuBLASLt are the fakes.
const Variables kFakeGpu = {{"GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_DRIVER},
                            {"GEMMSMITH_CUBLASLT", GEMMSMITH_FAKE_CUBLASLT}};
const Variables kNoDriver = {{"GEMMSMITH_LIBCUDA", "/nonexistent/libcuda.so"}};

// The count and the reason of one rule of the family cublaslt for one shape.
std::pair<long, std::string> vendor_row(const char* shape, const char* rule,
                                        const Variables& environment) {
  const ProgramResult result = run_program(
      {"space", "--mnk", shape, "--family", "cublaslt", "--limit", "0", "--json"}, environment);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto document = nlohmann::json::parse(result.out);
  for (const auto& row : document.at(0).at("removed"))
    if (row["rule"] == rule) return {row["removed"], row["reason"]};
  ADD_FAILURE() << "no rule " << rule;
  return {};
}

TEST(Space, CountsWhatTheVendorsLibraryRefuses) {
  using Row = std::pair<long, std::string>;
  const std::string verdict = "cuBLASLt 13.1.0 on cuda:0 does not support it";
  EXPECT_EQ(vendor_row("64_4096_64", "algo_check", kFakeGpu), Row(0, verdict));
  EXPECT_EQ(vendor_row("64_4096_64", "(legal)", kFakeGpu), Row(5376, ""));
  // The fake's Hopper kernels need leading dimensions of whole 16 bytes.
  EXPECT_EQ(vendor_row("63_63_63", "algo_check", kFakeGpu), Row(5376, verdict));
  EXPECT_EQ(vendor_row("63_63_63", "(legal)", kFakeGpu), Row(0, ""));
}

TEST(Space, SaysWhyTheVendorsLibraryCouldNotBeAsked) {
  const auto [refused, reason] = vendor_row("63_63_63", "algo_check", kNoDriver);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(reason,
            "unavailable: cannot load the NVIDIA driver: looked for /nonexistent/libcuda.so; "
            "install an NVIDIA driver for CUDA 12.3 or newer (545.23 or newer), or use --device "
            "recorded:FILE, which needs no GPU");
  EXPECT_EQ(vendor_row("63_63_63", "(legal)", kNoDriver).first, 5376);
}

TEST(Space, WhyAsksTheVendorsLibraryWhatNoRuleForbids) {
  const auto why = [](const char* config, const Variables& environment,
                      const char* target = "h200") {
    return run_program(
               {"space", "--mnk", "64_4096_64", "--why", config, "--target", target, "--csv"},
               environment)
        .out;
  };
  const std::string header = "shape,config,rule,reason\n64_4096_64,";
  EXPECT_EQ(why("cublaslt:a66.t20.k4", kFakeGpu),
            header +
                "cublaslt:a66.t20.k4,split_needs_reduction,\"split-K leaves partial sums, so it "
                "needs a reduction scheme\"\n");
  EXPECT_EQ(why("cublaslt:a66.t20.s35.k4.r2", kFakeGpu),
            header +
                "cublaslt:a66.t20.s35.k4.r2,legal,no rule forbids it; cuBLASLt 13.1.0 on cuda:0 "
                "accepts it with 4194304 bytes of workspace\n");
  EXPECT_EQ(why("cublaslt:a66.t20.s15", kFakeGpu),
            header +
                "cublaslt:a66.t20.s15,algo_check,cublaslt:a66.t20.s15: cuBLASLt refuses this "
                "algorithm for 64_4096_64 f16/f32 tn: CUBLAS_STATUS_NOT_SUPPORTED (15)\n");
  EXPECT_EQ(why("cublaslt:a24.t20", kFakeGpu, "a100"),
            header +
                "cublaslt:a24.t20,legal,\"no rule of ours forbids it; the library's own check is "
                "unavailable: cuBLASLt answers for the device it runs on: cuda:0 (NVIDIA H200) is "
                "sm_90, not sm_80\"\n");
}

TEST(Space, ListsTheVendorsConfigsWithoutWhatOnlyKernelsOfOursHave) {
  const ProgramResult result = run_program(
      {"space", "--mnk", "64_4096_64", "--family", "cublaslt", "--limit", "2", "--csv"}, kFakeGpu);
  EXPECT_EQ(result.out,
            "shape,config,threads,shared_bytes\n"
            "64_4096_64,cublaslt:a66.t7.s35.g2,,\n"
            "64_4096_64,cublaslt:a66.t7.s35.g3,,\n");
}

TEST(Space, PresetsAreListedByName) {
  const ProgramResult result = run_program({"space", "--presets"});
  EXPECT_EQ(result.exit_code, 0);
  for (const char* name : {"a100-f16-128x64x32-s2", "a100-f16-128x64x32-s3", "h100-f16-128x128x64"})
    EXPECT_NE(result.out.find(name), std::string::npos) << name;
}

TEST(Info, AnswersWithoutAGpuAndShowsOrigins) {
  const ProgramResult result = run_program(
      {"info", "--json", "--seed", "7"},
      {{"GEMMSMITH_LIBCUDA", "/nonexistent/libcuda.so"}, {"GEMMSMITH_DEVICE", "cuda:3"}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::map<std::string, std::pair<std::string, std::string>> rows;
  for (const auto& row : nlohmann::json::parse(result.out))
    rows[row["what"]] = {row["value"], row["origin"]};
  EXPECT_EQ(rows["seed"], (std::pair<std::string, std::string>{"7", "flag --seed"}));
  EXPECT_EQ(rows["device"],
            (std::pair<std::string, std::string>{"cuda:3", "environment GEMMSMITH_DEVICE"}));
  EXPECT_EQ(rows["workspace_mib"].second, "default");
  EXPECT_EQ(rows["devices"].first.rfind("none: ", 0), 0U) << rows["devices"].first;
  EXPECT_EQ(rows["cublaslt"].first, "not looked for: of use with a GPU only");
}

// Places that nobody set are named, and the folder that a variable chose is not said to be
// another's.
TEST(Info, NamesThePlacesInForce) {
  const auto rows_with = [](const Variables& environment) {
    const ProgramResult result = run_program({"info", "--json"}, environment);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::map<std::string, std::pair<std::string, std::string>> rows;
    for (const auto& row : nlohmann::json::parse(result.out))
      rows[row["what"]] = {row["value"], row["origin"]};
    return rows;
  };
  using Row = std::pair<std::string, std::string>;
  auto rows = rows_with({{"XDG_CACHE_HOME", "/c"}, {"XDG_DATA_HOME", "/d"}});
  EXPECT_EQ(rows["cache_dir"], (Row{"/c/gemmsmith", "default"}));
  EXPECT_EQ(rows["store"], (Row{"/d/gemmsmith/winners.db", "default"}));
  rows = rows_with({{"GEMMSMITH_CACHE_DIR", "/mine"}, {"GEMMSMITH_STORE", "/s.db"}});
  EXPECT_EQ(rows["cache_dir"], (Row{"/mine", "environment GEMMSMITH_CACHE_DIR"}));
  EXPECT_EQ(rows["store"], (Row{"/s.db", "environment GEMMSMITH_STORE"}));
  rows = rows_with(
      {{"HOME", std::nullopt}, {"XDG_CACHE_HOME", std::nullopt}, {"XDG_DATA_HOME", std::nullopt}});
  EXPECT_EQ(rows["cache_dir"], (Row{"none: HOME is not set", "default"}));
  EXPECT_EQ(rows["store"], (Row{"none: HOME is not set", "default"}));
}

TEST(Info, LooksForTheLibrariesOfAGpu) {
  const auto value_of = [](const std::string& what, const Variables& environment) {
    Variables all = {{"GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_DRIVER}};
    all.insert(all.end(), environment.begin(), environment.end());
    const ProgramResult result = run_program({"info", "--json"}, all);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    for (const auto& row : nlohmann::json::parse(result.out))
      if (row["what"] == what) return row["value"].get<std::string>();
    return std::string("no such row");
  };
  const std::string library = GEMMSMITH_FAKE_CUBLASLT;
  EXPECT_EQ(value_of("devices", {}).rfind("cuda:0 ", 0), 0U);
  EXPECT_NE(value_of("cublaslt", {{"GEMMSMITH_CUBLASLT", library}}).find(" (" + library + ")"),
            std::string::npos);
  EXPECT_EQ(value_of("cublaslt", {{"GEMMSMITH_CUBLASLT", "/nonexistent.so"}})
                .rfind("none: cannot load cuBLASLt: looked for /nonexistent.so", 0),
            0U)
      << value_of("cublaslt", {{"GEMMSMITH_CUBLASLT", "/nonexistent.so"}});
  EXPECT_EQ(value_of("nvml", {{"GEMMSMITH_NVML", "/nonexistent.so"}}),
            "none: measurements come without clocks and power");
}

}  // namespace
}  // namespace gemmsmith::test
