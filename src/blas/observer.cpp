#include "blas/observer.h"

#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/log.h"
#include "runtime/device_state.h"

namespace gemmsmith::blas {
namespace {

constexpr std::size_t kMostShapes = 16384;
constexpr std::size_t kMostPending = 256;
constexpr std::size_t kMostRows = 40;
// The first call of a shape may load a kernel; later ones are timed one after the other, then now
// and then.
constexpr std::int64_t kWarmCalls = 1;
constexpr std::int64_t kDenseCalls = 64;
constexpr std::int64_t kSparseStep = 64;

bool is_sampled(std::int64_t call) {
  return call > kWarmCalls && (call <= kDenseCalls || call % kSparseStep == 0);
}

ShapeKey key_of(const GemmCall& call) {
  const gemmsmithProblem_t& p = call.problem;
  return {p.m,   p.n,      p.k,      call.batch, p.lda,          p.ldb,
          p.ldd, p.transa, p.transb, p.type,     p.compute_type, p.output};
}

double total_us(const ShapeCount& count) {
  return count.timed == 0
             ? 0
             : count.timed_us / static_cast<double>(count.timed) * static_cast<double>(count.calls);
}

// Row-major, as shape lists have it.
std::string shape_text(const ShapeKey& key) {
  const char* type = key.type == CUDA_R_16BF ? "bf16" : "f16";
  const char* accumulator = key.compute_type == CUBLAS_COMPUTE_16F ? "f16" : "f32";
  const char b = key.transa == CUBLAS_OP_N ? 't' : 'n';
  const char a = key.transb == CUBLAS_OP_N ? 't' : 'n';
  return fmt::format("{}_{}_{} {}/{} {}{}{}{}", key.n, key.m, key.k, type, accumulator, a, b,
                     key.output == GEMMSMITH_OUTPUT_32F ? " out=f32" : "",
                     key.batch == 1 ? std::string() : fmt::format(" x{}", key.batch));
}

std::string row_text(const ShapeKey& key, const ShapeCount& count) {
  const double us = count.timed == 0 ? 0 : count.timed_us / static_cast<double>(count.timed);
  std::string plan = "-";
  std::string gain = "-";
  if (!count.forecast.config.empty()) {
    plan = count.forecast.config;
    if (count.forecast.speedup > 0) gain = fmt::format("{:.2f}x", count.forecast.speedup);
  } else if (!count.forecast.reason.empty()) {
    plan = "(" + count.forecast.reason + ")";
  }
  const std::string each = count.timed == 0 ? "-" : fmt::format("{:.1f}", us);
  const std::string all = count.timed == 0 ? "-" : fmt::format("{:.2f}", total_us(count) / 1000);
  return fmt::format("  {:<36} {:>9} {:>9} {:>10} {:>6}  {}\n", shape_text(key), count.calls, each,
                     all, gain, plan);
}

}  // namespace

std::string summary_text(const std::map<ShapeKey, ShapeCount>& shapes,
                         const std::array<std::int64_t, kReasons>& left) {
  std::string text;
  const std::int64_t calls =
      std::accumulate(shapes.begin(), shapes.end(), std::int64_t{0},
                      [](std::int64_t sum, const auto& entry) { return sum + entry.second.calls; });
  std::int64_t others = 0;
  for (const std::int64_t count : left) others += count;
  if (calls + others == 0)
    return "no call of cuBLAS was seen: is it linked statically, or found by dlsym?\n";
  text += fmt::format("{} products that plans can cover, of {} shapes\n", calls, shapes.size());
  std::vector<std::pair<ShapeKey, ShapeCount>> rows(shapes.begin(), shapes.end());
  std::sort(rows.begin(), rows.end(), [](const auto& left_row, const auto& right_row) {
    return std::pair(total_us(left_row.second), left_row.second.calls) >
           std::pair(total_us(right_row.second), right_row.second.calls);
  });
  if (!rows.empty())
    text += fmt::format("  {:<36} {:>9} {:>9} {:>10} {:>6}  {}\n", "m_n_k (row-major)", "calls",
                        "us each", "ms in all", "gain", "plan");
  double before_us = 0;
  double gained_us = 0;
  for (const auto& [key, count] : rows) {
    before_us += total_us(count);
    if (count.forecast.speedup > 1) gained_us += total_us(count) * (1 - 1 / count.forecast.speedup);
  }
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i)
    text += row_text(rows[i].first, rows[i].second);
  if (rows.size() > kMostRows) text += fmt::format("  and {} more\n", rows.size() - kMostRows);
  if (before_us > 0)
    text += fmt::format(
        "plans would take about {:.2f} of {:.2f} ms off (against tuned cuBLASLt, as "
        "measured when they were made)\n",
        gained_us / 1000, before_us / 1000);
  for (int reason = 0; reason < kReasons; ++reason)
    if (left[static_cast<std::size_t>(reason)] != 0)
      text += fmt::format("{} calls {}: left alone\n", left[static_cast<std::size_t>(reason)],
                          reason_text(static_cast<Reason>(reason)));
  return text;
}

