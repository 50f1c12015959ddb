// A process that a monitor may watch: timings appear, orders are obeyed and lapse, captures and the
// other side's files are left alone, and warm calls stay what they were.
#include <cuda.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#if !GEMMSMITH_IS_SANITIZED
#include "runtime/counted_malloc.h"
#endif
#include "base/files.h"
#include "runtime/fixture.h"
#include "runtime/handle.h"
#include "runtime/table_test.h"
#include "runtime/watched_shape.h"
#include "support/scratch.h"
#include "watch/watching.h"

namespace gemmsmith::runtime {
namespace {

using testing::ScratchFolder;

// Before the first handle. The number stands for itself, so that the variable's %i is used, too.
const ScratchFolder& folder() {
  static const ScratchFolder made;
  return made;
}
struct Environment {
  Environment() { setenv("GEMMSMITH_MONITOR", (folder() / "serve.%i").c_str(), 1); }
};
const Environment environment;

std::filesystem::path shared_path() { return folder() / ("serve." + std::to_string(getpid())); }

void wait_for_next_timing() {
  std::this_thread::sleep_for(std::chrono::nanoseconds(WatchedShape::kSpacingNs) +
                              std::chrono::milliseconds(2));
}

// Of its own shape in each test: the file is the process's.
class RuntimeMonitorTest : public TableTest {
 protected:
  explicit RuntimeMonitorTest() {
    static int tests = 0;
    options_.m = 64 + 8 * ++tests;
  }
  // The shape's plan, and one of a similar shape whose kernel could take over.
  void load_two(const Product& product) {
    ProductOptions similar = options_;
    similar.n = 128;
    load(TableMaker().kernel(product, kWithMaps).kernel(Product(similar), kPlain));
  }

  void watch() {
    auto watching = watch::Watching::attach(shared_path());
    ASSERT_TRUE(watching) << watching.error().what;
    ASSERT_TRUE(*watching);
    watching_.emplace(*std::move(*watching));
  }
  // The test's shape; null where it was not told of.
  const watch::SeenShape* seen() {
    for (watch::SeenShape& shape : watching_->new_shapes())
      if (shape.key.n == options_.m) seen_ = std::move(shape);  // row-major: exchanged
    return seen_ ? &*seen_ : nullptr;
  }
  std::vector<watch::Timing> timings() { return watching_->new_timings(seen_->place); }

  // A right product, once a timing is due again.
  void run_due(Product& product) {
    wait_for_next_timing();
    ASSERT_EQ(product.run_and_compare(handle_), "");
  }

  std::optional<watch::Watching> watching_;
  std::optional<watch::SeenShape> seen_;
};

TEST_F(RuntimeMonitorTest, TimingsAppear) {
  Product product(options_);
  load_two(product);
  gpu().kernel_us = 7.5F;
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  EXPECT_EQ(seen_->plan, kWithMaps);
  EXPECT_EQ(seen_->promised_us, 5);
  EXPECT_EQ(seen_->promised_library_us, 6.25F);
  EXPECT_EQ(seen_->alternates, std::vector<std::string>{kPlain});
  EXPECT_EQ(seen_->device.substr(0, 4), "GPU-");
  EXPECT_EQ(seen_->key.m, 64);
  EXPECT_EQ(seen_->key.k, 64);
  for (int i = 0; i < 4; ++i) run_due(product);
  const auto told = timings();
  ASSERT_EQ(told.size(), 4U);  // the last one is not read yet; the first was told before
  for (const watch::Timing& timing : told) {
    EXPECT_EQ(timing.latency_us, 7.5F);
    EXPECT_EQ(timing.serving, watch::kPlan);
    EXPECT_FALSE(timing.is_probe);
    EXPECT_LE(watch::now_ns() - timing.time_ns, 2'000'000'000U);
  }
}

TEST_F(RuntimeMonitorTest, TwentyCallsASecondAreTimed) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  gpu().skip_work = true;
  ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
  watch();
  ASSERT_NE(seen(), nullptr);
  const int recorded = gpu().events_recorded;
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t calls = 0;
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(300)) {
    ASSERT_EQ(product.run(handle_), GEMMSMITH_STATUS_SUCCESS);
    ++calls;
  }
  const auto told = timings();
  EXPECT_GE(told.size(), 1U);
  EXPECT_LE(told.size(), 7U);
  EXPECT_LE(gpu().events_recorded - recorded, 2 * 7);
  EXPECT_LE(watching_->calls(seen_->place), calls + 1);
  EXPECT_GE(watching_->calls(seen_->place) + WatchedShape::kMostStride, calls);
}

TEST_F(RuntimeMonitorTest, NothingWaitsForTheGpu) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  gpu().is_busy = true;
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  const int recorded = gpu().events_recorded;
  for (int i = 0; i < 3; ++i) run_due(product);
  EXPECT_EQ(gpu().events_recorded, recorded);
  EXPECT_TRUE(timings().empty());
  gpu().is_busy = false;
  run_due(product);
  EXPECT_EQ(timings().size(), 1U);
}

