// Files in memory, and what cannot be mapped.
#include "plan/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

namespace gemmsmith::plan {
namespace {

TEST(MappedFile, ShowsTheWholeFile) {
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("gemmsmith_mapped_file_test_{}", ::getpid());
  ASSERT_TRUE(write_file_atomic(path, "contents"));
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file) << file.error().what;
  const MappedFile moved = std::move(*file);
  EXPECT_EQ(moved.bytes(), "contents");
  // Replaced, not overwritten: the old contents stay for those who have them mapped.
  ASSERT_TRUE(write_file_atomic(path, "other"));
  EXPECT_EQ(moved.bytes(), "contents");
  ASSERT_TRUE(write_file_atomic(path, ""));
  EXPECT_EQ(MappedFile::open(path).value().bytes(), "");
  std::filesystem::remove(path);
}

TEST(MappedFile, MissingFilesAndDirectoriesAreNamed) {
  EXPECT_EQ(MappedFile::open("/nowhere/plans").error().what,
            "cannot open /nowhere/plans: No such file or directory");
  EXPECT_EQ(MappedFile::open("/tmp").error().what,
            "cannot read /tmp: it is a directory, expected a file");
}

// Opening a pipe waited for its writer.
TEST(MappedFile, PipesAndDevicesAreRefusedAtOnce) {
  const auto pipe = std::filesystem::temp_directory_path() /
                    fmt::format("gemmsmith_mapped_file_test_pipe_{}", ::getpid());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::open(pipe).error().what,
            "cannot read " + pipe.string() + ": it is a pipe, expected a file");
  std::filesystem::remove(pipe);
  EXPECT_EQ(MappedFile::open("/dev/zero").error().what,
            "cannot read /dev/zero: it is a device, expected a file");
}

}  // namespace
}  // namespace gemmsmith::plan
