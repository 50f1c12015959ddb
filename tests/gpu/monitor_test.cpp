// monitor_test.cpp -- gemmsmith monitor beside real processes on a real GPU: one that multiplies as
// its plan promised, one beside which something streams through L2, one whose clocks are held down;
// and what being watched costs the host. Prints one key=value line a figure. Without a GPU, or a
// plan table for it, each test is skipped and says why.
//
//   gpu_monitor_test                          the tests
//   gpu_monitor_test serve KIND PAUSE_US      multiplies until SIGTERM, with a pause after each
//                                             call; KIND is memory, cache or compute, what the
//                                             product lives from. SIGUSR1 begins and ends streaming
//                                             beside it, SIGUSR2 says what the last calls took
//   gpu_monitor_test stream                   copies through L2 until SIGTERM
//   gpu_monitor_test alternates               each plan's product by its alternates, bit for bit
//   gpu_monitor_test time                     nanoseconds a warm call
//
// GEMMSMITH_PLANS names the table (data/plans/h200.plans), GEMMSMITH_PROGRAM the command
// line.
#include <gemmsmith/gemmsmith.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "device/cuda.h"
#include "plan/plan_table.h"
#include "problem/target.h"
#include "support/scratch.h"
#include "watch/watching.h"

namespace gemmsmith {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;

// --- the other processes
// ---------------------------------------------------------------------------

constexpr int kUnavailable = 77;

void must(const Result<void>& result) {
  if (result) return;
  std::fprintf(stderr, "%s\n", result.error().what.c_str());
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "unavailable: %s\n", result.error().what.c_str());
  std::exit(kUnavailable);
}

std::string table_path() {
  const char* named = std::getenv("GEMMSMITH_PLANS");
  return named != nullptr ? named : "data/plans/h200.plans";
}

enum class Limit { kMemory, kCache, kCompute, kLaunch };

Limit limit_of(const std::string& kind) {
  if (kind == "memory") return Limit::kMemory;
  return kind == "cache" ? Limit::kCache : Limit::kCompute;
}

double bytes_of(const plan::PlanKey& key) {
  return 2.0 * (1.0 * key.m * key.k + 1.0 * key.n * key.k + 1.0 * key.m * key.n);
}
double operand_bytes_of(const plan::PlanKey& key) {
  return 2.0 * (1.0 * key.m * key.k + 1.0 * key.n * key.k);
}
double flop_of(const plan::PlanKey& key) { return 2.0 * key.m * key.n * key.k; }

const Result<Target> kH200 = known_target("h200");

// How well a plan stands for what the limit stands for; 0 or less: not at all.
double fitness(const plan::PlanEntry& entry, Limit limit) {
  switch (limit) {
    case Limit::kMemory:  // long, so that the events around it count little
      return entry.expected_us > 50 ? bytes_of(entry.key) / entry.expected_us : 0;
    case Limit::kCache: {  // finds in L2 what its last call left there, if nothing came between
      const double of_l2 = bytes_of(entry.key) / static_cast<double>(kH200->l2_bytes);
      return of_l2 > 0.3 && of_l2 < 0.7 ? operand_bytes_of(entry.key) / entry.expected_us : 0;
    }
    case Limit::kCompute:
      return entry.expected_us < 1000 ? flop_of(entry.key) : 0;
    case Limit::kLaunch:
      return 1 / entry.expected_us;
  }
  return 0;
}

bool is_plain(const plan::PlanEntry& entry) {
  return entry.source == plan::PlanSource::kKernel && entry.key.batch == 1 &&
         entry.key.grouped == 0 && entry.key.epilogue == 0 && entry.key.alignment == 0 &&
         entry.key.type == 0 && entry.key.layout == 0 && entry.key.follows == 0 &&
         entry.workspace_bytes == 0;
}

