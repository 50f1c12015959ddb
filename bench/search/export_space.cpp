// export_space.cpp -- a recording as a table for tools outside: one line a problem and config, with
// the times and features that the policy sees. The peers of bench/search read this, and so can any
// other tuner.
#include <cstdio>
#include <iostream>
#include <map>

#include "device/recorded_device.h"
#include "policy/features.h"
#include "search/tuning.h"

namespace gemmsmith {
namespace {

Result<int> run(const std::string& path) {
  GEMMSMITH_TRY(const RecordedDevice device, RecordedDevice::open(path));
  fmt::print("m,n,k,kind,config,us,lt_tuned_us");
  for (const policy::FeatureName& feature : policy::feature_names())
    fmt::print(",{}", feature.name);
  fmt::print("\n");
  std::vector<float> row(policy::feature_count());
  for (const Problem& problem : device.problems()) {
    const policy::FeatureRows features(problem, device.info().target);
    const Measurement* const baseline =
        device.find_baseline(problem, Kind::kLtTuned, Stage::kFinal, Setting::kChained);
    if (baseline == nullptr) continue;
    for (const Kind kind : {Kind::kKernel, Kind::kVendor})
      for (const std::string_view text :
           device.configs(problem, kind, Stage::kScreen, Setting::kChained)) {
        const Measurement* const m =
            device.find(problem, kind, text, Stage::kScreen, Setting::kChained);
        GEMMSMITH_TRY(const Config config, parse_config(text, all_families()));
        features.fill(config, row);
        fmt::print("{},{},{},{},{},{},{}", problem.m, problem.n, problem.k, name(kind), text,
                   m->status == Status::kOk ? m->median_us : 0.0, baseline->median_us);
        for (const float value : row) fmt::print(",{:.5g}", value);
        fmt::print("\n");
      }
  }
  return 0;
}

}  // namespace
}  // namespace gemmsmith

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: search_export_space RECORDING > table.csv\n";
    return 2;
  }
  const auto result = gemmsmith::run(arguments[1]);
  if (!result) std::cerr << result.error().what << "\n";
  return result ? *result : gemmsmith::exit_code(result.error().code);
}
