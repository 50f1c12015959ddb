#include "store/rows.h"

#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/numbers.h"
#include "device/counter_json.h"

namespace gemmsmith::store {
namespace {

// SQL has no NaN: it would come back as another value than the checksum was made for.
double finite(double value) { return std::isfinite(value) ? value : 0; }

std::string join_repeats(const std::vector<double>& repeats) {
  std::string text;
  for (const double value : repeats) {
    if (!std::isfinite(value)) continue;
    if (!text.empty()) text += ';';
    text += fmt::format("{}", value);
  }
  return text;
}

std::optional<std::vector<double>> split_repeats(std::string_view text) {
  std::vector<double> repeats;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const auto value = parse_double(text.substr(0, end));
    if (!value) return std::nullopt;
    repeats.push_back(*value);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return repeats;
}

// Fields are parted by a character that no text of ours holds.
template <class... Fields>
std::int64_t checksum(const Fields&... fields) {
  std::string text;
  ((text += fmt::format("{}\x1f", fields)), ...);
  return static_cast<std::int64_t>(hash64(text));
}

std::int64_t checksum_of(const StoredMeasurement& row, const std::string& repeats) {
  const Measurement& m = row.measurement;
  return checksum(problem_key(m.problem), row.environment.fingerprint, row.environment.protocol,
                  row.kernel_hash, name(m.kind), m.config, name(m.setting), name(m.cache),
                  name(m.stage), m.run, name(m.status), finite(m.median_us), finite(m.low_us),
                  finite(m.high_us), finite(m.ratio), finite(m.ratio_low), finite(m.ratio_high),
                  repeats, finite(m.compile_s), m.detail);
}

std::int64_t checksum_of(const StoredCounters& row, const std::string& values) {
  return checksum(problem_key(row.problem), row.environment.fingerprint, row.environment.protocol,
                  name(row.kind), row.config, row.kernel_hash, row.run, row.chip, row.passes,
                  row.kernels, values);
}

std::int64_t checksum_of(const StoredWinner& row) {
  const Winner& w = row.winner;
  return checksum(problem_key(w.problem), row.environment.fingerprint, row.environment.protocol,
                  name(w.source), w.config, w.kernel_hash, finite(w.chained_us),
                  finite(w.chained_ratio), finite(w.chained_low), finite(w.foreign_us),
                  finite(w.foreign_ratio), finite(w.foreign_low), w.run, w.note);
}

std::optional<std::int64_t> first_integer(SQLite::Statement& query) {
  if (!query.executeStep()) return std::nullopt;
  return query.getColumn(0).getInt64();
}

// Binds values in order, from parameter 1.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {}
  Binder& operator()(const std::string& value) {
    statement_.bind(++index_, value);
    return *this;
  }
  Binder& operator()(const char* value) {
    statement_.bind(++index_, value);
    return *this;
  }
  Binder& operator()(double value) {
    statement_.bind(++index_, finite(value));
    return *this;
  }
  Binder& operator()(std::int64_t value) {
    statement_.bind(++index_, value);
    return *this;
  }
  Binder& operator()(int value) {
    statement_.bind(++index_, value);
    return *this;
  }

 private:
  SQLite::Statement& statement_;
  int index_ = 0;
};

// Reads columns in order, from column 0.
class Reader {
 public:
  explicit Reader(SQLite::Statement& row) : row_(row) {}
  std::string text() { return row_.getColumn(index_++).getString(); }
  double real() { return row_.getColumn(index_++).getDouble(); }
  std::int64_t integer() { return row_.getColumn(index_++).getInt64(); }

 private:
  SQLite::Statement& row_;
  int index_ = 0;
};

// Sets `target` from a parsed text; false where the text is none of the known ones.
template <class T>
bool assign(T& target, const Result<T>& parsed) {
  if (parsed) target = *parsed;
  return parsed.has_value();
}

}  // namespace

const char* const kSelectMeasurements =
    "SELECT p.key, e.fingerprint, e.protocol, m.kernel_hash, m.kind, m.config, m.setting, m.cache, "
    "m.stage, m.run, m.status, m.median_us, m.low_us, m.high_us, m.ratio, m.ratio_low, "
    "m.ratio_high, m.repeats_us, m.compile_s, m.detail, m.checksum FROM measurement m "
    "JOIN problem p ON p.id = m.problem JOIN environment e ON e.id = m.environment ";

