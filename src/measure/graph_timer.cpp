#include "measure/graph_timer.h"

namespace gemmsmith {
namespace {

// The foreign pass works on 4 MiB, the activations of 512 tokens of a 4096-wide model in f16: a
// couple of microseconds, and it stays in L2, so that it costs no memory traffic.
constexpr std::int64_t kForeignFloats = 1 << 20;

}  // namespace

Result<GraphTimer> GraphTimer::create(const Driver& driver, const HarnessKernels& kernels,
                                      CUstream stream) {
  GraphTimer timer(driver, kernels, stream);
  GEMMSMITH_TRY(timer.foreign_, DeviceBuffer::allocate(driver, kForeignFloats * sizeof(float)));
  GEMMSMITH_CHECK(check(driver,
                        driver.MemsetD32Async(timer.foreign_.address(), 0, kForeignFloats, stream),
                        "clearing the foreign buffer"));
  // A kernel's first launch may load code, which no capture allows.
  GEMMSMITH_CHECK(kernels.foreign_pass(stream, timer.foreign_.address(), kForeignFloats));
  GEMMSMITH_CHECK(kernels.empty(stream));
  return timer;
}

Result<TimedGraph> GraphTimer::capture(Launch* launch, Pattern pattern, void* base,
                                       const OperandLayout& layout, std::int64_t first,
                                       int launches) const {
  TimedGraph graph;
  graph.launches = launches;
  const auto enqueue = [&](CUstream stream) -> Result<void> {
    for (int i = 0; i < launches; ++i) {
      if (pattern != Pattern::kForeign)
        GEMMSMITH_CHECK(launch->enqueue(layout.at(base, (first + i) % layout.sets), stream));
      if (pattern != Pattern::kLaunch)
        GEMMSMITH_CHECK(kernels_->foreign_pass(stream, foreign_.address(), kForeignFloats));
    }
    return {};
  };
  GEMMSMITH_TRY(graph.exec, GraphExec::capture(*driver_, stream_, enqueue));
  GEMMSMITH_CHECK(graph.exec.upload(stream_));
  return graph;
}

Result<TimedGraph> GraphTimer::capture_empty(int launches) const {
  TimedGraph graph;
  graph.launches = launches;
  GEMMSMITH_TRY(graph.exec, GraphExec::capture(*driver_, stream_, [&](CUstream stream) {
                  for (int i = 0; i < launches; ++i) {
                    if (auto status = kernels_->empty(stream); !status) return status;
                  }
                  return Result<void>();
                }));
  GEMMSMITH_CHECK(graph.exec.upload(stream_));
  return graph;
}

Result<void> GraphTimer::need_events(std::size_t count) {
  while (events_.size() < count) {
    GEMMSMITH_TRY(Event event, Event::create(*driver_));
    events_.push_back(std::move(event));
  }
  return {};
}

Result<std::vector<double>> GraphTimer::replay(std::span<const TimedGraph* const> graphs) {
  GEMMSMITH_CHECK(need_events(2 * graphs.size()));
  GEMMSMITH_CHECK(graphs.front()->exec.launch(stream_));
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    GEMMSMITH_CHECK(events_[2 * i].record(stream_));
    GEMMSMITH_CHECK(graphs[i]->exec.launch(stream_));
    GEMMSMITH_CHECK(events_[2 * i + 1].record(stream_));
  }
  GEMMSMITH_CHECK(check(*driver_, driver_->StreamSynchronize(stream_), "timing launches"));
  std::vector<double> times;
  times.reserve(graphs.size());
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    GEMMSMITH_TRY(const double total, elapsed_us(events_[2 * i], events_[2 * i + 1]));
    times.push_back(total / graphs[i]->launches);
  }
  return times;
}

}  // namespace gemmsmith
