// The file that a process and its monitor share: what one side tells is what the other reads,
// whatever else lies there, whoever ends first, however many threads tell.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

#include "base/files.h"
#include "support/scratch.h"
#include "watch/watching.h"

namespace gemmsmith::watch {
namespace {

using gemmsmith::testing::ScratchFolder;

// A process of its own, killed in the end. `work` writes a byte to the descriptor it is given once
// it is ready, and should then wait.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void(int)>& work) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    child_ = fork();
    if (child_ == 0) {
      work(ends[1]);
      _exit(0);
    }
    close(ends[1]);
    char byte = 0;
    is_ready_ = read(ends[0], &byte, 1) == 1;
    close(ends[0]);
  }
  ~OtherProcess() { end(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  void end() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  bool is_ready() const { return is_ready_; }
  pid_t id() const { return child_; }

 private:
  pid_t child_ = -1;
  bool is_ready_ = false;
};

void say_ready(int descriptor) { EXPECT_EQ(write(descriptor, "r", 1), 1); }

ShapeFacts facts_of(int m) {
  static const std::vector<std::string> alternates = {"sm80_mma:m32", "sm80_mma:m64"};
  ShapeFacts facts;
  facts.key.m = m;
  facts.key.n = 64;
  facts.key.k = 128;
  facts.device = "GPU-00";
  facts.plan = "sm90_ws:s2";
  facts.promised_us = 5;
  facts.promised_library_us = 6;
  facts.alternates = alternates;
  return facts;
}

class WatchTest : public ::testing::Test {
 protected:
  Watching attached() {
    auto watching = Watching::attach(path_);
    EXPECT_TRUE(watching) << watching.error().what;
    EXPECT_TRUE(*watching);
    return *std::move(*watching);
  }
  const ScratchFolder folder_;
  const std::filesystem::path path_ = folder_ / "serve.watch";
};

TEST_F(WatchTest, WhatIsToldIsRead) {
  auto process = WatchedProcess::open(path_);
  ASSERT_TRUE(process) << process.error().what;
  Shape* const shape = process->place_of(facts_of(64));
  ASSERT_NE(shape, nullptr);
  EXPECT_EQ(process->place_of(facts_of(64)), shape);
  EXPECT_NE(process->place_of(facts_of(65)), shape);
  tell(*shape, {1, 9, kPlan, false});  // before the monitor came
  Watching watching = attached();
  const auto shapes = watching.new_shapes();
  ASSERT_EQ(shapes.size(), 2U);
  EXPECT_EQ(shapes[0].key, facts_of(64).key);
  EXPECT_EQ(shapes[0].device, "GPU-00");
  EXPECT_EQ(shapes[0].plan, "sm90_ws:s2");
  EXPECT_EQ(shapes[0].promised_us, 5);
  EXPECT_EQ(shapes[0].promised_library_us, 6);
  EXPECT_EQ(shapes[0].alternates, (std::vector<std::string>{"sm80_mma:m32", "sm80_mma:m64"}));
  EXPECT_TRUE(watching.new_shapes().empty());
  tell(*shape, {2, 7.5F, kLibrary, false});
  tell(*shape, {3, 5.5F, kPlan, true});
  const auto timings = watching.new_timings(shapes[0].place);
  ASSERT_EQ(timings.size(), 2U);
  EXPECT_EQ(timings[0].time_ns, 2U);
  EXPECT_EQ(timings[0].latency_us, 7.5F);
  EXPECT_EQ(timings[0].serving, kLibrary);
  EXPECT_FALSE(timings[0].is_probe);
  EXPECT_EQ(timings[1].serving, kPlan);
  EXPECT_TRUE(timings[1].is_probe);
  EXPECT_TRUE(watching.new_timings(shapes[0].place).empty());
}

TEST_F(WatchTest, TheLatestTimingsAreKept) {
  auto process = WatchedProcess::open(path_);
  ASSERT_TRUE(process);
  Shape* const shape = process->place_of(facts_of(64));
  Watching watching = attached();
  for (std::uint64_t i = 1; i <= 100; ++i) tell(*shape, {i, 1, kPlan, false});
  const auto timings = watching.new_timings(0);
  ASSERT_EQ(timings.size(), kRingCells);
  EXPECT_EQ(timings.front().time_ns, 100 - kRingCells + 1);
  EXPECT_EQ(timings.back().time_ns, 100U);
}

TEST_F(WatchTest, OrdersEndWithTheMonitor) {
  auto process = WatchedProcess::open(path_);
  ASSERT_TRUE(process);
  Shape* const shape = process->place_of(facts_of(64));
  {
    Watching watching = attached();
    const std::uint64_t beaten = process->heartbeat_ns();
    EXPECT_GT(beaten, 0U);
    watching.order(0, {kLibrary, kPlan});
    EXPECT_EQ(Order::of(shape->order).serving, kLibrary);
    watching.beat();
    EXPECT_GE(process->heartbeat_ns(), beaten);
  }
  EXPECT_EQ(shape->order, 0U);
}

TEST_F(WatchTest, MoreShapesThanPlacesAreLeftOut) {
  auto process = WatchedProcess::open(path_);
  ASSERT_TRUE(process);
  for (std::size_t i = 0; i < kMostShapes; ++i)
    ASSERT_NE(process->place_of(facts_of(static_cast<int>(i) + 1)), nullptr);
  EXPECT_EQ(process->place_of(facts_of(100'000)), nullptr);
  EXPECT_NE(process->place_of(facts_of(7)), nullptr);
  EXPECT_EQ(attached().shapes_left_out(), 1U);
}

TEST_F(WatchTest, WhatIsNoWholeFileOfThisVersionIsLeftAsItIs) {
  std::string whole;
  {
    ASSERT_TRUE(WatchedProcess::open(path_));
    whole = *read_file(path_);
  }
  const auto refusal = [&](const std::string& bytes) {
    EXPECT_TRUE(write_file_atomic(path_, bytes));
    const auto process = WatchedProcess::open(path_);
    const auto watching = Watching::attach(path_);
    EXPECT_FALSE(process);
    EXPECT_FALSE(watching);
    if (process || watching) return std::string();
    EXPECT_EQ(process.error().what, watching.error().what);
    EXPECT_EQ(*read_file(path_), bytes);
    return process.error().what.substr(path_.string().size());
  };
  EXPECT_EQ(refusal(""), " is another kind of file: it is left as it is");
  EXPECT_EQ(refusal("my notes\n"), " is another kind of file: it is left as it is");
  for (const std::size_t size :
       {std::size_t{40}, sizeof(Header), whole.size() / 2, whole.size() - 1})
    EXPECT_NE(refusal(whole.substr(0, size)), "") << size;
  EXPECT_EQ(refusal(whole.substr(0, whole.size() - 1)),
            " has " + std::to_string(whole.size() - 1) + " bytes and should have " +
                std::to_string(whole.size()) + ": truncated or overwritten; remove it");
  std::string other = whole;
  other[12] = 2;
  EXPECT_EQ(refusal(other),
            " has version 2, this gemmsmith reads version 1: use the same gemmsmith for both, or "
            "remove the file");
  for (const std::size_t at : {0U, 8U, 16U, 24U, 28U}) {
    other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x40);
    EXPECT_NE(refusal(other), "") << at;
  }
}

TEST_F(WatchTest, NothingStrangeIsWaitedFor) {
  EXPECT_EQ(WatchedProcess::open(folder_.path()).error().what,
            "cannot open " + folder_.path().string() + ": Is a directory");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(WatchedProcess::open(path_).error().what,
            path_.string() + " is no regular file: it is left as it is");
  const auto nowhere = folder_ / "none" / "serve.watch";
  EXPECT_EQ(WatchedProcess::open(nowhere).error().what,
            "cannot make " + nowhere.string() + ": No such file or directory");
}

// Whatever the shapes' bytes are, what is read has its limits.
TEST_F(WatchTest, DamagedShapesAreNotBelieved) {
  auto process = WatchedProcess::open(path_);
  ASSERT_TRUE(process);
  for (int m = 1; m <= 64; ++m) ASSERT_NE(process->place_of(facts_of(m)), nullptr);
  Watching watching = attached();
  auto raw = Mapping::open(path_);
  ASSERT_TRUE(raw);
  auto* bytes = reinterpret_cast<unsigned char*>((*raw)->shapes.data());
  unsigned x = 1;
  for (std::size_t i = 0; i < 64 * sizeof(Shape); ++i) {
    x = x * 1664525U + 1013904223U;
    bytes[i] = static_cast<unsigned char>(x >> 24);
  }
  for (std::size_t i = 0; i < 64; ++i) (*raw)->shapes[i].state = kReady;
  for (const SeenShape& seen : watching.new_shapes()) {
    EXPECT_GT(seen.key.m, 0);
    EXPECT_LE(seen.alternates.size(), kMostAlternates);
    EXPECT_GE(seen.promised_us, 0);
    EXPECT_LT(seen.plan.size(), kTextBytes + 1);
  }
  for (std::size_t i = 0; i < 64; ++i)
    for (const Timing& timing : watching.new_timings(i)) {
      EXPECT_GT(timing.latency_us, 0);
      EXPECT_LT(timing.serving, kServings);
    }
}

TEST_F(WatchTest, ALiveProcessKeepsItsFileAndADeadOneGivesItUp) {
  OtherProcess other([&](int ready) {
    auto process = WatchedProcess::open(path_);
    if (!process || process->place_of(facts_of(64)) == nullptr) return;
    say_ready(ready);
    pause();
  });
  ASSERT_TRUE(other.is_ready());
  const auto refused = WatchedProcess::open(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, path_.string() + " belongs to process " +
                                      std::to_string(other.id()) +
                                      ": name another file, or write %i for the process's number");
  Watching watching = attached();
  EXPECT_EQ(watching.process(), static_cast<std::uint32_t>(other.id()));
  EXPECT_TRUE(watching.is_live(path_));
  other.end();
  EXPECT_FALSE(watching.is_live(path_));
  EXPECT_FALSE(*Watching::attach(path_));
  // Started anew: another file under the same name.
  ASSERT_TRUE(WatchedProcess::open(path_));
  EXPECT_FALSE(watching.is_live(path_));
  Watching again = attached();
  EXPECT_TRUE(again.is_live(path_));
  EXPECT_TRUE(again.new_shapes().empty());
}

TEST_F(WatchTest, OneMonitorIsEnough) {
  auto process = WatchedProcess::open(path_);
  ASSERT_TRUE(process);
  OtherProcess other([&](int ready) {
    // This very process is the watched one: its monitor is another.
    auto watching = Watching::attach(path_);
    if (!watching || !*watching) return;
    say_ready(ready);
    pause();
  });
  ASSERT_TRUE(other.is_ready());
  const auto refused = Watching::attach(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what,
            path_.string() + " is watched by process " + std::to_string(other.id()) + " already");
  other.end();
  EXPECT_TRUE(*Watching::attach(path_));
}

// Two copies of the library in one process share its file.
TEST_F(WatchTest, AProcessMayOpenItsFileTwice) {
  auto first = WatchedProcess::open(path_);
  auto second = WatchedProcess::open(path_);
  ASSERT_TRUE(first);
  ASSERT_TRUE(second) << second.error().what;
  ASSERT_NE(first->place_of(facts_of(64)), nullptr);
  ASSERT_NE(second->place_of(facts_of(64)), nullptr);
  ASSERT_NE(second->place_of(facts_of(65)), nullptr);
  EXPECT_EQ(attached().new_shapes().size(), 2U);
}

TEST_F(WatchTest, ThreadsMayTellAtOnce) {
  auto process = WatchedProcess::open(path_);
  ASSERT_TRUE(process);
  Watching watching = attached();
  constexpr int kThreads = 4;
  constexpr int kTimings = 2000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTimings; ++i) {
        Shape* const shape = process->place_of(facts_of(1 + i % 3));
        // Both halves of a timing say the same.
        const auto number = static_cast<std::uint64_t>(t * kTimings + i + 1);
        tell(*shape, {number, static_cast<float>(number), kPlan, false});
      }
      --running;
    });
  while (running > 0)
    for (std::size_t place = 0; place < 3; ++place)
      for (const Timing& timing : watching.new_timings(place))
        EXPECT_EQ(static_cast<float>(timing.time_ns), timing.latency_us);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(watching.new_shapes().size(), 3U);
}

}  // namespace
}  // namespace gemmsmith::watch
