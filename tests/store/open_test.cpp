#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iostream>
#include <thread>
#include <vector>

#include "base/files.h"
#include "store/database.h"
#include "store/store_fixture.h"

namespace gemmsmith {
namespace {

using Mode = Store::Mode;

TEST_F(StoreTest, MakesAMissingFileAndItsFolder) {
  const auto path = directory_ / "new" / "folders with spaces" / "störe.db";
  must_open(path);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(StoreTest, AnEmptyFileBecomesAStore) {
  std::ofstream(file()).close();
  must_open(file());
  EXPECT_EQ(must_open(file(), Mode::kReadOnly).winners()->size(), 0U);
}

TEST_F(StoreTest, ReadingAMissingFileSaysHowToMakeOne) {
  EXPECT_EQ(open_error(file(), Mode::kReadOnly),
            "store " + file().string() + ": no such file; 'gemmsmith tune --store' makes one");
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(StoreTest, RefusesADirectory) {
  EXPECT_EQ(open_error(directory_, Mode::kReadWrite),
            "store " + directory_.string() + ": is a directory, expected a file");
}

// Both look at the file while either may be migrating it.
// SQLite kept such a store in memory or in a temporary file: everything measured was lost.
TEST_F(StoreTest, NamesThatSqliteReadsAsSomethingElseAreRefused) {
  const std::pair<const char*, const char*> kNames[] = {
      {"", "an empty name"},
      {":memory:", "names with a colon in front are SQLite's own"},
      {":tmp:", "names with a colon in front are SQLite's own"},
      {"file:x?mode=memory", "SQLite's URIs are no files"},
      {"file:", "SQLite's URIs are no files"},
      {"FILE:/tmp/x?vfs=memdb", "SQLite's URIs are no files"},
      {"new/", "a folder's name, with a slash at its end"}};
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_);
  for (const auto& [name, why] : kNames)
    for (const Mode mode : {Mode::kReadWrite, Mode::kReadOnly})
      EXPECT_EQ(open_error(name, mode), fmt::format("store '{}': {}; name a file, for example "
                                                    "winners.db",
                                                    name, why));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  for (const char* name : {"./:memory:", "./file:x?mode=memory", "a:memory:", "fil", "100%25"}) {
    fill(name, 1);
    EXPECT_TRUE(std::filesystem::exists(name)) << name;
    EXPECT_EQ(must_open(name, Mode::kReadOnly).winners()->size(), 1U) << name;
  }
  std::filesystem::current_path(before);
}

// A pipe was waited for without end.
TEST_F(StoreTest, PipesAndDevicesAreRefused) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", file("link"));
  for (const std::filesystem::path& path : {file("pipe"), file("link"), {"/dev/zero"}})
    for (const Mode mode : {Mode::kReadWrite, Mode::kReadOnly})
      EXPECT_EQ(open_error(path, mode),
                "store " + path.string() + ": is a pipe or a device, expected a file");
}

TEST_F(StoreTest, TwoMayMakeTheSameStore) {
  for (int i = 0; i < 50; ++i) {
    const auto path = directory_ / fmt::format("{}.db", i);
    std::string errors[2];
    std::vector<std::thread> threads;
    for (std::string& error : errors)
      threads.emplace_back([&path, &error] {
        const auto store = Store::open(path, Mode::kReadWrite);
        if (!store) error = store.error().what;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(errors[0], "");
    EXPECT_EQ(errors[1], "");
  }
}

TEST_F(StoreTest, RefusesANewerSchemaAndLeavesItAlone) {
  fill(file(), 3);
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE).exec("PRAGMA user_version=7");
  const std::string expected =
      "store " + file().string() +
      ": written by a newer gemmsmith (schema 7, this one knows up to 2); upgrade gemmsmith or "
      "choose another file";
  EXPECT_EQ(open_error(file(), Mode::kReadWrite), expected);
  EXPECT_EQ(open_error(file(), Mode::kReadOnly), expected);
  SQLite::Database database(file().string(), SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("SELECT count(*) FROM measurement").getInt(), 3);
}

// The schema's first version had no counters; nothing else has changed since.
void make_first_version(const std::filesystem::path& path) {
  SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
  database.exec("DROP TABLE counters");
  database.exec("PRAGMA user_version=1");
}

TEST_F(StoreTest, BringsTheFirstSchemaForwardAndKeepsItsRows) {
  fill(file(), 3);
  make_first_version(file());
  Store store = must_open(file());
  EXPECT_EQ(must(store.all_measurements()).size(), 3U);
  EXPECT_EQ(must(store.winners()).size(), 1U);
  EXPECT_EQ(must(store.all_counters()).size(), 0U);
  const StoredCounters row = counters_of(problem_of(64), kWinnerConfig, "r1");
  ASSERT_TRUE(store.record_counters({&row, 1}));
  EXPECT_EQ(must(must_open(file(), Mode::kReadOnly).all_counters()).size(), 1U);
  EXPECT_EQ(store.damaged_rows(), 0);
}

TEST_F(StoreTest, AnOlderSchemaThatIsOnlyReadIsRefusedAndLeftAlone) {
  fill(file(), 3);
  make_first_version(file());
  EXPECT_EQ(open_error(file(), Mode::kReadOnly),
            "store " + file().string() +
                ": schema 1 is older than this gemmsmith's 2; tune with it or import into it once "
                "to bring it forward");
  SQLite::Database database(file().string(), SQLite::OPEN_READONLY);
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 1);
}

TEST_F(StoreTest, RefusesAnotherProgramsDatabase) {
  SQLite::Database(file().string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE)
      .exec("CREATE TABLE precious(x)");
  EXPECT_EQ(open_error(file(), Mode::kReadWrite),
            "store " + file().string() +
                ": a database of another program (application id 0x00000000); choose another file");
}

TEST_F(StoreTest, RefusesAFileThatIsNoDatabase) {
  std::ofstream(file()) << "m,n,k\n64,64,64\n" << std::string(4096, 'x');
  EXPECT_EQ(open_error(file(), Mode::kReadWrite),
            "store " + file().string() +
                ": not a gemmsmith store, or damaged at its start; move it aside or choose another "
                "file with --store");
}

TEST_F(StoreTest, ReadsWhileAnotherWrites) {
  fill(file(), 2);
  Store writer = must_open(file());
  Store reader = must_open(file(), Mode::kReadOnly);
  EXPECT_EQ(reader.all_measurements()->size(), 2U);
  const StoredMeasurement row = row_of(problem_of(128), "sm90_ws", "r1");
  ASSERT_TRUE(writer.record(kH200, {&row, 1}));
  EXPECT_EQ(reader.all_measurements()->size(), 3U);
}

TEST_F(StoreTest, AReadOnlyStoreRefusesToWrite) {
  fill(file(), 1);
  Store store = must_open(file(), Mode::kReadOnly);
  const auto written = store.start_run(run_of("r2"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kStore);
  EXPECT_EQ(written.error().what,
            "store " + file().string() +
                ": no permission to write; make it writable or choose another file with --store");
}

// As a user who may read the folder but not write in it, even where the tests run as root.
TEST_F(StoreTest, ReadsFromAFolderThatCannotBeWritten) {
  fill(file(), 2);
  std::filesystem::permissions(file(), std::filesystem::perms(0444));
  std::filesystem::permissions(directory_, std::filesystem::perms(0555));
  const int code = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 3;
    auto store = Store::open(file(), Mode::kReadOnly);
    if (!store) {
      std::cerr << store.error().what << "\n";
      return 1;
    }
    const auto rows = store->all_measurements();
    if (!rows || rows->size() != 2) return 2;
    const auto writable = Store::open(file(), Mode::kReadWrite);
    return !writable && writable.error().what.find("no permission to write; make it writable") !=
                            std::string::npos
               ? 0
               : 4;
  });
  EXPECT_EQ(code, 0);
}

constexpr int kNotPermitted = 77;

// A disk of 256 KiB, in a mount namespace of the child's own.
bool mount_small_disk(const std::filesystem::path& path) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=256k") == 0;
}

