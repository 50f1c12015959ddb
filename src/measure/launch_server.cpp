#include "measure/launch_server.h"

namespace gemmsmith {

Result<LaunchServer> LaunchServer::create(const Driver& driver, CUstream stream, Launch& launch,
                                          void* operands, const OperandLayout& layout, int depth) {
  LaunchServer server(driver, stream, launch, operands, layout);
  GEMMSMITH_TRY(server.origin_, Event::create(driver));
  GEMMSMITH_CHECK(server.origin_.record(stream));
  GEMMSMITH_CHECK(server.origin_.synchronize());
  for (int i = 0; i < depth; ++i) {
    GEMMSMITH_TRY(Event event, Event::create(driver));
    server.events_.push_back(std::move(event));
  }
  return server;
}

Result<void> LaunchServer::warm_up() {
  constexpr int kRequests = 3;
  for (int i = 0; i < kRequests; ++i) GEMMSMITH_CHECK(send());
  return drain();
}

Result<void> LaunchServer::send() {
  GEMMSMITH_CHECK(launch_->enqueue(layout_.at(operands_, next_set_), stream_));
  next_set_ = (next_set_ + 1) % layout_.sets;
  const std::size_t slot = static_cast<std::size_t>(sent_++) % events_.size();
  return events_[slot].record(stream_);
}

Result<std::int64_t> LaunchServer::finished() {
  while (finished_ < sent_) {
    // Asks without waiting: the time since the origin is not ready while the event is not.
    const Event& event = events_[static_cast<std::size_t>(finished_) % events_.size()];
    float since_ms = 0;
    const CUresult state = driver_->EventElapsedTime(&since_ms, origin_.get(), event.get());
    if (state == CUDA_ERROR_NOT_READY) break;
    GEMMSMITH_CHECK(check(*driver_, state, "asking whether a request is done"));
    ++finished_;
  }
  return finished_;
}

Result<void> LaunchServer::drain() {
  GEMMSMITH_CHECK(check(*driver_, driver_->StreamSynchronize(stream_), "serving requests"));
  sent_ = finished_ = 0;
  return {};
}

}  // namespace gemmsmith
