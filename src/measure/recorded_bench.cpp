#include "measure/recorded_bench.h"

#include <nlohmann/json.hpp>
#include <random>

#include "base/hash.h"
#include "device/device_json.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith {

using nlohmann::json;

RecordedBench::RecordedBench(RecordedDevice device, const BenchSettings& settings)
    : device_(std::move(device)), seed_(settings.seed) {}

// What is drawn follows from the seed, the row and how often that row was asked for, so a problem
// gets the same answers whatever else was asked before it, in this run or in one that was resumed.
Measurement RecordedBench::replayed(const Measurement& row) {
  const std::string identity =
      fmt::format("{} {} {} {} {} {}", describe(row.problem), name(row.kind), row.config,
                  name(row.stage), name(row.setting), row.run);
  std::mt19937_64 random(seed_ ^ hash64(fmt::format("{} {}", identity, asked_[identity]++)));
  return RecordedDevice::replay(row, random);
}

Result<std::vector<Measurement>> RecordedBench::baselines(const Problem& problem) {
  GEMMSMITH_CHECK(device_.check_has(problem));
  std::vector<Measurement> rows;
  for (const Kind kind : {Kind::kCublas, Kind::kCublasAutotune, Kind::kLtFirst, Kind::kLtTuned}) {
    const Measurement* const row =
        device_.find_baseline(problem, kind, Stage::kFinal, Setting::kChained);
    if (row == nullptr)
      return fail(ErrorCode::kUnsupported, "{}: the recording has no {} of this problem",
                  describe(problem), name(kind));
    rows.push_back(replayed(*row));
  }
  return rows;
}

Result<std::vector<Config>> RecordedBench::vendor_configs(const Problem& problem, int limit) {
  const Family* const families[] = {&vendor::cublaslt_family()};
  std::vector<Config> configs;
  for (const std::string_view text :
       device_.configs(problem, Kind::kVendor, Stage::kScreen, Setting::kChained)) {
    if (static_cast<int>(configs.size()) >= limit) break;
    GEMMSMITH_TRY(Config config, parse_config(text, families));
    configs.push_back(std::move(config));
  }
  return configs;
}

Measurement RecordedBench::answer(const Problem& problem, const Config& config, Stage stage,
                                  Setting setting) {
  const Kind kind = vendor::is_vendor(config) ? Kind::kVendor : Kind::kKernel;
  const std::string text = to_text(config);
  if (const Measurement* const row = device_.find(problem, kind, text, stage, setting))
    return replayed(*row);
  Measurement refused;
  refused.problem = problem;
  refused.kind = kind;
  refused.config = text;
  refused.status = Status::kLaunch;
  refused.setting = setting;
  refused.stage = stage;
  const auto has = device_.check_has(problem);
  refused.detail = has ? "no record" : "no record: " + has.error().what;
  return refused;
}

Result<std::vector<Measurement>> RecordedBench::screen(const Problem& problem,
                                                       std::span<const Config> configs,
                                                       Setting setting) {
  std::vector<Measurement> rows;
  for (const Config& config : configs)
    rows.push_back(answer(problem, config, Stage::kScreen, setting));
  return rows;
}

Result<std::vector<Measurement>> RecordedBench::finals(const Problem& problem,
                                                       std::span<const Config> configs) {
  std::vector<Measurement> rows;
  for (const Config& config : configs)
    for (const Setting setting : {Setting::kChained, Setting::kForeign})
      rows.push_back(answer(problem, config, Stage::kFinal, setting));
  return rows;
}

std::string RecordedBench::conditions() const {
  const json conditions = {{"device", json::parse(device_to_json(device_.info()))},
                           {"recorded", json::parse(device_.sidecar(), nullptr, false)},
                           {"counts", {{"no_record", device_.refusals()}}}};
  return conditions.dump();
}

}  // namespace gemmsmith
