// Programs that call cuBLAS, run with and without the preloaded library: who serves which call, and
// that everything else reaches the real library as it came.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "problem/shape_list.h"
#include "runtime/table_maker.h"
#include "support/scratch.h"

namespace gemmsmith::runtime {
namespace {

namespace fs = std::filesystem;

struct Answer {
  std::string out;
  std::string err;
  int code = -1;
};

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* kVendorConfig = "cublaslt:a24.t20.s16.k4.r2";

class Preload : public ::testing::Test {
 protected:
  Preload() : table_(folder_ / "test.plans") {
    ProductOptions options;
    options.m = options.n = options.k = 64;
    const Product planned(options);
    options.compute_type = GEMMSMITH_COMPUTE_16F;
    const Product half(options);
    options = {};
    options.m = options.n = 128;
    options.k = 64;
    const Product vendor(options);
    write(TableMaker()
              .kernel(planned, kWithMaps)
              .kernel(planned, kPlain, 2, 1)
              .kernel(half, kPlain)
              .kernel(f32_of(planned), kWithMaps)
              .kernel(f32_of(planned), kPlain, 2, 1)
              .kernel(f32_of(batch_of(planned)), kPlain)
              .vendor(vendor, kVendorConfig, 1 << 20)
              .kernel(batch_of(planned), kPlain)
              .kernel(batch_of(half), kPlain));
  }

  static Product batch_of(Product product) {
    product.problem.batch = 3;
    product.problem.stride_a = product.problem.stride_b = 64 * 64;
    product.problem.stride_c = product.problem.stride_d = 64 * 64;
    return product;
  }

  static Product f32_of(Product product) {
    product.problem.output = GEMMSMITH_OUTPUT_32F;
    return product;
  }

  void write(const TableMaker& maker) const { std::ofstream(table_) << maker.bytes(); }

