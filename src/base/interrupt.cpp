#include "base/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace gemmsmith {
namespace {

std::atomic<bool> is_interrupted{false};

// Interrupts the system call that the main thread may wait in; ignored by default, so that no other
// program dies of it.
constexpr int kWakeSignal = SIGURG;

sigset_t interrupt_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

extern "C" void on_wake(int) {}

[[noreturn]] void wait_for_interrupts(pthread_t main_thread) {
  const sigset_t set = interrupt_signals();
  while (true) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (is_interrupted.exchange(true)) _exit(130);
    pthread_kill(main_thread, kWakeSignal);
  }
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_wake;
  sigemptyset(&action.sa_mask);
  sigaction(kWakeSignal, &action, nullptr);
  const sigset_t set = interrupt_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread(wait_for_interrupts, pthread_self()).detach();
}

void allow_interrupts() {
  const sigset_t set = interrupt_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool interrupted() { return is_interrupted; }

Result<void> go_on(std::string_view doing) {
  if (interrupted()) return fail(ErrorCode::kInterrupted, "interrupted while {}", doing);
  return {};
}

void set_interrupted(bool value) { is_interrupted = value; }

}  // namespace gemmsmith
