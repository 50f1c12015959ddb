#include "store/store.h"

#include "base/interrupt.h"
#include "store/rows.h"
#include "store/state.h"

namespace gemmsmith {

using store::guarded;
using store::WriteTransaction;

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::filesystem::path& path, Mode mode,
                          std::chrono::milliseconds patience) {
  GEMMSMITH_TRY(store::Database database,
                store::open_database(path, mode == Mode::kReadWrite, patience));
  auto state = std::make_unique<State>();
  state->database = std::move(database);
  return Store(std::move(state));
}

const std::filesystem::path& Store::path() const { return state_->database.path; }
std::int64_t Store::damaged_rows() const { return state_->damaged_rows; }

Result<void> Store::start_run(const Run& run) {
  return guarded(state_->database, [&]() -> Result<void> {
    WriteTransaction transaction(state_->handle());
    store::insert_run(state_->handle(), run);
    transaction.commit();
    return {};
  });
}

Result<void> Store::update_conditions(const std::string& run, const std::string& conditions) {
  return guarded(state_->database, [&]() -> Result<void> {
    SQLite::Statement update(state_->handle(), "UPDATE run SET conditions = ? WHERE id = ?");
    update.bind(1, conditions);
    update.bind(2, run);
    update.exec();
    return {};
  });
}

Result<std::vector<Run>> Store::runs() const {
  return guarded(state_->database, [&]() -> Result<std::vector<Run>> {
    std::vector<Run> runs;
    SQLite::Statement query(state_->handle(), std::string(store::kSelectRuns) + "ORDER BY r.id");
    while (query.executeStep()) runs.push_back(store::read_run(query));
    return runs;
  });
}

Result<void> Store::record(const Environment& environment, std::span<const StoredMeasurement> rows,
                           const Progress* progress) {
  if (rows.empty()) return {};
  return guarded(state_->database, [&]() -> Result<void> {
    SQLite::Database& handle = state_->handle();
    WriteTransaction transaction(handle);
    for (const StoredMeasurement& row : rows) store::insert_measurement(handle, row);
    if (progress != nullptr)
      store::replace_progress(handle, store::problem_id(handle, rows.front().measurement.problem),
                              store::environment_id(handle, environment), *progress);
    transaction.commit();
    return {};
  });
}

namespace {

constexpr const char* kOfProblem = "WHERE p.key = ? AND e.fingerprint = ? AND e.protocol = ?";

void bind_problem(SQLite::Statement& query, const Environment& environment,
                  const Problem& problem) {
  query.bind(1, problem_key(problem));
  query.bind(2, environment.fingerprint);
  query.bind(3, environment.protocol);
}

// Up to the first row before which `stops` holds.
template <class Row, class Read>
std::vector<Row> read_rows(
    SQLite::Statement& query, std::int64_t& damaged, Read read,
    bool (*stops)() = [] { return false; }) {
  std::vector<Row> rows;
  while (!stops() && query.executeStep()) {
    if (auto row = read(query))
      rows.push_back(std::move(*row));
    else
      ++damaged;
  }
  return rows;
}

}  // namespace

Result<std::vector<StoredMeasurement>> Store::measurements(const Environment& environment,
                                                           const Problem& problem) const {
  return guarded(state_->database, [&]() -> Result<std::vector<StoredMeasurement>> {
    SQLite::Statement query(
        state_->handle(), std::string(store::kSelectMeasurements) + kOfProblem + " ORDER BY m.id");
    bind_problem(query, environment, problem);
    return read_rows<StoredMeasurement>(query, state_->damaged_rows, &store::read_measurement);
  });
}

Result<std::vector<StoredMeasurement>> Store::all_measurements() const {
  return guarded(state_->database, [&]() -> Result<std::vector<StoredMeasurement>> {
    SQLite::Statement query(state_->handle(),
                            std::string(store::kSelectMeasurements) + "ORDER BY m.id");
    auto rows = read_rows<StoredMeasurement>(query, state_->damaged_rows, &store::read_measurement,
                                             &interrupted);
    GEMMSMITH_CHECK(go_on("reading store " + path().string()));
    return rows;
  });
}

