// bench_grouped: grouped kernels against the better of cublasGemmGroupedBatchedEx and a loop of
// tuned cuBLASLt calls in a graph, on the layers of public mixture-of-experts models.
//
//   bench_grouped [--plans FILE] [--only TEXT]     CSV on stdout; a plan table of what won to FILE
//
// Each case: all candidates are compiled, proved against the loop's result, screened; the best is
// paired with the better baseline (ABBA quadruples, rotating operands, one process).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>

#include "base/statistics.h"
#include "grouped/baselines.h"
#include "measure/accuracy.h"
#include "measure/kernel_provider.h"
#include "measure/pairs.h"
#include "plan/plan_table_writer.h"
#include "space/family.h"

namespace gemmsmith::grouped {
namespace {

constexpr int kScreenRounds = 5;
constexpr int kPairs = 12;
constexpr double kReplayUs = 400;
// bf16 rounds to 8 bits; two right results differ by about 2^-9 in the norm.
constexpr double kMostError = 5e-3;

constexpr const char* kCandidates[] = {
    "sm90_ws:n64.k128.s4.e1.ps1",         "sm90_ws:n128.s8.e1.ps1",
    "sm90_ws:n128.k128.s4.e1.ps1",        "sm90_ws:w2.n128.k128.s4.e1.ps1",
    "sm90_ws:w2.n256.s4.e1.ps1",          "sm90_ws:w2.n256.s5.e1.ps1",
    "sm90_ws:w2.pp1.n128.s8.e1.ps1",      "sm90_ws:w2.pp1.n256.s4.e1.ps1",
    "sm90_ws:w2.m128.n128.s6.e1.ps1",     "sm90_ws:w2.m128.n192.s4.e1.ps1",
    "sm90_ws:w2.m128.n256.s4.e1.ps1",     "sm90_ws:w2.m128.n256.s4.e1.ps1.g1",
    "sm90_ws:w2.m128.n256.s4.e1.ps1.g32", "sm90_ws:w2.pp1.m128.n128.s5.e1.ps1",
    "sm90_ws:w2.m256.n128.s4.e1.ps1"};

// A kernel that is told where the groups end.
class GroupedLaunch : public Launch {
 public:
  GroupedLaunch(KernelLaunch launch, const std::int32_t* ends) : launch_(launch), ends_(ends) {}
  Result<void> enqueue(const plan::Operands& operands, CUstream stream) override {
    plan::Operands grouped = operands;
    grouped.group_ends = ends_;
    return launch_.enqueue(grouped, stream);
  }

 private:
  KernelLaunch launch_;
  const std::int32_t* ends_;
};

struct Runner {
  std::string name;
  std::unique_ptr<Launch> launch;
  TimedGraph graph;
  double us = 0;
};

class CaseBench {
 public:
  CaseBench(GpuSession& session, NvrtcKernels& kernels, const Case& groups)
      : session_(session), kernels_(kernels), case_(groups) {}

  // Prints the row; adds the plan where the kernel won.
  Result<void> run(plan::PlanTableWriter& writer) {
    GEMMSMITH_CHECK(fill());
    GEMMSMITH_TRY(Runner loop, add("lt_loop", LtLoop::tune(session_, case_)));
    GEMMSMITH_CHECK(remember_reference(*loop.launch));
    auto library = CublasGrouped::create(session_, case_, session_.operands.pointer(), layout_);
    std::optional<Runner> cublas;
    if (library) {
      GEMMSMITH_TRY(cublas, add("cublas_grouped", std::move(library)));
      // NaN was seen of it for 128 groups: what is wrong is nothing to be compared with.
      if (const auto proved = prove(*cublas->launch, cublas->name); !proved) {
        if (proved.error().code != ErrorCode::kBadResult)
          return tl::unexpected<Error>(proved.error());
        fmt::print(stderr, "bench_grouped: left out: {}\n", proved.error().what);
        cublas.reset();
      }
    }
    std::vector<Runner> ours;
    GEMMSMITH_CHECK(add_candidates(ours));
    if (ours.empty())
      return fail(ErrorCode::kBadResult, "{}: no candidate is legal and right",
                  describe(case_.problem));
    std::vector<Runner*> all = {&loop};
    if (cublas) all.push_back(&*cublas);
    for (Runner& runner : ours) all.push_back(&runner);
    GEMMSMITH_CHECK(screen(all));
    const Runner& baseline = cublas && cublas->us < loop.us ? *cublas : loop;
    const Runner& best = *std::min_element(
        ours.begin(), ours.end(), [](const Runner& a, const Runner& b) { return a.us < b.us; });
    GEMMSMITH_TRY(const Measurement paired, pair(best, baseline));
    fmt::print("{},{},{},{},{},{:.2f},{:.2f},{},{:.2f},{:.3f},{:.3f},{:.3f}\n", case_.model,
               case_.problem.batch, case_.problem.m, case_.problem.n, case_.problem.k, loop.us,
               cublas ? cublas->us : std::nan(""), best.name, paired.median_us, paired.ratio,
               paired.ratio_low, paired.ratio_high);
    std::fflush(stdout);
    ratios_sum += std::log(paired.ratio);
    ++cases;
    if (paired.ratio_low <= 1) return {};
    const Config config = *parse_config(best.name, kernel_families());
    GEMMSMITH_TRY(const std::string cubin, kernels_.cubin(config, case_.problem, kArchitecture));
    return writer.add_kernel_plan(case_.problem, config, session_.target(), {cubin},
                                  {paired.median_us, paired.ratio, 0});
  }

