// Families launched without the bench and without the vendor's kernels, each operand in an
// allocation of exactly its size: what compute-sanitizer watches (its tools are confused by vendor
// kernels, and a slack around an operand would hide a write past it). Also graphs and streams.
#include <gtest/gtest.h>

#include "compile/kernel_source.h"
#include "gpu/direct.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

TEST_F(DirectTest, FamiliesOnRaggedAndTinyShapes) {
  for (const Problem& p : gpu::direct_problems()) {
    for (const Family* family : kernel_families()) {
      for (const Config& config : gpu::pool_configs(*family, p, target_, gpu::kDirectConfigs)) {
        Data data = make_data(p);
        Loaded loaded = load(config, p);
        give_scratch(data, loaded);
        ASSERT_TRUE(launch(loaded, data, stream_.get()));
        const auto finished = stream_.synchronize();
        ASSERT_TRUE(finished) << to_text(config) << ": " << finished.error().what;
        EXPECT_EQ(wrong_elements(data, p), 0U) << describe(p) << " " << to_text(config);
      }
    }
  }
}

// A planted bug: what compute-sanitizer's memcheck must find, or its silence means nothing. Only
// runs where scripts/gpu_check.sh asks for it.
TEST_F(DirectTest, PlantedOutOfBoundsWrite) {
  if (std::getenv("GEMMSMITH_PLANT_BUG") == nullptr) GTEST_SKIP() << "no bug asked for";
  // D ends inside one of the driver's 512-byte units: right behind a whole one the next allocation
  // may begin, and a write there is in bounds.
  const Problem p = gpu::shape(65, 72, 128);
  const Config config = gpu::naive_stand_in(1, 0);
  compile::KernelSource source =
      *compile::utility_source("faulty/out_of_bounds.cu", gpu::architecture());
  const Data data = make_data(p);
  Loaded loaded = load(std::move(source), config, p);
  ASSERT_TRUE(launch(loaded, data, stream_.get()));
  (void)stream_.synchronize();
}

TEST_F(DirectTest, GraphReplaysGiveTheSameResult) {
  const Problem p = gpu::direct_problems()[4];
  for (const Family* family : kernel_families()) {
    for (const Config& config : gpu::pool_configs(*family, p, target_, gpu::kDirectConfigs)) {
      Data data = make_data(p);
      Loaded loaded = load(config, p);
      give_scratch(data, loaded);
      const auto graph = GraphExec::capture(driver(), stream_.get(), [&](CUstream stream) {
        for (int i = 0; i < 5; ++i)
          if (auto launched = launch(loaded, data, stream); !launched) return launched;
        return Result<void>();
      });
      ASSERT_TRUE(graph) << graph.error().what;
      for (int replay = 0; replay < 3; ++replay) {
        poison(data, p);
        ASSERT_TRUE(graph->launch(stream_.get()));
        EXPECT_EQ(wrong_elements(data, p), 0U) << to_text(config) << " replay " << replay;
      }
    }
  }
}

TEST_F(DirectTest, SeveralStreamsDoNotDisturbEachOther) {
  constexpr std::size_t kStreams = 4;
  constexpr int kRounds = 50;
  const Problem p = gpu::direct_problems()[5];
  for (const Family* family : kernel_families()) {
    for (const Config& config : gpu::pool_configs(*family, p, target_, gpu::kDirectConfigs)) {
      Loaded loaded = load(config, p);
      std::vector<Data> data;
      std::vector<Stream> streams;
      for (std::size_t i = 0; i < kStreams; ++i) {
        data.push_back(make_data(p));
        give_scratch(data.back(), loaded);
        streams.push_back(std::move(*Stream::create(driver())));
      }
      for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = 0; i < kStreams; ++i)
          ASSERT_TRUE(launch(loaded, data[i], streams[i].get()));
      for (std::size_t i = 0; i < kStreams; ++i) {
        ASSERT_TRUE(streams[i].synchronize());
        EXPECT_EQ(wrong_elements(data[i], p), 0U) << to_text(config) << " stream " << i;
      }
    }
  }
}