TEST_F(RuntimeMonitorTest, OrdersAreObeyed) {
  Product product(options_);
  load_two(product);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  const auto launches_and_products = [&] {
    const int launches = gpu().launches;
    const int products = fake_lt().matmul_calls;
    EXPECT_EQ(product.run_and_compare(handle_), "");
    return std::pair(gpu().launches - launches, fake_lt().matmul_calls - products);
  };
  EXPECT_EQ(launches_and_products(), std::pair(1, 0));
  watching_->order(seen_->place, {watch::kLibrary, watch::kLibrary});
  EXPECT_EQ(launches_and_products(), std::pair(0, 1));
  // The other plan's kernel takes no tensor maps.
  const int encoded = gpu().maps_encoded;
  watching_->order(seen_->place, {watch::kFirstAlternate, watch::kFirstAlternate});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(launches_and_products(), std::pair(1, 0));
  EXPECT_EQ(gpu().maps_encoded, encoded);
  EXPECT_EQ(gpu().last_grid, 2U) << "this product's tiles, not those of the plan's own";
  // One that there is not, one that cannot be: the plan.
  for (const std::uint32_t none : {watch::kFirstAlternate + 1, watch::kServings, 200U}) {
    watching_->order(seen_->place, {none, none});
    EXPECT_EQ(launches_and_products(), std::pair(1, 0)) << none;
  }
  watching_->order(seen_->place, {});
  EXPECT_EQ(launches_and_products(), std::pair(1, 0));
}

// A persistent kernel runs as many CTAs as the device holds and the product has tiles.
TEST_F(RuntimeMonitorTest, PersistentAlternatesHaveTheProductsGrid) {
  options_.m = 256;
  Product product(options_);
  ProductOptions similar = options_;
  similar.m = 64;
  load(TableMaker().kernel(product, kPlain).kernel(Product(similar), "sm90_ws:s2.ps1"));
  ASSERT_EQ(product.run_and_compare(handle_), "");
  auto watching = watch::Watching::attach(shared_path());
  ASSERT_TRUE(watching && *watching);
  watching_.emplace(*std::move(*watching));
  ASSERT_NE(seen(), nullptr);
  watching_->order(seen_->place, {watch::kFirstAlternate, watch::kFirstAlternate});
  EXPECT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(gpu().last_grid, 4U);
}

TEST_F(RuntimeMonitorTest, TimingsTellWhatServedThem) {
  Product product(options_);
  load_two(product);
  gpu().kernel_us = 9;
  gpu().library_us = 4;
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  watching_->order(seen_->place, {watch::kLibrary, watch::kPlan});
  for (int i = 0; i < 9; ++i) run_due(product);
  int probes = 0;
  const auto told = timings();
  ASSERT_GE(told.size(), 8U);
  for (std::size_t i = 1; i < told.size(); ++i) {  // the first was called before
    EXPECT_EQ(told[i].serving, told[i].is_probe ? watch::kPlan : watch::kLibrary);
    EXPECT_EQ(told[i].latency_us, told[i].is_probe ? 9.0F : 4.0F);
    probes += told[i].is_probe ? 1 : 0;
  }
  EXPECT_EQ(probes, 2);
  watching_->order(seen_->place, {watch::kFirstAlternate, watch::kPlan});
  run_due(product);
  run_due(product);
  EXPECT_EQ(timings().back().serving, watch::kFirstAlternate);
}