  static inline double ratios_sum = 0;
  static inline int cases = 0;
  static constexpr const char* kArchitecture = "sm_90a";

 private:
  Result<void> fill() {
    layout_ = timing_layout(case_.problem, session_.target().l2_bytes);
    GEMMSMITH_CHECK(session_.need_operands(layout_.bytes()));
    const std::int64_t count = layout_.bytes() / 2;
    GEMMSMITH_CHECK(session_.kernels.fill_normal(session_.stream.get(), session_.operands.address(),
                                                 {1, count, count}, case_.problem.type, 1, 1));
    const std::size_t bytes = case_.ends.size() * sizeof case_.ends[0];
    GEMMSMITH_TRY(ends_, DeviceBuffer::allocate(session_.driver(), bytes));
    return copy_to_device(session_.driver(), ends_.address(), case_.ends.data(), bytes,
                          session_.stream.get());
  }

  // Launches once, since the first may load code, and captures a rotation.
  template <class Made>
  Result<Runner> add(std::string name, Result<Made> made) {
    if (!made) return tl::unexpected<Error>(made.error());
    Runner runner;
    runner.name = std::move(name);
    runner.launch = *std::move(made);
    const CUstream stream = session_.stream.get();
    GEMMSMITH_TRY(const Event start, Event::create(session_.driver()));
    GEMMSMITH_TRY(const Event stop, Event::create(session_.driver()));
    const plan::Operands first = layout_.at(session_.operands.pointer(), 0);
    GEMMSMITH_CHECK(runner.launch->enqueue(first, stream));
    GEMMSMITH_CHECK(start.record(stream));
    GEMMSMITH_CHECK(runner.launch->enqueue(first, stream));
    GEMMSMITH_CHECK(stop.record(stream));
    GEMMSMITH_CHECK(session_.stream.synchronize());
    GEMMSMITH_TRY(const double once_us, elapsed_us(start, stop));
    if (launches_ == 0)
      launches_ = std::max(
          2, launches_per_replay(once_us, kReplayUs, static_cast<int>(layout_.sets_to_cover)));
    GEMMSMITH_TRY(runner.graph,
                  session_.timer->capture(runner.launch.get(), Pattern::kLaunch,
                                          session_.operands.pointer(), layout_, 0, launches_));
    return runner;
  }

  Result<void> remember_reference(Launch& launch) {
    const plan::Operands first = layout_.at(session_.operands.pointer(), 0);
    const auto bytes = static_cast<std::size_t>(stored_d(case_.problem).extent()) * 2;
    GEMMSMITH_TRY(expected_, DeviceBuffer::allocate(session_.driver(), bytes));
    GEMMSMITH_TRY(norms_, DeviceBuffer::allocate(session_.driver(), 2 * sizeof(double)));
    plan::Operands into = first;
    into.d = expected_.pointer();
    GEMMSMITH_CHECK(launch.enqueue(into, session_.stream.get()));
    return session_.stream.synchronize();
  }

  // D is poisoned, computed and compared as a whole.
  Result<void> prove(Launch& launch, const std::string& name) {
    const CUstream stream = session_.stream.get();
    const plan::Operands first = layout_.at(session_.operands.pointer(), 0);
    const MatrixShape shape = stored_d(case_.problem);
    const auto d = reinterpret_cast<CUdeviceptr>(first.d);
    GEMMSMITH_CHECK(session_.kernels.fill_pattern(stream, d, shape.extent(), 0x7fff));
    GEMMSMITH_CHECK(launch.enqueue(first, stream));
    double norms[2] = {};
    GEMMSMITH_CHECK(
        copy_to_device(session_.driver(), norms_.address(), norms, sizeof norms, stream));
    GEMMSMITH_CHECK(session_.kernels.error_norms(stream, d, expected_.address(), shape,
                                                 case_.problem.type, norms_.address()));
    GEMMSMITH_CHECK(copy_to_host(session_.driver(), norms, norms_.address(), sizeof norms, stream));
    const double error = relative_norm(norms[0], norms[1]);
    if (error <= kMostError) return {};  // NaN is not
    return fail(ErrorCode::kBadResult, "{} is wrong for {}: relative error {:.3g}", name,
                describe(case_.problem), error);
  }

