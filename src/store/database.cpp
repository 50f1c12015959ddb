#include "store/database.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "base/interrupt.h"

namespace gemmsmith::store {
namespace {

// Migration i leads from schema version i to i + 1. Never edit one that was released: append.
constexpr std::array<const char*, kSchemaVersion> kMigrations = {
    R"sql(
CREATE TABLE problem(
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE);
CREATE TABLE environment(
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  protocol INTEGER NOT NULL,
  UNIQUE(fingerprint, protocol));
CREATE TABLE run(
  id TEXT PRIMARY KEY NOT NULL,
  environment INTEGER NOT NULL REFERENCES environment(id),
  started TEXT NOT NULL,
  command TEXT NOT NULL,
  seed INTEGER NOT NULL,
  conditions TEXT NOT NULL);
CREATE TABLE measurement(
  id INTEGER PRIMARY KEY,
  problem INTEGER NOT NULL REFERENCES problem(id),
  environment INTEGER NOT NULL REFERENCES environment(id),
  kernel_hash TEXT NOT NULL,
  kind TEXT NOT NULL,
  config TEXT NOT NULL,
  setting TEXT NOT NULL,
  cache TEXT NOT NULL,
  stage TEXT NOT NULL,
  run TEXT NOT NULL REFERENCES run(id),
  status TEXT NOT NULL,
  median_us REAL NOT NULL,
  low_us REAL NOT NULL,
  high_us REAL NOT NULL,
  ratio REAL NOT NULL,
  ratio_low REAL NOT NULL,
  ratio_high REAL NOT NULL,
  repeats_us TEXT NOT NULL,
  compile_s REAL NOT NULL,
  detail TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE(problem, environment, kind, config, kernel_hash, setting, cache, stage, run));
CREATE TABLE winner(
  problem INTEGER NOT NULL REFERENCES problem(id),
  environment INTEGER NOT NULL REFERENCES environment(id),
  source TEXT NOT NULL,
  config TEXT NOT NULL,
  kernel_hash TEXT NOT NULL,
  chained_us REAL NOT NULL,
  chained_ratio REAL NOT NULL,
  chained_low REAL NOT NULL,
  foreign_us REAL NOT NULL,
  foreign_ratio REAL NOT NULL,
  foreign_low REAL NOT NULL,
  run TEXT NOT NULL,
  note TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY(problem, environment));
CREATE TABLE progress(
  problem INTEGER NOT NULL REFERENCES problem(id),
  environment INTEGER NOT NULL REFERENCES environment(id),
  stage TEXT NOT NULL,
  budget INTEGER NOT NULL,
  vendor_budget INTEGER NOT NULL,
  PRIMARY KEY(problem, environment));
CREATE TABLE lease(
  problem INTEGER NOT NULL REFERENCES problem(id),
  environment INTEGER NOT NULL REFERENCES environment(id),
  token INTEGER NOT NULL,
  owner TEXT NOT NULL,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY(problem, environment));
)sql",
    R"sql(
CREATE TABLE counters(
  id INTEGER PRIMARY KEY,
  problem INTEGER NOT NULL REFERENCES problem(id),
  environment INTEGER NOT NULL REFERENCES environment(id),
  kind TEXT NOT NULL,
  config TEXT NOT NULL,
  kernel_hash TEXT NOT NULL,
  run TEXT NOT NULL REFERENCES run(id),
  chip TEXT NOT NULL,
  passes INTEGER NOT NULL,
  kernels INTEGER NOT NULL,
  figures TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  UNIQUE(problem, environment, kind, config, kernel_hash, run));
)sql"};

// A name that begins with a slash is a file's, whatever else SQLite reads into names.
std::string plain_name(const std::filesystem::path& path) {
  return std::filesystem::absolute(path).string();
}

std::string uri_of(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : plain_name(path)) {
    if (c == '%' || c == '?' || c == '#')
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    else
      uri += c;
  }
  return uri;
}

int pragma_int(SQLite::Database& database, const char* pragma) {
  return database.execAndGet(std::string("PRAGMA ") + pragma).getInt();
}

constexpr std::chrono::milliseconds kBusyStep{20};

// SQLite's question whether to try once more, after the `tried`-th refusal: a busy timeout of
// SQLite's own would not hear of a Ctrl-C. What was measured before that deserves a while yet.
int wait_for_lock(void* patience, int tried) {
  constexpr std::chrono::milliseconds kAfterInterrupt{5000};
  const auto most = *static_cast<std::chrono::milliseconds*>(patience);
  if (tried * kBusyStep >= (interrupted() ? std::min(kAfterInterrupt, most) : most)) return 0;
  std::this_thread::sleep_for(kBusyStep);
  return 1;
}

