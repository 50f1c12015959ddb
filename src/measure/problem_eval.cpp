// What a single shape's check asks of a problem's bench: errors as figures, and latency under load.
#include <cmath>

#include "measure/launch_server.h"
#include "measure/problem_bench.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith {

Result<AccuracyReport> ProblemBench::accuracy(const Candidate& candidate) {
  PhaseClock::Scope phase(session_.phases, "accuracy");
  AccuracyReport report;
  report.config = to_text(candidate.config);
  report.relative_error = report.bound_ratio = std::nan("");
  const auto launch = make_launch(candidate);
  if (!launch) {
    report.status = Status::kLaunch;
    report.detail = launch.error().what;
    return report;
  }
  GEMMSMITH_TRY(const Verdict verdict, session_.verifier->verify(**launch, Effort::kFull));
  report.status = verdict.status;
  report.detail = verdict.detail;
  if (verdict.status == Status::kFault || verdict.status == Status::kLaunch) return report;
  report.relative_error = verdict.relative_error;
  report.bound_ratio = verdict.bound_ratio;
  return report;
}

Result<std::vector<ServeReport>> ProblemBench::serve(
    const Candidate& candidate, const ServeSettings& settings,
    const std::function<Result<void>()>& after_slice) {
  PhaseClock::Scope phase(session_.phases, "serve");
  struct Entrant {
    ServeReport report;
    std::unique_ptr<Launch> own;  // where the bench does not keep the launch
    std::unique_ptr<LaunchServer> server;
  };
  std::vector<Entrant> entrants(5);
  const auto enter = [&](std::size_t at, Kind kind, std::string config,
                         Result<Launch*> launch) -> Result<void> {
    entrants[at].report.kind = kind;
    entrants[at].report.config = std::move(config);
    if (launch) {
      GEMMSMITH_TRY(LaunchServer server,
                    LaunchServer::create(session_.driver(), session_.stream.get(), **launch,
                                         session_.operands.pointer(), layout_, settings.depth));
      entrants[at].server = std::make_unique<LaunchServer>(std::move(server));
      const Result<void> warm = entrants[at].server->warm_up();
      if (warm) return {};
      if (session_.is_broken()) return warm;
      launch = tl::unexpected<Error>(warm.error());
      entrants[at].server.reset();
    }
    entrants[at].report.status = Status::kLaunch;
    entrants[at].report.detail = launch.error().what;
    return {};
  };
  const auto keep = [&](std::size_t at, auto made) -> Result<Launch*> {
    if (!made) return tl::unexpected<Error>(made.error());
    entrants[at].own = std::move(*made);
    return entrants[at].own.get();
  };
  const bool is_vendor = vendor::is_vendor(candidate.config);
  GEMMSMITH_CHECK(enter(0, is_vendor ? Kind::kVendor : Kind::kKernel, to_text(candidate.config),
                        keep(0, make_launch(candidate))));
  GEMMSMITH_CHECK(enter(1, Kind::kCublas, "", keep(1, cublas_launch(Kind::kCublas))));
  GEMMSMITH_CHECK(
      enter(2, Kind::kCublasAutotune, "", keep(2, cublas_launch(Kind::kCublasAutotune))));
  GEMMSMITH_CHECK(enter(3, Kind::kLtFirst, lt_text(algos_.front()->algo()), algos_.front().get()));
  GEMMSMITH_CHECK(enter(4, Kind::kLtTuned, lt_text(algos_[tuned_]->algo()), algos_[tuned_].get()));

  std::vector<ServeProvider*> providers;
  for (const Entrant& entrant : entrants)
    if (entrant.server != nullptr) providers.push_back(entrant.server.get());
  SteadyServeClock clock;
  GEMMSMITH_TRY(const std::vector<ServeTally> tallies,
                serve_in_turns(providers, clock, settings, after_slice));
  std::vector<ServeReport> reports;
  auto tally = tallies.begin();
  for (Entrant& entrant : entrants) {
    if (entrant.server != nullptr) summarise(*tally++, entrant.report);
    reports.push_back(std::move(entrant.report));
  }
  session_.sample_clocks();
  return reports;
}

}  // namespace gemmsmith
