// One Ctrl-C ends a verb with exit code 130, and what was finished is printed. (tune:
// tests/search.)
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace gemmsmith::test {
namespace {

namespace fs = std::filesystem;

const std::string kRecording = std::string("recorded:") + GEMMSMITH_SOURCE_DIR +
                               "/data/recordings/h200/grid1000_f16_f32_tn.csv.zst";

std::string grid() { return std::string(GEMMSMITH_SOURCE_DIR) + "/data/shapes/grid1000.csv"; }

bool has_text(const std::string& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return !error && size > 0;
}

bool has_output(const std::string& folder) { return has_text(folder + "/out"); }
bool has_talked(const std::string& folder) { return has_text(folder + "/err"); }

// N of "interrupted: N of 1000 shapes are done, and printed".
long shapes_done(const std::string& talk) {
  const std::size_t at = talk.find("interrupted: ");
  if (at == std::string::npos ||
      talk.find(" of 1000 shapes are done, and printed\n", at) == std::string::npos) {
    ADD_FAILURE() << talk;
    return -1;
  }
  return std::stol(talk.substr(at + 13));
}

long count(const std::string& text, const std::string& what) {
  long found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

TEST(Interrupt, SpacePrintsWholeProblems) {
  const ProgramResult result = run_interrupted(
      {"space", "--shapes", grid(), "--limit", "0", "--family", "sm80_mma"}, {}, has_output);
  EXPECT_EQ(result.exit_code, 130);
  const long done = shapes_done(result.err);
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 1000);
  EXPECT_EQ(count(result.out, "(legal)"), done);
}

TEST(Interrupt, BenchPrintsTheShapesThatAreDone) {
  // Ranking all configs of a shape takes long enough; what is below the required ratio is
  // complained about on stderr, so that one shape is known to be done.
  const ProgramResult result =
      run_interrupted({"bench", "--device", "model:h200", "--shapes", grid(), "--ranked", "1",
                       "--require", "1000", "--csv"},
                      {}, has_talked);
  EXPECT_EQ(result.exit_code, 130) << result.err.substr(0, 500);
  const long done = shapes_done(result.err);
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 1000);
  EXPECT_EQ(count(result.out, ",lt_tuned,"), done);
  EXPECT_EQ(result.out.rfind("shape,kind,config,", 0), 0U);
}

TEST(Interrupt, CompilePrintsTheKernelsThatAreDone) {
  const std::string cache = fresh_folder();
  const ProgramResult result = run_interrupted(
      {"compile", "--target", "sm_80", "--sample", "200", "--compile-threads", "1", "--json"},
      {{"GEMMSMITH_CACHE_DIR", cache}}, [&](const std::string&) {
        return std::any_of(
            fs::recursive_directory_iterator(cache), fs::recursive_directory_iterator(),
            [](const fs::directory_entry& entry) { return entry.is_regular_file(); });
      });
  EXPECT_EQ(result.exit_code, 130) << result.err;
  const auto rows = nlohmann::json::parse(result.out);
  EXPECT_GE(rows.size(), 1U);
  EXPECT_LT(rows.size(), 200U);
  for (const auto& row : rows) EXPECT_EQ(row["status"], "ok") << row;
  EXPECT_NE(result.err.find("interrupted: compiling stopped after"), std::string::npos)
      << result.err;
}

TEST(Interrupt, ExplainPrintsWholeProblems) {
  const ProgramResult result =
      run_interrupted({"explain", "--shapes", grid(), "--policy",
                       std::string(GEMMSMITH_SOURCE_DIR) + "/data/policy/h200_f16_f32_tn.policy"},
                      {}, has_output);
  EXPECT_EQ(result.exit_code, 130);
  const long done = shapes_done(result.err);
  EXPECT_GT(done, 0);
  EXPECT_LT(done, 1000);
}

// Nobody writes: without an answer to Ctrl-C, the program would have to be killed.
TEST(Interrupt, AListThatDoesNotComeIsGivenUp) {
  const std::string pipe = fresh_folder() + "/shapes";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream writer;
  const ProgramResult result =
      run_interrupted({"space", "--shapes", pipe}, {}, [&](const std::string&) {
        writer.open(pipe);  // waits until the program has opened its end
        writer << "m,n,k\n" << std::flush;
        usleep(20000);  // it reads the header and waits for more
        return true;
      });
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.err, "gemmsmith: interrupted while reading " + pipe + "\n");
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace gemmsmith::test
