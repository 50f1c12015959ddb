// An exported library's folder: whole or as it was, and nobody's files lost.
#include "export/library_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>

#include "base/files.h"
#include "support/scratch.h"

namespace gemmsmith::exporting {
namespace {

namespace fs = std::filesystem;

using Files = std::map<std::string, std::string>;

ExportedLibrary library_of(const std::string& content) {
  ExportedLibrary library;
  library.files = {
      {"CMakeLists.txt", std::string(kCmakeBegin) + "\nproject(mine LANGUAGES C)\n" + content},
      {"mine.c", content},
      {"mine.h", content}};
  return library;
}

Files contents(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = *read_file(entry.path());
  return files;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

TEST(LibraryFolder, IsMadeAndReplaced) {
  const testing::ScratchFolder scratch;
  const fs::path folder = scratch / "some/where/mine";
  for (const char* content : {"first", "second"}) {
    const ExportedLibrary library = library_of(content);
    const auto written = write_library(folder.string() + "/", library);
    ASSERT_TRUE(written) << written.error().what;
    EXPECT_EQ(contents(folder), library.files);
    EXPECT_EQ(names_in(folder.parent_path()), std::vector<std::string>{"mine"});
  }
  // What an earlier export had and this one has not is gone with it.
  ExportedLibrary smaller = library_of("third");
  smaller.files.erase("mine.h");
  ASSERT_TRUE(write_library(folder, smaller));
  EXPECT_EQ(contents(folder), smaller.files);
}

TEST(LibraryFolder, MayBeEmptyOrALink) {
  const testing::ScratchFolder scratch;
  fs::create_directory(scratch / "empty");
  fs::create_directory_symlink("empty", scratch / "link");
  const auto written = write_library(scratch / "link", library_of("x"));
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_TRUE(fs::is_symlink(scratch / "link"));
  EXPECT_EQ(contents(scratch / "empty"), library_of("x").files);
}

TEST(LibraryFolder, OfOthersIsRefused) {
  const testing::ScratchFolder scratch;
  const fs::path file = scratch / "file";
  std::ofstream(file) << "theirs";
  const auto no_folder = write_library(file, library_of("x"));
  ASSERT_FALSE(no_folder);
  EXPECT_EQ(no_folder.error().what, file.string() + ": is no folder");

  const fs::path theirs = scratch / "theirs";
  fs::create_directory(theirs);
  std::ofstream(theirs / "CMakeLists.txt") << "project(mine LANGUAGES C)\n";
  const auto foreign = write_library(theirs, library_of("x"));
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(foreign.error().what,
            theirs.string() +
                ": holds CMakeLists.txt, which is not of an earlier export; name a new or an empty "
                "folder");
  EXPECT_EQ(contents(theirs), (Files{{"CMakeLists.txt", "project(mine LANGUAGES C)\n"}}));

  const fs::path mine = scratch / "mine";
  ASSERT_TRUE(write_library(mine, library_of("x")));
  fs::create_directory(mine / "build");
  const auto built = write_library(mine, library_of("y"));
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().what,
            mine.string() +
                ": holds build, which is not of an earlier export; name a new or an empty folder");
}

TEST(LibraryFolder, IsNotTheOneWeAreIn) {
  const testing::ScratchFolder scratch;
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  const auto written = write_library(".", library_of("x"));
  fs::current_path(before);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what,
            fs::canonical(scratch.path()).string() +
                ": holds the current directory and cannot be replaced; name a folder below it");
}

// BUG: file after file was written into the folder itself, and one that failed left two exports'
// files side by side.
TEST(LibraryFolder, IsAsItWasWhereAFileFails) {
  const testing::ScratchFolder scratch;
  const fs::path folder = scratch / "mine";
  ASSERT_TRUE(write_library(folder, library_of("first")));
  ExportedLibrary broken = library_of("second");
  broken.files["mine/none.c"] = "in a folder that is not there; between two others";
  const auto written = write_library(folder, broken);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(contents(folder), library_of("first").files);
  EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{"mine"});
}

TEST(LibraryFolder, IsAsItWasWhereTheProcessIsKilled) {
  const testing::ScratchFolder scratch;
  const fs::path folder = scratch / "mine";
  ASSERT_TRUE(write_library(folder, library_of("first")));
  ExportedLibrary second = library_of("second");
  second.files["mine.c"] = std::string(100'000, 'x');
  const pid_t child = fork();
  if (child == 0) {
    // The system kills it in the middle of the second file.
    const rlimit limit = {10'000, 10'000};
    std::signal(SIGXFSZ, SIG_DFL);
    setrlimit(RLIMIT_FSIZE, &limit);
    static_cast<void>(write_library(folder, second));
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
  EXPECT_EQ(contents(folder), library_of("first").files);
  ASSERT_TRUE(write_library(folder, second)) << "what was left beside is in nobody's way";
  EXPECT_EQ(contents(folder), second.files);
}

}  // namespace
}  // namespace gemmsmith::exporting
