// Leases: several tuners on one store divide the problems among them. A row stays when its lease is
// given back, so that its token never comes twice.
#include "store/process.h"
#include "store/rows.h"
#include "store/state.h"
#include "store/store.h"

namespace gemmsmith {

using store::guarded;
using store::WriteTransaction;

namespace {

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t deadline(std::chrono::seconds duration) {
  return now_ms() + std::chrono::milliseconds(duration).count();
}

struct LeaseRow {
  std::int64_t token = 0;
  std::string owner;  // empty: free
  std::int64_t expires_ms = 0;
};

LeaseRow read_lease(SQLite::Database& handle, std::int64_t problem, std::int64_t environment) {
  SQLite::Statement query(
      handle, "SELECT token, owner, expires_ms FROM lease WHERE problem = ? AND environment = ?");
  query.bind(1, problem);
  query.bind(2, environment);
  if (!query.executeStep()) return {};
  return {query.getColumn(0).getInt64(), query.getColumn(1).getString(),
          query.getColumn(2).getInt64()};
}

// Changes the lease if it is still the caller's; false where it is not.
bool update_lease(SQLite::Database& handle, const Lease& lease, const std::string& owner,
                  std::int64_t expires_ms) {
  SQLite::Statement update(
      handle,
      "UPDATE lease SET owner = ?, expires_ms = ? WHERE token = ? AND owner <> '' AND "
      "problem = (SELECT id FROM problem WHERE key = ?) AND "
      "environment = (SELECT id FROM environment WHERE fingerprint = ? AND protocol = ?)");
  update.bind(1, owner);
  update.bind(2, expires_ms);
  update.bind(3, lease.token);
  update.bind(4, problem_key(lease.problem));
  update.bind(5, lease.environment.fingerprint);
  update.bind(6, lease.environment.protocol);
  return update.exec() == 1;
}

}  // namespace

Result<std::optional<Lease>> Store::acquire(const Environment& environment, const Problem& problem,
                                            std::chrono::seconds duration) {
  return guarded(state_->database, [&]() -> Result<std::optional<Lease>> {
    SQLite::Database& handle = state_->handle();
    WriteTransaction transaction(handle);
    const std::int64_t problem_row = store::problem_id(handle, problem);
    const std::int64_t environment_row = store::environment_id(handle, environment);
    const LeaseRow held = read_lease(handle, problem_row, environment_row);
    if (!held.owner.empty() && held.expires_ms > now_ms() && store::may_be_alive(held.owner))
      return std::optional<Lease>();
    SQLite::Statement replace(handle,
                              "INSERT OR REPLACE INTO lease(problem, environment, token, owner, "
                              "expires_ms) VALUES(?, ?, ?, ?, ?)");
    replace.bind(1, problem_row);
    replace.bind(2, environment_row);
    replace.bind(3, held.token + 1);
    replace.bind(4, store::process_identity());
    replace.bind(5, deadline(duration));
    replace.exec();
    transaction.commit();
    return std::optional<Lease>(Lease{problem, environment, held.token + 1});
  });
}

Result<bool> Store::renew(const Lease& lease, std::chrono::seconds duration) {
  return guarded(state_->database, [&]() -> Result<bool> {
    return update_lease(state_->handle(), lease, store::process_identity(), deadline(duration));
  });
}

Result<void> Store::release(const Lease& lease) {
  return guarded(state_->database, [&]() -> Result<void> {
    update_lease(state_->handle(), lease, "", 0);
    return {};
  });
}

Result<void> Store::finish(const Lease& lease, const Winner& winner, const Progress& progress) {
  return guarded(state_->database, [&]() -> Result<void> {
    SQLite::Database& handle = state_->handle();
    WriteTransaction transaction(handle);
    if (!update_lease(handle, lease, "", 0))
      return fail(ErrorCode::kTimeout,
                  "store {}: the lease of {} was taken over by another process; its result stands",
                  path().string(), describe(lease.problem));
    store::replace_winner(handle, {lease.environment, winner});
    store::replace_progress(handle, store::problem_id(handle, winner.problem),
                            store::environment_id(handle, lease.environment), progress);
    transaction.commit();
    return {};
  });
}

}  // namespace gemmsmith
