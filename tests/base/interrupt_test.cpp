// interrupt_test.cpp -- the first signal sets a flag, the second ends the process with 130.
#include "base/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace gemmsmith {
namespace {

// Sent to the process, as Ctrl-C is; until it is taken, another one of its kind would be lost.
void send_and_wait(int signal) {
  ::kill(::getpid(), signal);
  sigset_t pending;
  do {
    ::usleep(1000);
    ::sigpending(&pending);
  } while (::sigismember(&pending, signal) == 1);
}

// The exit code of a child that is sent `signals` one after the other and then exits with 7 where
// the flag is set, 8 where it is not. A library installs handlers of its own meanwhile.
int exit_after(std::initializer_list<int> signals) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    catch_interrupts();
    for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, [](int) { ::_exit(4); });
    for (const int signal : signals) send_and_wait(signal);
    for (int i = 0; i < 1000 && !interrupted() && signals.size() > 0; ++i) ::usleep(1000);
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
TEST(Interrupt, TheSecondEndsTheProcess) {
  EXPECT_EQ(exit_after({SIGINT, SIGINT}), 130);
  EXPECT_EQ(exit_after({SIGINT, SIGTERM}), 130);
}

// Where work waits for a pipe that says nothing, the flag alone would not be looked at.
TEST(Interrupt, TheMainThreadsSystemCallIsInterrupted) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    catch_interrupts();
    char byte = 0;
    const bool is_cut = ::read(pipe_ends[0], &byte, 1) < 0 && errno == EINTR;
    ::_exit(is_cut && interrupted() ? 7 : 8);
  }
  ::usleep(100'000);  // by now it reads
  ::kill(pid, SIGTERM);
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 7);
}

TEST(Interrupt, CanBeSetByHand) {
  set_interrupted(true);
  EXPECT_TRUE(interrupted());
  set_interrupted(false);
  EXPECT_FALSE(interrupted());
}

}  // namespace
}  // namespace gemmsmith
