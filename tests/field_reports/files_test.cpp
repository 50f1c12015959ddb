// Field reports on files: damaged ones, file calls that fail as on network file systems and full
// disks, homes that cannot be written. Never a crash, always a message that names the file, and
// nothing that was recorded before is lost.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/run_program.h"
#include "field_reports/small_recording.h"

namespace gemmsmith::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// What may happen to a file on its way.
std::vector<std::pair<std::string, std::string>> damages(const std::string& whole) {
  std::vector<std::pair<std::string, std::string>> result = {
      {"empty", ""},
      {"zeros", std::string(whole.size(), '\0')},
      {"no UTF-8", std::string(64, '\xff') + whole},
      {"another type", "[1, 2, {\"a\": null}]"},
      {"huge number", "1e999999999"},
      {"doubled", whole + whole}};
  for (std::size_t part = 1; part < 8; ++part)
    result.emplace_back("cut " + std::to_string(part) + "/8",
                        whole.substr(0, whole.size() * part / 8));
  for (std::size_t part = 0; part < 8; ++part) {
    std::string flipped = whole;
    flipped[whole.size() * part / 8] ^= 0x10;
    result.emplace_back("flipped " + std::to_string(part) + "/8", flipped);
  }
  return result;
}

// A signal, or the exit code of no documented outcome, is a crash.
void expect_answered(const ProgramResult& result, const std::string& what) {
  EXPECT_TRUE(result.exit_code >= 0 && result.exit_code <= 4) << what << ": " << result.exit_code;
  EXPECT_TRUE(result.exit_code == 0 || result.err.find("gemmsmith: ") != std::string::npos ||
              result.err.find("failed: ") != std::string::npos)
      << what << ": " << result.err;
  EXPECT_EQ(result.err.find("terminate called"), std::string::npos) << what << result.err;
}

std::vector<std::string> tune(const std::string& device, const std::string& store,
                              const std::vector<std::string>& shapes) {
  std::vector<std::string> arguments = {"tune", "--device", device, "--store", store, "-q"};
  for (const std::string& shape : shapes) arguments.insert(arguments.end(), {"--mnk", shape});
  return arguments;
}

