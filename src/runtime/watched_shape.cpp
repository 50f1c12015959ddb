#include "runtime/watched_shape.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "runtime/device_state.h"
#include "runtime/log_sink.h"

namespace gemmsmith::runtime {
namespace {

std::string& refusal() {
  static auto* const text = new std::string;  // as the process, never destroyed
  return *text;
}

watch::WatchedProcess* open_watched_process() {
  const char* named = std::getenv("GEMMSMITH_MONITOR");
  if (named == nullptr || *named == '\0') return nullptr;
  std::string path = named;
  if (const std::size_t at = path.find("%i"); at != std::string::npos)
    path.replace(at, 2, std::to_string(getpid()));
  auto opened = watch::WatchedProcess::open(path);
  if (!opened) {
    refusal() =
        fmt::format("GEMMSMITH_MONITOR: {}; this process is not monitored", opened.error().what);
    log_to_sink(GEMMSMITH_LOG_ERROR, refusal());
    return nullptr;
  }
  log_to_sink(GEMMSMITH_LOG_INFO,
              fmt::format("gemmsmith monitor --attach {} may watch this process", path));
  // Never destroyed: calls may come until the very end.
  return new watch::WatchedProcess(*std::move(opened));
}

}  // namespace

watch::WatchedProcess* watched_process() {
  static watch::WatchedProcess* const process = open_watched_process();
  return process;
}

const std::string& why_not_watched() {
  watched_process();
  return refusal();
}

void WatchedShape::lapse(std::uint64_t now) {
  std::uint32_t word = shared_.order.load(std::memory_order_relaxed);
  if (word == 0 || now < process_.heartbeat_ns() + watch::kLapseNs) return;
  // Unless a monitor came back this very moment.
  if (!shared_.order.compare_exchange_strong(word, 0, std::memory_order_relaxed)) return;
  log_to_sink(
      GEMMSMITH_LOG_INFO,
      fmt::format("no monitor for {} s: {}_{}_{} is served by its plan again",
                  watch::kLapseNs / 1'000'000'000, shared_.key.m, shared_.key.n, shared_.key.k));
}

void WatchedShape::collect() {
  if (!is_pending_) return;
  // Another thread may capture in global mode, which a query would spoil.
  const RelaxedCapture relaxed(driver_);
  const CUresult state = driver_.EventQuery(end_.get());
  if (state == CUDA_ERROR_NOT_READY) return;
  is_pending_ = false;
  float milliseconds = 0;
  if (state != CUDA_SUCCESS ||
      driver_.EventElapsedTime(&milliseconds, begin_.get(), end_.get()) != CUDA_SUCCESS)
    return;
  pending_.latency_us = milliseconds * 1000;
  watch::tell(shared_, pending_);
}

bool WatchedShape::begin_timing(CUstream stream) {
  return !is_capturing(driver_, stream) &&
         driver_.EventRecord(begin_.get(), stream) == CUDA_SUCCESS;
}

WatchedShape::Look WatchedShape::look(CUstream stream, std::uint32_t calls) {
  shared_.calls.fetch_add(calls, std::memory_order_relaxed);
  const std::uint64_t now = watch::now_ns();
  if (is_busy_.exchange(true, std::memory_order_acquire)) return {now};
  lapse(now);
  collect();
  const bool is_due = !is_pending_ && now - last_ns_ >= kSpacingNs;
  const bool is_left = order().serving != watch::kPlan;
  const bool is_probe = is_left && (timings_ + 1) % kProbeEvery == 0;
  if (is_due && is_probe && warm_ups_ < kWarmUps && (calls > 1 || warm_ups_ > 0)) {
    ++warm_ups_;
    is_busy_.store(false, std::memory_order_release);
    return {now, false, true};
  }
  if (!is_due || !begin_timing(stream)) {
    is_busy_.store(false, std::memory_order_release);
    return {now};
  }
  last_ns_ = now;
  pending_.time_ns = now;
  timings_ = is_left ? timings_ + 1 : 0;
  warm_ups_ = 0;
  return {now, true, is_probe};
}

void WatchedShape::end_timing(CUstream stream, std::uint32_t serving, bool is_probe,
                              bool succeeded) {
  pending_.serving = serving;
  pending_.is_probe = is_probe;
  is_pending_ = succeeded && driver_.EventRecord(end_.get(), stream) == CUDA_SUCCESS;
  is_busy_.store(false, std::memory_order_release);
}

std::unique_ptr<WatchedShape> WatchedShapes::make(watch::WatchedProcess& process,
                                                  const Facts& facts) {
  const RelaxedCapture relaxed(driver_);
  auto begin = Event::create(driver_);
  auto end = Event::create(driver_);
  if (!begin || !end) return nullptr;
  watch::Shape* const shared = process.place_of(facts.shared);
  if (shared == nullptr) return nullptr;
  return std::make_unique<WatchedShape>(driver_, process, *shared, facts.alternates,
                                        *std::move(begin), *std::move(end));
}

}  // namespace gemmsmith::runtime
