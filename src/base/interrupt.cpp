#include "base/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace gemmsmith {
namespace {

// Lock-free, so the handler may touch it; an atomic, because worker threads poll it.
std::atomic<int> interrupt_count{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void on_interrupt(int) {
  if (interrupt_count > 0) _exit(130);
  interrupt_count = 1;
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return interrupt_count > 0; }

void set_interrupted(bool value) { interrupt_count = value ? 1 : 0; }

}  // namespace gemmsmith
