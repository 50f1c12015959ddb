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
        const Data data = make_data(p);
        Loaded loaded = load(config, p);
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
      const Data data = make_data(p);
      Loaded loaded = load(config, p);
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

}  // namespace
}  // namespace gemmsmith
