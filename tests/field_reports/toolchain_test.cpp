// Field reports on toolchains, architectures and drivers: no compiler is looked for on PATH, what
// the compiler says is shown, a second start compiles nothing, and nothing needs a GPU that does
// not measure.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "cli/run_program.h"
#include "field_reports/small_recording.h"

namespace gemmsmith::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoDriver = "/nonexistent/libcuda.so";

// A few kernels by name: the program need not go through its whole space to find some.
std::vector<std::string> compile_some(int kernels) {
  std::vector<std::string> arguments = {"compile", "--target", "sm_80"};
  for (int stages = 2; stages < 2 + kernels; ++stages)
    arguments.insert(arguments.end(), {"--config", "sm80_mma:s" + std::to_string(stages)});
  return arguments;
}

std::size_t compiles(const std::string& count_file) {
  const auto bytes = read_file(count_file);
  return bytes ? bytes->size() : 0;
}

// N1, N2: tools of other programs on PATH are never run, whatever they would do; none is needed.
TEST(FieldReports, N1_N2_NoCompilerOnPathIsEverRun) {
  const std::string folder = fresh_folder();
  const std::string tools = folder + "/bin";
  fs::create_directory(tools);
  for (const char* tool :
       {"nvcc", "ptxas", "cuobjdump", "nvdisasm", "cc", "c++", "gcc", "ld", "nvidia-smi", "sh"}) {
    // Would tell that it ran, then hang.
    std::ofstream(tools + "/" + tool) << "#!/bin/sh\n: > " << folder << "/ran\nexec sleep 1000\n";
    fs::permissions(tools + "/" + tool, fs::perms(0755));
  }
  for (const auto& path :
       {std::optional<std::string>(tools), std::optional<std::string>(""),
        std::optional<std::string>("/nonexistent"), std::optional<std::string>()}) {
    const Variables variables = {{"PATH", path}, {"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}};
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"info"}, compile_some(4)}) {
      const ProgramResult result = run_program(arguments, variables);
      EXPECT_EQ(result.exit_code, 0) << result.err;
    }
  }
  EXPECT_FALSE(fs::exists(folder + "/ran"));
}

// N3: what the compiler says is shown with a line that repeats it.
TEST(FieldReports, N3_TheCompilersWordsAreShown) {
  const std::string words = "sm90_ws.cu(12): error: identifier \"__nv_fancy\" is undefined";
  const ProgramResult result =
      run_program({"compile", "--config", "sm80_mma", "--target", "sm_80"},
                  {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}, {"FAKE_NVRTC_ERROR", words}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("gemmsmith compile --target sm_80 --type f16 --acc f32 --layout tn "
                            "--config sm80_mma"),
            std::string::npos)
      << result.err;
  EXPECT_NE(result.out.find("compile"), std::string::npos) << result.out;
}

// N3: success without code is a kernel that does not compile, each time anew: it would surface as
// an invalid image.
TEST(FieldReports, N3_AnEmptyCubinIsAnError) {
  const std::string folder = fresh_folder();
  for (int run = 0; run < 2; ++run) {
    const ProgramResult result =
        run_program({"compile", "--config", "sm80_mma", "--target", "sm_80", "--csv"},
                    {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC},
                     {"GEMMSMITH_CACHE_DIR", folder},
                     {"FAKE_NVRTC_EMPTY", "1"}});
    EXPECT_EQ(result.exit_code, 1) << result.out;
    EXPECT_NE(result.out.find("sm80_mma,f16,f32,f16,tn,sm_80,compile,"), std::string::npos)
        << result.out;
    EXPECT_NE(result.err.find("NVRTC reported success and gave no code for sm_80"),
              std::string::npos)
        << result.err;
  }
}

