#include "cli/recorded_scope.h"

#include <algorithm>

#include "measure/recorded_bench.h"
#include "vendor/all_families.h"

namespace gemmsmith::cli {

const RecordedDevice* recording_of(const Bench& bench) {
  const auto* const recorded = dynamic_cast<const RecordedBench*>(&bench);
  return recorded == nullptr ? nullptr : &recorded->recording();
}

Result<std::vector<Config>> recorded_configs(const RecordedDevice& recording,
                                             const Problem& problem, Kind kind, Stage stage,
                                             int limit) {
  std::vector<const Measurement*> rows;
  for (const std::string_view text : recording.configs(problem, kind, stage, Setting::kChained)) {
    const Measurement* const row = recording.find(problem, kind, text, stage, Setting::kChained);
    const bool is_whole = stage == Stage::kScreen ||
                          recording.find(problem, kind, text, stage, Setting::kForeign) != nullptr;
    if (is_whole) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Measurement* a, const Measurement* b) { return a->ratio > b->ratio; });
  std::vector<Config> configs;
  for (const Measurement* row : rows) {
    if (static_cast<int>(configs.size()) >= limit) break;
    GEMMSMITH_TRY(Config config, parse_config(row->config, all_families()));
    configs.push_back(std::move(config));
  }
  return configs;
}

std::string recorded_scope(const RecordedDevice& recording, const std::string& device,
                           const std::vector<Problem>& problems) {
  const auto there = std::count_if(problems.begin(), problems.end(), [&](const Problem& problem) {
    return recording.holds(problem);
  });
  return fmt::format(
      "{} repeats what was measured on {}, and nothing else: of the {} shape{} asked for it has "
      "{}, and of each only the configs that were measured then; for others pass --device cuda:N",
      device, recording.info().target.name, problems.size(), problems.size() == 1 ? "" : "s",
      there);
}

}  // namespace gemmsmith::cli
