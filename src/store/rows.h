// rows.h -- measurements, counters, winners and runs as database rows, each with the checksum that
// proves it is what was written.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>

#include "store/store.h"

namespace gemmsmith::store {

// The ids of small tables; adds the entry where it is missing (the writing ones).
std::int64_t problem_id(SQLite::Database& database, const Problem& problem);
std::int64_t environment_id(SQLite::Database& database, const Environment& environment);
std::optional<std::int64_t> find_problem(SQLite::Database& database, const Problem& problem);
std::optional<std::int64_t> find_environment(SQLite::Database& database,
                                             const Environment& environment);

// False: the row was there already.
bool insert_run(SQLite::Database& database, const Run& run);
bool insert_measurement(SQLite::Database& database, const StoredMeasurement& row);
bool insert_counters(SQLite::Database& database, const StoredCounters& row);
void replace_winner(SQLite::Database& database, const StoredWinner& row);
void replace_progress(SQLite::Database& database, std::int64_t problem, std::int64_t environment,
                      const Progress& progress);

// The column lists that the readers below expect, without a WHERE.
extern const char* const kSelectMeasurements;
extern const char* const kSelectCounters;
extern const char* const kSelectWinners;
extern const char* const kSelectRuns;

// Nothing where the row is damaged.
std::optional<StoredMeasurement> read_measurement(SQLite::Statement& row);
std::optional<StoredCounters> read_counters(SQLite::Statement& row);
std::optional<StoredWinner> read_winner(SQLite::Statement& row);
Run read_run(SQLite::Statement& row);

}  // namespace gemmsmith::store