json winners_of(const std::string& store) {
  const ProgramResult shown = run_program({"store", "show", "--store", store, "--json"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  return json::parse(shown.out, nullptr, false);
}

// M2: each kind of file that the program reads, damaged in each way.
TEST(FieldReports, M2_DamagedFilesAreAnsweredAndInventNothing) {
  const std::string folder = fresh_folder();
  const SmallRecording recording;
  const std::string device = recording.write(folder, "r.csv.zst");
  const std::string store = folder + "/s.db";
  ASSERT_EQ(run_program(tune(device, store, recording.shapes)).exit_code, 0);
  ASSERT_EQ(run_program({"store", "export", folder + "/s.jsonl", "--store", store}).exit_code, 0);
  const json winners = winners_of(store);
  std::ofstream(folder + "/config.toml") << "seed = 7\nstore = \"" << store << "\"\n";
  std::ofstream(folder + "/shapes.csv") << "m,n,k\n64,4096,64\n128,256,512\n";

  struct Reader {
    std::string file;
    std::function<ProgramResult()> run;
  };
  int number = 0;
  const auto fresh_store = [&] { return folder + "/fresh" + std::to_string(++number) + ".db"; };
  const Reader readers[] = {
      {"r.csv.zst", [&] { return run_program(tune(device, fresh_store(), recording.shapes)); }},
      {"r.json", [&] { return run_program(tune(device, fresh_store(), recording.shapes)); }},
      {"s.jsonl",
       [&] {
         return run_program({"store", "import", folder + "/s.jsonl", "--store", fresh_store()});
       }},
      {"s.db",
       [&] {
         return run_program({"store", "show", "--store", store, "--json"});
       }},
      {"config.toml",
       [&] {
         return run_program({"info"}, {{"GEMMSMITH_CONFIG", folder + "/config.toml"}});
       }},
      {"shapes.csv", [&] {
         return run_program({"space", "--shapes", folder + "/shapes.csv", "--json"});
       }}};
  for (const Reader& reader : readers) {
    const fs::path path = fs::path(folder) / reader.file;
    const std::string whole = *read_file(path);
    int refused = 0;
    for (const auto& [kind, bytes] : damages(whole)) {
      ASSERT_TRUE(write_file_atomic(path, bytes));
      for (const char* suffix : {"-wal", "-shm"}) fs::remove(path.string() + suffix);
      const ProgramResult result = reader.run();
      expect_answered(result, reader.file + " " + kind);
      if (result.exit_code != 0) {
        ++refused;
        EXPECT_NE(result.err.find(folder), std::string::npos)
            << reader.file << " " << kind << " is not named: " << result.err;
      } else if (reader.file == "s.db") {
        // Rows may be left out, never changed.
        for (const json& winner : json::parse(result.out))
          EXPECT_NE(std::find(winners.begin(), winners.end(), winner), winners.end()) << winner;
      }
    }
    EXPECT_GT(refused, 3) << reader.file;
    // Put right, it works again.
    ASSERT_TRUE(write_file_atomic(path, whole));
    EXPECT_EQ(reader.run().exit_code, 0) << reader.file;
  }
}

// M3: the n-th file call of a kind fails, for each kind and each reason; the store stays as sound
// as it was and the same command then finishes.
class FaultyFiles : public testing::TestWithParam<const char*> {};

TEST_P(FaultyFiles, M3_FailingCallsLoseNothing) {
  const std::string call = GetParam();
  const std::string folder = fresh_folder();
  const SmallRecording recording;
  const std::string device = recording.write(folder);
  const std::string home = folder + "/faulty";
  fs::create_directory(home);
  const std::string store = home + "/s.db";
  ASSERT_EQ(run_program(tune(device, store, {recording.shapes[0]})).exit_code, 0);
  ASSERT_EQ(run_program({"store", "export", home + "/s.jsonl", "--store", store}).exit_code, 0);
  const std::string exported = *read_file(home + "/s.jsonl");
  const json before = winners_of(store);
  ASSERT_EQ(before.size(), 1U);

  int failed = 0;
  for (const int reason : {ENOENT, EBUSY, ESTALE, ENOSPC, EDQUOT}) {
    for (const int from : {1, 2, 5}) {
      const std::string copy = home + "/copy.db";
      for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(copy + suffix);
      fs::copy_file(store, copy);
      const Variables faults = {{"LD_PRELOAD", GEMMSMITH_FAULTY_FILES},
                                {"FAULT_CALL", call},
                                {"FAULT_ERRNO", std::to_string(reason)},
                                {"FAULT_FROM", std::to_string(from)},
                                {"FAULT_PATH", "/faulty/"}};
      const std::string what =
          call + " fails with " + std::strerror(reason) + " from " + std::to_string(from);
      const ProgramResult tuned = run_program(tune(device, copy, recording.shapes), faults);
      expect_answered(tuned, what);
      const ProgramResult out =
          run_program({"store", "export", home + "/s.jsonl", "--store", store}, faults);
      expect_answered(out, what);
      EXPECT_TRUE(out.exit_code == 0 || *read_file(home + "/s.jsonl") == exported)
          << what << ": the old export is gone";
      failed += tuned.exit_code != 0 || out.exit_code != 0;

      const json after = winners_of(copy);
      ASSERT_GE(after.size(), 1U) << what;
      EXPECT_NE(std::find(after.begin(), after.end(), before[0]), after.end()) << what;
      EXPECT_EQ(run_program(tune(device, copy, recording.shapes)).exit_code, 0) << what;
      EXPECT_EQ(winners_of(copy).size(), 2U) << what;
    }
  }
  // unlink only sweeps: the program may succeed in spite of it, and leave its temporary.
  const bool only_sweeps = call == "unlink";
  EXPECT_TRUE(failed > 0 || only_sweeps) << "no fault reached the program";
  for (const auto& entry : fs::directory_iterator(home))
    EXPECT_TRUE(only_sweeps || entry.path().extension() != ".tmp") << entry.path();
}

INSTANTIATE_TEST_SUITE_P(FieldReports, FaultyFiles,
                         testing::Values("open", "rename", "unlink", "fsync", "write"),
                         [](const auto& test) { return std::string(test.param); });

// M3: the kernel cache is a convenience; whatever its files do, compiling goes on.
TEST(FieldReports, M3_ACacheThatFailsOnlyCostsCompiling) {
  for (const char* call : {"open", "rename", "unlink", "fsync", "write"})
    for (const int reason : {ENOENT, EBUSY, ESTALE, ENOSPC, EDQUOT}) {
      const std::string folder = fresh_folder() + "/faulty";
      const ProgramResult result =
          run_program({"compile", "--config", "sm80_mma", "--target", "sm_80"},
                      {{"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC},
                       {"GEMMSMITH_CACHE_DIR", folder},
                       {"LD_PRELOAD", GEMMSMITH_FAULTY_FILES},
                       {"FAULT_CALL", call},
                       {"FAULT_ERRNO", std::to_string(reason)},
                       {"FAULT_PATH", "/faulty/"}});
      EXPECT_EQ(result.exit_code, 0) << call << " " << std::strerror(reason) << ": " << result.err;
      EXPECT_TRUE(std::string(call) == "unlink" ||
                  result.err.find("the kernel cache is off: ") != std::string::npos)
          << call << " " << std::strerror(reason) << ": " << result.err;
    }
}

// M7: homes that are missing, unusable or odd: everything works without the cache, and the store
// says what it needs.
TEST(FieldReports, M7_AnyHomeWillDo) {
  const std::string folder = fresh_folder();
  fs::permissions(folder, fs::perms(0755));
  const SmallRecording recording;
  const std::string device = recording.write(folder);
  const std::string read_only = folder + "/read only";
  fs::create_directory(read_only);
  fs::permissions(read_only, fs::perms(0555));
  std::string deep = folder;
  for (int i = 0; i < 10; ++i) deep += "/" + std::string(200, static_cast<char>('a' + i));
  const std::optional<std::string> homes[] = {std::nullopt,
                                              "",
                                              "relative",
                                              "/nonexistent",
                                              "/proc/nothing",
                                              read_only,
                                              folder + "/with space",
                                              folder + "/ünïcödé 家",
                                              deep,
                                              "/" + std::string(5000, 'x')};
  // Root may write anywhere; the folders of another user are told from one's own only by others.
  const std::optional<unsigned> nobody =
      ::geteuid() == 0 ? std::optional<unsigned>(65534) : std::nullopt;
  for (const auto& home : homes) {
    const std::string what = home ? *home : "(unset)";
    const Variables variables = {{"HOME", home}, {"GEMMSMITH_NVRTC", GEMMSMITH_FAKE_NVRTC}};
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"info"},
             {"compile", "--config", "sm80_mma", "--target", "sm_80"},
             {"space", "--mnk", "64_64_64"},
             {"report", "--recording", device.substr(9)}}) {
      const ProgramResult result = run_program(arguments, variables, nobody);
      EXPECT_EQ(result.exit_code, 0) << what << " " << arguments[0] << ": " << result.err;
    }
    // The store has to be somewhere: in the home, or the message says how to name another place.
    const ProgramResult result = run_program(
        {"tune", "--device", device, "--mnk", recording.shapes[0], "-q"}, variables, nobody);
    expect_answered(result, what);
    if (result.exit_code != 0) {
      EXPECT_TRUE(result.exit_code == 3 || result.exit_code == 4) << what << result.err;
      EXPECT_NE(result.err.find("--store"), std::string::npos) << what << ": " << result.err;
    }
  }
  for (const std::string& name :
       {std::string("with space"), std::string("ünïcödé 家"), std::string(200, 'n')}) {
    const std::string home = folder + "/" + name;
    EXPECT_EQ(run_program({"tune", "--device", device, "--mnk", recording.shapes[0], "-q"},
                          {{"HOME", home}})
                  .exit_code,
              0)
        << name;
    EXPECT_TRUE(fs::exists(home + "/.local/share/gemmsmith/winners.db")) << name;
  }
}

}  // namespace
}  // namespace gemmsmith::test
