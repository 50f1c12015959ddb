// Serving under load, against a server and a clock whose every microsecond is known: latencies must
// be those of the queue that arises, whatever the sender does.
#include "measure/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/statistics.h"

namespace gemmsmith {
namespace {

// Moves only when somebody works or idles.
class FakeClock : public ServeClock {
 public:
  double now_us() override { return now_; }
  void idle() override { now_ += kTick; }
  void pass(double us) { now_ += us; }

  static constexpr double kTick = 2;

 private:
  double now_ = 1e6;
};

// One server with a queue: each request takes `service_us`, sending one keeps the host busy for
// `host_us`; request `stalled` takes `stall_us` instead.
class FakeServer : public ServeProvider {
 public:
  FakeServer(FakeClock& clock, double service_us, double host_us = 0)
      : clock_(clock), service_us_(service_us), host_us_(host_us) {}

  Result<void> send() override {
    const bool stalls = static_cast<std::int64_t>(done_at_.size()) == stalled;
    clock_.pass(host_us_ + (stalls ? host_stall_us : 0));
    const double free_at = std::max(clock_.now_us(), done_at_.empty() ? 0 : done_at_.back());
    done_at_.push_back(free_at + (stalls ? service_us_ + stall_us : service_us_));
    in_flight_most = std::max(in_flight_most, static_cast<std::int64_t>(done_at_.size()) - done_);
    ++sent;
    return {};
  }
  Result<std::int64_t> finished() override {
    while (done_ < static_cast<std::int64_t>(done_at_.size()) &&
           done_at_[static_cast<std::size_t>(done_)] <= clock_.now_us())
      ++done_;
    return done_;
  }
  Result<void> drain() override {
    if (!done_at_.empty()) clock_.pass(std::max(0.0, done_at_.back() - clock_.now_us()));
    done_at_.clear();
    done_ = 0;
    return {};
  }

  std::int64_t stalled = -1;
  double stall_us = 0;       // of the server
  double host_stall_us = 0;  // of the sender
  std::int64_t sent = 0;
  std::int64_t in_flight_most = 0;

