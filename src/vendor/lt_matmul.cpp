#include "vendor/lt_matmul.h"

#include <algorithm>
#include <utility>

namespace gemmsmith::vendor {
namespace {

template <class T>
Result<void> set(const LtFunctions& lt, cublasLtMatmulDesc_t operation,
                 cublasLtMatmulDescAttributes_t attribute, T value) {
  return vendor::check(lt.MatmulDescSetAttribute(operation, attribute, &value, sizeof value),
                       "setting a matmul descriptor");
}

template <class T>
Result<void> set(const LtFunctions& lt, cublasLtMatrixLayout_t layout,
                 cublasLtMatrixLayoutAttribute_t attribute, T value) {
  return vendor::check(lt.MatrixLayoutSetAttribute(layout, attribute, &value, sizeof value),
                       "setting a matrix layout");
}

template <class T>
Result<void> set(const LtFunctions& lt, cublasLtMatmulPreference_t preference,
                 cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  return vendor::check(lt.MatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
                       "setting a matmul preference");
}

// What an algorithm demands of a pointer; 0 where the library (before 12.0) does not say.
std::uint32_t needed_alignment(const LtFunctions& lt, const cublasLtMatmulAlgo_t& algo,
                               cublasLtMatmulAlgoCapAttributes_t attribute) {
  std::uint32_t bytes = 0;
  std::size_t written = 0;
  if (lt.MatmulAlgoCapGetAttribute(&algo, attribute, &bytes, sizeof bytes, &written) !=
      CUBLAS_STATUS_SUCCESS)
    return 0;
  return bytes;
}

// The library ors an activation with a bias, too: RELU_BIAS is 6, GELU_BIAS is 36.
std::int32_t epilogue_of(const Problem& problem) {
  std::int32_t epilogue = problem.has_bias ? CUBLASLT_EPILOGUE_BIAS : 0;
  if (problem.activation == Activation::kRelu) epilogue |= CUBLASLT_EPILOGUE_RELU;
  if (problem.activation == Activation::kGeluTanh) epilogue |= CUBLASLT_EPILOGUE_GELU;
  return epilogue;
}

}  // namespace

bool lt_has(Activation activation) {
  return activation == Activation::kNone || activation == Activation::kRelu ||
         activation == Activation::kGeluTanh;
}

Result<LtMatmul> LtMatmul::create(std::shared_ptr<const LtHandle> handle, const Problem& problem,
                                  std::int64_t workspace_bytes, ScalarMode mode,
                                  const Extras& extras) {
  if (problem.is_empty() || problem.k == 0)
    return fail(ErrorCode::kUnsupported,
                "cuBLASLt has no product for {}: there is nothing to multiply", describe(problem));
  if (problem.grouped)
    return fail(ErrorCode::kUnsupported, "cuBLASLt has no product for {}: it knows no groups",
                describe(problem));
  if (!lt_has(problem.activation))
    return fail(ErrorCode::kUnsupported, "cuBLASLt has no product for {}: it has no {}",
                describe(problem), name(problem.activation));
  if (problem.has_bias && extras.bias == nullptr)
    return fail(ErrorCode::kBadInput, "{} came without its bias", describe(problem));
  LtMatmul matmul;
  matmul.handle_ = std::move(handle);
  matmul.problem_ = problem;
  matmul.extras_ = extras;
  matmul.workspace_bytes_ = std::max<std::int64_t>(0, workspace_bytes);
  matmul.mode_ = mode;
  matmul.reads_c_ = mode == ScalarMode::kDevice || problem.beta != 0;
  GEMMSMITH_CHECK(matmul.create_descriptors());
  GEMMSMITH_CHECK(matmul.create_layouts());
  GEMMSMITH_CHECK(matmul.create_preference());
  return matmul;
}

Result<void> LtMatmul::create_descriptors() {
  const LtFunctions& lt = handle_->lt();
  const ColumnMajor view = column_major(problem_);
  GEMMSMITH_CHECK(vendor::check(lt.MatmulDescCreate(&operation_, compute_type(problem_.accumulator),
                                                    scale_type(problem_.accumulator)),
                                "creating a matmul descriptor"));
  GEMMSMITH_CHECK(set(lt, operation_, CUBLASLT_MATMUL_DESC_TRANSA, view.op_a));
  GEMMSMITH_CHECK(set(lt, operation_, CUBLASLT_MATMUL_DESC_TRANSB, view.op_b));
  if (mode_ == ScalarMode::kDevice)
    GEMMSMITH_CHECK(
        set(lt, operation_, CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE));
  if (problem_.has_epilogue())
    GEMMSMITH_CHECK(set(lt, operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(problem_)));
  if (problem_.has_bias)
    GEMMSMITH_CHECK(set(lt, operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, extras_.bias));
  return {};
}

Result<void> LtMatmul::create_layouts() {
  const LtFunctions& lt = handle_->lt();
  const ColumnMajor view = column_major(problem_);
  const cudaDataType_t type = cuda_type(problem_.type);
  const cudaDataType_t output = cuda_type(problem_.output_type());
  const auto layout = [&](cublasLtMatrixLayout_t& into, cudaDataType_t element, std::int64_t rows,
                          std::int64_t columns, std::int64_t ld,
                          std::int64_t stride) -> Result<void> {
    GEMMSMITH_CHECK(
        vendor::check(lt.MatrixLayoutCreate(&into, element, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), ld),
                      "creating a matrix layout"));
    if (problem_.batch == 1) return {};
    GEMMSMITH_CHECK(set(lt, into, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                        static_cast<std::int32_t>(problem_.batch)));
    return set(lt, into, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  };
  GEMMSMITH_CHECK(layout(a_, type, view.rows_a, view.columns_a, view.lda, view.stride_a));
  GEMMSMITH_CHECK(layout(b_, type, view.rows_b, view.columns_b, view.ldb, view.stride_b));
  // An unread C is D itself, so that its pointer and leading dimension cannot restrict the choice.
  GEMMSMITH_CHECK(layout(c_, output, view.m, view.n, reads_c_ ? view.ldc : view.ldd,
                         reads_c_ ? view.stride_c : view.stride_d));
  return layout(d_, output, view.m, view.n, view.ldd, view.stride_d);
}

Result<void> LtMatmul::create_preference() {
  const LtFunctions& lt = handle_->lt();
  const ColumnMajor view = column_major(problem_);
  const auto bytes = [](int alignment) { return static_cast<std::uint32_t>(alignment); };
  GEMMSMITH_CHECK(
      vendor::check(lt.MatmulPreferenceCreate(&preference_), "creating a matmul preference"));
  GEMMSMITH_CHECK(set(lt, preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                      static_cast<std::uint64_t>(workspace_bytes_)));
  GEMMSMITH_CHECK(
      set(lt, preference_, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, bytes(view.align_a)));
  GEMMSMITH_CHECK(
      set(lt, preference_, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, bytes(view.align_b)));
  GEMMSMITH_CHECK(set(lt, preference_, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
                      bytes(reads_c_ ? view.align_c : view.align_d)));
  GEMMSMITH_CHECK(
      set(lt, preference_, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, bytes(view.align_d)));
  if (extras_.exact_reductions)
    GEMMSMITH_CHECK(set(lt, preference_, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  return {};
}

Result<std::vector<LtAlgo>> LtMatmul::heuristics(int count) const {
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(std::max(1, count)));
  int returned = 0;
  const cublasStatus_t status =
      handle_->lt().MatmulAlgoGetHeuristic(handle_->get(), operation_, a_, b_, c_, d_, preference_,
                                           static_cast<int>(found.size()), found.data(), &returned);
  if (status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED)
    return fail(ErrorCode::kDevice, "cuBLASLt's heuristic for {} failed: {}", describe(problem_),
                vendor::describe(status));
  found.resize(static_cast<std::size_t>(std::clamp(returned, 0, static_cast<int>(found.size()))));
  std::vector<LtAlgo> algos;
  for (const cublasLtMatmulHeuristicResult_t& result : found) {
    const auto workspace = static_cast<std::int64_t>(result.workspaceSize);
    if (result.state == CUBLAS_STATUS_SUCCESS && workspace <= workspace_bytes_)
      algos.push_back({result.algo, workspace, result.wavesCount});
  }
  if (algos.empty())
    return fail(ErrorCode::kUnsupported,
                "cuBLASLt {} has no algorithm for {} in {} workspace bytes",
                handle_->library().version(), describe(problem_), workspace_bytes_);
  return algos;
}

Result<LtAlgo> LtMatmul::check(const cublasLtMatmulAlgo_t& algo) const {
  const LtFunctions& lt = handle_->lt();
  cublasLtMatmulHeuristicResult_t result = {};
  if (const cublasStatus_t status =
          lt.MatmulAlgoCheck(handle_->get(), operation_, a_, b_, c_, d_, &algo, &result);
      status != CUBLAS_STATUS_SUCCESS)
    return fail(ErrorCode::kUnsupported, "cuBLASLt refuses this algorithm for {}: {}",
                describe(problem_), vendor::describe(status));
  const auto workspace = static_cast<std::int64_t>(result.workspaceSize);
  if (workspace > workspace_bytes_)
    return fail(ErrorCode::kUnsupported,
                "this algorithm needs {} workspace bytes for {}; the limit is {}", workspace,
                describe(problem_), workspace_bytes_);

  const ColumnMajor view = column_major(problem_);
  const struct {
    cublasLtMatmulAlgoCapAttributes_t attribute;
    int alignment;
    const char* operand;  // our name of it
  } operands[] = {
      {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, view.align_a, "B"},
      {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, view.align_b, "A"},
      {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, reads_c_ ? view.align_c : view.align_d, "C"},
      {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, view.align_d, "D"},
  };
  for (const auto& operand : operands) {
    const std::uint32_t needed = needed_alignment(lt, algo, operand.attribute);
    if (static_cast<std::uint32_t>(operand.alignment) < needed)
      return fail(ErrorCode::kUnsupported,
                  "this algorithm needs {} aligned to {} bytes for {}; it is aligned to {}",
                  operand.operand, needed, describe(problem_), operand.alignment);
  }
  return LtAlgo{algo, workspace, result.wavesCount};
}

Result<void> LtMatmul::run(const LtAlgo& algo, const Operands& operands, const Scalars& scalars,
                           const Workspace& workspace, CUstream stream) const {
  if (scalars.mode != mode_)
    return fail(ErrorCode::kInternal, "scalars are on the {}, the descriptors of {} expect the {}",
                scalars.mode == ScalarMode::kDevice ? "device" : "host", describe(problem_),
                mode_ == ScalarMode::kDevice ? "device" : "host");
  if (mode_ == ScalarMode::kHost && scalars.beta != 0 && !reads_c_)
    return fail(ErrorCode::kInternal, "beta = {} for descriptors of {} that were made for beta = 0",
                scalars.beta, describe(problem_));
  if (workspace.bytes < algo.workspace_bytes)
    return fail(ErrorCode::kBadInput,
                "the workspace has {} bytes; cuBLASLt's choice for {} needs {}", workspace.bytes,
                describe(problem_), algo.workspace_bytes);
  const HostScalars host(scalars, problem_.accumulator);
  const bool on_host = mode_ == ScalarMode::kHost;
  const void* alpha = on_host ? host.alpha() : scalars.device_alpha;
  const void* beta = on_host ? host.beta() : scalars.device_beta;
  const cublasStatus_t status =
      handle_->lt().Matmul(handle_->get(), operation_, alpha, operands.b, a_, operands.a, b_, beta,
                           reads_c_ ? operands.c : operands.d, c_, operands.d, d_, &algo.algo,
                           workspace.data, static_cast<std::size_t>(workspace.bytes), stream);
  if (status != CUBLAS_STATUS_SUCCESS)
    return fail(
        status == CUBLAS_STATUS_NOT_SUPPORTED ? ErrorCode::kUnsupported : ErrorCode::kDevice,
        "cublasLtMatmul of {} failed: {}", describe(problem_), vendor::describe(status));
  return {};
}

LtMatmul::LtMatmul(LtMatmul&& other) noexcept { *this = std::move(other); }

LtMatmul& LtMatmul::operator=(LtMatmul&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(problem_, other.problem_);
  std::swap(extras_, other.extras_);
  std::swap(workspace_bytes_, other.workspace_bytes_);
  std::swap(mode_, other.mode_);
  std::swap(reads_c_, other.reads_c_);
  std::swap(operation_, other.operation_);
  std::swap(a_, other.a_);
  std::swap(b_, other.b_);
  std::swap(c_, other.c_);
  std::swap(d_, other.d_);
  std::swap(preference_, other.preference_);
  return *this;
}

LtMatmul::~LtMatmul() {
  if (handle_ == nullptr) return;
  const LtFunctions& lt = handle_->lt();
  if (preference_ != nullptr) lt.MatmulPreferenceDestroy(preference_);
  for (const cublasLtMatrixLayout_t layout : {a_, b_, c_, d_})
    if (layout != nullptr) lt.MatrixLayoutDestroy(layout);
  if (operation_ != nullptr) lt.MatmulDescDestroy(operation_);
}

}  // namespace gemmsmith::vendor
