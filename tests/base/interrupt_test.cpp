// interrupt_test.cpp -- the first signal sets a flag, the second ends the process with 130.
#include "base/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gemmsmith {
namespace {

// The exit code of a child that raises `signals` one after the other and then exits with 7 where
// the flag is set, 8 where it is not.
int exit_after(std::initializer_list<int> signals) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    catch_interrupts();
    for (const int signal : signals) ::raise(signal);
    ::_exit(interrupted() ? 7 : 8);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Interrupt, NothingComesFromNothing) { EXPECT_EQ(exit_after({}), 8); }
TEST(Interrupt, TheFirstSignalSetsTheFlag) {
  EXPECT_EQ(exit_after({SIGINT}), 7);
  EXPECT_EQ(exit_after({SIGTERM}), 7);
}
TEST(Interrupt, TheSecondEndsTheProcess) { EXPECT_EQ(exit_after({SIGINT, SIGINT}), 130); }

TEST(Interrupt, CanBeSetByHand) {
  set_interrupted(true);
  EXPECT_TRUE(interrupted());
  set_interrupted(false);
  EXPECT_FALSE(interrupted());
}

}  // namespace
}  // namespace gemmsmith