  Result<void> add_candidates(std::vector<Runner>& ours) {
    std::vector<Config> legal;
    for (const char* text : kCandidates) {
      const Config config = *parse_config(text, kernel_families());
      if (broken_rule({case_.problem, session_.target()}, config) == nullptr)
        legal.push_back(config);
    }
    GEMMSMITH_TRY(const std::vector<KernelInfo> infos,
                  kernels_.prepare(legal, case_.problem, kArchitecture));
    for (std::size_t i = 0; i < legal.size(); ++i) {
      if (infos[i].status != Status::kOk) continue;
      GEMMSMITH_TRY(const std::string cubin,
                    kernels_.cubin(legal[i], case_.problem, kArchitecture));
      GEMMSMITH_CHECK(session_.modules.add(session_.driver(), infos[i].hash, cubin));
      GEMMSMITH_TRY(const CUfunction function, session_.modules.function(infos[i].hash));
      GEMMSMITH_TRY(plan::LaunchPlan plan,
                    plan::make_launch_plan(legal[i], case_.problem, session_.target()));
      GEMMSMITH_CHECK(plan::prepare(session_.driver(), plan, function));
      const auto* const ends = static_cast<const std::int32_t*>(ends_.pointer());
      GEMMSMITH_TRY(
          Runner runner,
          add(to_text(legal[i]),
              Result<std::unique_ptr<Launch>>(std::make_unique<GroupedLaunch>(
                  KernelLaunch(session_.driver(), plan, {function, nullptr}, {}), ends))));
      GEMMSMITH_CHECK(prove(*runner.launch, runner.name));
      ours.push_back(std::move(runner));
    }
    return {};
  }

  Result<void> screen(const std::vector<Runner*>& runners) {
    std::vector<const TimedGraph*> sequence;
    for (int round = 0; round < kScreenRounds; ++round)
      for (const Runner* runner : runners) sequence.push_back(&runner->graph);
    GEMMSMITH_TRY(const std::vector<double> times, session_.timer->replay(sequence));
    for (std::size_t i = 0; i < runners.size(); ++i) {
      std::vector<double> own;
      for (std::size_t at = i; at < times.size(); at += runners.size()) own.push_back(times[at]);
      runners[i]->us = median(own);
    }
    return {};
  }

  Result<Measurement> pair(const Runner& candidate, const Runner& baseline) {
    std::vector<const TimedGraph*> sequence;
    for (int i = 0; i < kPairs; ++i)
      sequence.insert(sequence.end(),
                      {&candidate.graph, &baseline.graph, &baseline.graph, &candidate.graph});
    GEMMSMITH_TRY(const std::vector<double> times, session_.timer->replay(sequence));
    std::vector<Quadruple> quadruples;
    for (std::size_t at = 0; at < times.size(); at += 4)
      quadruples.push_back({times[at], times[at + 1], times[at + 2], times[at + 3]});
    Measurement row;
    summarise(quadruples, row);
    return row;
  }

  GpuSession& session_;
  NvrtcKernels& kernels_;
  const Case& case_;
  OperandLayout layout_;
  DeviceBuffer ends_, expected_, norms_;
  int launches_ = 0;
};

Result<void> run_all(const std::string& plans, std::string_view only) {
  GEMMSMITH_TRY(const std::unique_ptr<NvrtcKernels> kernels, NvrtcKernels::open());
  const auto utility = [&](const char* file) {
    return kernels->utility_cubin(file, CaseBench::kArchitecture);
  };
  GEMMSMITH_TRY(const std::string harness, utility("harness.cu"));
  GEMMSMITH_TRY(const std::string reference, utility("reference.cu"));
  GEMMSMITH_TRY(const std::string pack, utility("pack.cu"));
  BenchSettings settings;
  GEMMSMITH_TRY(const std::unique_ptr<GpuSession> session,
                GpuSession::open(0, settings, {harness, reference, pack}, "grouped"));
  const Target& target = session->target();
  plan::PlanTableWriter writer({target.name, target.compute_capability, target.sm_count,
                                session->info.cublas_version, kernels->version()});
  fmt::print(
      "layer,groups,rows,n,k,lt_loop_us,cublas_grouped_us,config,us,ratio,ratio_low,ratio_high\n");
  for (const Case& groups : all_cases(settings.seed)) {
    if (groups.model.find(only) == std::string::npos) continue;
    GEMMSMITH_CHECK(CaseBench(*session, *kernels, groups).run(writer));
  }
  if (CaseBench::cases > 0)
    fmt::print(stderr, "geometric mean over {} cases: {:.3f}\n", CaseBench::cases,
               std::exp(CaseBench::ratios_sum / CaseBench::cases));
  return plans.empty() ? Result<void>() : writer.write(plans);
}

}  // namespace
}  // namespace gemmsmith::grouped

int main(int argc, char** argv) {
  std::string plans;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--plans") plans = argv[i + 1];
    if (std::string_view(argv[i]) == "--only") only = argv[i + 1];
  }
  const auto done = gemmsmith::grouped::run_all(plans, only);
  if (done) return 0;
  fmt::print(stderr, "bench_grouped: {}\n", done.error().what);
  return gemmsmith::exit_code(done.error().code);
}