// N4: what a target cannot run is not in its space, and the rule is named.
TEST(FieldReports, N4_HopperKernelsAreNotForAmpere) {
  const ProgramResult listed =
      run_program({"space", "--mnk", "1024_1024_1024", "--target", "a100", "--csv"});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(listed.out.find("sm90_ws:"), std::string::npos);
  const ProgramResult why = run_program(
      {"space", "--mnk", "1024_1024_1024", "--target", "a100", "--why", "sm90_ws:w2.m128.n256"});
  EXPECT_NE(why.out.find("TMA and wgmma need compute capability 9.0"), std::string::npos)
      << why.out << why.err;
  // The other way round the same family serves.
  const ProgramResult ampere_on_hopper =
      run_program({"space", "--mnk", "1024_1024_1024", "--target", "h200", "--why", "sm80_mma:s2"});
  EXPECT_EQ(ampere_on_hopper.exit_code, 0) << ampere_on_hopper.out << ampere_on_hopper.err;
  const ProgramResult compiled =
      run_program({"compile", "--family", "sm90_ws", "--target", "sm_80"},
                  {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}});
  EXPECT_EQ(compiled.exit_code, 2);
  EXPECT_NE(compiled.err.find("nothing to compile: no kernel of --family sm90_ws is for sm_80"),
            std::string::npos)
      << compiled.err;
}

// N6: where nothing can be written to the system's temporary folder.
TEST(FieldReports, N6_NoTemporaryFolderIsNeeded) {
  const std::string folder = fresh_folder();
  const std::string read_only = folder + "/tmp";
  fs::create_directory(read_only);
  fs::permissions(read_only, fs::perms(0555));
  fs::permissions(folder, fs::perms(0777));
  const SmallRecording recording;
  const std::string device = recording.write(folder);
  const std::optional<unsigned> nobody =
      ::geteuid() == 0 ? std::optional<unsigned>(65534) : std::nullopt;
  int number = 0;
  for (const std::string& temporary : {read_only, std::string("/nonexistent")}) {
    const Variables variables = {{"TMPDIR", temporary},
                                 {"SQLITE_TMPDIR", temporary},
                                 {"GEMMSMITH_CACHE_DIR", folder + "/cache"},
                                 {"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}};
    const std::string store = folder + "/s" + std::to_string(++number) + ".db";
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             compile_some(2),
             {"tune", "--device", device, "--mnk", recording.shapes[0], "--store", store, "-q"},
             {"store", "export", store + ".jsonl", "--store", store}}) {
      const ProgramResult result = run_program(arguments, variables, nobody);
      EXPECT_EQ(result.exit_code, 0) << arguments[0] << ": " << result.err;
    }
  }
}

