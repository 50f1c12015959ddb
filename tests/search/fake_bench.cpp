#include "search/fake_bench.h"

#include "base/hash.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith {
namespace {

double invented_ratio(const Problem& problem, const std::string& config, Stage, Setting) {
  const auto noise = static_cast<double>(hash64(shape_name(problem) + config) % 1000);
  return 0.6 + 0.6 * noise / 1000;
}

Measurement row_of(const Problem& problem, Kind kind, const std::string& config, double ratio) {
  Measurement row;
  row.problem = problem;
  row.kind = kind;
  row.config = config;
  row.ratio = ratio;
  row.ratio_low = ratio * 0.995;
  row.ratio_high = ratio * 1.005;
  row.median_us = 10 / ratio;
  row.low_us = row.median_us * 0.99;
  row.high_us = row.median_us * 1.01;
  row.repeats_us = {row.low_us, row.median_us, row.high_us};
  return row;
}

Kind kind_of(const Config& config) {
  return config.family == &vendor::cublaslt_family() ? Kind::kVendor : Kind::kKernel;
}

}  // namespace

FakeBench::FakeBench() : ratio(invented_ratio) {
  device_.target = *known_target("h200");
  device_.driver_version = "580.1";
  device_.cublas_version = "13.1.0";
  device_.compiler_version = "nvrtc 13.0";
}

Result<std::vector<Measurement>> FakeBench::baselines(const Problem& problem) {
  ++baseline_calls;
  if (before) GEMMSMITH_CHECK(before(problem, "baselines"));
  Measurement tuned = row_of(problem, Kind::kLtTuned, "cublaslt:a66.s35", 1);
  tuned.median_us = lt_tuned_us;
  return std::vector<Measurement>{row_of(problem, Kind::kCublas, "", 0.95),
                                  row_of(problem, Kind::kCublasAutotune, "", 0.97),
                                  row_of(problem, Kind::kLtFirst, "cublaslt:a66", 0.94), tuned};
}

Result<std::vector<Config>> FakeBench::vendor_configs(const Problem& problem, int limit) {
  if (before) GEMMSMITH_CHECK(before(problem, "vendor_configs"));
  std::vector<Config> configs;
  for (int i = 0; i < std::min(limit, 12); ++i) {
    Config config = default_config(vendor::cublaslt_family());
    config.values[0] = 60 + i;
    configs.push_back(config);
  }
  return configs;
}

Result<std::vector<Measurement>> FakeBench::screen(const Problem& problem,
                                                   std::span<const Config> configs,
                                                   Setting setting) {
  if (before) GEMMSMITH_CHECK(before(problem, "screen"));
  std::vector<Measurement> rows;
  for (const Config& config : configs) {
    const std::string text = to_text(config);
    ++(setting == Setting::kChained ? screened : semifinal)[shape_name(problem) + " " + text];
    rows.push_back(
        row_of(problem, kind_of(config), text, ratio(problem, text, Stage::kScreen, setting)));
    rows.back().setting = setting;
    if (broken.count(text) != 0) rows.back().status = Status::kWrong;
    if (setting == Setting::kForeign && broken_between.count(text) != 0)
      rows.back().status = Status::kLaunch;
  }
  return rows;
}

Result<std::vector<Measurement>> FakeBench::finals(const Problem& problem,
                                                   std::span<const Config> configs) {
  ++final_calls;
  if (before) GEMMSMITH_CHECK(before(problem, "finals"));
  std::vector<Measurement> rows;
  for (const Config& config : configs)
    for (const Setting setting : {Setting::kChained, Setting::kForeign}) {
      const std::string text = to_text(config);
      rows.push_back(
          row_of(problem, kind_of(config), text, ratio(problem, text, Stage::kFinal, setting)));
      rows.back().stage = Stage::kFinal;
      rows.back().setting = setting;
    }
  return rows;
}

Result<CounterReport> FakeBench::count(const Problem& problem, const Subject& subject,
                                       CounterScope) {
  if (before) GEMMSMITH_CHECK(before(problem, "count"));
  if (!subject.config) return fail(ErrorCode::kUnsupported, "a launch without a config");
  const std::string text = to_text(*subject.config);
  ++counted[shape_name(problem) + " " + text];
  CounterReport report;
  report.chip = "GH100";
  report.passes = 2;
  report.kernels = 1;
  report.values[Counter::kIpc] = 1.5;
  report.values[Counter::kDramPercent] = static_cast<double>(hash64(text) % 100);
  if (const auto found = uncountable.find(text); found != uncountable.end()) {
    report.status = Status::kLaunch;
    report.detail = found->second;
  }
  return report;
}

Result<LoadReport> FakeBench::sustain(const Problem&, const Subject&, double) {
  LoadReport report;
  report.energy_uj = energy_uj;
  if (!energy_uj) report.unavailable = "no NVML";
  return report;
}

}  // namespace gemmsmith
