#include "grouped/baselines.h"

#include <dlfcn.h>

#include <limits>

#include "base/statistics.h"

namespace gemmsmith::grouped {
namespace {

constexpr int kHeuristics = 8;
constexpr int kRounds = 5;
constexpr int kLaunches = 20;

Problem one_group(const Case& groups, std::int64_t rows) {
  Problem one = groups.problem;
  one.grouped = false;
  one.batch = 1;
  one.m = rows;
  one.stride_b = kDense;
  return one;
}

// Calls use(first row, rows, group) for each group that has rows.
template <class Use>
Result<void> for_each_group(const Case& groups, Use use) {
  std::int64_t first = 0;
  for (std::size_t g = 0; g < groups.ends.size(); ++g) {
    const std::int64_t rows = groups.ends[g] - first;
    if (rows > 0) GEMMSMITH_CHECK(use(first, rows, static_cast<std::int64_t>(g)));
    first = groups.ends[g];
  }
  return {};
}

const std::uint16_t* elements(const void* operand) {
  return static_cast<const std::uint16_t*>(operand);
}

}  // namespace

Result<std::unique_ptr<LtLoop>> LtLoop::tune(GpuSession& session, const Case& groups) {
  std::unique_ptr<LtLoop> loop(new LtLoop(session, groups));
  GEMMSMITH_CHECK(for_each_group(
      groups, [&](std::int64_t, std::int64_t rows, std::int64_t) { return loop->tune(rows); }));
  return loop;
}

// By rounds over all that the heuristic names, on rotating operands as every measurement here.
Result<void> LtLoop::tune(std::int64_t rows) {
  if (calls_.contains(rows)) return {};
  const Problem one = one_group(groups_, rows);
  GEMMSMITH_TRY(vendor::LtMatmul matmul,
                vendor::LtMatmul::create(session_.lt, one, session_.settings.workspace_bytes));
  Call call{std::make_unique<vendor::LtMatmul>(std::move(matmul)), {}};
  GEMMSMITH_TRY(const std::vector<vendor::LtAlgo> found, call.matmul->heuristics(kHeuristics));
  OperandLayout layout = timing_layout(one, session_.target().l2_bytes);
  layout.sets = std::max<std::int64_t>(
      1,
      std::min(layout.sets, static_cast<std::int64_t>(session_.operands.size()) / layout.stride));
  std::vector<TimedGraph> graphs;
  for (const vendor::LtAlgo& algo : found) {
    LtLaunch launch(*call.matmul, algo, session_.vendor_workspace());
    // The first launch may load code, which no capture allows.
    GEMMSMITH_CHECK(
        launch.enqueue(layout.at(session_.operands.pointer(), 0), session_.stream.get()));
    GEMMSMITH_TRY(TimedGraph graph,
                  session_.timer->capture(&launch, Pattern::kLaunch, session_.operands.pointer(),
                                          layout, 0, kLaunches));
    graphs.push_back(std::move(graph));
  }
  std::vector<const TimedGraph*> sequence;
  for (int round = 0; round < kRounds; ++round)
    for (const TimedGraph& graph : graphs) sequence.push_back(&graph);
  GEMMSMITH_TRY(const std::vector<double> times, session_.timer->replay(sequence));
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    std::vector<double> own;
    for (std::size_t at = i; at < times.size(); at += graphs.size()) own.push_back(times[at]);
    if (median(own) >= best) continue;
    best = median(own);
    call.algo = found[i];
  }
  calls_.emplace(rows, std::move(call));
  return {};
}

Result<void> LtLoop::enqueue(const plan::Operands& o, CUstream stream) {
  const Problem& p = groups_.problem;
  return for_each_group(groups_, [&](std::int64_t first, std::int64_t rows, std::int64_t group) {
    const Call& call = calls_.at(rows);
    auto* const d = static_cast<std::uint16_t*>(o.d) + first * p.ldd;
    return call.matmul->run(
        call.algo, {elements(o.a) + first * p.lda, elements(o.b) + group * p.stride_b, nullptr, d},
        session_.vendor_workspace(), stream);
  });
}