// N7: how GPUs are named to CUDA is CUDA's business; the program asks the driver.
TEST(FieldReports, N7_VisibleDevicesMayBeAnyText) {
  const ProgramResult plain = run_program({"info"}, {{"GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_DRIVER}});
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_NE(plain.out.find("cuda:0 NVIDIA H200"), std::string::npos) << plain.out;
  for (const char* visible : {"GPU-8c2e1f3a-0d54-4b0e-8f8f-1c9f1a2b3c4d", "MIG-GPU-8c2e1f3a/7/0",
                              "MIG-41b35f6a", "0", "-1", "7,GPU-8", "", "garbage \xff"}) {
    const ProgramResult result = run_program(
        {"info"},
        {{"GEMMSMITH_LIBCUDA", GEMMSMITH_FAKE_DRIVER}, {"CUDA_VISIBLE_DEVICES", visible}});
    EXPECT_EQ(result.exit_code, 0) << visible << result.err;
    EXPECT_EQ(result.out.substr(0, result.out.find("cache_dir")),
              plain.out.substr(0, plain.out.find("cache_dir")))
        << visible;
  }
  for (const auto& entry : fs::recursive_directory_iterator(GEMMSMITH_SOURCE_DIR "/src")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(read_file(entry.path())->find("getenv(\"CUDA_VISIBLE_DEVICES"), std::string::npos)
        << entry.path();
  }
}

// N10: all that does not measure answers without a driver; what measures says what it looked for.
TEST(FieldReports, N10_WithoutADriver) {
  const Variables none = {{"GEMMSMITH_LIBCUDA", kNoDriver}};
  const SmallRecording recording;
  const std::string folder = fresh_folder();
  const std::string device = recording.write(folder);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"},
           {"--version"},
           {"info"},
           {"info", "--json"},
           {"space", "--mnk", "64_64_64"},
           {"report", "--recording", device.substr(9)},
           {"tune", "--device", device, "--mnk", recording.shapes[0], "--store", folder + "/s.db"},
           {"eval", "--device", device, "--mnk", recording.shapes[0]},
           {"store", "show", "--store", folder + "/s.db"}}) {
    const ProgramResult result = run_program(arguments, none);
    EXPECT_EQ(result.exit_code, 0) << arguments[0] << ": " << result.err;
    EXPECT_NE(result.out, "") << arguments[0];
  }
  for (const char* verb :
       {"tune", "bench", "verify", "eval", "space", "compile", "store", "report", "info"})
    EXPECT_EQ(run_program({verb, "--help"}, none).exit_code, 0) << verb;
  for (const char* verb : {"tune", "bench", "verify", "eval"}) {
    Variables with_compiler = none;
    with_compiler.emplace_back("GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC);
    const ProgramResult result = run_program({verb, "--mnk", "64_64_64"}, with_compiler);
    EXPECT_EQ(result.exit_code, 3) << verb;
    EXPECT_NE(result.err.find(kNoDriver), std::string::npos) << verb << ": " << result.err;
  }
}

// M11: the second start compiles nothing, also as another user who can only read the cache.
TEST(FieldReports, M11_TheSecondProcessCompilesNothing) {
  const std::string folder = fresh_folder();
  fs::permissions(folder, fs::perms(0755));
  const std::string count = folder + "/count";
  std::ofstream(count).close();
  fs::permissions(count, fs::perms(0666));
  const Variables variables = {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC},
                               {"GEMMSMITH_CACHE_DIR", folder + "/cache"},
                               {"FAKE_NVRTC_COUNT", count}};
  const std::vector<std::string> compile = compile_some(6);
  ASSERT_EQ(run_program(compile, variables).exit_code, 0);
  const std::size_t first = compiles(count);
  EXPECT_EQ(first, 6U);
  EXPECT_EQ(run_program(compile, variables).exit_code, 0);
  EXPECT_EQ(compiles(count), first);
  if (::geteuid() == 0) {
    EXPECT_EQ(run_program(compile, variables, 65534).exit_code, 0);
    EXPECT_EQ(compiles(count), first) << "another user";
  }
  // Under another path, as in a container.
  fs::rename(folder + "/cache", folder + "/mounted");
  Variables moved = variables;
  moved[1].second = folder + "/mounted";
  EXPECT_EQ(run_program(compile, moved).exit_code, 0);
  EXPECT_EQ(compiles(count), first) << "another path";
}

// M2, M4: entries that are damaged or of another version are compiled anew once and healed.
TEST(FieldReports, M2_M4_BadCacheEntriesAreHealed) {
  const std::string folder = fresh_folder();
  const std::string count = folder + "/count";
  const Variables variables = {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC},
                               {"GEMMSMITH_CACHE_DIR", folder + "/cache"},
                               {"FAKE_NVRTC_COUNT", count}};
  const std::vector<std::string> compile = compile_some(3);
  ASSERT_EQ(run_program(compile, variables).exit_code, 0);
  std::size_t expected = compiles(count);
  ASSERT_EQ(expected, 3U);
  const auto damage = [&](const auto& change) {
    int entries = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder + "/cache")) {
      if (!entry.is_regular_file()) continue;
      std::string bytes = *read_file(entry.path());
      change(bytes);
      EXPECT_TRUE(write_file_atomic(entry.path(), bytes));
      ++entries;
    }
    EXPECT_EQ(entries, 3);
  };
  const std::pair<const char*, void (*)(std::string&)> changes[] = {
      {"empty", [](std::string& bytes) { bytes.clear(); }},
      {"cut", [](std::string& bytes) { bytes.resize(bytes.size() / 2); }},
      {"zeros", [](std::string& bytes) { std::fill(bytes.begin(), bytes.end(), '\0'); }},
      {"a later version", [](std::string& bytes) { bytes[7] = 99; }},
      {"a flipped byte",
       [](std::string& bytes) { bytes.back() = static_cast<char>(bytes.back() ^ 1); }}};
  for (const auto& [what, change] : changes) {
    damage(change);
    EXPECT_EQ(run_program(compile, variables).exit_code, 0) << what;
    EXPECT_EQ(compiles(count), expected += 3) << what << ": not compiled anew";
    EXPECT_EQ(run_program(compile, variables).exit_code, 0) << what;
    EXPECT_EQ(compiles(count), expected) << what << ": not healed";
  }
}

}  // namespace
}  // namespace gemmsmith::test
