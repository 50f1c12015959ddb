// Deliberately bad kernels (kernels/faulty), each of which must be caught by name. All are given to
// one bench in one call beside two honest kernels, which must be measured all the same.
#include <gtest/gtest.h>

#include <map>

#include "compile/cubin_cache.h"
#include "compile/kernel_source.h"
#include "gpu/gpu.h"
#include "measure/worker_bench.h"
#include "space/family.h"

namespace gemmsmith {
namespace {

// The configs that stand for the faulty kernels.
const std::map<std::string, Config>& faulty() {
  static const std::map<std::string, Config> configs = {
      {"wrong", gpu::naive_stand_in(1, 0)},
      {"hang", gpu::naive_stand_in(2, 0)},
      {"fault", gpu::naive_stand_in(4, 0)},
      {"f16_accumulate", gpu::naive_stand_in(8, 0)},
      {"out_of_bounds", gpu::naive_stand_in(16, 0)},
      {"input_writer", gpu::naive_stand_in(32, 0)},
      {"nondeterministic", gpu::naive_stand_in(1, 1)},
      {"wrong_last_matrix", gpu::naive_stand_in(2, 1)},
      {"zeros", gpu::naive_stand_in(4, 1)},
      {"swapped_rows", gpu::naive_stand_in(8, 1)},
      {"lazy", gpu::naive_stand_in(16, 1)}};
  return configs;
}

// NVRTC's kernels, with the stand-ins' texts exchanged.
class FaultyKernels : public KernelProvider {
 public:
  explicit FaultyKernels(std::unique_ptr<NvrtcKernels> honest, compile::Compiler compiler)
      : honest_(std::move(honest)), compiler_(std::move(compiler)) {}

  std::string version() const override { return honest_->version(); }
  Result<std::vector<KernelInfo>> prepare(std::span<const Config> configs, const Problem& problem,
                                          const std::string& architecture) override {
    std::vector<KernelInfo> infos;
    for (const Config& config : configs) {
      const std::string file = file_of(config);
      if (!file.empty()) {
        infos.push_back({file, Status::kOk, "", 0});
        continue;
      }
      GEMMSMITH_TRY(const std::vector<KernelInfo> one,
                    honest_->prepare(std::span(&config, 1), problem, architecture));
      infos.push_back(one.front());
    }
    return infos;
  }
  Result<std::string> cubin(const Config& config, const Problem& problem,
                            const std::string& architecture) override {
    const std::string file = file_of(config);
    if (file.empty()) return honest_->cubin(config, problem, architecture);
    GEMMSMITH_TRY(const compile::KernelSource source, compile::utility_source(file, architecture));
    GEMMSMITH_TRY(const compile::CompiledKernel kernel, compiler_.compile(source));
    if (kernel.cubin.empty()) return fail(ErrorCode::kCompile, "{}: {}", file, kernel.log);
    return kernel.cubin;
  }
  Result<std::string> utility_cubin(const std::string& file,
                                    const std::string& architecture) override {
    return honest_->utility_cubin(file, architecture);
  }