TEST_F(StoreTest, AFullDiskLosesNothingAcknowledgedAndSaysSo) {
  const auto disk = directory_ / "disk";
  std::filesystem::create_directories(disk);
  const auto path = disk / "store.db";
  const std::string expected =
      "store " + path.string() +
      ": the disk is full; free some space and run again, everything recorded so far is kept";
  const int code = in_child([&] {
    if (!mount_small_disk(disk)) return kNotPermitted;
    auto store = Store::open(path, Mode::kReadWrite);
    if (!store || !store->start_run(run_of("r1"))) return 1;
    for (int i = 0; i < 10'000; ++i) {
      const StoredMeasurement row = row_of(problem_of(64), "sm90_ws:n" + std::to_string(i), "r1");
      const auto written = store->record(kH200, {&row, 1});
      if (written) continue;
      if (written.error().what != expected) {
        std::cerr << written.error().what << "\n";
        return 2;
      }
      const auto rows = store->all_measurements();
      return rows && rows->size() == static_cast<std::size_t>(i) ? 0 : 3;
    }
    return 4;
  });
  if (code == kNotPermitted) GTEST_SKIP() << "mounting a small disk is not permitted here";
  EXPECT_EQ(code, 0);
}

// The words for what cannot be brought about everywhere.
TEST(StoreErrors, SayWhatToDo) {
  const store::Database database{"s.db", std::make_unique<std::chrono::milliseconds>(1000),
                                 nullptr};
  const auto words = [&](int code) {
    const Error error = database.explain(SQLite::Exception("sqlite's words", code));
    EXPECT_EQ(error.code, ErrorCode::kStore);
    return error.what;
  };
  EXPECT_EQ(words(SQLITE_FULL),
            "store s.db: the disk is full; free some space and run again, everything recorded so "
            "far is kept");
  EXPECT_EQ(words(SQLITE_IOERR),
            "store s.db: reading or writing failed: sqlite's words; everything recorded so far is "
            "kept");
  EXPECT_EQ(words(SQLITE_CANTOPEN),
            "store s.db: cannot be opened: sqlite's words; choose another file with --store");
  EXPECT_EQ(words(SQLITE_ERROR), "store s.db: sqlite's words");
}

