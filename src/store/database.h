// database.h -- the SQLite side of the store: opening safely, the schema and its migrations, and
// SQLite's exceptions turned into errors that say what to do.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/result.h"

namespace gemmsmith::store {

// "gsmt": marks the file as ours for `file` and against being opened as another program's.
constexpr int kApplicationId = 0x67736d74;
// user_version of a current file; one migration leads to each version.
constexpr int kSchemaVersion = 2;

struct Database {
  std::filesystem::path path;
  // With whoever holds the lock; SQLite keeps a pointer to it, so it stays where it is.
  std::unique_ptr<std::chrono::milliseconds> patience;
  std::unique_ptr<SQLite::Database> handle;

  // The error (kStore) for what SQLite threw, in words for the user.
  Error explain(const SQLite::Exception& exception) const;
};

Result<Database> open_database(const std::filesystem::path& path, bool writable,
                               std::chrono::milliseconds patience);

// Runs `work` and turns SQLite's exceptions into errors. `work` returns a Result.
template <class Work>
auto guarded(const Database& database, Work&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const SQLite::Exception& exception) {
    return tl::unexpected<Error>(database.explain(exception));
  }
}

// A write transaction that takes the write lock at once, so that it never has to give up half-way.
// Rolls back unless commit() was reached.
class WriteTransaction {
 public:
  explicit WriteTransaction(SQLite::Database& database)
      : transaction_(database, SQLite::TransactionBehavior::IMMEDIATE) {}
  void commit() { transaction_.commit(); }

 private:
  SQLite::Transaction transaction_;
};

}  // namespace gemmsmith::store
