#include "measure/server.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "base/statistics.h"

namespace gemmsmith {

double SteadyServeClock::now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

// The generator's bits are fixed by the standard, its distributions are not: hence the inverse of
// the exponential's distribution function by hand.
std::vector<double> poisson_arrivals(double qps, double duration_us, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const double mean_gap_us = 1e6 / qps;
  std::vector<double> arrivals;
  double at = 0;
  while (true) {
    const double uniform = static_cast<double>(random() >> 11) * 0x1p-53;  // [0, 1)
    at -= mean_gap_us * std::log1p(-uniform);
    if (at >= duration_us) return arrivals;
    arrivals.push_back(at);
  }
}

Result<void> serve_slice(ServeProvider& provider, ServeClock& clock,
                         std::span<const double> arrivals_us, double slice_us,
                         const ServeSettings& settings, ServeTally& tally) {
  const auto total = static_cast<std::int64_t>(arrivals_us.size());
  const double start = clock.now_us();
  const auto due = [&](std::int64_t request) {
    return start + arrivals_us[static_cast<std::size_t>(request)];
  };
  double now = start;
  double last_finish = start;
  std::int64_t sent = 0;
  std::int64_t done = 0;
  while (done < total && now < start + 2 * slice_us) {
    bool worked = false;
    now = clock.now_us();
    if (sent < total && now >= due(sent) && sent - done < settings.depth) {
      if (now - due(sent) > settings.late_us) ++tally.late;
      GEMMSMITH_CHECK(provider.send());
      ++sent;
      worked = true;
    }
    if (done < sent) {
      GEMMSMITH_TRY(const std::int64_t finished, provider.finished());
      now = clock.now_us();
      if (finished > done) {
        last_finish = now;
        worked = true;
      }
      for (; done < finished; ++done) tally.latencies_us.push_back(now - due(done));
    }
    if (!worked) clock.idle();
  }
  GEMMSMITH_CHECK(provider.drain());
  tally.finished += done;
  tally.late += total - sent;  // never sent at all
  const bool gave_up = done < total;
  for (; done < total; ++done) tally.latencies_us.push_back(now - due(done));
  tally.busy_us += std::max(slice_us, (gave_up ? now : last_finish) - start);
  return {};
}

void summarise(const ServeTally& tally, ServeReport& report) {
  std::vector<double> sorted = tally.latencies_us;
  std::sort(sorted.begin(), sorted.end());
  report.requests = static_cast<std::int64_t>(sorted.size());
  report.finished = tally.finished;
  report.late = tally.late;
  report.achieved_qps =
      tally.busy_us > 0 ? static_cast<double>(tally.finished) / (tally.busy_us * 1e-6) : 0;
  double sum = 0;
  for (const double latency : sorted) sum += latency;
  report.mean_us = sorted.empty() ? std::nan("") : sum / static_cast<double>(sorted.size());
  report.p50_us = quantile(sorted, 0.50);
  report.p95_us = quantile(sorted, 0.95);
  report.p99_us = quantile(sorted, 0.99);
  report.max_us = quantile(sorted, 1.0);
}

Result<std::vector<ServeTally>> serve_in_turns(std::span<ServeProvider* const> providers,
                                               ServeClock& clock, const ServeSettings& settings,
                                               const std::function<Result<void>()>& after_slice) {
  const double duration_us = settings.duration_s * 1e6;
  const auto slices =
      std::max<std::size_t>(1, static_cast<std::size_t>(settings.duration_s / settings.slice_s));
  const double slice_us = duration_us / static_cast<double>(slices);
  const std::vector<double> arrivals =
      poisson_arrivals(settings.target_qps, duration_us, settings.seed);
  std::vector<ServeTally> tallies(providers.size());
  auto next = arrivals.begin();
  for (std::size_t slice = 0; slice < slices; ++slice) {
    const double from = slice_us * static_cast<double>(slice);
    const auto end = slice + 1 == slices ? arrivals.end()
                                         : std::lower_bound(next, arrivals.end(), from + slice_us);
    std::vector<double> own;
    for (; next != end; ++next) own.push_back(*next - from);
    for (std::size_t turn = 0; turn < providers.size(); ++turn) {
      const std::size_t who = (slice + turn) % providers.size();
      GEMMSMITH_CHECK(serve_slice(*providers[who], clock, own, slice_us, settings, tallies[who]));
      GEMMSMITH_CHECK(after_slice());
    }
  }
  return tallies;
}

}  // namespace gemmsmith
