// Export and import as JSON Lines: a header, then one object a line. Import reads and checks all of
// the file before the store changes, and adds only what is not there, so it may be repeated.
#include <limits>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/strict_json.h"
#include "device/counter_json.h"
#include "space/space.h"
#include "store/rows.h"
#include "store/state.h"
#include "store/store.h"
#include "vendor/all_families.h"
#include "vendor/cublaslt_family.h"

namespace gemmsmith {

using nlohmann::json;
using store::guarded;
using store::WriteTransaction;

namespace {

constexpr const char* kFormat = "gemmsmith-store";
constexpr int kFormatVersion = 2;  // 2 adds counters

json to_json(const Environment& environment) {
  return {{"fingerprint", environment.fingerprint}, {"protocol", environment.protocol}};
}

json to_json(const Run& run) {
  return {{"row", "run"},
          {"id", run.id},
          {"environment", to_json(run.environment)},
          {"started", run.started},
          {"seed", run.seed},
          {"command", run.command},
          {"conditions", run.conditions}};
}

json to_json(const StoredMeasurement& row) {
  const Measurement& m = row.measurement;
  return {{"row", "measurement"},
          {"problem", problem_key(m.problem)},
          {"environment", to_json(row.environment)},
          {"kernel_hash", row.kernel_hash},
          {"kind", name(m.kind)},
          {"config", m.config},
          {"setting", name(m.setting)},
          {"cache", name(m.cache)},
          {"stage", name(m.stage)},
          {"run", m.run},
          {"status", name(m.status)},
          {"median_us", m.median_us},
          {"low_us", m.low_us},
          {"high_us", m.high_us},
          {"ratio", m.ratio},
          {"ratio_low", m.ratio_low},
          {"ratio_high", m.ratio_high},
          {"repeats_us", m.repeats_us},
          {"compile_s", m.compile_s},
          {"detail", m.detail}};
}

json to_json(const StoredCounters& row) {
  return {{"row", "counters"},
          {"problem", problem_key(row.problem)},
          {"environment", to_json(row.environment)},
          {"kind", name(row.kind)},
          {"config", row.config},
          {"kernel_hash", row.kernel_hash},
          {"run", row.run},
          {"chip", row.chip},
          {"passes", row.passes},
          {"kernels", row.kernels},
          {"figures", counters_to_json(row.values)}};
}

json to_json(const StoredWinner& row) {
  const Winner& w = row.winner;
  return {{"row", "winner"},
          {"problem", problem_key(w.problem)},
          {"environment", to_json(row.environment)},
          {"source", name(w.source)},
          {"config", w.config},
          {"kernel_hash", w.kernel_hash},
          {"chained_us", w.chained_us},
          {"chained_ratio", w.chained_ratio},
          {"chained_low", w.chained_low},
          {"foreign_us", w.foreign_us},
          {"foreign_ratio", w.foreign_ratio},
          {"foreign_low", w.foreign_low},
          {"run", w.run},
          {"note", w.note}};
}

[[noreturn]] void refuse(const char* key, std::string_view expected, const json& found) {
  throw Error{ErrorCode::kBadInput,
              fmt::format("{}: expected {}, found {}", key, expected,
                          found.is_number() ? found.dump() : found.type_name())};
}

const json& member(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) throw Error{ErrorCode::kBadInput, fmt::format("{}: missing", key)};
  return *found;
}

// One line's object. Getters throw an Error where a key is missing or of another type.
class Line {
 public:
  explicit Line(json object) : object_(std::move(object)) {
    if (!object_.is_object())
      throw Error{ErrorCode::kBadInput,
                  fmt::format("expected a JSON object, found {}", object_.type_name())};
  }

  std::string text(const char* key) const { return text(object_, key); }
  static std::string text(const json& object, const char* key) {
    const json& value = member(object, key);
    if (!value.is_string()) refuse(key, "a string", value);
    return value.get<std::string>();
  }
  double real(const char* key) const { return real(member(object_, key), key); }
  static double real(const json& value, const char* key) {
    if (!value.is_number()) refuse(key, "a number", value);
    return value.get<double>();
  }