  // `setting` is text for a shell: NAME=VALUE words before the program.
  Answer run(const std::string& arguments, const std::string& setting = "",
             const std::string& library = GEMMSMITH_PRELOAD) const {
    const fs::path out = folder_ / "out";
    const fs::path err = folder_ / "err";
    const std::string command = "env -u GEMMSMITH_CUBLASLT GEMMSMITH_LIBCUDA='" GEMMSMITH_FAKE_GPU
                                "' GEMMSMITH_PLANS='" +
                                table_.string() + "' LD_PRELOAD='" + library + "' " +
                                "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 " + setting +
                                " '" GEMMSMITH_BLAS_PROGRAM "' " + arguments + " >'" +
                                out.string() + "' 2>'" + err.string() + "'";
    const int status = std::system(command.c_str());
    return {read_text(out), read_text(err), WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  }

  testing::ScratchFolder folder_;
  fs::path table_;
};

TEST_F(Preload, TheProgramAloneUsesCublas) {
  EXPECT_EQ(run("", "", "").out, "cublas status=0 exact\n");
}

struct Case {
  std::string name;
  std::string call;
  std::string served;
};

class EachCall : public Preload, public ::testing::WithParamInterface<Case> {};

TEST_P(EachCall, IsServedOrPassedOn) {
  const Answer answer = run(GetParam().call);
  EXPECT_EQ(answer.out, GetParam().served + "\n") << answer.err;
  EXPECT_EQ(answer.code, 0);
  // With and without: the same status, the same result.
  if (const std::size_t at = answer.out.find("status"); at != std::string::npos) {
    const Answer bare = run(GetParam().call, "", "");
    EXPECT_EQ(answer.out.substr(at), bare.out.substr(bare.out.find("status")));
  }
}

const std::vector<Case> kCases = {
    {"GemmEx", "function=GemmEx", "kernel status=0 exact"},
    {"GemmEx64", "function=GemmEx_64", "kernel status=0 exact"},
    {"Hgemm", "function=Hgemm compute=64", "kernel status=0 exact"},
    {"Hgemm64", "function=Hgemm_64 compute=64", "kernel status=0 exact"},
    {"StridedOfOne", "function=GemmStridedBatchedEx", "kernel status=0 exact"},
    {"StridedOfOne64", "function=GemmStridedBatchedEx_64", "kernel status=0 exact"},
    {"HalfStridedOfOne", "function=HgemmStridedBatched compute=64", "kernel status=0 exact"},
    {"HalfStridedOfOne64", "function=HgemmStridedBatched_64 compute=64", "kernel status=0 exact"},
    {"LtMatmul", "function=LtMatmul", "kernel status=0 exact"},
    {"TensorOpAlgorithm", "algo=99", "kernel status=0 exact"},
    {"TensorOpMath", "math=1", "kernel status=0 exact"},
    {"Tf32Math", "math=3", "kernel status=0 exact"},
    // G2: our kernels reduce in f32.
    {"FullPrecisionReduction", "math=16", "kernel status=0 exact"},
    {"AlphaAndBeta", "alpha=2 beta=-1", "kernel status=0 exact"},
    {"LtAlphaAndBeta", "function=LtMatmul alpha=2 beta=-1", "kernel status=0 exact"},
    // P6: in device mode the scalars are read by the device.
    {"DeviceScalars", "pointer_mode=1 alpha=3 beta=2", "kernel status=0 exact"},
    {"LtDeviceScalars", "function=LtMatmul pointer_mode=1 alpha=3 beta=2", "kernel status=0 exact"},
    // P8: host scalars at odd addresses.
    {"OddScalars", "odd_scalars=1 alpha=2 beta=1", "kernel status=0 exact"},
    {"OddHalfScalars", "function=Hgemm compute=64 odd_scalars=1", "kernel status=0 exact"},
    {"Repeated", "repeat=5 beta=1", "kernel status=0 exact"},
    // Results in f32 of 16-bit operands have plans of their own.
    {"F32Results", "out=0", "kernel status=0 exact"},
    {"F32Results64", "function=GemmEx_64 out=0", "kernel status=0 exact"},
    {"F32ResultsAlphaAndBeta", "out=0 alpha=2 beta=-1", "kernel status=0 exact"},
    {"F32ResultsUnplanned", "out=0 m=48", "cublas status=0 exact"},
    {"F32ResultsOfBf16", "out=0 type=14", "cublas status=0 exact"},
    {"F32ResultsOfHalfSums", "out=0 compute=64", "cublas status=15"},
    {"F32BatchOfOne", "function=GemmStridedBatchedEx out=0", "kernel status=0 exact"},
    {"LtF32Results", "function=LtMatmul out=0 alpha=2 beta=-1", "kernel status=0 exact"},
    // Vendor plans take the workspace that the program gave the handle, and none else.
    {"VendorPlan", "m=128 n=128 workspace=524288", "lt status=0 exact"},
    {"VendorPlanWithoutWorkspace", "m=128 n=128", "cublas status=0 exact"},
    {"VendorPlanSmallWorkspace", "m=128 n=128 workspace=1024", "cublas status=0 exact"},
    // I7: setting the stream takes the workspace back.
    {"StreamTakesWorkspaceBack", "m=128 n=128 workspace=524288 stream_after=1",
     "cublas status=0 exact"},
    // G2: a vendor plan may reduce in 16 bits.
    {"VendorPlanFullPrecision", "m=128 n=128 workspace=524288 math=16", "cublas status=0 exact"},

    // C7: where the plan's launch fails, cuBLAS starts from the C that was there.
    {"FailedLaunch", "fail_launch=1 alpha=2 beta=1", "cublas status=0 exact"},
    {"LtFailedLaunch", "function=LtMatmul fail_launch=1 alpha=2 beta=1", "lt status=0 exact"},
    {"Unplanned", "m=48", "cublas status=0 exact"},
    {"OtherLayout", "transa=0", "cublas status=0 exact"},
    {"Bf16", "type=14", "cublas status=0 exact"},
    {"Float", "type=0", "cublas status=0 exact"},
    {"Pedantic", "math=2", "cublas status=0 exact"},
    {"Emulated", "math=4", "cublas status=0 exact"},
    {"Autotune", "algo=999", "cublas status=0 exact"},
    {"OldAlgorithm", "algo=103", "cublas status=0 exact"},
    {"SmLimit", "sm_count=16", "cublas status=0 exact"},
    // P7: the old type of the compute type, and a pedantic or fast one.
    {"OldComputeType", "compute=0", "cublas status=15"},
    {"PedanticCompute", "compute=69", "cublas status=15"},
    {"FastCompute", "compute=74", "cublas status=15"},
    {"Batch", "function=GemmStridedBatchedEx batch=3", "cublas status=0"},
    {"PointerArrays", "function=GemmBatchedEx", "cublas status=0 WRONG"},
    {"PointerArrays64", "function=GemmBatchedEx_64", "cublas status=0 WRONG"},
    {"HalfPointerArrays", "function=HgemmBatched compute=64", "cublas status=0 WRONG"},
    {"HalfPointerArrays64", "function=HgemmBatched_64 compute=64", "cublas status=0 WRONG"},
    // B2, B4: nothing to multiply, and nothing to write.
    {"NoK", "k=0", "cublas status=0 exact"},
    {"NoM", "m=0", "cublas status=0 exact"},
    {"NegativeM", "m=-1", "cublas status=7"},
    {"NullHandle", "null_handle=1", "cublas status=1"},
    {"AlphaOfZero", "alpha=0 beta=1", "cublas status=0 exact"},
    {"LtEpilogue", "function=LtMatmul epilogue=2", "lt status=0"},
    {"LtBatch", "function=LtMatmul batch=3", "lt status=0"},
    {"LtRowOrder", "function=LtMatmul order=1", "lt status=0"},
    {"LtUnplanned", "function=LtMatmul m=48", "lt status=0 exact"},
    // NVIDIA's own libraries, by their name.
    {"PrivateUse", "function=cusolver", "cublas status=0 exact"},
    // P2: what cuBLAS calls in turn is its own affair.
    {"InnerCalls", "through_lt=1 type=14", "lt cublas status=0 exact"},
    {"InnerCallsOfAPlannedShape", "through_lt=1 algo=999", "lt cublas status=0 exact"},
};

INSTANTIATE_TEST_SUITE_P(Preload, EachCall, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

TEST_F(Preload, OffPassesEverything) {
  EXPECT_EQ(run("", "GEMMSMITH_BLAS=off").out, "cublas status=0 exact\n");
  EXPECT_EQ(run("", "GEMMSMITH_BLAS=off").err, "");
}

TEST_F(Preload, AnUnknownModeIsToldOfAndOff) {
  const Answer answer = run("", "GEMMSMITH_BLAS=yes");
  EXPECT_EQ(answer.out, "cublas status=0 exact\n");
  EXPECT_EQ(answer.err,
            "gemmsmith_blas: GEMMSMITH_BLAS = 'yes': expected off, observe or on; taken as off\n");
}

TEST_F(Preload, SaysOnceWhatIsInUse) {
  const Answer answer = run("-- -- --");
  EXPECT_EQ(answer.err, "gemmsmith_blas: 9 plans of " + table_.string() + " are in use\n");
  EXPECT_EQ(run("", "GEMMSMITH_LOG_LEVEL=off").err, "");
}

TEST_F(Preload, WithoutATableCublasServesAndItIsSaid) {
  const Answer answer =
      run("-- --", "GEMMSMITH_PLANS= GEMMSMITH_DATA_DIR='" + folder_.path().string() + "'");
  EXPECT_EQ(answer.out, "cublas status=0 exact\ncublas status=0 exact\ncublas status=0 exact\n");
  EXPECT_EQ(answer.err.find("gemmsmith_blas: no plan table: cuBLAS serves everything"), 0U)
      << answer.err;
}

TEST_F(Preload, TablesOfTheDataFolderAreFound) {
  fs::create_directories(folder_ / "plans");
  fs::copy_file(table_, folder_ / "plans/a.plans");
  EXPECT_EQ(run("", "GEMMSMITH_PLANS= GEMMSMITH_DATA_DIR='" + folder_.path().string() + "'").out,
            "kernel status=0 exact\n");
}

// M2, N7: damaged tables and those of another device are refused with a reason; the next one, or
// cuBLAS, serves.
TEST_F(Preload, BadTablesAreRefusedWithAReason) {
  std::ofstream(folder_ / "damaged.plans") << "gemmplan";
  TableOptions other;
  other.sm_count = 66;
  ProductOptions options;
  options.m = options.n = options.k = 64;
  const Product product(options);
  std::ofstream(folder_ / "other.plans") << TableMaker(other).kernel(product, kWithMaps).bytes();
  const std::string bad =
      (folder_ / "damaged.plans").string() + ":" + (folder_ / "other.plans").string();
  const Answer refused = run("", "GEMMSMITH_PLANS='" + bad + "'");
  EXPECT_EQ(refused.out, "cublas status=0 exact\n");
  EXPECT_EQ(refused.err.find("gemmsmith_blas: no plan table fits this device"), 0U) << refused.err;
  EXPECT_NE(refused.err.find("damaged.plans"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("made for NVIDIA H200 (sm_90, 66 SMs)"), std::string::npos);
  EXPECT_EQ(run("", "GEMMSMITH_PLANS='" + bad + ":" + table_.string() + "'").out,
            "kernel status=0 exact\n");
}

// A product without a plan, whose neighbours' plans gained: a policy chooses where one is named.
TEST_F(Preload, APolicyChoosesForProductsWithoutAPlan) {
  write(TableMaker().neighbours(kWithMaps));
  const std::string call = "m=96 n=72 k=80";
  const std::string policy = "GEMMSMITH_POLICY='" + kShippedPolicy + "'";
  EXPECT_EQ(run(call).out, "cublas status=0 exact\n");
  const Answer answer = run(call, policy);
  EXPECT_EQ(answer.out, "kernel status=0 exact\n");
  EXPECT_NE(answer.err.find("gemmsmith_blas: the policy " + kShippedPolicy +
                            " chooses for problems without a plan\n"),
            std::string::npos)
      << answer.err;
  EXPECT_EQ(run("capturing=1 -- " + call + " capturing=1", policy).out,
            "cublas status=0 exact\ncublas status=0 exact\n")
      << "the process's first calls";
  std::ofstream(folder_ / "short.policy") << "gemmpoli";
  const std::string path = (folder_ / "short.policy").string();
  const Answer refused = run(call, "GEMMSMITH_POLICY='" + path + "'");
  EXPECT_EQ(refused.out, "cublas status=0 exact\n");
  EXPECT_NE(refused.err.find("gemmsmith_blas: " + path + ": a policy cut short after 8 bytes"),
            std::string::npos)
      << refused.err;
}

// Nothing is loaded while a stream captures: the call goes to cuBLAS, and the next one is served.
TEST_F(Preload, AFirstCallInsideACaptureIsPassedOn) {
  EXPECT_EQ(run("capturing=1 -- capturing=0 -- capturing=1").out,
            "cublas status=0 exact\nkernel status=0 exact\nkernel status=0 exact\n");
}

TEST_F(Preload, WithoutADriverCublasServes) {
  EXPECT_EQ(run("", "GEMMSMITH_LIBCUDA=/nonexistent/libcuda.so.1").out, "cublas status=0 exact\n");
}

// J6: the first calls of a process come from many threads at once.
TEST_F(Preload, ThreadsStartTogether) {
  for (int round = 0; round < 2; ++round) {
    const Answer answer = run("threads=16 repeat=3");
    EXPECT_EQ(answer.out, "status=0 exact\n") << answer.err;
    EXPECT_EQ(answer.code, 0);
  }
}

// J9, Q3: every way to end is clean.
TEST_F(Preload, EndsCleanlyHoweverItEnds) {
  for (const char* mode : {"on", "observe"}) {
    const std::string setting = std::string("GEMMSMITH_BLAS=") + mode;
    EXPECT_EQ(run("fork", setting).code, 0);
    EXPECT_EQ(run("exit", setting).code, 3);
    EXPECT_EQ(run("threads=4", setting).code, 0);
  }
}

// P2, P10: from a path with spaces, through a link, beside another library, and into children that
// have nothing to do with CUDA.
TEST_F(Preload, LoadsFromAnywhere) {
  const fs::path spaced = folder_ / "a folder with spaces";
  fs::create_directories(spaced);
  fs::create_symlink(GEMMSMITH_PRELOAD, spaced / "link.so");
  // LD_PRELOAD itself splits at spaces: the loader's rule. A relative name without one works.
  fs::create_symlink(GEMMSMITH_PRELOAD, folder_ / "link.so");
  EXPECT_EQ(run("", "", (folder_ / "link.so").string()).out, "kernel status=0 exact\n");
  EXPECT_EQ(run("", "", GEMMSMITH_FAKE_GPU ":" GEMMSMITH_PRELOAD).out, "kernel status=0 exact\n");
  if (GEMMSMITH_IS_SANITIZED) GTEST_SKIP() << "unavailable: a sanitizer is no guest of a shell";
  const fs::path out = folder_ / "child";
  const std::string command =
      "LD_PRELOAD='" GEMMSMITH_PRELOAD
      "' ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 bash -c 'echo "
      "fine' >'" +
      out.string() + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_text(out), "fine\n");
}

// The fake cuBLAS computes no batch: these are not compared with a run without the library.
TEST_F(Preload, BatchesByStridesAreServed) {
  for (const char* call :
       {"function=GemmStridedBatchedEx", "function=GemmStridedBatchedEx_64",
        "function=HgemmStridedBatched compute=64", "function=HgemmStridedBatched_64 compute=64",
        "function=LtMatmul", "function=GemmStridedBatchedEx out=0", "function=LtMatmul out=0",
        "function=GemmStridedBatchedEx_64 out=0"})
    EXPECT_EQ(run(call + std::string(" batch=3 dense=1")).out, "kernel status=0 exact\n") << call;
  EXPECT_EQ(run("function=GemmStridedBatchedEx batch=4 dense=1").out, "cublas status=0\n")
      << "another number of products";
  EXPECT_EQ(run("function=GemmStridedBatchedEx batch=3").out, "cublas status=0\n")
      << "results that overlap are cuBLAS's to judge";
  EXPECT_EQ(run("function=GemmStridedBatchedEx batch=0").out, "cublas status=0\n");
}

TEST_F(Preload, ObserveCountsAndForecastsAndServesNothing) {
  const Answer answer =
      run("-- -- m=48 -- type=0 -- type=0 -- function=GemmBatchedEx batch=3 -- "
          "function=GemmStridedBatchedEx batch=3 dense=1 -- function=LtMatmul epilogue=2 -- "
          "function=cusolver",
          "GEMMSMITH_BLAS=observe");
  EXPECT_EQ(answer.out.find("kernel"), std::string::npos) << answer.out;
  const auto has = [&](const char* text) {
    EXPECT_NE(answer.err.find(text), std::string::npos) << text << "\n" << answer.err;
  };
  has("4 products that plans can cover, of 3 shapes");
  has("64_64_64 f16/f32 tn");
  has("1.25x  sm90_ws:s2");
  has("64_48_64 f16/f32 tn");
  has("(the plan table has no plan for this problem)");
  has("2 calls of other types than f16 or bf16 with results of the same or in f32: left alone");
  has("64_64_64 f16/f32 tn x3");
  has("1 calls by arrays of pointers: left alone");
  has("1 calls with an epilogue: left alone");
  has("1 calls made by NVIDIA's own libraries: left alone");
}

TEST_F(Preload, ObserveInACaptureTouchesNothing) {
  const Answer answer = run("capturing=1 repeat=3", "GEMMSMITH_BLAS=observe");
  EXPECT_EQ(answer.out, "cublas status=0 exact\n");
  EXPECT_NE(answer.err.find("3 products that plans can cover"), std::string::npos) << answer.err;
}

// GEMMSMITH_RECORD: what no plan served is a list that tune reads.
TEST_F(Preload, RecordsMissesAsAShapeList) {
  const fs::path list = folder_ / "misses.csv";
  EXPECT_EQ(run("m=48 repeat=3 -- m=56 transa=0 beta=1 -- -- m=48",
                "GEMMSMITH_RECORD='" + list.string() + "'")
                .code,
            0);
  const auto shapes = read_shape_list(list, Problem{});
  ASSERT_TRUE(shapes) << shapes.error().what << read_text(list);
  std::vector<std::string> described;
  for (const Problem& problem : *shapes) described.push_back(describe(problem));
  std::sort(described.begin(), described.end());
  EXPECT_EQ(described,
            (std::vector<std::string>{"64_48_64 f16/f32 tn", "64_56_64 f16/f32 tt beta=1"}));
}

}  // namespace
}  // namespace gemmsmith::runtime
