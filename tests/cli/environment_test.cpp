// What is missing or broken around the program is answered word by word, with the exit code of its
// kind: 3 the environment, 4 the store.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "base/files.h"
#include "cli/run_program.h"
#include "store/store.h"

namespace gemmsmith::test {
namespace {

const std::string kFake = GEMMSMITH_FAKE_DRIVER;
const std::string kRecording = std::string("recorded:") + GEMMSMITH_SOURCE_DIR +
                               "/data/recordings/h200/grid1000_f16_f32_tn.csv.zst";
const std::string kDemo = std::string(GEMMSMITH_SOURCE_DIR) + "/data/shapes/demo.csv";

struct Missing {
  const char* name;
  Variables environment;
  std::string message;  // after "gemmsmith: "
};
void PrintTo(const Missing& missing, std::ostream* out) { *out << missing.name; }

class MissingThing : public testing::TestWithParam<Missing> {};

TEST_P(MissingThing, IsNamedWithWhatToDo) {
  Variables environment = {{"GEMMSMITH_LIBCUDA", kFake}, {"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}};
  for (const auto& variable : GetParam().environment) environment.push_back(variable);
  const ProgramResult result = run_program({"bench", "--mnk", "64_64_64"}, environment);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "gemmsmith: " + GetParam().message + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Environment, MissingThing,
    testing::Values(
        Missing{"driver",
                {{"GEMMSMITH_LIBCUDA", "/nonexistent/libcuda.so"}},
                "cannot load the NVIDIA driver: looked for /nonexistent/libcuda.so; install an "
                "NVIDIA driver for CUDA 12.3 or newer (545.23 or newer), or use --device "
                "recorded:FILE, which needs no GPU"},
        Missing{"gpu",
                {{"FAKE_CUDA_DEVICES", "0"}},
                "no GPU: the NVIDIA driver (" + kFake +
                    ") is here but shows no device; check nvidia-smi and CUDA_VISIBLE_DEVICES, or "
                    "use --device recorded:FILE, which needs no GPU"},
        Missing{"new_driver",
                {{"FAKE_CUDA_VERSION", "11080"}},
                "the NVIDIA driver (" + kFake +
                    ") supports CUDA 11.8, gemmsmith needs 12.3 or newer: update the driver to "
                    "545.23 or newer"},
        Missing{"known_gpu",
                {{"FAKE_CUDA_CAPABILITY", "70"}, {"FAKE_CUDA_NAME", "Tesla V100"}},
                "cannot use cuda:0 (Tesla V100): compute capability 7.0: gemmsmith has kernels for "
                "8.0 (A100) and 9.0 (H100, H200); choose another device"},
        Missing{"that_gpu",
                {{"GEMMSMITH_DEVICE", "cuda:5"}},
                "no device cuda:5: this machine has 1 GPU, cuda:0"},
        Missing{"nvrtc",
                {{"GEMMSMITH_NVRTC", "/nonexistent/libnvrtc.so"}},
                "cannot load NVRTC: looked for /nonexistent/libnvrtc.so; install the CUDA toolkit "
                "or the PyPI package nvidia-cuda-nvrtc, or set GEMMSMITH_NVRTC to the library's "
                "path"}),
    [](const auto& tested) { return std::string(tested.param.name); });

// A cache that cannot be written costs compiling, and is said once.
TEST(Environment, AReadOnlyCacheIsSaidAndServes) {
  const std::string cache = fresh_folder();
  std::filesystem::create_directories(cache + "/cubins");
  ASSERT_EQ(chmod(cache.c_str(), 0755), 0);
  ASSERT_EQ(chmod((cache + "/cubins").c_str(), 0555), 0);
  // Root may write anywhere.
  const std::optional<unsigned> user =
      geteuid() == 0 ? std::optional<unsigned>(65534) : std::nullopt;
  const ProgramResult result =
      run_program({"compile", "--target", "sm_80", "--config", "sm80_mma:m128", "--csv"},
                  {{"GEMMSMITH_CACHE_DIR", cache}}, user);
  if (user && result.exit_code == 126) GTEST_SKIP() << "no other user may be become here";
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err.rfind("gemmsmith: warning: the kernel cache is off: cannot write in " +
                                 cache + "/cubins: Permission denied; kernels are compiled anew\n",
                             0),
            0U)
      << result.err;
  EXPECT_NE(result.out.find("sm80_mma:m128,f16,f32,f16,tn,sm_80,ok,"), std::string::npos)
      << result.out;
}

// As a shell's ulimit -f: the write that meets it says so, and cleans up.
TEST(Environment, ALimitOnTheSizeOfFilesIsAnError) {
  const std::string folder = fresh_folder();
  const std::string store = folder + "/s.db";
  ASSERT_EQ(
      run_program({"tune", "--device", kRecording, "--shapes", kDemo, "--store", store}).exit_code,
      0);
  const std::string out = folder + "/out.jsonl";
  const std::string command = "ulimit -f 100; exec " + std::string(GEMMSMITH_PROGRAM) +
                              " store export " + out + " --store " + store + " 2>" + folder +
                              "/err";
  EXPECT_EQ(WEXITSTATUS(std::system(("bash -c '" + command + "'").c_str())), 3);  // NOLINT
  EXPECT_EQ(*read_file(folder + "/err"),
            "gemmsmith: cannot write " + out + ": File too large; the old file is untouched\n");
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
}

class BadStore : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(run_program({"tune", "--device", kRecording, "--mnk", "64_4096_64", "--store", path_})
                  .exit_code,
              0);
  }

