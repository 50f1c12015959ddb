// server.h -- latency under load: requests arrive at times that were fixed beforehand (Poisson,
// open loop) whether or not earlier ones are done, and a request's latency runs from its scheduled
// arrival. A stall so delays every request behind it and cannot hide by slowing the sender down
// (coordinated omission). Knows no GPU: requests go to a ServeProvider, time comes from a
// ServeClock.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/measurement.h"

namespace gemmsmith {

struct ServeSettings {
  double target_qps = 100;
  double duration_s = 5;  // for each provider
  // Providers take turns of this length, so that all see the same drift of clocks and temperature.
  double slice_s = 0.5;
  std::uint64_t seed = 1;
  double late_us = 50;  // a request sent later than this after its arrival counts as late
  int depth = 1024;     // requests in flight; what arrives beyond waits on the host, as in a server
};

// One who serves: ours or a baseline. Requests finish in the order in which they were sent.
class ServeProvider {
 public:
  virtual ~ServeProvider() = default;
  // Hands over one request and returns without waiting for it.
  virtual Result<void> send() = 0;
  // Requests finished since the last drain().
  virtual Result<std::int64_t> finished() = 0;
  // Waits until nothing is in flight.
  virtual Result<void> drain() = 0;
};

class ServeClock {
 public:
  virtual ~ServeClock() = default;
  virtual double now_us() = 0;
  // There was nothing to send and nothing had finished.
  virtual void idle() = 0;
};

// The machine's monotonic clock; idling spins, because a sleep wakes up tens of us late.
class SteadyServeClock : public ServeClock {
 public:
  double now_us() override;
  void idle() override {}
};

// Increasing times in [0, duration_us) with exponential gaps, the same for the same seed on every
// machine.
std::vector<double> poisson_arrivals(double qps, double duration_us, std::uint64_t seed);

// What happened to one provider's requests.
struct ServeTally {
  std::vector<double> latencies_us;  // one a request; of an unfinished one, what it had waited
  std::int64_t finished = 0;
  std::int64_t late = 0;
  double busy_us = 0;  // slices, and their tails until the last request was done
};

// Serves the arrivals (us from the slice's start) of one slice of `slice_us`. Who has not finished
// another slice's length after its end is overloaded: the rest counts as unfinished.
Result<void> serve_slice(ServeProvider& provider, ServeClock& clock,
                         std::span<const double> arrivals_us, double slice_us,
                         const ServeSettings& settings, ServeTally& tally);

struct ServeReport {
  Kind kind = Kind::kKernel;
  std::string config;
  Status status = Status::kOk;  // kLaunch where this provider cannot compute the problem
  std::string detail;
  std::int64_t requests = 0;
  std::int64_t finished = 0;
  std::int64_t late = 0;
  double achieved_qps = 0;
  double mean_us = 0;
  double p50_us = 0;
  double p95_us = 0;
  double p99_us = 0;
  double max_us = 0;
};

// Fills in the figures.
void summarise(const ServeTally& tally, ServeReport& report);

// All providers see the same arrivals, slice by slice, in an order that rotates. `after_slice`
// hears of each finished slice; its error ends the run.
Result<std::vector<ServeTally>> serve_in_turns(std::span<ServeProvider* const> providers,
                                               ServeClock& clock, const ServeSettings& settings,
                                               const std::function<Result<void>()>& after_slice);

}  // namespace gemmsmith