// SQLite refuses to switch the journal while another process opens the file; it does not wait then.
void enter_wal(SQLite::Database& database, std::chrono::milliseconds patience) {
  for (int attempt = 0;; ++attempt) {
    try {
      database.execAndGet("PRAGMA journal_mode=WAL");
      return;
    } catch (const SQLite::Exception& exception) {
      if (exception.getErrorCode() != SQLITE_BUSY || wait_for_lock(&patience, attempt) == 0) throw;
    }
  }
}

// To be called inside a transaction: a migration by another process between these looks would pass
// for a database of another program.
Result<void> check_identity(const Database& database) {
  SQLite::Database& handle = *database.handle;
  const int application = pragma_int(handle, "application_id");
  const int version = pragma_int(handle, "user_version");
  const bool blank = application == 0 && version == 0 &&
                     handle.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
  if (!blank && application != kApplicationId)
    return fail(ErrorCode::kStore,
                "store {}: a database of another program (application id {:#010x}); choose another "
                "file",
                database.path.string(), static_cast<unsigned>(application));
  if (version > kSchemaVersion)
    return fail(ErrorCode::kStore,
                "store {}: written by a newer gemmsmith (schema {}, this one knows up to {}); "
                "upgrade gemmsmith or choose another file",
                database.path.string(), version, kSchemaVersion);
  return {};
}

// Another process may have migrated the file since it was looked at, so the version is read again
// inside the transaction.
Result<void> migrate(const Database& database) {
  SQLite::Database& handle = *database.handle;
  if (pragma_int(handle, "user_version") == kSchemaVersion) return {};
  WriteTransaction transaction(handle);
  GEMMSMITH_CHECK(check_identity(database));
  for (int version = pragma_int(handle, "user_version"); version < kSchemaVersion; ++version)
    handle.exec(kMigrations[static_cast<std::size_t>(version)]);
  handle.exec(fmt::format("PRAGMA application_id={}", kApplicationId));
  handle.exec(fmt::format("PRAGMA user_version={}", kSchemaVersion));
  transaction.commit();
  return {};
}

Result<void> prepare(const Database& database, bool writable) {
  SQLite::Database& handle = *database.handle;
  // A damaged file must not be able to run anything or to mislead the page reader.
  handle.exec("PRAGMA trusted_schema=OFF");
  handle.exec("PRAGMA cell_size_check=ON");
  {
    SQLite::Transaction looking(handle);
    GEMMSMITH_CHECK(check_identity(database));
  }
  if (!writable) {
    if (pragma_int(handle, "user_version") != kSchemaVersion)
      return fail(ErrorCode::kStore,
                  "store {}: schema {} is older than this gemmsmith's {}; tune with it or "
                  "import into it once to bring it forward",
                  database.path.string(), pragma_int(handle, "user_version"), kSchemaVersion);
    return {};
  }
  if (sqlite3_db_readonly(handle.getHandle(), "main") == 1)
    return fail(ErrorCode::kStore,
                "store {}: no permission to write; make it writable or choose another file with "
                "--store",
                database.path.string());
  enter_wal(handle, *database.patience);
  // FULL: with NORMAL a power loss may take back a commit that was reported as done.
  handle.exec("PRAGMA synchronous=FULL");
  handle.exec("PRAGMA foreign_keys=ON");
  const std::string verdict = handle.execAndGet("PRAGMA quick_check(1)").getString();
  if (verdict != "ok") throw SQLite::Exception(verdict, SQLITE_CORRUPT);
  return migrate(database);
}

// What SQLite may take for something else than a file: its names for databases in memory or in a
// temporary file, whose contents are lost at the end, and its URIs, whose parameters change more.
Result<void> check_name(const std::filesystem::path& path) {
  const std::string name = path.string();
  const auto refuse = [&](std::string_view why) {
    return fail(ErrorCode::kStore, "store '{}': {}; name a file, for example winners.db", name,
                why);
  };
  if (name.empty()) return refuse("an empty name");
  if (name.back() == '/') return refuse("a folder's name, with a slash at its end");
  constexpr std::string_view kUri = "file:";
  const bool is_uri =
      std::equal(kUri.begin(), kUri.end(), name.begin(),
                 name.begin() + static_cast<std::ptrdiff_t>(std::min(kUri.size(), name.size())),
                 [](char a, char b) { return a == std::tolower(b); });
  if (is_uri) return refuse("SQLite's URIs are no files");
  if (name.front() == ':') return refuse("names with a colon in front are SQLite's own");
  return {};
}