  template <class T>
  T parsed(const char* key, Result<T> (*parse)(std::string_view)) const {
    auto value = parse(text(key));
    if (!value) throw Error{ErrorCode::kBadInput, fmt::format("{}: {}", key, value.error().what)};
    return *value;
  }

  // A time or a ratio: a negative one is no measurement.
  double amount(const char* key) const {
    const double value = real(key);
    if (!(value >= 0))
      throw Error{ErrorCode::kBadInput,
                  fmt::format("{}: {} is negative, expected 0 or more", key, value)};
    return value;
  }

  std::uint64_t whole(const char* key) const {
    return whole(object_, key, std::numeric_limits<std::uint64_t>::max());
  }
  // A whole number of 0 or more; converting any other would be undefined or change it silently.
  static std::uint64_t whole(const json& object, const char* key, std::uint64_t most) {
    const json& value = member(object, key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
      throw Error{ErrorCode::kBadInput, fmt::format("{}: {} is not a whole number from 0 to {}",
                                                    key, value.dump(), most)};
    return value.get<std::uint64_t>();
  }

  Environment environment() const {
    const json& object = member(object_, "environment");
    if (!object.is_object()) refuse("environment", "an object", object);
    return {text(object, "fingerprint"),
            static_cast<int>(whole(object, "protocol", std::numeric_limits<int>::max()))};
  }

  Run run() const {
    return {text("id"),      environment(), text("started"),
            text("command"), whole("seed"), text("conditions")};
  }

  StoredMeasurement measurement() const {
    StoredMeasurement row{environment(), text("kernel_hash"), {}};
    Measurement& m = row.measurement;
    m.problem = parsed("problem", &parse_problem_key);
    m.kind = parsed("kind", &parse_kind);
    m.config = text("config");
    m.setting = parsed("setting", &parse_setting);
    m.cache = parsed("cache", &parse_cache_state);
    m.stage = parsed("stage", &parse_stage);
    m.run = text("run");
    m.status = parsed("status", &parse_status);
    m.median_us = amount("median_us");
    m.low_us = amount("low_us");
    m.high_us = amount("high_us");
    m.ratio = amount("ratio");
    m.ratio_low = amount("ratio_low");
    m.ratio_high = amount("ratio_high");
    const json& repeats = member(object_, "repeats_us");
    if (!repeats.is_array()) refuse("repeats_us", "an array of numbers", repeats);
    for (const json& repeat : repeats) m.repeats_us.push_back(real(repeat, "repeats_us"));
    m.compile_s = amount("compile_s");
    m.detail = text("detail");
    if (m.status == Status::kOk && !(m.median_us > 0))
      throw Error{ErrorCode::kBadInput, "median_us: a status of ok needs a time above 0"};
    return row;
  }

  StoredCounters counters() const {
    StoredCounters row;
    row.environment = environment();
    row.problem = parsed("problem", &parse_problem_key);
    row.kind = parsed("kind", &parse_kind);
    if (row.kind != Kind::kKernel && row.kind != Kind::kVendor)
      throw Error{ErrorCode::kBadInput,
                  fmt::format("kind: counters are of a kernel or vendor config, not of {}",
                              name(row.kind))};
    row.config = text("config");
    row.kernel_hash = text("kernel_hash");
    row.run = text("run");
    row.chip = text("chip");
    row.passes = static_cast<int>(whole(object_, "passes", std::numeric_limits<int>::max()));
    row.kernels = static_cast<int>(whole(object_, "kernels", std::numeric_limits<int>::max()));
    auto values = counters_from_json(member(object_, "figures"));
    if (!values) throw values.error();
    row.values = *values;
    return row;
  }

  StoredWinner winner() const {
    StoredWinner row{environment(), {}};
    Winner& w = row.winner;
    w.problem = parsed("problem", &parse_problem_key);
    w.source = parsed("source", &parse_winner_source);
    w.config = winner_config(row);
    w.kernel_hash = text("kernel_hash");
    w.chained_us = amount("chained_us");
    w.chained_ratio = amount("chained_ratio");
    w.chained_low = amount("chained_low");
    w.foreign_us = amount("foreign_us");
    w.foreign_ratio = amount("foreign_ratio");
    w.foreign_low = amount("foreign_low");
    w.run = text("run");
    w.note = text("note");
    return row;
  }

 private:
  // Kernels run only on what their constraints admit. (Of its own configs the library is the judge,
  // when they are to be launched.)
  static void check_legal(const Config& config, const StoredWinner& row) {
    std::string why;
    for (const char* name : {"a100", "h100", "h200"}) {
      const Target target = *known_target(name);
      // Where the environment does not tell which of them measured, any may have.
      const std::string& fingerprint = row.environment.fingerprint;
      if (fingerprint.find("NVIDIA ") == 0 && fingerprint.find(target.name) != 0) continue;
      const Constraint* const broken = broken_rule({row.winner.problem, target}, config);
      if (broken == nullptr) return;
      why = fmt::format("{} ({})", broken->reason, broken->id);
    }
    if (!why.empty())
      throw Error{ErrorCode::kBadInput,
                  fmt::format("config: {} is not legal for {}: {}", to_text(config),
                              describe(row.winner.problem), why)};
  }

  // A winner is launched by its config's text, so one that means nothing here must not get in.
  std::string winner_config(const StoredWinner& row) const {
    const WinnerSource source = row.winner.source;
    std::string config = text("config");
    if (source == WinnerSource::kLtTuned && config.empty()) return config;
    const auto parsed = parse_config(config, all_families());
    if (!parsed) throw parsed.error();
    if (vendor::is_vendor(*parsed) == (source == WinnerSource::kKernel))
      throw Error{ErrorCode::kBadInput, fmt::format("config: {} is of another family than source "
                                                    "'{}' says",
                                                    config, name(source))};
    if (!vendor::is_vendor(*parsed)) check_legal(*parsed, row);
    return config;
  }

  json object_;
};

struct Imported {
  std::vector<Run> runs;
  std::vector<StoredMeasurement> measurements;
  std::vector<StoredWinner> winners;
  std::vector<StoredCounters> counters;
};

void read_header(const Line& line) {
  if (line.text("format") != kFormat)
    throw Error{ErrorCode::kBadInput, fmt::format("format: expected \"{}\"", kFormat)};
  const std::uint64_t version = line.whole("version");
  if (version > kFormatVersion)
    throw Error{ErrorCode::kBadInput,
                fmt::format("version: {} is newer than this gemmsmith reads ({})", version,
                            kFormatVersion)};
  if (version < 1)
    throw Error{ErrorCode::kBadInput,
                fmt::format("version: {}, expected 1 to {}", version, kFormatVersion)};
}

void read_line(std::string_view text, bool first, Imported& imported) {
  auto object = parse_json(text);
  if (!object) throw object.error();
  const Line line(std::move(*object));
  if (first) return read_header(line);
  const std::string row = line.text("row");
  if (row == "run")
    imported.runs.push_back(line.run());
  else if (row == "measurement")
    imported.measurements.push_back(line.measurement());
  else if (row == "winner")
    imported.winners.push_back(line.winner());
  else if (row == "counters")
    imported.counters.push_back(line.counters());
  else
    throw Error{
        ErrorCode::kBadInput,
        fmt::format("row: unknown '{}', expected run, measurement, winner or counters", row)};
}

Result<Imported> read_lines(const std::string& text, const std::string& file) {
  Imported imported;
  std::string_view rest = text;
  int number = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    ++number;
    GEMMSMITH_CHECK(go_on(fmt::format("reading {}:{}", file, number)));
    if (line.empty() && number > 1) continue;
    try {
      read_line(line, number == 1, imported);
    } catch (const Error& error) {
      return fail(ErrorCode::kBadInput, "{}:{}: {}", file, number, error.what);
    }
  }
  if (number == 0)
    return fail(ErrorCode::kBadInput, "{}: empty, expected a {} export", file, kFormat);
  return imported;
}

// A row whose run no line describes would break the reference; name it instead.
Result<void> check_runs(SQLite::Database& handle, const Imported& imported,
                        const std::string& file) {
  const auto check = [&](const char* what, const Problem& problem,
                         const std::string& run) -> Result<void> {
    SQLite::Statement query(handle, "SELECT 1 FROM run WHERE id = ?");
    query.bind(1, run);
    if (query.executeStep()) return {};
    return fail(ErrorCode::kBadInput, "{}: a {} of {} names run '{}', which has no line", file,
                what, describe(problem), run);
  };
  for (const StoredMeasurement& row : imported.measurements)
    GEMMSMITH_CHECK(check("measurement", row.measurement.problem, row.measurement.run));
  for (const StoredCounters& row : imported.counters)
    GEMMSMITH_CHECK(check("row of counters", row.problem, row.run));
  return {};
}

}  // namespace

