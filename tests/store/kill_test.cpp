// Writers killed at random moments: what they had reported as recorded is there, once, and whole.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>

#include "store/store_fixture.h"

namespace gemmsmith {
namespace {

// Shared with the child, so that its last acknowledged row outlives it.
class SharedCounter {
 public:
  SharedCounter() {
    void* memory = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    counter_ = new (memory) std::atomic<int>(0);
  }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  ~SharedCounter() { ::munmap(counter_, sizeof(std::atomic<int>)); }
  std::atomic<int>& operator*() { return *counter_; }

 private:
  std::atomic<int>* counter_;
};

// Writes rows from `first` on until it is killed; tells how many are acknowledged.
[[noreturn]] void write_until_killed(const std::filesystem::path& path, int first,
                                     std::atomic<int>& acknowledged) {
  auto store = Store::open(path, Store::Mode::kReadWrite);
  if (!store || !store->start_run(run_of("r1"))) ::_exit(1);
  for (int i = first;; ++i) {
    const Problem problem = problem_of(64 + i % 7);
    const StoredMeasurement row = row_of(problem, "sm90_ws:n" + std::to_string(i), "r1");
    const Progress progress{"screen", i, 0};
    if (!store->record(kH200, {&row, 1}, &progress)) ::_exit(2);
    acknowledged = i + 1;
  }
}

TEST_F(StoreTest, KillLosesNothingThatWasAcknowledged) {
  const char* const wanted = std::getenv("GEMMSMITH_KILL_ROUNDS");
  const int rounds = wanted != nullptr ? std::atoi(wanted) : 30;
  std::srand(1);
  SharedCounter acknowledged;
  for (int round = 0; round < rounds; ++round) {
    const int first = *acknowledged;
    const pid_t pid = ::fork();
    if (pid == 0) write_until_killed(file(), first, *acknowledged);
    // From before the file is open to some hundred rows in.
    std::this_thread::sleep_for(std::chrono::microseconds(500 + std::rand() % 40'000));
    ::kill(pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself: " << WEXITSTATUS(status);

    Store store = must_open(file());
    const auto rows = *store.all_measurements();
    std::set<std::string> configs;
    for (const StoredMeasurement& row : rows)
      EXPECT_TRUE(configs.insert(row.measurement.config).second) << row.measurement.config;
    for (int i = 0; i < *acknowledged; ++i)
      ASSERT_EQ(configs.count("sm90_ws:n" + std::to_string(i)), 1U) << "round " << round;
    // One row may have been committed and not yet acknowledged.
    EXPECT_LE(rows.size(), static_cast<std::size_t>(*acknowledged) + 1);
    EXPECT_EQ(store.damaged_rows(), 0);
    *acknowledged = static_cast<int>(rows.size());
  }
  EXPECT_GT(*acknowledged, rounds);
}

}  // namespace
}  // namespace gemmsmith
