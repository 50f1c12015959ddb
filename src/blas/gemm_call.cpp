#include "blas/gemm_call.h"

#include <limits>

namespace gemmsmith::blas {
namespace {

constexpr std::int64_t kMostSize = std::numeric_limits<std::int32_t>::max();

Reason check_types(cudaDataType_t a, cudaDataType_t b, cudaDataType_t d, int compute_type) {
  if (a != b || (a != d && d != CUDA_R_32F) || (a != CUDA_R_16F && a != CUDA_R_16BF))
    return Reason::kTypes;
  if (compute_type == CUBLAS_COMPUTE_32F) return Reason::kNone;
  return compute_type == CUBLAS_COMPUTE_16F && a == CUDA_R_16F && d == a ? Reason::kNone
                                                                         : Reason::kCompute;
}

gemmsmithOutput_t output_of(cudaDataType_t d) {
  return d == CUDA_R_32F ? GEMMSMITH_OUTPUT_32F : GEMMSMITH_OUTPUT_AS_TYPE;
}

bool is_operation(int value) { return value >= CUBLAS_OP_N && value <= CUBLAS_OP_C; }

// Leading dimensions and the like are judged by the runtime, which refuses what it would not
// compute as the real library does; sizes come first, because they are also what is counted by.
Reason check_sizes(const gemmsmithProblem_t& problem) {
  for (const std::int64_t size : {problem.m, problem.n, problem.k}) {
    if (size < 0 || size > kMostSize) return Reason::kArguments;
    if (size == 0) return Reason::kEmpty;
  }
  return Reason::kNone;
}

void first(Reason& reason, Reason next) {
  if (reason == Reason::kNone) reason = next;
}

// The pointer mode, or what the mode says against serving.
Reason read_modes(const RealBlas& real, cublasHandle_t handle, GemmCall& call) {
  if (real.GetStream_v2 == nullptr || real.GetPointerMode_v2 == nullptr ||
      real.GetMathMode == nullptr)
    return Reason::kMode;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  if (real.GetStream_v2(handle, &call.stream) != CUBLAS_STATUS_SUCCESS ||
      real.GetPointerMode_v2(handle, &pointer_mode) != CUBLAS_STATUS_SUCCESS ||
      real.GetMathMode(handle, &math) != CUBLAS_STATUS_SUCCESS)
    return Reason::kArguments;
  if (pointer_mode != CUBLAS_POINTER_MODE_HOST && pointer_mode != CUBLAS_POINTER_MODE_DEVICE)
    return Reason::kMode;
  call.problem.pointer_mode = pointer_mode;
  // Our kernels keep partial sums in f32; the vendor's may not.
  call.allows_vendor_plans = (math & CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) == 0;
  const int base = math & ~static_cast<int>(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  if (base != CUBLAS_DEFAULT_MATH && base != CUBLAS_TENSOR_OP_MATH &&
      base != CUBLAS_TF32_TENSOR_OP_MATH)
    return Reason::kMode;
  int sm_count_target = 0;
  if (real.GetSmCountTarget != nullptr &&
      (real.GetSmCountTarget(handle, &sm_count_target) != CUBLAS_STATUS_SUCCESS ||
       sm_count_target != 0))
    return Reason::kMode;
  // Atomics: plans use none, which suits either mode.
  return Reason::kNone;
}

template <class T>
bool read(const RealBlas& real, cublasLtMatmulDesc_t operation,
          cublasLtMatmulDescAttributes_t attribute, T& value) {
  std::size_t written = 0;
  return real.LtMatmulDescGetAttribute(operation, attribute, &value, sizeof value, &written) ==
         CUBLAS_STATUS_SUCCESS;
}

template <class T>
bool read(const RealBlas& real, cublasLtMatrixLayout_t layout,
          cublasLtMatrixLayoutAttribute_t attribute, T& value) {
  std::size_t written = 0;
  return real.LtMatrixLayoutGetAttribute(layout, attribute, &value, sizeof value, &written) ==
         CUBLAS_STATUS_SUCCESS;
}

struct Matrix {
  std::uint32_t type = 0;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t ld = 0;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
};

bool read_matrix(const RealBlas& real, cublasLtMatrixLayout_t layout, Matrix& matrix) {
  return read(real, layout, CUBLASLT_MATRIX_LAYOUT_TYPE, matrix.type) &&
         read(real, layout, CUBLASLT_MATRIX_LAYOUT_ORDER, matrix.order) &&
         read(real, layout, CUBLASLT_MATRIX_LAYOUT_ROWS, matrix.rows) &&
         read(real, layout, CUBLASLT_MATRIX_LAYOUT_COLS, matrix.columns) &&
         read(real, layout, CUBLASLT_MATRIX_LAYOUT_LD, matrix.ld) &&
         read(real, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, matrix.batch) &&
         read(real, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride);
}

// By number, since headers older than 12.9 lack the name: 0 for strides, else arrays of pointers.
// Libraries that do not know it have strides only.
bool is_pointer_array(const RealBlas& real, cublasLtMatrixLayout_t layout) {
  constexpr auto kBatchMode = static_cast<cublasLtMatrixLayoutAttribute_t>(8);
  std::uint32_t mode = 0;
  return read(real, layout, kBatchMode, mode) && mode != 0;
}

// Attributes that change what is computed, and the value that changes nothing. One that the library
// does not know cannot have been set.
bool has_only_defaults(const RealBlas& real, cublasLtMatmulDesc_t operation) {
  // By number: headers older than the library lack names. 36 is the scale of D's output, 38 the
  // descriptor of emulation.
  constexpr int kPointers[] = {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                               CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
                               CUBLASLT_MATMUL_DESC_C_SCALE_POINTER,
                               CUBLASLT_MATMUL_DESC_D_SCALE_POINTER,
                               CUBLASLT_MATMUL_DESC_AMAX_D_POINTER,
                               36,
                               38};
  for (const int attribute : kPointers)
    if (const void* pointer = nullptr;
        read(real, operation, static_cast<cublasLtMatmulDescAttributes_t>(attribute), pointer) &&
        pointer != nullptr)
      return false;
  // 27 and 28: chunks of D and their counters in cuBLASLt 12, whose names 13 no longer has.
  constexpr int kZeros[] = {CUBLASLT_MATMUL_DESC_TRANSC, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 27,
                            28};
  for (const int attribute : kZeros)
    if (std::int32_t value = 0;
        read(real, operation, static_cast<cublasLtMatmulDescAttributes_t>(attribute), value) &&
        value != 0)
      return false;
  std::int32_t fill = CUBLAS_FILL_MODE_FULL;
  return !read(real, operation, CUBLASLT_MATMUL_DESC_FILL_MODE, fill) ||
         fill == CUBLAS_FILL_MODE_FULL;
}

// A library newer than the headers here may have attributes that are not asked for.
bool is_known_version(const RealBlas& real) {
  constexpr std::size_t kKnown = CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + 99;
  return real.LtGetVersion != nullptr && real.LtGetVersion() <= kKnown;
}

}  // namespace

const char* reason_text(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      return "served by a plan";
    case Reason::kPrivate:
      return "made by NVIDIA's own libraries";
    case Reason::kTypes:
      return "of other types than f16 or bf16 with results of the same or in f32";
    case Reason::kCompute:
      return "of another compute type";
    case Reason::kAlgorithm:
      return "with an algorithm asked for by number";
    case Reason::kBatch:
      return "by arrays of pointers";
    case Reason::kMode:
      return "with a math mode, pointer mode or SM limit of their own";
    case Reason::kEpilogue:
      return "with an epilogue";
    case Reason::kLayout:
      return "with descriptors that are not known";
    case Reason::kArguments:
      return "with arguments that cuBLAS shall judge";
    case Reason::kEmpty:
      return "with nothing to multiply";
    case Reason::kNoPlan:
      return "without a plan";
  }
  return "";
}

GemmCall read_gemm(const RealBlas& real, cublasHandle_t handle, const GemmArguments& arguments,
                   void* workspace, std::size_t workspace_bytes) {
  GemmCall call;
  gemmsmithProblem_t& problem = call.problem;
  problem.size = sizeof problem;
  problem.transa = arguments.transa;
  problem.transb = arguments.transb;
  problem.type = arguments.type_a;
  problem.compute_type = arguments.compute_type;
  problem.output = output_of(arguments.type_c);
  problem.m = arguments.m;
  problem.n = arguments.n;
  problem.k = arguments.k;
  problem.lda = arguments.lda;
  problem.ldb = arguments.ldb;
  problem.ldc = problem.ldd = arguments.ldc;
  call.batch = arguments.batch;
  call.alpha = arguments.alpha;
  call.a = arguments.a;
  call.b = arguments.b;
  call.beta = arguments.beta;
  call.c = call.d = arguments.c;
  call.workspace = workspace;
  call.workspace_bytes = workspace_bytes;

  call.reason =
      check_types(arguments.type_a, arguments.type_b, arguments.type_c, arguments.compute_type);
  if (!is_operation(arguments.transa) || !is_operation(arguments.transb))
    first(call.reason, Reason::kArguments);
  first(call.reason, check_sizes(problem));
  if (arguments.algorithm != CUBLAS_GEMM_DEFAULT &&
      arguments.algorithm != CUBLAS_GEMM_DEFAULT_TENSOR_OP)
    first(call.reason, Reason::kAlgorithm);
  if (arguments.batch == kPointerArrays) first(call.reason, Reason::kBatch);
  if (arguments.batch < 0) first(call.reason, Reason::kArguments);
  if (arguments.batch == 0) first(call.reason, Reason::kEmpty);
  if (arguments.batch > 1) {
    problem.batch = arguments.batch;
    problem.stride_a = arguments.stride_a;
    problem.stride_b = arguments.stride_b;
    problem.stride_c = problem.stride_d = arguments.stride_c;
  }
  if (handle == nullptr) first(call.reason, Reason::kArguments);
  if (call.reason == Reason::kNone || call.reason == Reason::kBatch)
    first(call.reason, read_modes(real, handle, call));
  return call;
}

GemmCall read_lt(const RealBlas& real, const LtArguments& arguments) {
  GemmCall call;
  call.reason = Reason::kLayout;
  if (real.LtMatmulDescGetAttribute == nullptr || real.LtMatrixLayoutGetAttribute == nullptr ||
      !is_known_version(real) || arguments.operation == nullptr || arguments.layout_a == nullptr ||
      arguments.layout_b == nullptr || arguments.layout_c == nullptr ||
      arguments.layout_d == nullptr)
    return call;
  Matrix a;
  Matrix b;
  Matrix c;
  Matrix d;
  std::int32_t compute_type = 0;
  std::int32_t scale_type = 0;
  std::int32_t pointer_mode = 0;
  std::int32_t transa = 0;
  std::int32_t transb = 0;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const cublasLtMatmulDesc_t operation = arguments.operation;
  if (!read_matrix(real, arguments.layout_a, a) || !read_matrix(real, arguments.layout_b, b) ||
      !read_matrix(real, arguments.layout_c, c) || !read_matrix(real, arguments.layout_d, d) ||
      !read(real, operation, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute_type) ||
      !read(real, operation, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale_type) ||
      !read(real, operation, CUBLASLT_MATMUL_DESC_POINTER_MODE, pointer_mode) ||
      !read(real, operation, CUBLASLT_MATMUL_DESC_TRANSA, transa) ||
      !read(real, operation, CUBLASLT_MATMUL_DESC_TRANSB, transb) ||
      !read(real, operation, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue) || !is_operation(transa) ||
      !is_operation(transb))
    return call;

  gemmsmithProblem_t& problem = call.problem;
  problem.size = sizeof problem;
  problem.transa = transa;
  problem.transb = transb;
  problem.type = static_cast<std::int32_t>(a.type);
  problem.compute_type = compute_type;
  problem.output = output_of(static_cast<cudaDataType_t>(d.type));
  problem.pointer_mode = pointer_mode;
  problem.m = static_cast<std::int64_t>(d.rows);
  problem.n = static_cast<std::int64_t>(d.columns);
  problem.k = static_cast<std::int64_t>(transa == CUBLAS_OP_N ? a.columns : a.rows);
  problem.lda = a.ld;
  problem.ldb = b.ld;
  problem.ldc = c.ld;
  problem.ldd = d.ld;
  call.batch = d.batch;
  call.alpha = arguments.alpha;
  call.a = arguments.a;
  call.b = arguments.b;
  call.beta = arguments.beta;
  call.c = arguments.c;
  call.d = arguments.d;
  call.workspace = arguments.workspace;
  call.workspace_bytes = arguments.workspace_bytes;
  call.stream = arguments.stream;
  // The program chose the reduction's precision with the algorithm; our kernels' is f32.
  call.allows_vendor_plans = false;

  call.reason =
      check_types(static_cast<cudaDataType_t>(a.type), static_cast<cudaDataType_t>(b.type),
                  static_cast<cudaDataType_t>(d.type), compute_type);
  if (c.type != d.type) first(call.reason, Reason::kTypes);
  if (scale_type != (compute_type == CUBLAS_COMPUTE_16F ? CUDA_R_16F : CUDA_R_32F))
    first(call.reason, Reason::kCompute);
  for (const Matrix* matrix : {&a, &b, &c, &d})
    if (matrix->order != CUBLASLT_ORDER_COL) first(call.reason, Reason::kLayout);
  // Shapes that do not fit each other are the real library's to refuse.
  const auto rows = [](const Matrix& matrix, std::int32_t op) {
    return op == CUBLAS_OP_N ? matrix.rows : matrix.columns;
  };
  const auto columns = [](const Matrix& matrix, std::int32_t op) {
    return op == CUBLAS_OP_N ? matrix.columns : matrix.rows;
  };
  if (rows(a, transa) != d.rows || columns(b, transb) != d.columns ||
      columns(a, transa) != rows(b, transb) || c.rows != d.rows || c.columns != d.columns)
    first(call.reason, Reason::kArguments);
  first(call.reason, check_sizes(problem));
  for (const cublasLtMatrixLayout_t layout :
       {arguments.layout_a, arguments.layout_b, arguments.layout_c, arguments.layout_d})
    if (is_pointer_array(real, layout)) first(call.reason, Reason::kBatch);
  for (const Matrix* matrix : {&a, &b, &c})
    if (matrix->batch != d.batch) first(call.reason, Reason::kArguments);
  if (d.batch < 1) first(call.reason, Reason::kArguments);
  if (d.batch > 1) {
    problem.batch = d.batch;
    problem.stride_a = a.stride;
    problem.stride_b = b.stride;
    problem.stride_c = c.stride;
    problem.stride_d = d.stride;
  }
  if (epilogue != CUBLASLT_EPILOGUE_DEFAULT) first(call.reason, Reason::kEpilogue);
  if (pointer_mode != CUBLASLT_POINTER_MODE_HOST && pointer_mode != CUBLASLT_POINTER_MODE_DEVICE)
    first(call.reason, Reason::kMode);
  if (!has_only_defaults(real, operation)) first(call.reason, Reason::kLayout);
  return call;
}

}  // namespace gemmsmith::blas