Result<std::unique_ptr<CublasGrouped>> CublasGrouped::create(GpuSession& session,
                                                             const Case& groups, void* base,
                                                             const OperandLayout& layout) {
  std::unique_ptr<CublasGrouped> made(new CublasGrouped(session, groups));
  // The library is open already: its functions are found by name beside one that is known.
  Dl_info known = {};
  if (dladdr(reinterpret_cast<void*>(session.cublas->functions().GemmEx_64), &known) != 0)
    if (void* const library = dlopen(known.dli_fname, RTLD_NOW | RTLD_NOLOAD); library != nullptr)
      made->function_ =
          reinterpret_cast<Function*>(dlsym(library, "cublasGemmGroupedBatchedEx_64"));
  if (made->function_ == nullptr)
    return fail(ErrorCode::kUnsupported, "this cuBLAS has no cublasGemmGroupedBatchedEx");
  GEMMSMITH_CHECK(made->make_arrays(base, layout));
  return made;
}

Result<void> CublasGrouped::make_arrays(void* base, const OperandLayout& layout) {
  const Problem& p = groups_.problem;
  GEMMSMITH_CHECK(for_each_group(groups_, [&](std::int64_t, std::int64_t rows, std::int64_t) {
    const vendor::ColumnMajor view = vendor::column_major(one_group(groups_, rows));
    transa_.push_back(view.op_a);
    transb_.push_back(view.op_b);
    m_.push_back(view.m);
    n_.push_back(view.n);
    k_.push_back(view.k);
    lda_.push_back(view.lda);
    ldb_.push_back(view.ldb);
    ldc_.push_back(view.ldd);
    sizes_.push_back(1);
    alpha_.push_back(p.alpha);
    beta_.push_back(0);
    return Result<void>();
  }));
  const std::size_t count = m_.size();
  std::vector<std::uintptr_t> host;
  for (std::int64_t set = 0; set < layout.sets; ++set) {
    const plan::Operands o = layout.at(base, set);
    std::vector<std::uintptr_t> a, b, c;
    GEMMSMITH_CHECK(
        for_each_group(groups_, [&](std::int64_t first, std::int64_t, std::int64_t group) {
          // cuBLAS's A is our B.
          a.push_back(reinterpret_cast<std::uintptr_t>(elements(o.b) + group * p.stride_b));
          b.push_back(reinterpret_cast<std::uintptr_t>(elements(o.a) + first * p.lda));
          c.push_back(reinterpret_cast<std::uintptr_t>(elements(o.d) + first * p.ldd));
          return Result<void>();
        }));
    for (const auto* array : {&a, &b, &c}) host.insert(host.end(), array->begin(), array->end());
  }
  GEMMSMITH_TRY(pointers_, DeviceBuffer::allocate(session_.driver(), host.size() * sizeof host[0]));
  GEMMSMITH_CHECK(copy_to_device(session_.driver(), pointers_.address(), host.data(),
                                 host.size() * sizeof host[0], session_.stream.get()));
  auto* next = static_cast<void**>(pointers_.pointer());
  for (std::int64_t set = 0; set < layout.sets; ++set, next += 3 * count)
    arrays_[layout.at(base, set).a] = {next, next + count, next + 2 * count};
  return {};
}

Result<void> CublasGrouped::enqueue(const plan::Operands& o, CUstream stream) {
  const auto found = arrays_.find(o.a);
  if (found == arrays_.end())
    return fail(ErrorCode::kInternal, "no arrays of pointers were made for these operands");
  const vendor::CublasFunctions& cublas = session_.cublas->functions();
  const cublasHandle_t handle = session_.cublas->get();
  GEMMSMITH_CHECK(vendor::check(cublas.SetStream_v2(handle, stream), "setting cuBLAS's stream"));
  const vendor::Workspace workspace = session_.vendor_workspace();
  GEMMSMITH_CHECK(vendor::check(
      cublas.SetWorkspace_v2(handle, workspace.data, static_cast<std::size_t>(workspace.bytes)),
      "setting cuBLAS's workspace"));
  const cudaDataType_t type = vendor::cuda_type(groups_.problem.type);
  return vendor::check(function_(handle, transa_.data(), transb_.data(), m_.data(), n_.data(),
                                 k_.data(), alpha_.data(), found->second.a, type, lda_.data(),
                                 found->second.b, type, ldb_.data(), beta_.data(), found->second.c,
                                 type, ldc_.data(), static_cast<std::int64_t>(m_.size()),
                                 sizes_.data(), vendor::compute_type(groups_.problem.accumulator)),
                       "cublasGemmGroupedBatchedEx");
}

}  // namespace gemmsmith::grouped