// A prefetch comes before the predecessor has written what it asks for; the loads that follow must
// still see it. Two products write D by turns, A * B and B * A, and each time the same kernel
// multiplies what they left: its results must be those of launches that each ran alone.
TEST_F(DirectTest, OperandsAskedForEarlyAreFresh) {
  constexpr int kRounds = 200;
  const Problem p = gpu::shape(512, 512, 512);
  int checked = 0;
  for (const Family* family : kernel_families()) {
    for (const Config& config : gpu::pool_configs(*family, p, target_, gpu::kDirectConfigs)) {
      if (config.at("prefetch") == 0) continue;
      ++checked;
      Loaded loaded = load(config, p);
      Data data = make_data(p);
      give_scratch(data, loaded);
      const plan::Operands writes[] = {
          {data.a.pointer(), data.b.pointer(), nullptr, data.d.pointer()},
          {data.b.pointer(), data.a.pointer(), nullptr, data.d.pointer()}};
      std::vector<Data> alone;
      std::vector<Data> chained;
      for (const plan::Operands& write : writes) {
        alone.push_back(make_data(p));
        chained.push_back(make_data(p));
        const plan::Operands reads = {data.d.pointer(), data.b.pointer(), nullptr,
                                      alone.back().expected.pointer()};
        for (const plan::Operands& operands : {write, reads}) {
          ASSERT_TRUE(launch(loaded, data, operands, stream_.get()));
          ASSERT_TRUE(stream_.synchronize());
        }
      }
      for (int round = 0; round < kRounds; ++round)
        for (std::size_t i = 0; i < 2; ++i) {
          const plan::Operands reads = {data.d.pointer(), data.b.pointer(), nullptr,
                                        chained[i].d.pointer()};
          ASSERT_TRUE(launch(loaded, data, writes[i], stream_.get()));
          ASSERT_TRUE(launch(loaded, data, reads, stream_.get()));
        }
      ASSERT_TRUE(stream_.synchronize());
      for (std::size_t i = 0; i < 2; ++i) {
        chained[i].expected = std::move(alone[i].expected);
        EXPECT_EQ(wrong_elements(chained[i], p), 0U) << to_text(config) << " product " << i;
      }
    }
  }
  EXPECT_GE(checked, 4);
}

class SplitTest : public DirectTest {
 protected:
  // Pairs of problem and config that were launched: those of at most `most_ctas`.
  int check_splits(unsigned most_ctas) {
    int checked = 0;
    for (const Problem& p : gpu::split_problems())
      for (const Config& config : gpu::workspace_configs(p, target_)) {
        Loaded loaded = load(config, p);
        if (loaded.plan.grid * loaded.plan.splits > most_ctas) continue;
        Data data = make_data(p);
        give_scratch(data, loaded);
        // Twice: the second launch finds what the first one left.
        for (int i = 0; i < 2; ++i) {
          EXPECT_TRUE(launch(loaded, data, stream_.get()));
          const auto finished = stream_.synchronize();
          EXPECT_TRUE(finished) << to_text(config) << ": " << finished.error().what;
          if (!finished) return checked;
        }
        EXPECT_EQ(wrong_elements(data, p), 0U) << describe(p) << " " << to_text(config);
        EXPECT_EQ(dirty_counters(data), 0U) << describe(p) << " " << to_text(config);
        ++checked;
      }
    return checked;
  }
};

TEST_F(SplitTest, SumsThroughTheWorkspaceAreExact) { EXPECT_GT(check_splits(~0U), 40); }

// What racecheck watches: under it, several CTAs of an SM that wait for each other take minutes.
TEST_F(SplitTest, SumsOfOneCtaAnSmAreExact) {
  EXPECT_GT(check_splits(static_cast<unsigned>(target_.sm_count)), 20);
}