Observer& Observer::of_process() {
  static auto* const observer = new Observer;  // never destroyed: hooks run until the very end
  return *observer;
}

Observer::Sample::Sample(Observer& observer, const GemmCall& call, Server* server)
    : observer_(observer), call_(call) {
  if (call.reason != Reason::kNone) {
    const std::lock_guard lock(observer.mutex_);
    ++observer.left_[static_cast<std::size_t>(call.reason)];
    return;
  }
  key_ = key_of(call);
  const Driver* driver = server != nullptr ? server->driver() : nullptr;
  const bool is_capturing =
      driver == nullptr || runtime::is_capturing(*driver, reinterpret_cast<CUstream>(call.stream));
  std::int64_t number = 0;
  bool needs_forecast = false;
  {
    const std::lock_guard lock(observer.mutex_);
    auto found = observer.shapes_.find(key_);
    if (found == observer.shapes_.end()) {
      if (observer.shapes_.size() >= kMostShapes) return;
      found = observer.shapes_.emplace(key_, ShapeCount{}).first;
    }
    number = ++found->second.calls;
    if (!is_capturing) {
      needs_forecast = !std::exchange(found->second.has_forecast, true);
      observer.collect_locked(*driver);
      if (!is_sampled(number) || observer.pending_.size() >= kMostPending) driver = nullptr;
    }
  }
  if (is_capturing) return;
  if (needs_forecast) {
    Server::Forecast forecast = server->forecast(call);
    const std::lock_guard lock(observer.mutex_);
    observer.shapes_[key_].forecast = std::move(forecast);
  }
  if (driver == nullptr) return;
  auto start = Event::create(*driver);
  if (!start || !start->record(reinterpret_cast<CUstream>(call.stream))) return;
  start_ = *std::move(start);
  driver_ = driver;
}

Observer::Sample::~Sample() {
  if (driver_ == nullptr) return;
  auto stop = Event::create(*driver_);
  CUcontext context = nullptr;
  if (!stop || !stop->record(reinterpret_cast<CUstream>(call_.stream)) ||
      driver_->CtxGetCurrent(&context) != CUDA_SUCCESS)
    return;
  const std::lock_guard lock(observer_.mutex_);
  observer_.pending_.push_back({key_, context, std::move(start_), *std::move(stop)});
}

void Observer::collect() {
  const auto driver = load_driver();
  if (!driver) return;
  const std::lock_guard lock(mutex_);
  collect_locked(**driver);
}

// An event that has not happened yet answers so at once.
void Observer::collect_locked(const Driver& driver) {
  if (pending_.empty()) return;
  CUcontext context = nullptr;
  if (driver.CtxGetCurrent(&context) != CUDA_SUCCESS) return;
  std::erase_if(pending_, [&](const Pending& pending) {
    if (pending.context != context) return false;
    float milliseconds = 0;
    const CUresult result =
        driver.EventElapsedTime(&milliseconds, pending.start.get(), pending.stop.get());
    if (result == CUDA_ERROR_NOT_READY) return false;
    if (result == CUDA_SUCCESS) {
      ShapeCount& count = shapes_[pending.key];
      ++count.timed;
      count.timed_us += static_cast<double>(milliseconds) * 1000;
    }
    return true;
  });
}

void Observer::report() {
  // A lock that another thread held when the process forked, or ended, is not waited for.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  talk("gemmsmith_blas: observed by process {}\n{}", getpid(), summary_text(shapes_, left_));
}

}  // namespace gemmsmith::blas