Result<void> check_path(const std::filesystem::path& path, bool writable) {
  GEMMSMITH_CHECK(check_name(path));
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return fail(ErrorCode::kStore, "store {}: is a directory, expected a file", path.string());
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    return fail(ErrorCode::kStore, "store {}: is a pipe or a device, expected a file",
                path.string());
  if (!writable && !std::filesystem::exists(path, error))
    return fail(ErrorCode::kStore, "store {}: no such file; 'gemmsmith tune --store' makes one",
                path.string());
  if (writable && path.has_parent_path() && !std::filesystem::exists(path.parent_path(), error)) {
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      return fail(ErrorCode::kStore,
                  "store {}: cannot make its folder: {}; choose another file with --store",
                  path.string(), error.message());
  }
  return {};
}

// WAL needs a shared-memory file beside the store even for reading. Where the folder allows none,
// nobody can be writing there either, so the file may be read as one that never changes.
std::unique_ptr<SQLite::Database> open_read_only(const std::filesystem::path& path,
                                                 std::chrono::milliseconds& patience) {
  try {
    auto handle = std::make_unique<SQLite::Database>(plain_name(path), SQLite::OPEN_READONLY);
    sqlite3_busy_handler(handle->getHandle(), wait_for_lock, &patience);
    pragma_int(*handle, "user_version");
    return handle;
  } catch (const SQLite::Exception& exception) {
    const int code = exception.getErrorCode();
    if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY) throw;
  }
  return std::make_unique<SQLite::Database>(uri_of(path) + "?immutable=1",
                                            SQLite::OPEN_READONLY | SQLite::OPEN_URI);
}

}  // namespace

Error Database::explain(const SQLite::Exception& exception) const {
  const std::string file = path.string();
  const int system_error = handle ? sqlite3_system_errno(handle->getHandle()) : 0;
  const std::string cause = system_error != 0 ? std::strerror(system_error) : exception.what();
  const auto error = [](std::string text) { return Error{ErrorCode::kStore, std::move(text)}; };
  switch (exception.getErrorCode() & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      if (interrupted())
        return {
            ErrorCode::kInterrupted,
            fmt::format("interrupted while waiting for store {}, locked by another process", file)};
      return error(fmt::format(
          "store {}: locked by another process for more than {} s; wait for it or choose another "
          "file with --store",
          file, std::chrono::duration_cast<std::chrono::seconds>(*patience).count()));
    case SQLITE_NOTADB:
      return error(fmt::format(
          "store {}: not a gemmsmith store, or damaged at its start; move it aside or choose "
          "another file with --store",
          file));
    case SQLITE_CORRUPT:
      return error(
          fmt::format("store {}: damaged ({}); move it aside and fill a new one from an export "
                      "with 'gemmsmith store import'",
                      file, exception.what()));
    case SQLITE_FULL:
      return error(
          fmt::format("store {}: the disk is full; free some space and run again, everything "
                      "recorded so far is kept",
                      file));
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return error(
          fmt::format("store {}: no permission to write; make it writable or choose another file "
                      "with --store",
                      file));
    case SQLITE_CANTOPEN:
      return error(fmt::format("store {}: cannot be opened: {}; choose another file with --store",
                               file, cause));
    case SQLITE_IOERR:
      return error(
          fmt::format("store {}: reading or writing failed: {}; everything recorded so far is kept",
                      file, cause));
    default:
      return error(fmt::format("store {}: {}", file, exception.what()));
  }
}

Result<Database> open_database(const std::filesystem::path& path, bool writable,
                               std::chrono::milliseconds patience) {
  GEMMSMITH_CHECK(check_path(path, writable));
  Database database{path, std::make_unique<std::chrono::milliseconds>(patience), nullptr};
  GEMMSMITH_CHECK(guarded(database, [&]() -> Result<void> {
    if (writable) {
      database.handle = std::make_unique<SQLite::Database>(
          plain_name(path), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      sqlite3_busy_handler(database.handle->getHandle(), wait_for_lock, database.patience.get());
    } else {
      database.handle = open_read_only(path, *database.patience);
    }
    return prepare(database, writable);
  }));
  return database;
}

}  // namespace gemmsmith::store