// One graph of launches that differ in their number of ranks and tiles, over one workspace and one
// set of counters, as a stream's calls have them. Each product's result is wiped before it is made
// again, so an early reader would be seen.
TEST_F(DirectTest, CountersStayCleanOverAThousandReplays) {
  constexpr int kReplays = 1000;
  const Problem p = gpu::shape(264, 520, 4096);
  std::vector<Loaded> kernels;
  for (const Config& config : gpu::workspace_configs(p, target_))
    kernels.push_back(load(config, p));
  ASSERT_GE(kernels.size(), 3U);
  const auto by_workspace = [](const Loaded& a, const Loaded& b) {
    return a.plan.workspace_bytes < b.plan.workspace_bytes;
  };
  const auto by_counters = [](const Loaded& a, const Loaded& b) {
    return a.plan.counters < b.plan.counters;
  };
  Data shared = make_data(p);
  Loaded most;
  most.plan.workspace_bytes =
      std::max_element(kernels.begin(), kernels.end(), by_workspace)->plan.workspace_bytes;
  most.plan.counters = std::max_element(kernels.begin(), kernels.end(), by_counters)->plan.counters;
  give_scratch(shared, most);
  const auto record = [&](CUstream stream) -> Result<void> {
    for (Loaded& kernel : kernels) {
      GEMMSMITH_CHECK(
          kernels_->fill_pattern(stream, shared.d.address(), stored_d(p).extent(), 0x7fff));
      GEMMSMITH_CHECK(launch(kernel, shared, stream));
      GEMMSMITH_CHECK(launch(kernel, shared, stream));
    }
    return {};
  };
  const auto graph = GraphExec::capture(driver(), stream_.get(), record);
  ASSERT_TRUE(graph) << graph.error().what;
  for (int replay = 0; replay < kReplays; ++replay) {
    ASSERT_TRUE(graph->launch(stream_.get()));
    if (replay % 100 != 99) continue;
    const auto finished = stream_.synchronize();
    ASSERT_TRUE(finished) << replay << ": " << finished.error().what;
    ASSERT_EQ(wrong_elements(shared, p), 0U) << "replay " << replay;
    ASSERT_EQ(dirty_counters(shared), 0U) << "replay " << replay;
  }
}

// Launches that each want the whole device, on several streams at once: were they let in by halves,
// they would wait for ever. Plainly, and started before their predecessors end.
class FullDeviceTest : public DirectTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(FullDeviceTest, LaunchesTakeTurns) {
  constexpr std::size_t kStreams = 4;
  constexpr int kRounds = 200;
  const Problem p = gpu::shape(1024, 1024, 2048);
  Loaded loaded = load(*parse_config(GetParam(), kernel_families()), p);
  std::vector<Data> data;
  std::vector<Stream> streams;
  for (std::size_t i = 0; i < kStreams; ++i) {
    data.push_back(make_data(p));
    give_scratch(data.back(), loaded);
    streams.push_back(std::move(*Stream::create(driver())));
  }
  for (int round = 0; round < kRounds; ++round)
    for (std::size_t i = 0; i < kStreams; ++i)
      ASSERT_TRUE(launch(loaded, data[i], streams[i].get()));
  for (std::size_t i = 0; i < kStreams; ++i) {
    ASSERT_TRUE(streams[i].synchronize());
    EXPECT_EQ(wrong_elements(data[i], p), 0U) << "stream " << i;
    EXPECT_EQ(dirty_counters(data[i]), 0U) << "stream " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(DirectTest, FullDeviceTest,
                         ::testing::Values("sm90_ws:w2.m128.n128.s6.e1.sp2.sk2.d0",
                                           "sm90_ws:w2.m128.n128.s6.e1.sp2.sk2"));

}  // namespace
}  // namespace gemmsmith