TEST_F(RuntimeMonitorTest, PlansAreWatchedToo) {
  Product product(options_);
  load_two(product);
  gemmsmithPlan_t plan = nullptr;
  ASSERT_EQ(gemmsmithPlanCreate(handle_, &product.problem, &plan), GEMMSMITH_STATUS_SUCCESS);
  const auto run = [&] {
    const float one = 1;
    const float zero = 0;
    product.d.fill_nan();
    EXPECT_EQ(gemmsmithPlanRun(plan, &one, product.a.data(), product.b.data(), &zero, nullptr,
                               product.d.data(), nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS);
    return product.difference();
  };
  EXPECT_EQ(run(), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  const int products = fake_lt().matmul_calls;
  watching_->order(seen_->place, {watch::kLibrary, watch::kPlan});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(fake_lt().matmul_calls, products + 1);
  watching_->order(seen_->place, {watch::kFirstAlternate, watch::kPlan});
  EXPECT_EQ(run(), "");
  EXPECT_EQ(fake_lt().matmul_calls, products + 1);
  EXPECT_EQ(gemmsmithPlanDestroy(plan), GEMMSMITH_STATUS_SUCCESS);
}

// Calls whose sums may not be the library's are left to their caller when the library is ordered.
TEST_F(RuntimeMonitorTest, WhereTheLibraryIsNotAllowedTheCallerIsToldSo) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  const float one = 1;
  const float zero = 0;
  const MatmulArguments arguments = {&one,          product.a.data(), product.b.data(), &zero,
                                     nullptr,       product.d.data(), nullptr,          0,
                                     product.stream};
  // What gemmsmithHandle_t points to begins with it.
  auto& handle = *reinterpret_cast<Handle*>(handle_);
  const auto served = [&] {
    const auto done = handle.run_if_planned(product.problem, arguments, Handle::Allowed::kKernels);
    EXPECT_TRUE(done);
    return done && *done;
  };
  EXPECT_TRUE(served());
  watching_->order(seen_->place, {watch::kLibrary, watch::kPlan});
  const int launches = gpu().launches;
  EXPECT_FALSE(served());
  EXPECT_EQ(gpu().launches, launches);
  // The plan is looked at now and then all the same, or it would never be back.
  int probes = 0;
  for (int i = 0; i < 9; ++i) {
    wait_for_next_timing();
    served();
    for (const watch::Timing& timing : timings()) probes += timing.is_probe ? 1 : 0;
  }
  EXPECT_GE(probes, 1);
}

TEST_F(RuntimeMonitorTest, OrdersLapseWithoutAMonitor) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  watching_->order(seen_->place, {watch::kLibrary, watch::kPlan});
  auto raw = watch::Mapping::open(shared_path());
  ASSERT_TRUE(raw);
  const int products = fake_lt().matmul_calls;
  (*raw)->header.heartbeat_ns = watch::now_ns() - watch::kLapseNs + 5'000'000'000;
  for (int i = 0; i < 4; ++i) run_due(product);
  EXPECT_EQ(fake_lt().matmul_calls, products + 3);  // and a probe
  EXPECT_NE((*raw)->shapes[seen_->place].order, 0U);
  (*raw)->header.heartbeat_ns = watch::now_ns() - watch::kLapseNs;
  run_due(product);
  EXPECT_EQ((*raw)->shapes[seen_->place].order, 0U);
  const int launches = gpu().launches;
  EXPECT_EQ(product.run_and_compare(handle_), "");
  EXPECT_EQ(gpu().launches, launches + 1);
}

// A graph replays what it captured for ever: neither an event nor an order belongs in it.
TEST_F(RuntimeMonitorTest, CapturesAreNeitherTimedNorOrdered) {
  Product product(options_);
  load_two(product);
  gpu().is_capturing = true;
  EXPECT_EQ(product.run_and_compare(handle_), "");  // the shape's first call
  EXPECT_EQ(gpu().events, 0);
  gpu().is_capturing = false;
  EXPECT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  for (const std::uint32_t serving : {watch::kLibrary, watch::kFirstAlternate}) {
    watching_->order(seen_->place, {serving, watch::kPlan});
    gpu().is_capturing = true;
    const int launches = gpu().launches;
    const int products = fake_lt().matmul_calls;
    for (int i = 0; i < 3; ++i) run_due(product);
    EXPECT_EQ(gpu().launches, launches + 3);
    EXPECT_EQ(fake_lt().matmul_calls, products);
    gpu().is_capturing = false;
  }
  EXPECT_EQ(gpu().captured_events, 0);
}

TEST_F(RuntimeMonitorTest, AnotherThreadsCaptureIsNotSpoiled) {
  Product product(options_);
  load(TableMaker().kernel(product, kWithMaps));
  ASSERT_EQ(product.run_and_compare(handle_), "");
  gpu().another_thread_captures = true;
  watch();
  ASSERT_NE(seen(), nullptr);
  for (int i = 0; i < 3; ++i) run_due(product);
  EXPECT_EQ(timings().size(), 3U);
  EXPECT_EQ(gpu().captures_spoiled, 0);
}

