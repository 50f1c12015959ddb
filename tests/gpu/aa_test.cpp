// The same kernel on both sides, timed as finals are: what the protocol reports, and how often the
// tuner's rule would take it for a win, where there is no difference. One of our kernels and one of
// cuBLASLt's for each shape, in both settings. Prints a line a kind and writes aa.csv; bench/aa.sh
// runs it alone.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>

#include "base/statistics.h"
#include "gpu/gpu.h"
#include "search/selection.h"

namespace gemmsmith {
namespace {

constexpr int kFinals = 4;  // of each shape and kernel
constexpr std::array kSettings = {Setting::kChained, Setting::kForeign};

struct Tally {
  std::array<std::vector<double>, kSettings.size()> ratios;  // one a quadruple
  long finals = 0;
  long wins = 0;  // by the rule that selects plans: in both settings
};

// Ours, loaded; the first that a tuner would try.
Result<Candidate> own_candidate(CudaBench& bench, NvrtcKernels& kernels, const Problem& problem) {
  const std::vector<Config> configs = gpu::bench_configs(problem, bench.device().target);
  if (configs.empty()) return fail(ErrorCode::kUnsupported, "no kernel for {}", describe(problem));
  const std::span<const Config> first(configs.data(), 1);
  GEMMSMITH_TRY(const std::vector<KernelInfo> infos,
                kernels.prepare(first, problem, gpu::architecture()));
  if (infos.front().status != Status::kOk)
    return fail(ErrorCode::kCompile, "{}: {}", to_text(configs.front()), infos.front().detail);
  GEMMSMITH_TRY(const std::string cubin,
                kernels.cubin(configs.front(), problem, gpu::architecture()));
  GEMMSMITH_CHECK(bench.add_kernel(infos.front().hash, cubin));
  return Candidate{configs.front(), infos.front().hash, 0};
}

Result<void> run_finals(ProblemBench& bench, const Candidate& candidate, int pairs, Tally& tally,
                        std::ofstream& table) {
  for (int final = 0; final < kFinals; ++final) {
    Finalist finalist;
    for (std::size_t i = 0; i < kSettings.size(); ++i) {
      std::vector<Quadruple> quadruples;
      GEMMSMITH_TRY(Measurement row,
                    bench.pair_with_itself(candidate, kSettings[i], pairs, quadruples));
      for (const Quadruple& q : quadruples)
        tally.ratios[i].push_back(std::sqrt(q.baseline_first * q.baseline_second /
                                            (q.candidate_first * q.candidate_second)));
      table << row.problem.m << ',' << row.problem.n << ',' << row.problem.k << ',' << row.config
            << ',' << name(row.setting) << ',' << quadruples.size() << ',' << row.median_us << ','
            << row.ratio << ',' << row.ratio_low << ',' << row.ratio_high << '\n';
      (kSettings[i] == Setting::kChained ? finalist.chained : finalist.foreign) = std::move(row);
    }
    ++tally.finals;
    tally.wins += wins(finalist) ? 1 : 0;
  }
  return {};
}

void judge(const char* kind, const Tally& tally) {
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    const std::vector<double>& ratios = tally.ratios[i];
    const std::size_t pairs = 2 * ratios.size();
    fmt::print("aa: kind={} setting={} pairs={} median_ratio={:.5f} finals={} false_wins={}\n",
               kind, name(kSettings[i]), pairs, median(ratios), tally.finals, tally.wins);
    EXPECT_GE(pairs, 1000U);
    EXPECT_NEAR(median(ratios), 1, 0.003) << kind << " " << name(kSettings[i]);
  }
  EXPECT_LE(50 * tally.wins, tally.finals) << kind << ": at most 1 of 50 may claim a win";
}

TEST(SameKernel, ReportsNoDifference) {
  GEMMSMITH_NEEDS_GPU();
  const std::vector<Problem> problems = gpu::same_kernel_problems();
  ASSERT_FALSE(problems.empty());
  const BenchSettings settings;
  const auto bench = gpu::open_cuda_bench(settings);
  ASSERT_TRUE(bench) << bench.error().what;
  const auto kernels = NvrtcKernels::open();
  ASSERT_TRUE(kernels) << kernels.error().what;
  std::ofstream table(gpu::results_path("aa.csv"));
  table << "m,n,k,config,setting,quadruples,median_us,ratio,ratio_low,ratio_high\n";
  Tally ours;
  Tally vendors;
  for (const Problem& problem : problems) {
    const auto candidate = own_candidate(**bench, **kernels, problem);
    ASSERT_TRUE(candidate) << candidate.error().what;
    auto problem_bench = (*bench)->bench(problem);
    ASSERT_TRUE(problem_bench) << problem_bench.error().what;
    const auto configs = (*problem_bench)->vendor_configs(1);
    ASSERT_TRUE(configs) << configs.error().what;
    const Candidate vendor{configs->front(), "", 0};
    for (const auto& [who, tally] : {std::pair{&*candidate, &ours}, {&vendor, &vendors}}) {
      const auto run = run_finals(**problem_bench, *who, settings.final_pairs, *tally, table);
      ASSERT_TRUE(run) << run.error().what;
    }
  }
  judge("ours", ours);
  judge("cublaslt", vendors);
}

}  // namespace
}  // namespace gemmsmith
