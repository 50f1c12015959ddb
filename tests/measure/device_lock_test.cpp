// One process times on a GPU at a time.
#include "measure/device_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace gemmsmith {
namespace {

class DeviceLockTest : public ::testing::Test {
 protected:
  ~DeviceLockTest() override { std::filesystem::remove(DeviceLock::path_of(uuid_)); }

  // Another process that holds the lock from now on, until it is killed.
  pid_t hold_elsewhere() const {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
      const auto lock = DeviceLock::take(uuid_, [] { return Result<void>(); });
      const char held = lock ? 1 : 0;
      if (::write(ends[1], &held, 1) != 1) ::_exit(1);
      while (true) ::pause();
    }
    char held = 0;
    EXPECT_EQ(::read(ends[0], &held, 1), 1);
    EXPECT_EQ(held, 1);
    ::close(ends[0]);
    ::close(ends[1]);
    return child;
  }

  static void end(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }

  std::string uuid_ = "GPU-test-" + std::to_string(::getpid());
};

TEST_F(DeviceLockTest, AFreeDeviceIsTakenAtOnceAndGivenBack) {
  for (int round = 0; round < 2; ++round) {
    int waits = 0;
    const auto lock = DeviceLock::take(uuid_, [&] { return ++waits, Result<void>(); });
    ASSERT_TRUE(lock) << lock.error().what;
    EXPECT_EQ(waits, 0);
  }
}

TEST_F(DeviceLockTest, WaitsForAnotherProcessEvenOneThatIsKilled) {
  const pid_t other = hold_elsewhere();
  ASSERT_GT(other, 0);
  int waits = 0;
  const auto lock = DeviceLock::take(uuid_, [&]() -> Result<void> {
    if (++waits == 2) end(other);
    return {};
  });
  ASSERT_TRUE(lock) << lock.error().what;
  EXPECT_EQ(waits, 2);
}

TEST_F(DeviceLockTest, WaitingEndsWhenItsCallerIsGone) {
  const pid_t other = hold_elsewhere();
  ASSERT_GT(other, 0);
  const auto lock = DeviceLock::take(
      uuid_, []() -> Result<void> { return fail(ErrorCode::kInterrupted, "gone"); });
  end(other);
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::kInterrupted);
}

TEST_F(DeviceLockTest, DevicesAreIndependent) {
  const pid_t other = hold_elsewhere();
  ASSERT_GT(other, 0);
  const std::string second = uuid_ + "-second";
  int waits = 0;
  EXPECT_TRUE(DeviceLock::take(second, [&] { return ++waits, Result<void>(); }));
  EXPECT_EQ(waits, 0);
  end(other);
  std::filesystem::remove(DeviceLock::path_of(second));
}

TEST_F(DeviceLockTest, AFileThatCannotBeOpenedIsNamed) {
  std::filesystem::create_symlink("/nowhere", DeviceLock::path_of(uuid_));
  const auto lock = DeviceLock::take(uuid_, [] { return Result<void>(); });
  ASSERT_FALSE(lock);
  EXPECT_NE(lock.error().what.find(DeviceLock::path_of(uuid_)), std::string::npos);
}

}  // namespace
}  // namespace gemmsmith