Result<void> Store::record_counters(std::span<const StoredCounters> rows) {
  return guarded(state_->database, [&]() -> Result<void> {
    WriteTransaction transaction(state_->handle());
    for (const StoredCounters& row : rows) store::insert_counters(state_->handle(), row);
    transaction.commit();
    return {};
  });
}

Result<std::vector<StoredCounters>> Store::counters(const Environment& environment,
                                                    const Problem& problem) const {
  return guarded(state_->database, [&]() -> Result<std::vector<StoredCounters>> {
    SQLite::Statement query(state_->handle(),
                            std::string(store::kSelectCounters) + kOfProblem + " ORDER BY c.id");
    bind_problem(query, environment, problem);
    return read_rows<StoredCounters>(query, state_->damaged_rows, &store::read_counters);
  });
}

Result<std::vector<StoredCounters>> Store::all_counters() const {
  return guarded(state_->database, [&]() -> Result<std::vector<StoredCounters>> {
    SQLite::Statement query(state_->handle(),
                            std::string(store::kSelectCounters) + "ORDER BY c.id");
    auto rows =
        read_rows<StoredCounters>(query, state_->damaged_rows, &store::read_counters, &interrupted);
    GEMMSMITH_CHECK(go_on("reading store " + path().string()));
    return rows;
  });
}

Result<std::optional<Progress>> Store::progress(const Environment& environment,
                                                const Problem& problem) const {
  return guarded(state_->database, [&]() -> Result<std::optional<Progress>> {
    SQLite::Statement query(
        state_->handle(),
        "SELECT g.stage, g.budget, g.vendor_budget FROM progress g JOIN problem p ON p.id = "
        "g.problem JOIN environment e ON e.id = g.environment " +
            std::string(kOfProblem));
    bind_problem(query, environment, problem);
    if (!query.executeStep()) return std::optional<Progress>();
    return std::optional<Progress>(Progress{
        query.getColumn(0).getString(), query.getColumn(1).getInt(), query.getColumn(2).getInt()});
  });
}

Result<std::optional<Winner>> Store::winner(const Environment& environment,
                                            const Problem& problem) const {
  return guarded(state_->database, [&]() -> Result<std::optional<Winner>> {
    SQLite::Statement query(state_->handle(), std::string(store::kSelectWinners) + kOfProblem);
    bind_problem(query, environment, problem);
    if (!query.executeStep()) return std::optional<Winner>();
    auto row = store::read_winner(query);
    if (!row) {
      ++state_->damaged_rows;
      return std::optional<Winner>();
    }
    return std::optional<Winner>(std::move(row->winner));
  });
}

Result<std::vector<StoredWinner>> Store::winners() const {
  return guarded(state_->database, [&]() -> Result<std::vector<StoredWinner>> {
    SQLite::Statement query(state_->handle(),
                            std::string(store::kSelectWinners) + "ORDER BY e.id, p.id");
    return read_rows<StoredWinner>(query, state_->damaged_rows, &store::read_winner);
  });
}

Result<std::vector<Environment>> Store::environments() const {
  return guarded(state_->database, [&]() -> Result<std::vector<Environment>> {
    std::vector<Environment> environments;
    SQLite::Statement query(state_->handle(),
                            "SELECT fingerprint, protocol FROM environment ORDER BY id");
    while (query.executeStep())
      environments.push_back({query.getColumn(0).getString(), query.getColumn(1).getInt()});
    return environments;
  });
}

Result<void> Store::set_winner(const Environment& environment, const Winner& winner,
                               const Progress& progress) {
  return guarded(state_->database, [&]() -> Result<void> {
    SQLite::Database& handle = state_->handle();
    WriteTransaction transaction(handle);
    store::replace_winner(handle, {environment, winner});
    store::replace_progress(handle, store::problem_id(handle, winner.problem),
                            store::environment_id(handle, environment), progress);
    transaction.commit();
    return {};
  });
}

}  // namespace gemmsmith