const char* const kSelectCounters =
    "SELECT p.key, e.fingerprint, e.protocol, c.kind, c.config, c.kernel_hash, c.run, c.chip, "
    "c.passes, c.kernels, c.figures, c.checksum FROM counters c "
    "JOIN problem p ON p.id = c.problem JOIN environment e ON e.id = c.environment ";

const char* const kSelectWinners =
    "SELECT p.key, e.fingerprint, e.protocol, w.source, w.config, w.kernel_hash, w.chained_us, "
    "w.chained_ratio, w.chained_low, w.foreign_us, w.foreign_ratio, w.foreign_low, w.run, w.note, "
    "w.checksum FROM winner w JOIN problem p ON p.id = w.problem "
    "JOIN environment e ON e.id = w.environment ";

const char* const kSelectRuns =
    "SELECT r.id, e.fingerprint, e.protocol, r.started, r.command, r.seed, r.conditions FROM run r "
    "JOIN environment e ON e.id = r.environment ";

std::optional<std::int64_t> find_problem(SQLite::Database& database, const Problem& problem) {
  SQLite::Statement query(database, "SELECT id FROM problem WHERE key = ?");
  query.bind(1, problem_key(problem));
  return first_integer(query);
}

std::int64_t problem_id(SQLite::Database& database, const Problem& problem) {
  if (const auto found = find_problem(database, problem)) return *found;
  SQLite::Statement insert(database, "INSERT INTO problem(key) VALUES(?)");
  insert.bind(1, problem_key(problem));
  insert.exec();
  return database.getLastInsertRowid();
}

std::optional<std::int64_t> find_environment(SQLite::Database& database,
                                             const Environment& environment) {
  SQLite::Statement query(database,
                          "SELECT id FROM environment WHERE fingerprint = ? AND protocol = ?");
  query.bind(1, environment.fingerprint);
  query.bind(2, environment.protocol);
  return first_integer(query);
}

std::int64_t environment_id(SQLite::Database& database, const Environment& environment) {
  if (const auto found = find_environment(database, environment)) return *found;
  SQLite::Statement insert(database, "INSERT INTO environment(fingerprint, protocol) VALUES(?, ?)");
  insert.bind(1, environment.fingerprint);
  insert.bind(2, environment.protocol);
  insert.exec();
  return database.getLastInsertRowid();
}