Result<void> Store::export_json_lines(const std::filesystem::path& path) const {
  GEMMSMITH_TRY(const auto all_runs, runs());
  GEMMSMITH_TRY(const auto all_rows, all_measurements());
  GEMMSMITH_TRY(const auto all_winners, winners());
  GEMMSMITH_TRY(const auto counted, all_counters());
  std::string text = json{{"format", kFormat}, {"version", kFormatVersion}}.dump() + '\n';
  // Texts come from libraries and compilers: bytes that are no UTF-8 are replaced, not fatal.
  const auto add = [&](const json& object) {
    text += object.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  };
  for (const Run& run : all_runs) add(to_json(run));
  for (const StoredMeasurement& row : all_rows) {
    GEMMSMITH_CHECK(go_on("writing " + path.string()));
    add(to_json(row));
  }
  for (const StoredWinner& row : all_winners) add(to_json(row));
  for (const StoredCounters& row : counted) add(to_json(row));
  return write_file_atomic(path, text);
}

Result<ImportReport> Store::import_json_lines(const std::filesystem::path& path) {
  GEMMSMITH_TRY(const std::string text, read_stream(path, kMostFileBytes));
  GEMMSMITH_TRY(const Imported imported, read_lines(text, path.string()));
  return guarded(state_->database, [&]() -> Result<ImportReport> {
    SQLite::Database& handle = state_->handle();
    ImportReport report;
    const auto count = [&](bool added, std::int64_t& counter) {
      ++(added ? counter : report.already_there);
    };
    WriteTransaction transaction(handle);
    for (const Run& run : imported.runs) count(store::insert_run(handle, run), report.runs);
    GEMMSMITH_CHECK(check_runs(handle, imported, path.string()));
    for (const StoredMeasurement& row : imported.measurements) {
      GEMMSMITH_CHECK(go_on("importing " + path.string()));  // which rolls back
      count(store::insert_measurement(handle, row), report.measurements);
    }
    for (const StoredCounters& row : imported.counters)
      count(store::insert_counters(handle, row), report.counters);
    for (const StoredWinner& row : imported.winners) {
      // What was tuned here stays: an import fills gaps.
      const auto problem = store::problem_id(handle, row.winner.problem);
      const auto environment = store::environment_id(handle, row.environment);
      SQLite::Statement query(handle, "SELECT 1 FROM winner WHERE problem = ? AND environment = ?");
      query.bind(1, problem);
      query.bind(2, environment);
      const bool present = query.executeStep();
      if (!present) store::replace_winner(handle, row);
      count(!present, report.winners);
    }
    transaction.commit();
    return report;
  });
}

}  // namespace gemmsmith
