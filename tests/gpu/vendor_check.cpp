// vendor_check.cpp -- the vendor layer on a real GPU and the real cuBLAS: are all layouts exact
// under every kind of call, does an algorithm's text build the same algorithm, how many configs
// come and how long do they take to list. Prints one key=value line a finding; exit 0: nothing
// wrong, 1: something is, 77: no GPU or no cuBLAS here.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "vendor/cublas_gemm.h"
#include "vendor/lt_fallback.h"
#include "vendor/lt_space.h"

namespace gemmsmith {
namespace {

constexpr std::int64_t kWorkspaceBytes = 64 << 20;
constexpr int kUnavailable = 77;

struct Context {
  CudaContext cuda;
  Stream stream;
  DeviceBuffer workspace;
  Target target;
  std::shared_ptr<const vendor::LtHandle> lt;
  std::shared_ptr<vendor::CublasHandle> cublas;

  vendor::Workspace vendor_workspace() const { return {workspace.pointer(), kWorkspaceBytes}; }
};

Result<Context> open_context() {
  GEMMSMITH_TRY(CudaContext cuda, CudaContext::open(0));
  GEMMSMITH_TRY(Stream stream, Stream::create(cuda.driver()));
  GEMMSMITH_TRY(DeviceBuffer workspace, DeviceBuffer::allocate(cuda.driver(), kWorkspaceBytes));
  GEMMSMITH_TRY(const DeviceInfo info, query_device(cuda.driver(), 0));
  GEMMSMITH_TRY(auto library, vendor::BlasLibrary::open());
  GEMMSMITH_TRY(auto lt, vendor::LtHandle::create(library));
  GEMMSMITH_TRY(auto cublas, vendor::CublasHandle::create(library));
  return Context{std::move(cuda), std::move(stream), std::move(workspace), info.target, lt, cublas};
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

std::uint16_t encode(DataType type, int value) {
  const auto number = static_cast<float>(value);
  if (type == DataType::kF16) return __half_raw(__float2half(number)).x;
  return __nv_bfloat16_raw(__float2bfloat16(number)).x;
}

// Operands of -1, 0 and 1: every partial sum below 256 is exact in all the types here.
struct Matrices {
  std::vector<std::uint16_t> a, b, expected;
  DeviceBuffer device_a, device_b, device_d;

  vendor::Operands operands() const {
    return {device_a.pointer(), device_b.pointer(), device_d.pointer(), device_d.pointer()};
  }
};

std::vector<int> pattern(std::int64_t count, std::uint32_t seed) {
  std::vector<int> values(static_cast<std::size_t>(count));
  for (int& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<int>((seed >> 24) % 3) - 1;
  }
  return values;
}

std::vector<std::uint16_t> encode_all(DataType type, const std::vector<int>& values) {
  std::vector<std::uint16_t> bits;
  for (const int value : values) bits.push_back(encode(type, value));
  return bits;
}

Result<DeviceBuffer> upload(const Context& context, const std::vector<std::uint16_t>& host) {
  GEMMSMITH_TRY(DeviceBuffer buffer,
                DeviceBuffer::allocate(context.cuda.driver(), 2 * host.size()));
  GEMMSMITH_CHECK(copy_to_device(context.cuda.driver(), buffer.address(), host.data(),
                                 2 * host.size(), context.stream.get()));
  return buffer;
}

Result<Matrices> make_matrices(const Context& context, const Problem& p, bool with_expected) {
  Matrices m;
  const bool a_by_k = a_is_k_contiguous(p.layout);
  const bool b_by_k = b_is_k_contiguous(p.layout);
  const std::vector<int> a = pattern((a_by_k ? p.m : p.k) * p.lda, 1);
  const std::vector<int> b = pattern((b_by_k ? p.n : p.k) * p.ldb, 2);
  m.a = encode_all(p.type, a);
  m.b = encode_all(p.type, b);
  m.expected.assign(static_cast<std::size_t>(p.m * p.ldd), 0);  // padding stays 0
  if (with_expected)
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        int sum = 0;
        for (std::int64_t l = 0; l < p.k; ++l)
          sum += a[static_cast<std::size_t>(a_by_k ? i * p.lda + l : l * p.lda + i)] *
                 b[static_cast<std::size_t>(b_by_k ? j * p.ldb + l : l * p.ldb + j)];
        m.expected[static_cast<std::size_t>(i * p.ldd + j)] = encode(p.type, sum);
      }
  GEMMSMITH_TRY(m.device_a, upload(context, m.a));
  GEMMSMITH_TRY(m.device_b, upload(context, m.b));
  GEMMSMITH_TRY(m.device_d, upload(context, m.expected));
  return m;
}

// Zeroes D, runs, and counts elements that differ; -0 equals 0.
template <class Run>
Result<std::int64_t> count_wrong(const Context& context, const Matrices& m, const Run& run) {
  const Driver& driver = context.cuda.driver();
  GEMMSMITH_CHECK(
      check(driver,
            driver.MemsetD8Async(m.device_d.address(), 0, m.device_d.size(), context.stream.get()),
            "clearing D"));
  GEMMSMITH_CHECK(run());
  std::vector<std::uint16_t> actual(m.expected.size());
  GEMMSMITH_CHECK(copy_to_host(driver, actual.data(), m.device_d.address(), 2 * actual.size(),
                               context.stream.get()));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i)
    wrong += actual[i] != m.expected[i] && ((actual[i] | m.expected[i]) & 0x7fff) != 0;
  return wrong;
}

// Every kind of vendor call on one problem, against the exact product. Returns how many were wrong.
Result<int> check_products(const Context& context, const Problem& problem) {
  GEMMSMITH_TRY(const Matrices m, make_matrices(context, problem, true));
  const vendor::Operands operands = m.operands();
  const vendor::Workspace workspace = context.vendor_workspace();
  const CUstream stream = context.stream.get();
  int runs = 0;
  int bad = 0;
  const auto judge = [&](const std::string& what, const auto& run) -> Result<void> {
    const auto wrong = count_wrong(context, m, run);
    ++runs;
    if (wrong && *wrong == 0) return {};
    ++bad;
    fmt::print("wrong problem=\"{}\" call={} elements={} error=\"{}\"\n", describe(problem), what,
               wrong ? *wrong : -1, wrong ? "" : wrong.error().what);
    return {};
  };

  GEMMSMITH_TRY(vendor::CublasGemm gemm,
                vendor::CublasGemm::create(context.cublas, problem, vendor::CublasAlgo::kDefault));
  GEMMSMITH_CHECK(judge("cublas", [&] { return gemm.run(operands, workspace, stream); }));
  if (context.cublas->knows_autotune()) {
    GEMMSMITH_TRY(
        vendor::CublasGemm tuned,
        vendor::CublasGemm::create(context.cublas, problem, vendor::CublasAlgo::kAutotune));
    GEMMSMITH_CHECK(
        judge("cublas_autotune_trial", [&] { return tuned.prime(operands, workspace, stream); }));
    GEMMSMITH_CHECK(
        judge("cublas_autotune", [&] { return tuned.run(operands, workspace, stream); }));
  }
  vendor::LtFallback fallback(context.lt);
  for (const char* what : {"fallback_cold", "fallback_warm"})
    GEMMSMITH_CHECK(judge(what, [&] {
      return fallback.run(problem, operands, vendor::Scalars::of(problem), workspace, stream);
    }));

  GEMMSMITH_TRY(const vendor::LtMatmul matmul,
                vendor::LtMatmul::create(context.lt, problem, kWorkspaceBytes));
  GEMMSMITH_TRY(const auto algos, matmul.heuristics(64));
  for (std::size_t i = 0; i < algos.size(); ++i)
    GEMMSMITH_CHECK(judge(fmt::format("heuristic_{}", i),
                          [&] { return matmul.run(algos[i], operands, workspace, stream); }));
  vendor::LtSpace space(context.lt);
  GEMMSMITH_TRY(const auto configs, space.vendor_configs(matmul, context.target, 24));
  for (const Config& config : configs) {
    GEMMSMITH_TRY(const vendor::LtAlgo algo, vendor::to_algo(config, matmul));
    GEMMSMITH_CHECK(
        judge(to_text(config), [&] { return matmul.run(algo, operands, workspace, stream); }));
  }
  fmt::print("products problem=\"{}\" runs={} wrong={} configs={}\n", describe(problem), runs, bad,
             configs.size());
  return bad;
}

// Microseconds a launch, from events around enough launches; only to see that the order is sane.
Result<double> rough_us(const Context& context, const vendor::LtMatmul& matmul,
                        const vendor::LtAlgo& algo, const vendor::Operands& operands) {
  constexpr int kLaunches = 20;
  const CUstream stream = context.stream.get();
  GEMMSMITH_TRY(const Event start, Event::create(context.cuda.driver()));
  GEMMSMITH_TRY(const Event stop, Event::create(context.cuda.driver()));
  GEMMSMITH_TRY(const GraphExec graph,
                GraphExec::capture(context.cuda.driver(), stream, [&](CUstream s) -> Result<void> {
                  for (int i = 0; i < kLaunches; ++i)
                    GEMMSMITH_CHECK(matmul.run(algo, operands, context.vendor_workspace(), s));
                  return {};
                }));
  double best = 1e30;
  for (int repeat = 0; repeat < 3; ++repeat) {
    GEMMSMITH_CHECK(start.record(stream));
    GEMMSMITH_CHECK(graph.launch(stream));
    GEMMSMITH_CHECK(stop.record(stream));
    GEMMSMITH_CHECK(stop.synchronize());
    GEMMSMITH_TRY(const double us, elapsed_us(start, stop));
    best = std::min(best, us / kLaunches);
  }
  return best;
}

// Counts and host times of listing, whether texts rebuild the heuristic's algorithms bit for bit,
// and L2-hot times of each config.
Result<void> survey(const Context& context, const Problem& problem) {
  GEMMSMITH_TRY(const vendor::LtMatmul matmul,
                vendor::LtMatmul::create(context.lt, problem, kWorkspaceBytes));
  auto start = std::chrono::steady_clock::now();
  GEMMSMITH_TRY(const auto algos, matmul.heuristics(64));
  const double heuristic_ms = milliseconds_since(start);
  int same = 0;
  for (const vendor::LtAlgo& algo : algos) {
    GEMMSMITH_TRY(const Config config, vendor::to_config(context.lt->lt(), algo.algo));
    const auto again = vendor::to_algo(config, matmul);
    const bool equal = again && std::equal(std::begin(algo.algo.data), std::end(algo.algo.data),
                                           std::begin(again->algo.data));
    same += equal;
    fmt::print("heuristic problem={} config={} workspace={} waves={:.2f} rebuilt={}\n",
               shape_name(problem), to_text(config), algo.workspace_bytes, algo.waves,
               equal   ? std::string("same")
               : again ? std::string("differs")
                       : again.error().what);
  }
  vendor::LtSpace space(context.lt);
  start = std::chrono::steady_clock::now();
  GEMMSMITH_TRY(auto configs, space.vendor_configs(matmul, context.target, 32));
  const double cold_ms = milliseconds_since(start);
  start = std::chrono::steady_clock::now();
  GEMMSMITH_TRY(configs, space.vendor_configs(matmul, context.target, 32));
  const double warm_ms = milliseconds_since(start);

  GEMMSMITH_TRY(const Matrices m, make_matrices(context, problem, false));
  double best_heuristic = 1e30;
  for (const vendor::LtAlgo& algo : algos) {
    GEMMSMITH_TRY(const double us, rough_us(context, matmul, algo, m.operands()));
    best_heuristic = std::min(best_heuristic, us);
  }
  double best = 1e30;
  std::string best_text;
  for (const Config& config : configs) {
    GEMMSMITH_TRY(const vendor::LtAlgo algo, vendor::to_algo(config, matmul));
    GEMMSMITH_TRY(const double us, rough_us(context, matmul, algo, m.operands()));
    fmt::print("config problem={} config={} us={:.3f}\n", shape_name(problem), to_text(config), us);
    if (us < best) {
      best = us;
      best_text = to_text(config);
    }
  }
  fmt::print(
      "survey problem={} heuristics={} rebuilt_same={} heuristic_ms={:.3f} configs={} "
      "cold_ms={:.2f} "
      "warm_ms={:.2f} best_heuristic_us={:.3f} best_config_us={:.3f} best={}\n",
      shape_name(problem), algos.size(), same, heuristic_ms, configs.size(), cold_ms, warm_ms,
      best_heuristic, best, best_text);
  return {};
}

Result<void> print_capabilities(const Context& context, const Problem& problem) {
  vendor::LtSpace space(context.lt);
  GEMMSMITH_TRY(const auto all, space.capabilities(problem));
  for (const vendor::LtCapabilities& c : all)
    fmt::print(
        "capability type={}/{} algo={} tiles={} stages={} split_k={} reductions={} "
        "swizzle={} custom_max={}\n",
        name(problem.type), name(problem.accumulator), c.algo, c.tiles.size(), c.stages.size(),
        c.split_k, c.reduction_mask, c.swizzle_max, c.custom_max);
  return {};
}

Result<Problem> problem_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return make_problem(problem);
}