bool insert_run(SQLite::Database& database, const Run& run) {
  SQLite::Statement insert(database,
                           "INSERT INTO run(id, environment, started, command, seed, conditions) "
                           "VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
  Binder bind(insert);
  bind(run.id)(environment_id(database, run.environment))(run.started)(run.command);
  bind(static_cast<std::int64_t>(run.seed))(run.conditions);
  return insert.exec() == 1;
}

bool insert_measurement(SQLite::Database& database, const StoredMeasurement& row) {
  const Measurement& m = row.measurement;
  const std::string repeats = join_repeats(m.repeats_us);
  SQLite::Statement insert(
      database,
      "INSERT INTO measurement(problem, environment, kernel_hash, kind, config, setting, cache, "
      "stage, run, status, median_us, low_us, high_us, ratio, ratio_low, ratio_high, repeats_us, "
      "compile_s, detail, checksum) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?) ON CONFLICT DO NOTHING");
  Binder bind(insert);
  bind(problem_id(database, m.problem))(environment_id(database, row.environment));
  bind(row.kernel_hash)(name(m.kind))(m.config)(name(m.setting))(name(m.cache))(name(m.stage));
  bind(m.run)(name(m.status))(m.median_us)(m.low_us)(m.high_us);
  bind(m.ratio)(m.ratio_low)(m.ratio_high)(repeats)(m.compile_s)(m.detail);
  bind(checksum_of(row, repeats));
  return insert.exec() == 1;
}

bool insert_counters(SQLite::Database& database, const StoredCounters& row) {
  const std::string figures = counters_to_json(row.values).dump();
  SQLite::Statement insert(database,
                           "INSERT INTO counters(problem, environment, kind, config, kernel_hash, "
                           "run, chip, passes, kernels, figures, checksum) "
                           "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING");
  Binder bind(insert);
  bind(problem_id(database, row.problem))(environment_id(database, row.environment));
  bind(name(row.kind))(row.config)(row.kernel_hash)(row.run)(row.chip)(row.passes)(row.kernels);
  bind(figures)(checksum_of(row, figures));
  return insert.exec() == 1;
}

void replace_winner(SQLite::Database& database, const StoredWinner& row) {
  const Winner& w = row.winner;
  SQLite::Statement replace(
      database,
      "INSERT OR REPLACE INTO winner(problem, environment, source, config, kernel_hash, chained_us,"
      " chained_ratio, chained_low, foreign_us, foreign_ratio, foreign_low, run, note, checksum) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  Binder bind(replace);
  bind(problem_id(database, w.problem))(environment_id(database, row.environment));
  bind(name(w.source))(w.config)(w.kernel_hash)(w.chained_us)(w.chained_ratio)(w.chained_low);
  bind(w.foreign_us)(w.foreign_ratio)(w.foreign_low)(w.run)(w.note)(checksum_of(row));
  replace.exec();
}

void replace_progress(SQLite::Database& database, std::int64_t problem, std::int64_t environment,
                      const Progress& progress) {
  SQLite::Statement replace(database,
                            "INSERT OR REPLACE INTO progress(problem, environment, stage, budget, "
                            "vendor_budget) VALUES(?, ?, ?, ?, ?)");
  Binder bind(replace);
  bind(problem)(environment)(progress.stage)(progress.budget)(progress.vendor_budget);
  replace.exec();
}

std::optional<StoredMeasurement> read_measurement(SQLite::Statement& statement) {
  Reader read(statement);
  StoredMeasurement row;
  Measurement& m = row.measurement;
  if (!assign(m.problem, parse_problem_key(read.text()))) return std::nullopt;
  row.environment.fingerprint = read.text();
  row.environment.protocol = static_cast<int>(read.integer());
  row.kernel_hash = read.text();
  if (!assign(m.kind, parse_kind(read.text()))) return std::nullopt;
  m.config = read.text();
  if (!assign(m.setting, parse_setting(read.text()))) return std::nullopt;
  if (!assign(m.cache, parse_cache_state(read.text()))) return std::nullopt;
  if (!assign(m.stage, parse_stage(read.text()))) return std::nullopt;
  m.run = read.text();
  if (!assign(m.status, parse_status(read.text()))) return std::nullopt;
  for (double* value : {&m.median_us, &m.low_us, &m.high_us, &m.ratio, &m.ratio_low, &m.ratio_high})
    *value = read.real();
  const std::string repeats = read.text();
  m.compile_s = read.real();
  m.detail = read.text();
  if (checksum_of(row, repeats) != read.integer()) return std::nullopt;
  auto values = split_repeats(repeats);
  if (!values) return std::nullopt;
  m.repeats_us = std::move(*values);
  return row;
}

std::optional<StoredCounters> read_counters(SQLite::Statement& statement) {
  Reader read(statement);
  StoredCounters row;
  if (!assign(row.problem, parse_problem_key(read.text()))) return std::nullopt;
  row.environment.fingerprint = read.text();
  row.environment.protocol = static_cast<int>(read.integer());
  if (!assign(row.kind, parse_kind(read.text()))) return std::nullopt;
  row.config = read.text();
  row.kernel_hash = read.text();
  row.run = read.text();
  row.chip = read.text();
  row.passes = static_cast<int>(read.integer());
  row.kernels = static_cast<int>(read.integer());
  const std::string figures = read.text();
  if (checksum_of(row, figures) != read.integer()) return std::nullopt;
  const auto object = nlohmann::json::parse(figures, nullptr, false);
  if (!assign(row.values, counters_from_json(object))) return std::nullopt;
  return row;
}

std::optional<StoredWinner> read_winner(SQLite::Statement& statement) {
  Reader read(statement);
  StoredWinner row;
  Winner& w = row.winner;
  if (!assign(w.problem, parse_problem_key(read.text()))) return std::nullopt;
  row.environment.fingerprint = read.text();
  row.environment.protocol = static_cast<int>(read.integer());
  if (!assign(w.source, parse_winner_source(read.text()))) return std::nullopt;
  w.config = read.text();
  w.kernel_hash = read.text();
  for (double* value : {&w.chained_us, &w.chained_ratio, &w.chained_low, &w.foreign_us,
                        &w.foreign_ratio, &w.foreign_low})
    *value = read.real();
  w.run = read.text();
  w.note = read.text();
  if (checksum_of(row) != read.integer()) return std::nullopt;
  return row;
}

Run read_run(SQLite::Statement& statement) {
  Reader read(statement);
  Run run;
  run.id = read.text();
  run.environment.fingerprint = read.text();
  run.environment.protocol = static_cast<int>(read.integer());
  run.started = read.text();
  run.command = read.text();
  run.seed = static_cast<std::uint64_t>(read.integer());
  run.conditions = read.text();
  return run;
}

}  // namespace gemmsmith::store