TEST_F(RuntimeMonitorTest, WhatNoPlanServesIsNotWatched) {
  Product product(options_);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  EXPECT_EQ(seen(), nullptr);
  EXPECT_EQ(gpu().events, 0);
}

TEST_F(RuntimeMonitorTest, AConfigurationOfTheLibraryIsWatchedAsAPlan) {
  Product product(options_);
  load(TableMaker().vendor(product, kVendor));
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  EXPECT_EQ(seen_->plan, kVendor);
  run_due(product);
  EXPECT_EQ(timings().back().latency_us, 6);
}

TEST_F(RuntimeMonitorTest, ThreadsAndStreamsShareAShape) {
  Product shared(options_);
  load_two(shared);
  ASSERT_EQ(shared.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  std::vector<std::string> failures(6);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < failures.size(); ++t)
    threads.emplace_back([&, t] {
      use_device(0);
      Product product(options_);
      for (int i = 0; i < 40; ++i)
        if (const std::string wrong = product.run_and_compare(handle_); wrong != "")
          failures[t] = wrong;
    });
  for (std::uint32_t i = 0; i < 60; ++i) {
    const std::uint32_t orders[] = {watch::kPlan, watch::kLibrary, watch::kFirstAlternate};
    watching_->order(seen_->place, {orders[i % 3], watch::kPlan});
    watching_->beat();
    timings();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) EXPECT_EQ(failure, "");
}

TEST_F(RuntimeMonitorTest, EventsGoWithTheHandle) {
  Product product(options_);
  gemmsmithHandle_t handle = nullptr;
  ASSERT_EQ(gemmsmithCreate(&handle), GEMMSMITH_STATUS_SUCCESS);
  const std::string bytes = TableMaker().kernel(product, kWithMaps).bytes();
  ASSERT_EQ(gemmsmithLoadPlanTableFromMemory(handle, bytes.data(), bytes.size()),
            GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(product.run_and_compare(handle), "");
  EXPECT_EQ(gpu().events, 2);
  EXPECT_EQ(gemmsmithDestroy(handle), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(gpu().events, 0);
}

#if !GEMMSMITH_IS_SANITIZED
TEST_F(RuntimeMonitorTest, WarmCallsAllocateNothing) {
  Product product(options_);
  load_two(product);
  ASSERT_EQ(product.run_and_compare(handle_), "");
  watch();
  ASSERT_NE(seen(), nullptr);
  for (const std::uint32_t serving :
       {std::uint32_t{watch::kPlan}, std::uint32_t{watch::kLibrary}, watch::kFirstAlternate}) {
    watching_->order(seen_->place, {serving, watch::kPlan});
    ASSERT_EQ(product.run_and_compare(handle_), "");
    for (int i = 0; i < 5; ++i) {
      wait_for_next_timing();
      EXPECT_EQ(allocations_during([&] { product.run(handle_); }), 0) << serving;
    }
  }
}
#endif

// Suites of this name run first: before any handle was made.
class RefusedDeathTest : public ::testing::Test {};

TEST_F(RefusedDeathTest, AForeignFileIsLeftAloneAndTheProcessGoesOn) {
  const auto path = folder() / "notes.txt";
  ASSERT_TRUE(write_file_atomic(path, "my notes\n"));
  const auto child = [&] {
    setenv("GEMMSMITH_MONITOR", path.c_str(), 1);
    static std::string heard;
    gemmsmithSetLogCallback(
        [](gemmsmithLogLevel_t level, const char* text, void*) {
          if (level == GEMMSMITH_LOG_ERROR) heard += text;
        },
        nullptr);
    RuntimeTest::use_device(0);
    gemmsmithHandle_t handle = nullptr;
    if (gemmsmithCreate(&handle) != GEMMSMITH_STATUS_SUCCESS) _exit(2);
    Product product;
    const std::string bytes = TableMaker().kernel(product, kPlainSmall).bytes();
    if (gemmsmithLoadPlanTableFromMemory(handle, bytes.data(), bytes.size()) !=
        GEMMSMITH_STATUS_SUCCESS)
      _exit(3);
    if (product.run_and_compare(handle) != "" || product.run_and_compare(handle) != "") _exit(4);
    if (fake_gpu().events != 0) _exit(5);
    std::fprintf(stderr, "%s\n", heard.c_str());
    _exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0),
              "GEMMSMITH_MONITOR: .*notes.txt is another kind of file: it is left as it is; this "
              "process is not monitored");
  EXPECT_EQ(*read_file(path), "my notes\n");
}

}  // namespace
}  // namespace gemmsmith::runtime