Result<int> run(const Context& context) {
  fmt::print("device=\"{}\" cublas={}\n", context.target.name, context.lt->library().version());
  int bad = 0;
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT})
    for (const auto& [type, accumulator] :
         {std::pair{DataType::kF16, DataType::kF32}, std::pair{DataType::kBf16, DataType::kF32},
          std::pair{DataType::kF16, DataType::kF16}})
      // Packed and aligned; then padded to odd leading dimensions.
      for (const std::int64_t padding : {0, 3}) {
        GEMMSMITH_TRY(Problem problem, problem_of(136, 264, 200));
        problem.layout = layout;
        problem.type = type;
        problem.accumulator = accumulator;
        problem.lda = packed_lda(problem) + padding;
        problem.ldb = packed_ldb(problem) + padding;
        problem.ldc = problem.ldd = packed_ldd(problem) + padding;
        GEMMSMITH_TRY(const int wrong, check_products(context, problem));
        bad += wrong;
      }
  GEMMSMITH_TRY(Problem problem, problem_of(64, 512, 12288));
  GEMMSMITH_CHECK(print_capabilities(context, problem));
  GEMMSMITH_CHECK(survey(context, problem));
  GEMMSMITH_TRY(problem, problem_of(4096, 2048, 1024));
  GEMMSMITH_CHECK(survey(context, problem));
  GEMMSMITH_TRY(problem, problem_of(512, 32005, 768));
  GEMMSMITH_CHECK(survey(context, problem));
  return bad;
}

}  // namespace
}  // namespace gemmsmith

int main() {
  // Lines survive a hang or a kill.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto context = gemmsmith::open_context();
  if (!context) {
    fmt::print("unavailable: {}\n", context.error().what);
    return gemmsmith::kUnavailable;
  }
  const auto bad = gemmsmith::run(*context);
  if (!bad) {
    fmt::print("failed: {}\n", bad.error().what);
    return 1;
  }
  fmt::print("wrong_total={}\n", *bad);
  return *bad == 0 ? 0 : 1;
}