// A file that may not grow (a quota, RLIMIT_FSIZE): acknowledged rows stay, the failing call says
// what the system said.
TEST_F(StoreTest, AQuotaLosesNothingAcknowledged) {
  fill(file(), 1);
  const auto acknowledged = file("acknowledged");
  const int code = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{256 << 10, 256 << 10};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto store = Store::open(file(), Mode::kReadWrite);
    if (!store) return 1;
    for (int i = 0; i < 10'000; ++i) {
      const StoredMeasurement row = row_of(problem_of(128), "sm90_ws:n" + std::to_string(i), "r1");
      if (const auto written = store->record(kH200, {&row, 1}); !written) {
        std::ofstream(acknowledged) << i;
        return written.error().what.find("everything recorded so far is kept") != std::string::npos
                   ? 0
                   : 3;
      }
    }
    return 2;
  });
  ASSERT_EQ(code, 0);
  const int rows = std::stoi(*read_file(acknowledged));
  EXPECT_GT(rows, 10);
  Store store = must_open(file());
  EXPECT_GE(store.measurements(kH200, problem_of(128))->size(), static_cast<std::size_t>(rows));
}

TEST_F(StoreTest, ALockedStoreSaysWhoIsToBlame) {
  fill(file(), 1);
  Store store = must(Store::open(file(), Store::Mode::kReadWrite, std::chrono::milliseconds(1000)));
  SQLite::Database blocker(file().string(), SQLite::OPEN_READWRITE);
  blocker.exec("BEGIN IMMEDIATE");
  const auto written = store.start_run(run_of("r2"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().what,
            "store " + file().string() +
                ": locked by another process for more than 1 s; wait for it or choose another file "
                "with --store");
}

// A tuner must not die of a neighbour that takes its time.
TEST_F(StoreTest, ALockIsWaitedFor) {
  fill(file(), 1);
  Store store = must_open(file());
  SQLite::Database blocker(file().string(), SQLite::OPEN_READWRITE);
  blocker.exec("BEGIN IMMEDIATE");
  std::thread neighbour([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(6000));
    blocker.exec("ROLLBACK");
  });
  const auto written = store.start_run(run_of("r2"));
  neighbour.join();
  EXPECT_TRUE(written) << written.error().what;
}

}  // namespace
}  // namespace gemmsmith
