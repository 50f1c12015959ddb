#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "store/process.h"
#include "store/store_fixture.h"

namespace gemmsmith {
namespace {

using std::chrono::seconds;

TEST_F(StoreTest, OneProblemHasOneHolder) {
  Store a = must_open(file());
  Store b = must_open(file());
  const auto lease = *a.acquire(kH200, problem_of(64), seconds(60));
  ASSERT_TRUE(lease);
  EXPECT_FALSE(*b.acquire(kH200, problem_of(64), seconds(60)));
  EXPECT_TRUE(*b.acquire(kH200, problem_of(128), seconds(60)));
  EXPECT_TRUE(*b.acquire({"another device", 1}, problem_of(64), seconds(60)));
  ASSERT_TRUE(a.release(*lease));
  EXPECT_TRUE(*b.acquire(kH200, problem_of(64), seconds(60)));
}

TEST_F(StoreTest, ALateWriterCannotOverwriteItsSuccessor) {
  Store a = must_open(file());
  Store b = must_open(file());
  const auto old = **a.acquire(kH200, problem_of(64), seconds(0));
  const auto taken = *b.acquire(kH200, problem_of(64), seconds(60));
  ASSERT_TRUE(taken);
  EXPECT_FALSE(*a.renew(old, seconds(60)));
  const auto late = a.finish(old, winner_of(problem_of(64), "late", "r"), {"selected", 1, 1});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTimeout);  // costs a tuner this problem, not its run
  EXPECT_EQ(late.error().what, "store " + file().string() +
                                   ": the lease of 64_64_64 f16/f32 tn was taken over by another "
                                   "process; its result stands");
  EXPECT_FALSE(*a.winner(kH200, problem_of(64)));
  // Giving back what is lost must not free the successor's.
  ASSERT_TRUE(a.release(old));
  EXPECT_TRUE(*b.renew(*taken, seconds(60)));
  ASSERT_TRUE(b.finish(*taken, winner_of(problem_of(64), "right", "r"), {"selected", 1, 1}));
  EXPECT_EQ((*a.winner(kH200, problem_of(64)))->config, "right");
}

// After kill -9 the next process goes on at once, it does not wait for the lease to expire.
TEST_F(StoreTest, ADeadProcessHoldsNothing) {
  const int code = in_child([&] {
    auto store = Store::open(file(), Store::Mode::kReadWrite);
    if (!store || !store->acquire(kH200, problem_of(64), seconds(3600))) return 1;
    ::kill(::getpid(), SIGKILL);
    return 2;
  });
  EXPECT_EQ(code, 128 + SIGKILL);
  Store store = must_open(file());
  EXPECT_TRUE(*store.acquire(kH200, problem_of(64), seconds(60)));
}

TEST_F(StoreTest, ALivingProcessKeepsItsLease) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto store = Store::open(file(), Store::Mode::kReadWrite);
    const char ok = store && store->acquire(kH200, problem_of(64), seconds(3600)) ? 1 : 0;
    if (::write(ready[1], &ok, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char ok = 0;
  ASSERT_EQ(::read(ready[0], &ok, 1), 1);
  ASSERT_EQ(ok, 1);
  Store store = must_open(file());
  EXPECT_FALSE(*store.acquire(kH200, problem_of(64), seconds(60)));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(*store.acquire(kH200, problem_of(64), seconds(60)));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(ProcessIdentity, KnowsTheLivingFromTheDead) {
  EXPECT_TRUE(store::may_be_alive(store::process_identity()));
  EXPECT_TRUE(store::may_be_alive("another-boot pid:[1] 1 1"));
  EXPECT_TRUE(store::may_be_alive("garbage"));
  std::string own = store::process_identity();
  own.back() = own.back() == '1' ? '2' : '1';  // the same number, started at another time
  EXPECT_FALSE(store::may_be_alive(own));
}

// Several processes on one store: every problem is done once, nothing is lost, nothing breaks.
TEST_F(StoreTest, ProcessesDivideTheWorkAndWriteAtOnce) {
  constexpr int kProcesses = 4;
  constexpr int kProblems = 24;
  must_open(file()).start_run(run_of("r1"));
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t pid = ::fork();
    if (pid != 0) {
      children.push_back(pid);
      continue;
    }
    auto store = Store::open(file(), Store::Mode::kReadWrite);
    if (!store) ::_exit(1);
    for (int i = 0; i < kProblems; ++i) {
      const Problem problem = problem_of(64 * (i + 1));
      const auto lease = store->acquire(kH200, problem, seconds(60));
      if (!lease) ::_exit(2);
      if (!*lease) continue;
      const auto done = store->winner(kH200, problem);
      if (!done) ::_exit(3);
      if (*done) {
        if (!store->release(**lease)) ::_exit(4);
        continue;
      }
      const std::string config = "sm90_ws:n" + std::to_string(process);
      const StoredMeasurement row = row_of(problem, config, "r1");
      if (!store->record(kH200, {&row, 1})) ::_exit(5);
      if (!store->finish(**lease, winner_of(problem, config, "r1"), {"selected", 1, 1})) ::_exit(6);
    }
    ::_exit(0);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  Store store = must_open(file());
  EXPECT_EQ(store.winners()->size(), static_cast<std::size_t>(kProblems));
  EXPECT_EQ(store.all_measurements()->size(), static_cast<std::size_t>(kProblems));
  EXPECT_EQ(store.damaged_rows(), 0);
}

}  // namespace
}  // namespace gemmsmith
