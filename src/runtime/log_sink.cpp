#include "runtime/log_sink.h"

#include <atomic>

namespace gemmsmith::runtime {
namespace {

struct Sink {
  gemmsmithLogCallback_t callback = nullptr;
  void* user = nullptr;
  const Sink* replaced = nullptr;  // keeps it reachable: it is never freed
};

std::atomic<const Sink*> current_sink{nullptr};

}  // namespace

void set_log_sink(gemmsmithLogCallback_t callback, void* user) {
  auto* sink = new Sink{callback, user, current_sink.load()};
  while (!current_sink.compare_exchange_weak(sink->replaced, sink)) {
  }
}

bool has_log_sink() {
  const Sink* sink = current_sink.load(std::memory_order_acquire);
  return sink != nullptr && sink->callback != nullptr;
}

void log_to_sink(gemmsmithLogLevel_t level, const std::string& text) {
  const Sink* sink = current_sink.load(std::memory_order_acquire);
  if (sink != nullptr && sink->callback != nullptr) sink->callback(level, text.c_str(), sink->user);
}

}  // namespace gemmsmith::runtime
