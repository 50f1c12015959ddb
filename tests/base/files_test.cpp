// files_test.cpp -- reading tells failures apart; writing is all or nothing.
#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rapidcheck/gtest.h>
#include <thread>
#include <vector>

#include "support/scratch.h"

namespace gemmsmith {
namespace {

using testing::ScratchFolder;

std::size_t file_count(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator()));
}

RC_GTEST_PROP(Files, AnyBytesComeBack, (const std::string& bytes)) {
  const ScratchFolder folder;
  RC_ASSERT(write_file_atomic(folder / "f", bytes).has_value());
  RC_ASSERT(*read_file(folder / "f") == bytes);
  RC_ASSERT(file_count(folder.path()) == 1u);
}

TEST(Files, LargeFilesComeBack) {
  const ScratchFolder folder;
  std::string bytes(3'000'001, 'x');
  bytes[70'000] = '\0';
  ASSERT_TRUE(write_file_atomic(folder / "f", bytes));
  EXPECT_TRUE(*read_file(folder / "f") == bytes);
}

TEST(Files, ReadingTellsFailuresApart) {
  const ScratchFolder folder;
  const auto missing = read_file(folder / "none");
  EXPECT_EQ(missing.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(missing.error().what,
            "cannot open " + (folder / "none").string() + ": No such file or directory");
  EXPECT_EQ(read_file(folder.path()).error().what,
            "cannot read " + folder.path().string() + ": it is a directory, expected a file");
}

TEST(Files, WritingIntoAMissingFolderFailsWithTheCallersCode) {
  const ScratchFolder folder;
  const auto written = write_file_atomic(folder / "none" / "f", "x", ErrorCode::kStore);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kStore);
  EXPECT_NE(written.error().what.find("No such file or directory"), std::string::npos);
}

TEST(Files, ATargetThatCannotBeReplacedStays) {
  const ScratchFolder folder;
  std::filesystem::create_directories(folder / "f" / "inside");
  const auto written = write_file_atomic(folder / "f", "x");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().what.find("the old file is untouched"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder / "f" / "inside"));
  EXPECT_EQ(file_count(folder.path()), 1u) << "the temporary file is gone";
}

// Links to where files are kept are the user's: writing must not cut them.
TEST(Files, WritingThroughALinkReplacesItsTarget) {
  namespace fs = std::filesystem;
  const ScratchFolder folder;
  fs::create_directories(folder / "there");
  ASSERT_TRUE(write_file_atomic(folder / "there" / "f", "old"));
  fs::create_symlink("there/f", folder / "relative");
  fs::create_symlink(folder / "relative", folder / "chain");
  fs::create_symlink(folder / "there" / "new", folder / "dangling");
  ASSERT_TRUE(write_file_atomic(folder / "relative", "one"));
  EXPECT_EQ(*read_file(folder / "there" / "f"), "one");
  ASSERT_TRUE(write_file_atomic(folder / "chain", "two"));
  EXPECT_EQ(*read_file(folder / "there" / "f"), "two");
  ASSERT_TRUE(write_file_atomic(folder / "dangling", "three"));
  EXPECT_EQ(*read_file(folder / "there" / "new"), "three");
  for (const char* link : {"relative", "chain", "dangling"})
    EXPECT_TRUE(fs::is_symlink(folder / link)) << link;
  EXPECT_EQ(file_count(folder / "there"), 2U) << "the temporary files are gone";
}

