#include "cli/config_choice.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "base/log.h"
#include "cli/bench_session.h"
#include "cli/recorded_scope.h"
#include "policy/analytic_ranker.h"
#include "search/selection.h"
#include "search/tuning.h"
#include "vendor/all_families.h"

namespace gemmsmith::cli {
namespace {

Result<Choice> given_choice(const std::string& text, const Problem& problem, const Target& target) {
  GEMMSMITH_TRY(Config config, named_config(text, problem, target));
  return Choice{std::move(config), "given"};
}

// The stored winner of this device, where there is a store and it has one. A store that the user
// named must be there.
Result<std::optional<Choice>> stored_choice(const Session& session, const Bench& bench,
                                            const Problem& problem) {
  const bool is_named = !session.settings.value("store").empty();
  const auto path = store_path(session);
  if (!is_named && (!path || !std::filesystem::exists(*path))) return std::nullopt;
  if (!path) return tl::unexpected<Error>(path.error());
  GEMMSMITH_TRY(const Store store, Store::open(*path, Store::Mode::kReadOnly));
  GEMMSMITH_TRY(const std::optional<Winner> winner, store.winner(environment_of(bench), problem));
  if (!winner) return std::nullopt;
  if (winner->source == WinnerSource::kLtTuned) {
    talk(
        "{}: tuned cuBLASLt serves this shape, nothing beat it; the best of ours stands beside "
        "it\n",
        shape_name(problem));
    return std::nullopt;
  }
  GEMMSMITH_TRY(const auto rows, store.measurements(environment_of(bench), problem));
  if (const auto follower = follower_of(*winner, rows); follower && !session.quiet)
    talk("{}: the plan is looked at; right behind another kernel of ours its follower {} serves\n",
         shape_name(problem), follower->config);
  GEMMSMITH_TRY(Config config, parse_config(winner->config, all_families()));
  return Choice{std::move(config), "store"};
}

// A recording answers for what was paired in full in it.
Result<Choice> recorded_choice(const RecordedDevice& recording, const Problem& problem) {
  GEMMSMITH_CHECK(recording.check_has(problem));
  const std::vector<Measurement> rows = recording.rows(problem, Stage::kFinal);
  const std::optional<Finalist> best = best_of(rows, Kind::kKernel);
  if (!best)
    return fail(ErrorCode::kUnsupported,
                "{}: the recording has no kernel of ours that was paired in full",
                describe(problem));
  GEMMSMITH_TRY(Config config, parse_config(best->config, all_families()));
  return Choice{std::move(config), "recorded"};
}

Result<Choice> ranked_choice(Bench& bench, const Problem& problem, int count) {
  const std::vector<Config> configs =
      policy::ranked_configs(problem, bench.device().target, count, 2);
  if (configs.empty())
    return fail(ErrorCode::kUnsupported,
                "{}: no config of ours is legal here; name one of cuBLASLt's with --config",
                describe(problem));
  GEMMSMITH_TRY(const std::vector<Measurement> rows,
                bench.screen(problem, configs, Setting::kChained));
  std::size_t best = configs.size();
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].status == Status::kOk &&
        (best == configs.size() || rows[i].ratio > rows[best].ratio))
      best = i;
  if (best == configs.size())
    return fail(ErrorCode::kBadResult, "{}: none of the {} best-ranked configs passed; {}: {}, {}",
                describe(problem), configs.size(), rows.front().config, name(rows.front().status),
                rows.front().detail);
  return Choice{configs[best], "ranked"};
}

// The fields of one CSV line; quotes hold commas, and no field of ours holds a line break.
std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  return fields;
}

}  // namespace

Result<ConfigsByShape> read_choices(const std::filesystem::path& path) {
  GEMMSMITH_TRY(const std::string text, read_file(path));
  ConfigsByShape choices;
  std::size_t shape_at = 0, config_at = 0, columns = 0;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::vector<std::string> fields = csv_fields(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (columns == 0) {
      const auto at = [&](const char* name) {
        return static_cast<std::size_t>(std::find(fields.begin(), fields.end(), name) -
                                        fields.begin());
      };
      columns = fields.size();
      shape_at = at("shape");
      config_at = at("config");
      if (shape_at == columns || config_at == columns)
        return fail(ErrorCode::kBadInput,
                    "{}, line {}: expected a header with the columns shape and config",
                    path.string(), number);
      continue;
    }
    if (fields.size() != columns)
      return fail(ErrorCode::kBadInput, "{}, line {}: {} fields, the header has {}", path.string(),
                  number, fields.size(), columns);
    if (!fields[config_at].empty()) choices[fields[shape_at]].push_back(fields[config_at]);
  }
  return choices;
}

Result<Choice> choose_config(const std::string& named, int ranked, const Session& session,
                             Bench& bench, const Problem& problem) {
  if (!named.empty()) return given_choice(named, problem, bench.device().target);
  GEMMSMITH_TRY(std::optional<Choice> stored, stored_choice(session, bench, problem));
  if (stored) return std::move(*stored);
  if (const RecordedDevice* recording = recording_of(bench))
    return recorded_choice(*recording, problem);
  return ranked_choice(bench, problem, ranked);
}

}  // namespace gemmsmith::cli