// A kernel's plan for a plain product.
plan::PlanEntry choose_plan(const plan::PlanTable& plans, Limit limit) {
  const plan::PlanEntry* chosen = nullptr;
  for (const plan::PlanEntry& entry : plans.entries()) {
    if (!is_plain(entry) || fitness(entry, limit) <= 0) continue;
    if (chosen == nullptr || fitness(entry, limit) > fitness(*chosen, limit)) chosen = &entry;
  }
  if (chosen != nullptr) return *chosen;
  std::fprintf(stderr, "unavailable: no such kernel's plan in %s\n", table_path().c_str());
  std::exit(kUnavailable);
}

// One product by the table's plan.
class Work {
 public:
  explicit Work(Limit limit)
      : context_(must(CudaContext::open(0))),
        plans_(must(plan::PlanTable::open(table_path()))),
        entry_(choose_plan(plans_, limit)) {
    begin();
  }
  explicit Work(const plan::PlanEntry& entry)
      : context_(must(CudaContext::open(0))),
        plans_(must(plan::PlanTable::open(table_path()))),
        entry_(entry) {
    begin();
  }
  ~Work() { gemmsmithDestroy(handle_); }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  void call() {
    const float one = 1;
    const float zero = 0;
    require(gemmsmithMatmul(handle_, &problem_, &one, a_.pointer(), b_.pointer(), &zero, nullptr,
                            d_.pointer(), nullptr, 0, nullptr));
  }
  void synchronize() const {
    if (!context_.synchronize()) std::exit(1);
  }
  const CudaContext& context() const { return context_; }
  const plan::PlanEntry& entry() const { return entry_; }

  // Whole numbers, whose sums are the same in any order.
  void fill_whole_numbers() {
    unsigned x = 1;
    for (const DeviceBuffer* operand : {&a_, &b_}) {
      std::vector<std::uint16_t> host(operand->size() / 2);
      for (std::uint16_t& word : host) {
        x = x * 1664525U + 1013904223U;
        constexpr std::uint16_t kValues[] = {0xBC00, 0, 0x3C00};  // -1, 0 and 1 in f16
        word = kValues[(x >> 24) % 3];
      }
      must(copy_to_device(context_.driver(), operand->address(), host.data(), operand->size(),
                          nullptr));
    }
  }
  // D, after a call into a D of NaNs.
  std::vector<std::uint16_t> result() {
    must(check(context_.driver(),
               context_.driver().MemsetD8Async(d_.address(), 0xFF, d_.size(), nullptr),
               "filling D with NaNs"));
    call();
    std::vector<std::uint16_t> host(d_.size() / 2);
    must(copy_to_host(context_.driver(), host.data(), d_.address(), d_.size(), nullptr));
    return host;
  }

 private:
  void begin() {
    const auto bytes = [](std::int64_t rows, std::int64_t columns) {
      return static_cast<std::size_t>(rows * columns * 2);
    };
    const plan::PlanKey& key = entry_.key;
    a_ = must(DeviceBuffer::allocate(context_.driver(), bytes(key.n, key.k)));
    b_ = must(DeviceBuffer::allocate(context_.driver(), bytes(key.m, key.k)));
    d_ = must(DeviceBuffer::allocate(context_.driver(), bytes(key.m, key.n)));
    // Row-major m x n is column-major n x m of the exchanged operands.
    problem_.size = sizeof problem_;
    problem_.transa = GEMMSMITH_OP_T;
    problem_.transb = GEMMSMITH_OP_N;
    problem_.type = GEMMSMITH_R_16F;
    problem_.compute_type = GEMMSMITH_COMPUTE_32F;
    problem_.m = key.n;
    problem_.n = key.m;
    problem_.k = key.k;
    problem_.lda = problem_.ldb = key.k;
    problem_.ldc = problem_.ldd = key.n;
    require(gemmsmithCreate(&handle_));
    require(gemmsmithLoadPlanTable(handle_, table_path().c_str()));
  }
  static void require(gemmsmithStatus_t status) {
    if (status == GEMMSMITH_STATUS_SUCCESS) return;
    std::fprintf(stderr, "unavailable: %s\n", gemmsmithGetLastErrorString());
    std::exit(kUnavailable);
  }
  CudaContext context_;
  plan::PlanTable plans_;
  plan::PlanEntry entry_;
  DeviceBuffer a_, b_, d_;
  gemmsmithProblem_t problem_ = {};
  gemmsmithHandle_t handle_ = nullptr;
};

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