// Renaming over a device or a pipe would put a file in its place.
TEST(Files, WhatIsNoRegularFileIsWrittenThrough) {
  namespace fs = std::filesystem;
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder / "link");
  for (const char* name : {"pipe", "link"}) {
    std::string seen;
    std::thread reader([&] { seen = *read_stream(folder / "pipe", 1 << 20); });
    const std::string bytes(100'000, name[0]);
    EXPECT_TRUE(write_file_atomic(folder / name, bytes));
    reader.join();
    EXPECT_TRUE(seen == bytes) << name;
    EXPECT_TRUE(fs::is_fifo(folder / "pipe")) << name;
  }
  ASSERT_TRUE(write_file_atomic("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const auto full = write_file_atomic("/dev/full", "x");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().what, "cannot write /dev/full: No space left on device");
  EXPECT_EQ(file_count(folder.path()), 2U);
}

// What the shell opened stays open there: a rename would cut what it writes next off the file.
TEST(Files, AnOpenDescriptorIsWrittenThrough) {
  const ScratchFolder folder;
  const int file = ::open((folder / "f").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ASSERT_EQ(::write(file, "one ", 4), 4);
  ASSERT_TRUE(write_file_atomic("/proc/self/fd/" + std::to_string(file), "two "));
  ASSERT_EQ(::write(file, "three", 5), 5);
  ::close(file);
  EXPECT_EQ(*read_file(folder / "f"), "one two three");
  EXPECT_EQ(file_count(folder.path()), 1U);
}

TEST(Files, ReadingStopsAtItsLimit) {
  const auto endless = read_stream("/dev/zero", 1000);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(endless.error().what, "cannot read /dev/zero: longer than 1000 bytes");
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "f", std::string(1000, 'x')));
  EXPECT_EQ(read_file(folder / "f", 1000)->size(), 1000U);
}

// Reading them waited for a writer, or went on without end.
TEST(Files, OnlyRegularFilesAreRead) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder / "link");
  for (const char* name : {"pipe", "link"})
    EXPECT_EQ(read_file(folder / name).error().what,
              "cannot read " + (folder / name).string() + ": it is a pipe, expected a file");
  EXPECT_EQ(read_file("/dev/zero").error().what,
            "cannot read /dev/zero: it is a device, expected a file");
  ASSERT_TRUE(write_file_atomic(folder / "f", "x"));
  std::filesystem::create_symlink("f", folder / "to_file");
  EXPECT_EQ(*read_file(folder / "to_file"), "x");
}

TEST(Files, StagedFilesAppearTogetherOrNotAtAll) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "a", "old"));
  {
    const auto staged = StagedFile::write(folder / "a", "new");
    ASSERT_TRUE(staged);
    EXPECT_EQ(*read_file(folder / "a"), "old");
    EXPECT_FALSE(StagedFile::write(folder / "none" / "b", "new"));
  }
  EXPECT_EQ(*read_file(folder / "a"), "old");
  EXPECT_EQ(file_count(folder.path()), 1U);
  auto staged = StagedFile::write(folder / "a", "new");
  auto moved = std::move(*staged);
  ASSERT_TRUE(moved.commit());
  EXPECT_EQ(*read_file(folder / "a"), "new");
  EXPECT_EQ(file_count(folder.path()), 1U);
}

TEST(Files, WhetherAFileCanBeWrittenIsKnownBefore) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "f", "old"));
  EXPECT_TRUE(check_can_write(folder / "f"));
  EXPECT_TRUE(check_can_write(folder / "new"));
  EXPECT_TRUE(check_can_write("/dev/null"));
  EXPECT_EQ(*read_file(folder / "f"), "old");
  EXPECT_EQ(file_count(folder.path()), 1U) << "nothing is left behind";
  const auto missing = check_can_write(folder / "none" / "f", ErrorCode::kBadInput);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kBadInput);
  EXPECT_NE(missing.error().what.find("No such file or directory"), std::string::npos);
  EXPECT_FALSE(check_can_write(folder.path()));
}

TEST(Files, APipeThatNobodyReadsIsNotWaitedFor) {
  const ScratchFolder folder;
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(is_unread_pipe(pipe));
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_FALSE(is_unread_pipe(pipe));
  ::close(reader);
  EXPECT_FALSE(is_unread_pipe(folder / "new"));
  EXPECT_FALSE(is_unread_pipe("/dev/null"));
}

TEST(Files, ALinkToItselfIsRefusedByName) {
  const ScratchFolder folder;
  std::filesystem::create_symlink("loop", folder / "loop");
  const auto written = write_file_atomic(folder / "loop", "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what,
            "cannot write " + (folder / "loop").string() + ": Too many levels of symbolic links");
}

// A full disk, as a limit on the size of files in a child process.
TEST(Files, AFullDiskLeavesTheOldFile) {
  const ScratchFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "f", "old"));
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto written = write_file_atomic(folder / "f", std::string(5000, 'x'));
    const bool told = !written && written.error().what.find("File too large") != std::string::npos;
    ::_exit(told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(*read_file(folder / "f"), "old");
  EXPECT_EQ(file_count(folder.path()), 1u);
}

TEST(Files, ReadersSeeTheOldFileOrTheNewOne) {
  const ScratchFolder folder;
  const std::string first(100'000, 'a');
  const std::string second(70'000, 'b');
  ASSERT_TRUE(write_file_atomic(folder / "f", first));
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (const std::string* bytes : {&first, &second})
    writers.emplace_back([&, bytes] {
      while (!stop) (void)write_file_atomic(folder / "f", *bytes);
    });
  bool whole = true;
  for (int i = 0; i < 100; ++i) {
    const auto seen = read_file(folder / "f");
    whole = whole && seen && (*seen == first || *seen == second);
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace gemmsmith
