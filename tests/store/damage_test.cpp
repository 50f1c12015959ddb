// field-reports M2: files cut short, with changed bytes or with zeros. The store refuses them or
// leaves rows out; it never crashes and never tells a figure that nobody measured.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <map>

#include "base/files.h"
#include "store/store_fixture.h"

namespace gemmsmith {
namespace {

class DamageTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    fill(file("whole.db"), 12);
    bytes_ = *read_file(file("whole.db"));
    Store store = must_open(file("whole.db"));
    for (const StoredMeasurement& row : must(store.all_measurements()))
      times_[row.measurement.config] = row.measurement.median_us;
    ASSERT_EQ(times_.size(), 12U);
  }

  // Reads everything a damaged file gives and holds it against what was written.
  void expect_nothing_invented(const std::string& bytes, const std::string& what) {
    const auto path = file("damaged.db");
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + suffix);
    ASSERT_TRUE(write_file_atomic(path, bytes));
    auto store = Store::open(path, Store::Mode::kReadWrite);
    if (!store) {
      EXPECT_EQ(store.error().code, ErrorCode::kStore) << what;
      ++refused_;
      return;
    }
    if (const auto rows = store->all_measurements()) {
      for (const StoredMeasurement& row : *rows) {
        const auto written = times_.find(row.measurement.config);
        ASSERT_NE(written, times_.end()) << what << ": " << row.measurement.config;
        EXPECT_EQ(row.measurement.median_us, written->second) << what;
        EXPECT_EQ(row.measurement.ratio, 1.0625) << what;
        EXPECT_EQ(row.environment, kH200) << what;
      }
    }
    if (const auto winners = store->winners())
      for (const StoredWinner& row : *winners) {
        EXPECT_EQ(row.winner.config, kWinnerConfig) << what;
        EXPECT_EQ(row.winner.chained_ratio, 1.06) << what;
      }
    left_out_ += store->damaged_rows();
  }

  std::string bytes_;
  std::map<std::string, double> times_;
  int refused_ = 0;
  std::int64_t left_out_ = 0;
};

TEST_F(DamageTest, Truncation) {
  for (std::size_t length = 0; length < bytes_.size(); length += 509)
    expect_nothing_invented(bytes_.substr(0, length), "cut at " + std::to_string(length));
  EXPECT_GT(refused_, 50);
}

TEST_F(DamageTest, ChangedBytes) {
  for (std::size_t offset = 0; offset < bytes_.size(); offset += 97) {
    std::string changed = bytes_;
    changed[offset] = static_cast<char>(changed[offset] ^ (1 << (offset % 8)));
    expect_nothing_invented(changed, "bit at " + std::to_string(offset));
  }
  EXPECT_GT(left_out_ + refused_, 0);
}

TEST_F(DamageTest, Zeros) {
  for (std::size_t offset = 0; offset + 512 <= bytes_.size(); offset += 2048) {
    std::string changed = bytes_;
    changed.replace(offset, 512, 512, '\0');
    expect_nothing_invented(changed, "zeros at " + std::to_string(offset));
  }
}

// A figure changed through SQL, as a stray tool might: the row is left out and counted.
TEST_F(DamageTest, AChangedFigureIsLeftOut) {
  {
    SQLite::Database database(file("whole.db").string(), SQLite::OPEN_READWRITE);
    database.exec("UPDATE measurement SET median_us = 0.001 WHERE config = 'sm90_ws:n3'");
    database.exec("UPDATE winner SET config = 'sm90_ws:n999'");
  }
  Store store = must_open(file("whole.db"));
  EXPECT_EQ(store.all_measurements()->size(), 11U);
  EXPECT_EQ(store.damaged_rows(), 1);
  EXPECT_FALSE(*store.winner(kH200, problem_of(64)));
  EXPECT_EQ(store.damaged_rows(), 2);
}

TEST_F(DamageTest, AChangedCounterIsLeftOut) {
  {
    Store store = must_open(file("whole.db"));
    const std::vector<StoredCounters> rows = {counters_of(problem_of(64), "sm90_ws:n1", "r1"),
                                              counters_of(problem_of(64), "sm90_ws:n2", "r1")};
    ASSERT_TRUE(store.record_counters(rows));
  }
  SQLite::Database(file("whole.db").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE counters SET figures = '{\"ipc\":4}' WHERE config = 'sm90_ws:n2'");
  Store store = must_open(file("whole.db"));
  const auto rows = must(store.all_counters());
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].config, "sm90_ws:n1");
  EXPECT_EQ(store.damaged_rows(), 1);
}

TEST_F(DamageTest, TheMessageNamesTheWayOut) {
  std::string changed = bytes_;
  // The root page of the schema's second table: pages are 4096 bytes.
  changed.replace(4096 * 2, 64, 64, '\xff');
  ASSERT_TRUE(write_file_atomic(file("damaged.db"), changed));
  const std::string error = open_error(file("damaged.db"), Store::Mode::kReadWrite);
  EXPECT_EQ(error.find("store " + file("damaged.db").string() + ": damaged ("), 0U) << error;
  EXPECT_NE(error.find("; move it aside and fill a new one from an export with 'gemmsmith store "
                       "import'"),
            std::string::npos)
      << error;
}

}  // namespace
}  // namespace gemmsmith