 private:
  static std::string file_of(const Config& config) {
    for (const auto& [name, stand_in] : faulty())
      if (config == stand_in) return "faulty/" + name + ".cu";
    return "";
  }
  std::unique_ptr<NvrtcKernels> honest_;
  compile::Compiler compiler_;
};

constexpr const char* kOfBatches = "wrong_last_matrix";

class FaultyKernelsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!CudaContext::open(0)) return;
    auto honest = NvrtcKernels::open();
    auto compiler = compile::Compiler::open(compile::CubinCache::open_default());
    ASSERT_TRUE(honest) << honest.error().what;
    ASSERT_TRUE(compiler) << compiler.error().what;
    BenchSettings settings;
    settings.candidate_timeout_s = 3;
    auto bench = WorkerBench::open(
        0, settings, std::make_unique<FaultyKernels>(std::move(*honest), std::move(*compiler)));
    ASSERT_TRUE(bench) << bench.error().what;
    // Padded rows, so that a write past a row does not hit the next one.
    Problem problem = gpu::shape(192, 130, 1000);
    problem.ldc = problem.ldd = 136;
    std::vector<Config> configs = {honest_config(2)};
    for (const auto& [name, config] : faulty())
      if (name != kOfBatches) configs.push_back(config);
    configs.push_back(honest_config(4));
    auto rows = (*bench)->screen(problem, configs, Setting::kChained);
    ASSERT_TRUE(rows) << rows.error().what;
    for (const Measurement& row : *rows) rows_[row.config] = row;
    Problem batch = gpu::shape(40, 48, 64);
    batch.batch = 300;
    rows = (*bench)->screen(*make_problem(batch), std::vector{faulty().at(kOfBatches)},
                            Setting::kChained);
    ASSERT_TRUE(rows) << rows.error().what;
    rows_[rows->front().config] = rows->front();
    conditions_ = (*bench)->conditions();
  }

  static Config honest_config(int group) {
    Config config = default_config(sm80_mma_family());
    config.set("group", group);
    return config;
  }

  void SetUp() override { GEMMSMITH_NEEDS_GPU(); }

  static void expect(const std::string& name, Status status, const std::string& detail) {
    const Measurement& row = rows_[to_text(faulty().at(name))];
    EXPECT_EQ(row.status, status) << name << ": " << row.detail;
    EXPECT_TRUE(row.detail.starts_with(detail) || row.detail.find(detail) != std::string::npos)
        << name << ": " << row.detail;
    EXPECT_EQ(row.repeats_us.size(), 0U) << name << " was timed";
    fmt::print("{}: status={} detail={}\n", name, gemmsmith::name(row.status), row.detail);
  }

  static inline std::map<std::string, Measurement> rows_;
  static inline std::string conditions_;
};

// O7: one element of 576000, in the last of 300 matrices.
TEST_F(FaultyKernelsTest, WrongInTheLastMatrixOfABatch) {
  expect(kOfBatches, Status::kWrong, "integers: 1 of 576000 elements wrong");
}
TEST_F(FaultyKernelsTest, Wrong) { expect("wrong", Status::kWrong, "integers"); }
// O8: nothing at all, and the right numbers in wrong places.
TEST_F(FaultyKernelsTest, WritingZeros) { expect("zeros", Status::kWrong, "integers"); }
TEST_F(FaultyKernelsTest, ExchangingTwoRows) { expect("swapped_rows", Status::kWrong, "integers"); }
// O9: right while it is verified, idle while it is timed. What was timed is looked at.
TEST_F(FaultyKernelsTest, WorkingOnlyWhileWatched) {
  const Measurement& row = rows_[to_text(faulty().at("lazy"))];
  EXPECT_EQ(row.status, Status::kWrong) << row.detail;
  EXPECT_TRUE(row.detail.starts_with("while timed: element ")) << row.detail;
  fmt::print("lazy: status={} detail={}\n", name(row.status), row.detail);
}
TEST_F(FaultyKernelsTest, Hanging) { expect("hang", Status::kTimeout, "killed"); }
TEST_F(FaultyKernelsTest, Faulting) {
  expect("fault", Status::kFault, "CUDA_ERROR_ILLEGAL_ADDRESS");
}
TEST_F(FaultyKernelsTest, AccumulatingInF16) {
  expect("f16_accumulate", Status::kWrong, "accumulator");
}
TEST_F(FaultyKernelsTest, WritingOutOfBounds) { expect("out_of_bounds", Status::kWrong, "guard"); }
TEST_F(FaultyKernelsTest, WritingItsInputs) { expect("input_writer", Status::kWrong, "input"); }
TEST_F(FaultyKernelsTest, Nondeterministic) {
  expect("nondeterministic", Status::kNondeterministic, "differ between two runs");
}

TEST_F(FaultyKernelsTest, TheirHonestNeighboursAreMeasured) {
  for (const int group : {2, 4}) {
    const Measurement& row = rows_[to_text(honest_config(group))];
    EXPECT_EQ(row.status, Status::kOk) << row.detail;
    EXPECT_GT(row.median_us, 0);
    EXPECT_GT(row.ratio, 0);
  }
}

}  // namespace
}  // namespace gemmsmith
