// state.h -- what a Store holds; shared by the files that implement it.
#pragma once

#include <cstdint>

#include "store/database.h"
#include "store/store.h"

namespace gemmsmith {

struct Store::State {
  store::Database database;
  std::int64_t damaged_rows = 0;

  SQLite::Database& handle() { return *database.handle; }
};

}  // namespace gemmsmith