  // For a verb that reads and for one that writes.
  void expect_refused(const std::string& message) const {
    for (const std::vector<std::string>& verb :
         {std::vector<std::string>{"store", "show"},
          {"tune", "--device", kRecording, "--mnk", "64_4096_64"}}) {
      std::vector<std::string> arguments = verb;
      arguments.insert(arguments.end(), {"--store", path_});
      const ProgramResult result = run_program(arguments);
      EXPECT_EQ(result.exit_code, 4) << verb[0];
      EXPECT_EQ(result.out, "") << verb[0];
      EXPECT_EQ(result.err, "gemmsmith: store " + path_ + ": " + message + "\n");
    }
  }

  const std::string path_ = fresh_folder() + "/s.db";
};

TEST_F(BadStore, OfANewerVersion) {
  SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("PRAGMA user_version=7");
  expect_refused(
      "written by a newer gemmsmith (schema 7, this one knows up to 2); upgrade gemmsmith or "
      "choose "
      "another file");
}

TEST_F(BadStore, CutShort) {
  std::filesystem::resize_file(path_, 5000);
  expect_refused(
      "damaged (database disk image is malformed); move it aside and fill a new one from an export "
      "with 'gemmsmith store import'");
}

TEST_F(BadStore, AnotherKindOfFile) {
  ASSERT_TRUE(write_file_atomic(path_, "m,n,k\n64,64,64\n"));
  expect_refused(
      "not a gemmsmith store, or damaged at its start; move it aside or choose another file with "
      "--store");
}

TEST_F(BadStore, AFolder) {
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  expect_refused("is a directory, expected a file");
}

// Two tuners at once share the work: each shape is chosen once, by one of them.
TEST(Environment, TwoTunersOnOneStore) {
  const std::string store = fresh_folder() + "/s.db";
  const auto tune = [&] {
    return run_program({"tune", "--device", kRecording, "--shapes", kDemo, "--store", store, "-q"});
  };
  std::future<ProgramResult> other = std::async(std::launch::async, tune);
  const ProgramResult one = tune();
  const ProgramResult two = other.get();
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(two.exit_code, 0) << two.err;
  EXPECT_EQ(one.err + two.err, "");

  const auto opened = Store::open(store, Store::Mode::kReadOnly);
  ASSERT_TRUE(opened);
  const auto rows = opened->all_measurements();
  ASSERT_TRUE(rows);
  std::set<std::string> screened;
  for (const StoredMeasurement& row : *rows) {
    const Measurement& m = row.measurement;
    if (m.stage == Stage::kScreen && m.setting == Setting::kChained) {
      EXPECT_TRUE(screened.insert(describe(m.problem) + m.config).second)
          << "measured twice: " << describe(m.problem) << " " << m.config;
    }
  }
  EXPECT_EQ(opened->winners()->size(), 14U);
}

}  // namespace
}  // namespace gemmsmith::test