 private:
  FakeClock& clock_;
  double service_us_;
  double host_us_;
  std::vector<double> done_at_;
  std::int64_t done_ = 0;
};

ServeTally serve(ServeProvider& server, FakeClock& clock, const ServeSettings& settings) {
  ServeProvider* const providers[] = {&server};
  const auto tallies = serve_in_turns(providers, clock, settings, [] { return Result<void>(); });
  EXPECT_TRUE(tallies) << tallies.error().what;
  return tallies->front();
}

ServeReport report_of(const ServeTally& tally) {
  ServeReport report;
  summarise(tally, report);
  return report;
}

TEST(PoissonArrivals, HaveExponentialGapsAtTheRate) {
  const std::vector<double> arrivals = poisson_arrivals(1000, 100e6, 7);
  // 100 000 expected; the standard deviation is 316.
  EXPECT_NEAR(static_cast<double>(arrivals.size()), 1e5, 5 * 316);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < arrivals.size(); ++i) gaps.push_back(arrivals[i] - arrivals[i - 1]);
  EXPECT_NEAR(quantile(gaps, 0.5), 1000 * std::log(2), 15);
  EXPECT_NEAR(quantile(gaps, 0.99), 1000 * std::log(100), 120);
  EXPECT_GT(*std::min_element(gaps.begin(), gaps.end()), 0);
  EXPECT_LT(arrivals.back(), 100e6);
}

TEST(PoissonArrivals, AreTheSeedsAlone) {
  EXPECT_EQ(poisson_arrivals(500, 1e6, 3), poisson_arrivals(500, 1e6, 3));
  EXPECT_NE(poisson_arrivals(500, 1e6, 3), poisson_arrivals(500, 1e6, 4));
}

// Pollaczek-Khinchine for constant service S at load rho: the mean wait is rho S / 2 (1 - rho).
TEST(Serving, LatenciesAreThoseOfAnMD1Queue) {
  constexpr double kService = 100;
  for (const double load : {0.2, 0.5, 0.8}) {
    FakeClock clock;
    FakeServer server(clock, kService);
    ServeSettings settings;
    settings.target_qps = load * 1e6 / kService;
    settings.duration_s = 10;
    settings.slice_s = 5;
    const ServeReport report = report_of(serve(server, clock, settings));
    const double expected = kService + load * kService / (2 * (1 - load));
    EXPECT_NEAR(report.mean_us, expected, 0.06 * expected) << load;
    EXPECT_NEAR(report.achieved_qps, settings.target_qps, 0.03 * settings.target_qps) << load;
    EXPECT_EQ(report.finished, report.requests);
    EXPECT_GE(report.p50_us, kService);
    EXPECT_LE(report.p50_us, report.p95_us);
    EXPECT_LE(report.p95_us, report.p99_us);
    EXPECT_LE(report.p99_us, report.max_us);
    EXPECT_EQ(report.late, 0);
  }
}

TEST(Serving, AnIdleServersLatencyIsItsServiceAndHostTime) {
  FakeClock clock;
  FakeServer server(clock, 40, 10);
  ServeSettings settings;
  settings.target_qps = 100;
  settings.duration_s = 4;
  const ServeReport report = report_of(serve(server, clock, settings));
  EXPECT_NEAR(report.p50_us, 50, 2 * FakeClock::kTick);
  EXPECT_NEAR(report.achieved_qps, 100, 30);
}

TEST(Serving, OverloadShowsGrowingLatencyAndLostThroughput) {
  FakeClock clock;
  FakeServer server(clock, 100);
  ServeSettings settings;
  settings.target_qps = 30000;  // three times what it can
  settings.duration_s = 1;
  settings.slice_s = 1;
  const ServeTally tally = serve(server, clock, settings);
  const ServeReport report = report_of(tally);
  EXPECT_NEAR(report.achieved_qps, 10000, 100);
  EXPECT_LT(report.finished, report.requests);
  EXPECT_GT(report.late, report.requests / 2);
  // The backlog grows steadily: late requests wait longer than early ones.
  const auto& waits = tally.latencies_us;
  EXPECT_GT(waits[static_cast<std::size_t>(report.finished) - 1],
            5 * waits[static_cast<std::size_t>(report.finished) / 10]);
  // What was never finished counts with what it had waited, at least another slice.
  EXPECT_GT(waits.back(), 0.99e6);
}

TEST(Serving, GivesUpOnAServerThatNeverFinishes) {
  FakeClock clock;
  FakeServer server(clock, 1e12);
  ServeSettings settings;
  settings.duration_s = 0.1;
  settings.slice_s = 0.1;
  const ServeReport report = report_of(serve(server, clock, settings));
  EXPECT_EQ(report.finished, 0);
  EXPECT_EQ(report.achieved_qps, 0);
  EXPECT_GT(report.requests, 0);
  EXPECT_GT(report.p50_us, 0.1e6);
}

// A 20 ms stall delays the 200 requests that arrive during it. A closed loop would have reported
// one bad latency; here the 95th percentile sees it.
void expect_stall_seen(FakeServer& server, FakeClock& clock) {
  ServeSettings settings;
  settings.target_qps = 10000;
  settings.duration_s = 0.2;
  settings.slice_s = 0.2;
  const ServeTally tally = serve(server, clock, settings);
  const auto slow = std::count_if(tally.latencies_us.begin(), tally.latencies_us.end(),
                                  [](double us) { return us > 1000; });
  EXPECT_GT(slow, 150);
  EXPECT_GT(report_of(tally).p95_us, 5000);
}

TEST(Serving, AStallOfTheServerIsPaidByAllWhoWait) {
  FakeClock clock;
  FakeServer server(clock, 5);
  server.stalled = 100;
  server.stall_us = 20000;
  expect_stall_seen(server, clock);
}

TEST(Serving, AStallOfTheSenderIsPaidByAllWhoWait) {
  FakeClock clock;
  FakeServer server(clock, 5);
  server.stalled = 100;
  server.host_stall_us = 20000;
  expect_stall_seen(server, clock);
}

TEST(Serving, RequestsSentLateAreCounted) {
  FakeClock clock;
  FakeServer server(clock, 5);
  server.stalled = 100;
  server.host_stall_us = 20000;
  ServeSettings settings;
  settings.target_qps = 10000;
  settings.duration_s = 0.2;
  settings.slice_s = 0.2;
  settings.late_us = 10;
  const ServeReport report = report_of(serve(server, clock, settings));
  EXPECT_NEAR(static_cast<double>(report.late), 200, 60);
}

TEST(Serving, NeverMoreInFlightThanTheDepth) {
  FakeClock clock;
  FakeServer server(clock, 100);
  ServeSettings settings;
  settings.target_qps = 20000;
  settings.duration_s = 0.2;
  settings.slice_s = 0.2;
  settings.depth = 16;
  const ServeReport report = report_of(serve(server, clock, settings));
  EXPECT_EQ(server.in_flight_most, 16);
  // The depth is the host's queue, not a loss: the server is never idle.
  EXPECT_NEAR(report.achieved_qps, 10000, 200);
}

TEST(Serving, ProvidersTakeTurnsOnTheSameArrivals) {
  FakeClock clock;
  FakeServer quick(clock, 10);
  FakeServer slow(clock, 200);
  ServeProvider* const providers[] = {&quick, &slow};
  ServeSettings settings;
  settings.target_qps = 1000;
  settings.duration_s = 2;
  settings.slice_s = 0.5;
  std::vector<std::int64_t> quick_sent;
  std::vector<std::int64_t> slow_sent;
  const auto tallies = serve_in_turns(providers, clock, settings, [&]() -> Result<void> {
    quick_sent.push_back(quick.sent);
    slow_sent.push_back(slow.sent);
    return {};
  });
  ASSERT_TRUE(tallies);
  EXPECT_EQ(quick.sent, slow.sent);
  ASSERT_EQ(quick_sent.size(), 8U);
  // The first slice is quick's, the second slice slow's first.
  EXPECT_EQ(slow_sent[0], 0);
  EXPECT_GT(quick_sent[0], 0);
  EXPECT_EQ(quick_sent[2], quick_sent[1]);
  EXPECT_GT(slow_sent[2], slow_sent[1]);
  EXPECT_LT(report_of((*tallies)[0]).p50_us, report_of((*tallies)[1]).p50_us);
}

TEST(Serving, TheSlicesHoldAllArrivals) {
  FakeClock clock;
  FakeServer server(clock, 1);
  ServeSettings settings;
  settings.target_qps = 997;
  settings.duration_s = 2.3;
  settings.slice_s = 0.5;
  settings.seed = 11;
  const ServeTally tally = serve(server, clock, settings);
  EXPECT_EQ(tally.latencies_us.size(), poisson_arrivals(997, 2.3e6, 11).size());
  EXPECT_NEAR(tally.busy_us, 2.3e6, 100);
}

TEST(Serving, AnErrorOfTheProviderEndsIt) {
  class Broken : public ServeProvider {
   public:
    Result<void> send() override { return fail(ErrorCode::kDevice, "launch failed"); }
    Result<std::int64_t> finished() override { return 0; }
    Result<void> drain() override { return {}; }
  };
  FakeClock clock;
  Broken broken;
  ServeProvider* const providers[] = {&broken};
  const auto tallies = serve_in_turns(providers, clock, {}, [] { return Result<void>(); });
  ASSERT_FALSE(tallies);
  EXPECT_EQ(tallies.error().what, "launch failed");
}

TEST(Serving, WhoListensMayStopIt) {
  FakeClock clock;
  FakeServer server(clock, 10);
  ServeProvider* const providers[] = {&server};
  int slices = 0;
  const auto tallies = serve_in_turns(providers, clock, {}, [&]() -> Result<void> {
    if (++slices == 2) return fail(ErrorCode::kInterrupted, "enough");
    return {};
  });
  ASSERT_FALSE(tallies);
  EXPECT_EQ(slices, 2);
}

TEST(Serving, NoRequestsHaveNoPercentiles) {
  const ServeReport report = report_of({});
  EXPECT_EQ(report.requests, 0);
  EXPECT_TRUE(std::isnan(report.p50_us));
  EXPECT_TRUE(std::isnan(report.mean_us));
}

}  // namespace
}  // namespace gemmsmith