// Copies through L2 on streams of their own, from start to end.
class Streamer {
 public:
  explicit Streamer(const Driver& driver) : driver_(driver) {
    for (int i = 0; i < kStreams; ++i) {
      streams_.push_back(must(Stream::create(driver)));
      from_.push_back(must(DeviceBuffer::allocate(driver, kBytes)));
      to_.push_back(must(DeviceBuffer::allocate(driver, kBytes)));
    }
  }
  void round() const {
    for (std::size_t i = 0; i < kStreams; ++i)
      for (int copies = 0; copies < 4; ++copies)
        if (driver_.MemcpyDtoDAsync_v2(to_[i].address(), from_[i].address(), kBytes,
                                       streams_[i].get()) != CUDA_SUCCESS)
          std::exit(1);
    for (const Stream& each : streams_)
      if (!each.synchronize()) std::exit(1);
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{512} << 20;
  static constexpr int kStreams = 4;
  const Driver& driver_;
  std::vector<Stream> streams_;
  std::vector<DeviceBuffer> from_, to_;
};

std::atomic<bool> streams_beside{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

std::atomic<bool> is_to_end{false};
std::atomic<bool> is_to_tell{false};

// From call to its end, as who calls feels it: the GPU's turn is waited for, too.
class WallTimes {
 public:
  void add(Clock::time_point begin) {
    us_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  void tell() {
    if (us_.empty()) return;
    std::sort(us_.begin(), us_.end());
    say(fmt::format("calls={} wall_median_us={:.1f} wall_p90_us={:.1f} wall_most_us={:.1f}",
                    us_.size(), us_[us_.size() / 2], us_[us_.size() * 9 / 10], us_.back()));
    us_.clear();
  }

 private:
  std::vector<double> us_;
};

int serve(Limit limit, int pause_us) {
  Work work(limit);
  std::signal(SIGUSR1, [](int) { streams_beside = !streams_beside; });
  std::signal(SIGUSR2, [](int) { is_to_tell = true; });
  std::signal(SIGTERM, [](int) { is_to_end = true; });
  std::thread([&work] {
    if (!work.context().make_current()) std::exit(1);
    const Streamer streamer(work.context().driver());
    while (true) {
      if (streams_beside)
        streamer.round();
      else
        std::this_thread::sleep_for(milliseconds(5));
    }
  }).detach();
  const plan::PlanKey& key = work.entry().key;
  say(fmt::format("ready {}_{}_{} promised_us={:.1f} mbytes={:.1f}", key.m, key.n, key.k,
                  work.entry().expected_us, bytes_of(key) * 1e-6));
  WallTimes wall;
  while (!is_to_end) {
    const auto begin = Clock::now();
    // A few calls ahead of the device, as a server is.
    for (int i = 0; i < (pause_us == 0 ? 8 : 1); ++i) work.call();
    work.synchronize();
    wall.add(begin);
    if (is_to_tell.exchange(false)) wall.tell();
    if (pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
  std::_Exit(0);  // with nothing under way: under MPS a killed client's work may harm the others
}

int stream() {
  const CudaContext context = must(CudaContext::open(0));
  const Streamer streamer(context.driver());
  std::signal(SIGTERM, [](int) { is_to_end = true; });
  say("ready");
  while (!is_to_end) streamer.round();
  return 0;
}

// What a monitor may order instead of a plan computes the same product: it is the kernel of another
// shape's plan.
int alternates() {
  constexpr int kMostPlans = 40;
  constexpr double kMostBytes = 64e6;
  const plan::PlanTable plans = must(plan::PlanTable::open(table_path()));
  std::optional<watch::Watching> watching;
  std::vector<plan::PlanEntry> chosen;
  for (const plan::PlanEntry& entry : plans.entries())
    if (is_plain(entry) && bytes_of(entry.key) < kMostBytes) chosen.push_back(entry);
  const std::size_t step = std::max<std::size_t>(1, chosen.size() / kMostPlans);
  int tried = 0;
  int wrong = 0;
  for (std::size_t i = 0; i < chosen.size(); i += step) {
    Work work(chosen[i]);
    work.fill_whole_numbers();
    const std::vector<std::uint16_t> expected = work.result();
    if (!watching) {
      auto attached = must(watch::Watching::attach(std::getenv("GEMMSMITH_MONITOR")));
      if (!attached) return 1;
      watching.emplace(*std::move(attached));
    }
    watching->beat();
    for (const watch::SeenShape& shape : watching->new_shapes())
      for (std::uint32_t other = 0; other < shape.alternates.size(); ++other) {
        const std::uint32_t serving = watch::kFirstAlternate + other;
        watching->order(shape.place, {serving, serving});
        ++tried;
        if (work.result() == expected) continue;
        ++wrong;
        say(fmt::format("{}_{}_{}: {} by {} differs", shape.key.m, shape.key.n, shape.key.k,
                        shape.plan, shape.alternates[other]));
      }
  }
  say(fmt::format("alternates_tried={} wrong={}", tried, wrong));
  return wrong == 0 && tried > 0 ? 0 : 1;
}

// Below the launch queue's depth, then the device is waited for: the call's own time.
int time_calls() {
  Work work(Limit::kLaunch);
  constexpr int kCalls = 200;
  constexpr int kRounds = 700;
  work.call();
  work.synchronize();
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) work.call();
    rounds.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() /
                     kCalls);
    work.synchronize();
  }
  std::sort(rounds.begin(), rounds.end());
  say(fmt::format("{:.1f}", rounds[rounds.size() / 2]));
  return 0;
}

// --- the tests
// -------------------------------------------------------------------------------------

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Child {
 public:
  Child(std::vector<std::string> arguments, const std::filesystem::path& out,
        const std::string& watched = "")
      : out_(out) {
    std::fflush(nullptr);  // or the child prints it again
    child_ = fork();
    if (child_ != 0) return;
    if (std::freopen(out.c_str(), "w", stdout) == nullptr) _exit(1);
    if (std::freopen((out.string() + ".err").c_str(), "w", stderr) == nullptr) _exit(1);
    if (!watched.empty()) setenv("GEMMSMITH_MONITOR", watched.c_str(), 1);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  ~Child() { end(SIGKILL); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The exit code, or -1 where a signal ended it.
  int end(int with) {
    if (child_ <= 0) return code_;
    if (is_over()) return code_;
    kill(child_, with);
    for (int waits = 0; waits < 250 && !is_over(); ++waits)
      std::this_thread::sleep_for(milliseconds(20));
    if (child_ <= 0) return code_;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = -1;
    return code_;
  }
  void signal(int number) const {
    if (child_ > 0) kill(child_, number);
  }
  bool is_over() {
    if (child_ <= 0) return true;
    int status = 0;
    if (waitpid(child_, &status, WNOHANG) != child_) return false;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    child_ = -1;
    return true;
  }
  std::string out() const { return contents(out_); }
  std::string err() const { return contents(out_.string() + ".err"); }

 private:
  std::filesystem::path out_;
  pid_t child_ = -1;
  int code_ = -1;
};

std::string self() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

std::string program() {
  const char* named = std::getenv("GEMMSMITH_PROGRAM");
  return named != nullptr ? named : GEMMSMITH_PROGRAM;
}

bool wait_until(const std::function<bool()>& holds, milliseconds most) {
  const auto begin = Clock::now();
  while (!holds()) {
    if (Clock::now() - begin > most) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class GpuMonitor : public ::testing::Test {
 protected:
  // A process that multiplies, and its monitor, which knows what to hold it to. "" or why not.
  std::string begin(const char* limit, int pause_us) {
    if (!std::filesystem::exists(program())) return "there is no program " + program();
    server_.emplace(std::vector<std::string>{self(), "serve", limit, std::to_string(pause_us)},
                    folder_ / "server", watched_);
    if (!wait_until([&] { return server_->out() != "" || server_->is_over(); },
                    milliseconds(20000)) ||
        server_->is_over()) {
      const std::string why = server_->err();
      server_.reset();
      return why;
    }
    std::printf("server: %s", server_->out().c_str());
    monitor_.emplace(std::vector<std::string>{program(), "monitor", "--attach", watched_, "--log",
                                              log_, "--record", record_},
                     folder_ / "monitor");
    EXPECT_TRUE(wait_until([&] { return monitor_->err().find("held to") != std::string::npos; },
                           milliseconds(10000)))
        << monitor_->err();
    return "";
  }
  std::vector<json> decisions() const {
    std::vector<json> read;
    std::istringstream text(contents(log_));
    for (std::string line; std::getline(text, line);)
      if (auto one = json::parse(line, nullptr, false); !one.is_discarded())
        read.push_back(std::move(one));
    return read;
  }
  bool is_planned() const {
    const auto all = decisions();
    return !all.empty() && all.back()["decision"] == "return" && all.back()["to"] == all[0]["from"];
  }
  void end() {
    EXPECT_EQ(monitor_->end(SIGINT), 0);
    EXPECT_EQ(server_->end(SIGTERM), 0);
    std::printf("%s%s%s", monitor_->err().c_str(), monitor_->out().c_str(), server_->out().c_str());
  }

  const testing::ScratchFolder folder_;
  const std::string watched_ = folder_ / "serve.watch";
  const std::string log_ = folder_ / "decisions.jsonl";
  const std::string record_ = folder_ / "run.csv";
  std::optional<Child> server_, monitor_;
};

#define BEGIN_OR_SKIP(limit, pause_us)                             \
  if (const std::string why = begin(limit, pause_us); why != "") { \
    GTEST_SKIP() << "unavailable: " << why;                        \
  }

// NVIDIA's server of one context for all processes: without it processes take turns on the GPU, and
// none of their kernels run beside each other.
class Mps {
 public:
  explicit Mps(const std::filesystem::path& folder) {
    setenv("CUDA_MPS_PIPE_DIRECTORY", (folder / "mps").c_str(), 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", (folder / "mps_log").c_str(), 1);
    std::filesystem::create_directories(folder / "mps");
    std::filesystem::create_directories(folder / "mps_log");
    has_daemon_ = std::system((control() + " -d").c_str()) == 0;
    is_running_ = has_daemon_ && tell("start_server -uid " + std::to_string(getuid()));
  }
  ~Mps() {
    if (has_daemon_) tell("quit");
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    unsetenv("CUDA_MPS_LOG_DIRECTORY");
  }
  Mps(const Mps&) = delete;
  Mps& operator=(const Mps&) = delete;
  bool is_running() const { return is_running_; }

 private:
  static std::string control() {
    return "PATH=$PATH:/usr/local/nvidia/bin timeout 10 nvidia-cuda-mps-control";
  }
  static bool tell(const std::string& what) {
    return std::system(("echo " + what + " | " + control()).c_str()) == 0;
  }
  bool has_daemon_ = false;
  bool is_running_ = false;
};

// The plan's timings one by one, as the process tells them: the series has medians.
class PlanTimings {
 public:
  explicit PlanTimings(const std::filesystem::path& path) : mapping_(watch::Mapping::open(path)) {
    EXPECT_TRUE(mapping_);
  }
  void begin() {
    us_.clear();
    read_ = shape().timed.load();
  }
  // At least every 0.8 s, or some are lost.
  void read() {
    const std::uint64_t timed = shape().timed.load();
    for (read_ = std::max(read_, timed - std::min<std::uint64_t>(timed, watch::kRingCells));
         read_ < timed; ++read_) {
      const watch::Cell& cell = shape().ring[read_ % watch::kRingCells];
      const std::uint64_t packed = cell.packed.load();
      if (cell.number.load() == read_ + 1 && (packed >> 32 & 0xff) == watch::kPlan)
        us_.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(packed)));
    }
  }
  // 0 where there were none.
  double median_us() const { return of_order(0.5); }
  std::string text(const char* when) const {
    return fmt::format("{}_timings={} {}_median_us={:.1f} {}_p90_us={:.1f} {}_most_us={:.1f}", when,
                       us_.size(), when, median_us(), when, of_order(0.9), when, of_order(1));
  }

 private:
  watch::Shape& shape() const { return (*mapping_)->shapes[0]; }
  double of_order(double share) const {
    if (us_.empty()) return 0;
    std::vector<float> sorted = us_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  }
  Result<watch::Mapping> mapping_;
  std::uint64_t read_ = 0;
  std::vector<float> us_;
};

// Of one-second windows of what the monitor saw: enough to see why a test failed.
std::string summary(const std::string& series) {
  std::map<int, std::vector<double>> seconds;
  std::istringstream text(series);
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) {
    std::vector<std::string> columns;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) columns.push_back(cell);
    if (columns.size() > 4)
      seconds[static_cast<int>(std::stod(columns[0]))].push_back(std::stod(columns[4]));
  }
  std::string told;
  for (auto& [second, us] : seconds) {
    std::sort(us.begin(), us.end());
    told += fmt::format("second={} timings={} median_us={:.1f} p90_us={:.1f} most_us={:.1f}\n",
                        second, us.size(), us[us.size() / 2], us[us.size() * 9 / 10], us.back());
  }
  return told;
}

class Thrashed : public GpuMonitor {
 protected:
  // The threshold of the built-in rule, and how near to it either is right.
  static constexpr double kLate = 1.25;
  static constexpr double kNear = 1.08;

  enum class Expect { kLeaves, kLeavesIfLate };

  // The healthy process is left alone. Once `begin_thrash` was called its shape leaves the plan
  // within 5 s (or only if that makes the launches late), and after `end_thrash` it comes back.
  void run(Expect expect, const std::function<void()>& begin_thrash,
           const std::function<void()>& end_thrash) {
    PlanTimings timings(watched_);
    const auto phase = [&](const char* name, const std::function<bool()>& ends, int most_ms) {
      timings.begin();
      const auto begin = Clock::now();
      const bool has_ended = wait_until(
          [&] {
            timings.read();
            return ends();
          },
          milliseconds(most_ms));
      std::printf("%s\n%s_s=%.2f\n", timings.text(name).c_str(), name, seconds_since(begin));
      server_->signal(SIGUSR2);
      return has_ended;
    };
    const double held_us = std::stod(monitor_->err().substr(monitor_->err().find("held to") + 8));
    std::printf("held_to_us=%.1f\n", held_us);
    EXPECT_FALSE(phase(
        "healthy", [&] { return !decisions().empty(); }, 4000));

    begin_thrash();
    const bool has_left = phase(
        "thrashed", [&] { return !decisions().empty(); }, 5000);
    const double ratio = timings.median_us() / held_us;
    std::printf("thrashed_left=%d thrashed_median_ratio=%.3f\n", has_left ? 1 : 0, ratio);
    if (expect == Expect::kLeaves || ratio > kLate * kNear) {
      EXPECT_TRUE(has_left);
    }
    if (has_left) {
      const json first = decisions()[0];
      EXPECT_EQ(first["decision"], "leave") << first.dump();
      EXPECT_GT(first["value"], kLate);
      std::printf("%s\n", first["reason"].get<std::string>().c_str());
      std::this_thread::sleep_for(milliseconds(1000));
    }
    end_thrash();
    if (has_left) {
      EXPECT_TRUE(phase(
          "over_until_returned", [&] { return is_planned(); }, 30000));
    }
    end();
    if (HasFailure()) std::printf("%s", summary(contents(record_)).c_str());
  }

  void by_a_second_process(const char* limit, Expect expect) {
    BEGIN_OR_SKIP(limit, 1000);
    std::optional<Child> thrasher;
    run(
        expect,
        [&] {
          thrasher.emplace(std::vector<std::string>{self(), "stream"}, folder_ / "thrasher");
          ASSERT_TRUE(wait_until([&] { return thrasher->out() != ""; }, milliseconds(15000)))
              << thrasher->err();
        },
        [&] { EXPECT_EQ(thrasher->end(SIGTERM), 0) << thrasher->err(); });
  }
  void by_a_second_process_under_mps(const char* limit) {
    const Mps mps(folder_.path());
    if (!mps.is_running())
      GTEST_SKIP() << "unavailable: nvidia-cuda-mps-control does not start, and without it "
                      "processes take turns on the GPU";
    by_a_second_process(limit, Expect::kLeaves);
  }
};

TEST_F(Thrashed, MemoryBySecondProcessUnderMps) { by_a_second_process_under_mps("memory"); }
TEST_F(Thrashed, CacheBySecondProcessUnderMps) { by_a_second_process_under_mps("cache"); }

// In turns a launch runs alone, at most with an L2 that is cold.
TEST_F(Thrashed, MemoryBySecondProcessInTurns) {
  by_a_second_process("memory", Expect::kLeavesIfLate);
}
TEST_F(Thrashed, CacheBySecondProcessInTurns) {
  by_a_second_process("cache", Expect::kLeavesIfLate);
}

TEST_F(Thrashed, ByTheProcessItself) {
  BEGIN_OR_SKIP("memory", 1000);
  run(
      Expect::kLeaves, [&] { server_->signal(SIGUSR1); }, [&] { server_->signal(SIGUSR1); });
}

TEST_F(GpuMonitor, AlternatesComputeTheSame) {
  Child child({self(), "alternates"}, folder_ / "alternates", watched_);
  ASSERT_TRUE(wait_until([&] { return child.is_over(); }, milliseconds(60000)));
  const int code = child.end(SIGKILL);
  if (code == kUnavailable) GTEST_SKIP() << child.err();
  std::printf("%s", child.out().c_str());
  EXPECT_EQ(code, 0) << child.err();
}

// Whether the clocks are held down at all is the machine's affair: most are under such a load.
TEST_F(GpuMonitor, ThrottledKeepsItsPlan) {
  BEGIN_OR_SKIP("compute", 0);
  std::this_thread::sleep_for(milliseconds(6000));
  end();
  const std::string series = contents(record_);
  long lines = 0;
  long throttled = 0;
  std::istringstream text(series);
  for (std::string line; std::getline(text, line); ++lines)
    throttled += line.find("sw_power_cap") != std::string::npos ||
                         line.find("_slowdown") != std::string::npos
                     ? 1
                     : 0;
  std::printf("throttled_looks=%ld of %ld\n", throttled, lines);
  if (throttled == 0) GTEST_SKIP() << "unavailable: the clocks were never held down";
  for (const json& decision : decisions())
    if (decision["throttle"] != "none") {
      EXPECT_NE(decision["decision"], "leave") << decision.dump();
    }
}

// Of several processes in turn the quickest each: what a busy machine adds, it adds to either.
TEST_F(GpuMonitor, BeingWatchedCostsTheHostLittle) {
  std::array<double, 2> quickest_ns = {1e9, 1e9};
  constexpr int kTurns = 10;
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::size_t is_watched = turn % 4 == 1 || turn % 4 == 2 ? 1 : 0;
    Child child({self(), "time"}, folder_ / "time", is_watched == 1 ? watched_ : "");
    ASSERT_TRUE(wait_until([&] { return child.is_over(); }, milliseconds(20000)));
    if (const int code = child.end(SIGKILL); code == kUnavailable) GTEST_SKIP() << child.err();
    double median_ns = 0;
    std::istringstream(child.out()) >> median_ns;
    ASSERT_GT(median_ns, 0) << child.err();
    std::printf("watched=%zu median_ns=%.1f\n", is_watched, median_ns);
    quickest_ns[is_watched] = std::min(quickest_ns[is_watched], median_ns);
  }
  std::printf("watched_over_unwatched=%.4f\n", quickest_ns[1] / quickest_ns[0]);
  EXPECT_LT(quickest_ns[1] / quickest_ns[0], 1.05);
}

}  // namespace
}  // namespace gemmsmith

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve" && argc == 4)
    return gemmsmith::serve(gemmsmith::limit_of(argv[2]), std::atoi(argv[3]));
  if (role == "stream") return gemmsmith::stream();
  if (role == "alternates") return gemmsmith::alternates();
  if (role == "time") return gemmsmith::time_calls();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
