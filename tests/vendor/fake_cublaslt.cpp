// fake_cublaslt.cpp -- cuBLASLt and cuBLAS on the host, for tests without a GPU. The product is
// computed in the library's own terms (column-major, from the descriptors), so a wrong translation
// of a row-major problem gives wrong numbers.
#include "fake_cublaslt.h"

#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

namespace {

FakeCublasLt state;
std::mutex state_mutex;  // of what is not atomic in it

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  std::int32_t op_a, op_b, pointer_mode;
  std::int32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};
struct Matrix {
  cudaDataType_t type;
  std::uint64_t rows, columns;
  std::int64_t ld;
  std::int32_t batch = 1;
  std::int64_t stride = 0;
  std::int32_t order = CUBLASLT_ORDER_COL;
};
struct Preference {
  std::uint64_t workspace;
  std::uint32_t alignment[4];
  std::uint32_t reductions = 7;  // CUBLASLT_REDUCTION_SCHEME_MASK
};
struct Algo {
  std::int32_t field[16];  // by cublasLtMatmulAlgoConfigAttributes_t
};
static_assert(sizeof(Algo) == sizeof(cublasLtMatmulAlgo_t));

template <class T, class Handle>
T* as(Handle handle) {
  return reinterpret_cast<T*>(handle);
}

template <class T, class Handle>
cublasStatus_t create(Handle* handle, T value) {
  *handle = reinterpret_cast<Handle>(new T(value));
  ++state.live_objects;
  return CUBLAS_STATUS_SUCCESS;
}

template <class T, class Handle>
cublasStatus_t destroy(Handle handle) {
  delete as<T>(handle);
  --state.live_objects;
  return CUBLAS_STATUS_SUCCESS;
}

Algo unpack(const cublasLtMatmulAlgo_t& algo) {
  Algo result;
  std::memcpy(&result, &algo, sizeof result);
  return result;
}

double element(const void* data, cudaDataType_t type, std::int64_t index) {
  if (type == CUDA_R_16F) return __half2float(static_cast<const __half*>(data)[index]);
  if (type == CUDA_R_16BF) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[index]);
  return static_cast<const float*>(data)[index];
}

void put(void* data, cudaDataType_t type, std::int64_t index, double value) {
  const auto narrow = static_cast<float>(value);
  if (type == CUDA_R_16F)
    static_cast<__half*>(data)[index] = __float2half(narrow);
  else if (type == CUDA_R_32F)
    static_cast<float*>(data)[index] = narrow;
  else
    static_cast<__nv_bfloat16*>(data)[index] = __float2bfloat16(narrow);
}

// D = alpha op(A) op(B) + beta C, all column-major.
struct Product {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  cudaDataType_t type;
  const void *a, *b, *c;
  void* d;
  std::int64_t lda, ldb, ldc, ldd;
  double alpha, beta;
  // Beyond one plain product.
  cudaDataType_t output = type;
  std::int32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  std::int64_t batch = 1, stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0;

  double finish(double value, std::int64_t row) const {
    if ((epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) value += element(bias, output, row);
    if ((epilogue & CUBLASLT_EPILOGUE_RELU) != 0) value = value < 0 ? 0 : value;
    if ((epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
      value = value / 2 *
              (1 + std::tanh(0.7978845608028654 * (value + 0.044715 * value * value * value)));
    return value;
  }

  void compute() const {
    for (std::int64_t at = 0; at < batch; ++at) compute(at);
  }

  void compute(std::int64_t at) const {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += element(a, type, at * stride_a + (transpose_a ? p + i * lda : i + p * lda)) *
                 element(b, type, at * stride_b + (transpose_b ? j + p * ldb : p + j * ldb));
        double value = alpha * sum;
        if (beta != 0) value += beta * element(c, output, at * stride_c + i + j * ldc);
        put(d, output, at * stride_d + i + j * ldd, finish(value, i));
      }
  }
};

bool is_hopper_algo(const Algo& algo) { return algo.field[CUBLASLT_ALGO_CONFIG_ID] == 66; }

constexpr int kAlgos[] = {24, 66};

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT FakeCublasLt* fake_cublaslt_state() { return &state; }

EXPORT std::size_t cublasLtGetVersion() { return state.version; }

EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (state.create_status != 0) return static_cast<cublasStatus_t>(state.create_status);
  return create(handle, 0);
}
EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy<int>(handle); }

EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  return create(desc, Operation{compute, scale, CUBLAS_OP_N, CUBLAS_OP_N, 0});
}
EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return destroy<Operation>(desc);
}
EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                     cublasLtMatmulDescAttributes_t attribute,
                                                     const void* value, std::size_t bytes) {
  auto* operation = as<Operation>(desc);
  if (attribute == CUBLASLT_MATMUL_DESC_BIAS_POINTER && bytes == sizeof operation->bias) {
    std::memcpy(&operation->bias, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (bytes != sizeof(std::int32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      std::memcpy(&operation->epilogue, value, bytes);
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_DESC_TRANSA:
      std::memcpy(&operation->op_a, value, bytes);
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      std::memcpy(&operation->op_b, value, bytes);
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      std::memcpy(&operation->pointer_mode, value, bytes);
      return CUBLAS_STATUS_SUCCESS;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                 std::uint64_t rows, std::uint64_t columns,
                                                 std::int64_t ld) {
  if (rows == 0 || columns == 0 || ld < static_cast<std::int64_t>(rows))
    return CUBLAS_STATUS_INVALID_VALUE;
  return create(layout, Matrix{type, rows, columns, ld});
}
namespace {

template <class Value>
cublasStatus_t answer(const Value& value, void* into, std::size_t bytes, std::size_t* written) {
  if (written != nullptr) *written = sizeof value;
  if (bytes != sizeof value) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(into, &value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

EXPORT cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc,
                                                     cublasLtMatmulDescAttributes_t attribute,
                                                     void* value, std::size_t bytes,
                                                     std::size_t* written) {
  const auto* operation = as<Operation>(desc);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return answer(static_cast<std::int32_t>(operation->compute), value, bytes, written);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return answer(static_cast<std::int32_t>(operation->scale), value, bytes, written);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return answer(operation->pointer_mode, value, bytes, written);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return answer(operation->op_a, value, bytes, written);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return answer(operation->op_b, value, bytes, written);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return answer(operation->epilogue, value, bytes, written);
    // Everything else is as after creation.
    case CUBLASLT_MATMUL_DESC_TRANSC:
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
      return answer(std::int32_t{0}, value, bytes, written);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attribute,
                                                       const void* value, std::size_t bytes) {
  auto* matrix = as<Matrix>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof matrix->batch)
    std::memcpy(&matrix->batch, value, bytes);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
           bytes == sizeof matrix->stride)
    std::memcpy(&matrix->stride, value, bytes);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_ORDER && bytes == sizeof matrix->order)
    std::memcpy(&matrix->order, value, bytes);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                       cublasLtMatrixLayoutAttribute_t attribute,
                                                       void* value, std::size_t bytes,
                                                       std::size_t* written) {
  const auto* matrix = as<Matrix>(layout);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return answer(static_cast<std::uint32_t>(matrix->type), value, bytes, written);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return answer(matrix->order, value, bytes, written);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return answer(matrix->rows, value, bytes, written);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return answer(matrix->columns, value, bytes, written);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return answer(matrix->ld, value, bytes, written);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return answer(matrix->batch, value, bytes, written);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return answer(matrix->stride, value, bytes, written);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy<Matrix>(layout);
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, Preference{0, {256, 256, 256, 256}});
}
EXPORT cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<Preference>(preference);
}
EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
    const void* value, std::size_t bytes) {
  auto* kept = as<Preference>(preference);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof kept->workspace) {
    std::memcpy(&kept->workspace, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == sizeof kept->reductions) {
    std::memcpy(&kept->reductions, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  }
  const int operand = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (operand < 0 || operand > 3 || bytes != sizeof kept->alignment[0])
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&kept->alignment[operand], value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t, cublasComputeType_t,
                                               cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                               cudaDataType_t, cudaDataType_t, int requested,
                                               int ids[], int* returned) {
  ++state.ids_calls;
  *returned = 0;
  for (const int id : kAlgos)
    if (*returned < requested && (id != 66 || state.has_hopper_kernels)) ids[(*returned)++] = id;
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t,
                                             cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                             cudaDataType_t, int id, cublasLtMatmulAlgo_t* algo) {
  if (std::find(std::begin(kAlgos), std::end(kAlgos), id) == std::end(kAlgos))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (id == 66 && !state.has_hopper_kernels) return CUBLAS_STATUS_NOT_SUPPORTED;
  Algo fresh = {};
  fresh.field[CUBLASLT_ALGO_CONFIG_ID] = id;
  fresh.field[CUBLASLT_ALGO_CONFIG_SPLITK_NUM] = 1;
  std::memcpy(algo, &fresh, sizeof fresh);
  return CUBLAS_STATUS_SUCCESS;
}

namespace {

std::size_t config_bytes(cublasLtMatmulAlgoConfigAttributes_t attribute) {
  return attribute >= CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID ? 2 : 4;
}

}  // namespace

EXPORT cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(
    cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attribute, const void* value,
    std::size_t bytes) {
  if (attribute == CUBLASLT_ALGO_CONFIG_ID || bytes != config_bytes(attribute))
    return CUBLAS_STATUS_INVALID_VALUE;
  Algo kept = unpack(*algo);
  kept.field[attribute] = 0;
  std::memcpy(&kept.field[attribute], value, bytes);
  std::memcpy(algo, &kept, sizeof kept);
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
    std::size_t bytes, std::size_t* written) {
  if (bytes != config_bytes(attribute)) return CUBLAS_STATUS_INVALID_VALUE;
  const Algo kept = unpack(*algo);
  std::memcpy(value, &kept.field[attribute], bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                        cublasLtMatmulAlgoCapAttributes_t attribute,
                                                        void* value, std::size_t bytes,
                                                        std::size_t* written) {
  const bool hopper = is_hopper_algo(unpack(*algo));
  std::vector<std::uint32_t> answer;
  switch (attribute) {
    case CUBLASLT_ALGO_CAP_TILE_IDS:
      for (std::uint32_t tile = 1; tile < (hopper ? 600u : 25u); ++tile) answer.push_back(tile);
      break;
    case CUBLASLT_ALGO_CAP_STAGES_IDS:
      if (hopper)
        answer = {35, 36};
      else
        answer = {8, 15, 16};
      break;
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
      answer = {1};
      break;
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
      answer = {hopper ? 2u : 3u};
      break;
    case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
      answer = {hopper ? 0u : 1u};
      break;
    case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
      answer = {hopper ? 3u : 0u};
      break;
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      answer = {hopper ? 16u : 2u};
      break;
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  *written = answer.size() * sizeof answer[0];
  if (bytes == 0) return CUBLAS_STATUS_SUCCESS;
  if (bytes < *written) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, answer.data(), *written);
  return CUBLAS_STATUS_SUCCESS;
}

// Algorithm 66 wants its own stages and leading dimensions of whole 16-byte chunks; split-K needs a
// supported reduction and room for its partial sums.
EXPORT cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              const cublasLtMatmulAlgo_t* algo,
                                              cublasLtMatmulHeuristicResult_t* result) {
  ++state.check_calls;
  const Algo kept = unpack(*algo);
  const auto* output = as<Matrix>(d);
  if (is_hopper_algo(kept)) {
    if (kept.field[CUBLASLT_ALGO_CONFIG_STAGES_ID] != 35) return CUBLAS_STATUS_NOT_SUPPORTED;
    for (const auto* matrix : {as<Matrix>(a), as<Matrix>(b), as<Matrix>(d)})
      if (matrix->ld % 8 != 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  } else if (kept.field[CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID] != 0) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const int split = kept.field[CUBLASLT_ALGO_CONFIG_SPLITK_NUM];
  if (split > 1 && kept.field[CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME] == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  *result = {};
  result->algo = *algo;
  result->workspaceSize = split > 1 ? output->rows * output->columns * 4 * unsigned(split) : 0;
  result->wavesCount = 1;
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int requested, cublasLtMatmulHeuristicResult_t results[],
    int* returned) {
  ++state.heuristic_calls;
  const std::lock_guard lock(state_mutex);
  const auto* kept = as<Preference>(preference);
  state.requested_algos = requested;
  state.workspace_limit = kept->workspace;
  state.reduction_mask = kept->reductions;
  std::copy(std::begin(kept->alignment), std::end(kept->alignment), state.alignment);
  *returned = 0;
  if (state.heuristic_finds_none) return CUBLAS_STATUS_NOT_SUPPORTED;
  struct Choice {
    int id, tile, stages, cluster;
  };
  for (const Choice choice : {Choice{66, 20, 35, 3}, Choice{66, 23, 35, 5}, Choice{24, 20, 16, 0},
                              Choice{24, 15, 15, 0}}) {
    cublasLtMatmulAlgo_t algo;
    if (*returned == requested ||
        cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F,
                               CUDA_R_16F, CUDA_R_16F, choice.id, &algo) != CUBLAS_STATUS_SUCCESS)
      continue;
    Algo configured = unpack(algo);
    configured.field[CUBLASLT_ALGO_CONFIG_TILE_ID] = choice.tile;
    configured.field[CUBLASLT_ALGO_CONFIG_STAGES_ID] = choice.stages;
    configured.field[CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID] = choice.cluster;
    std::memcpy(&algo, &configured, sizeof algo);
    cublasLtMatmulHeuristicResult_t& result = results[*returned];
    if (cublasLtMatmulAlgoCheck(handle, desc, a, b, c, d, &algo, &result) != CUBLAS_STATUS_SUCCESS)
      continue;
    if (*returned == 0) result.workspaceSize = static_cast<std::size_t>(state.heuristic_workspace);
    ++*returned;
  }
  return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha,
                                     const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                                     cublasLtMatrixLayout_t b_layout, const void* beta,
                                     const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                     cublasLtMatrixLayout_t d_layout,
                                     const cublasLtMatmulAlgo_t* algo, void*,
                                     std::size_t workspace_bytes, cudaStream_t) {
  ++state.matmul_calls;
  if (state.matmul_status != 0) return static_cast<cublasStatus_t>(state.matmul_status);
  const auto* operation = as<Operation>(desc);
  const auto *ma = as<Matrix>(a_layout), *mb = as<Matrix>(b_layout), *mc = as<Matrix>(c_layout),
             *md = as<Matrix>(d_layout);
  const bool ta = operation->op_a == CUBLAS_OP_T, tb = operation->op_b == CUBLAS_OP_T;
  const std::uint64_t m = ta ? ma->columns : ma->rows, k = ta ? ma->rows : ma->columns;
  const std::uint64_t kb = tb ? mb->columns : mb->rows, n = tb ? mb->rows : mb->columns;
  if (k != kb || md->rows != m || md->columns != n || mc->rows != m || mc->columns != n)
    return CUBLAS_STATUS_INVALID_VALUE;
  const cudaDataType_t scale = operation->scale;
  Product product{static_cast<std::int64_t>(m),
                  static_cast<std::int64_t>(n),
                  static_cast<std::int64_t>(k),
                  ta,
                  tb,
                  ma->type,
                  a,
                  b,
                  c,
                  d,
                  ma->ld,
                  mb->ld,
                  mc->ld,
                  md->ld,
                  element(alpha, scale, 0),
                  element(beta, scale, 0)};
  product.output = md->type;
  product.epilogue = operation->epilogue;
  product.bias = operation->bias;
  product.batch = md->batch;
  product.stride_a = ma->stride;
  product.stride_b = mb->stride;
  product.stride_c = mc->stride;
  product.stride_d = md->stride;
  product.compute();
  // Written by one thread at a time in the tests that read them.
  if (state.matmul_calls == 1) {
    state.compute_type = operation->compute;
    state.scale_type = scale;
    state.pointer_mode = operation->pointer_mode;
    state.alpha = alpha;
    state.c = c;
    state.workspace_bytes = workspace_bytes;
    const Algo kept = unpack(*algo);
    std::copy(std::begin(kept.field), std::end(kept.field), state.algo);
  }
  return CUBLAS_STATUS_SUCCESS;
}

#ifndef GEMMSMITH_FAKE_LT_ALONE
// cuBLAS.

EXPORT cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  state.cublas_calls.push_back("Create");
  return create(handle, 0);
}
EXPORT cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) { return destroy<int>(handle); }
EXPORT cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  const auto version = static_cast<int>(state.cublas_version);
  *value = type == MAJOR_VERSION   ? version / 10000
           : type == MINOR_VERSION ? version / 100 % 100
                                   : version % 100;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) {
  state.cublas_calls.push_back("SetStream");
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void*, std::size_t bytes) {
  state.cublas_calls.push_back("SetWorkspace");
  state.workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasGemmEx_64(cublasHandle_t, cublasOperation_t op_a,
                                      cublasOperation_t op_b, std::int64_t m, std::int64_t n,
                                      std::int64_t k, const void* alpha, const void* a,
                                      cudaDataType type, std::int64_t lda, const void* b,
                                      cudaDataType, std::int64_t ldb, const void* beta, void* c,
                                      cudaDataType, std::int64_t ldc, cublasComputeType_t compute,
                                      cublasGemmAlgo_t algo) {
  state.cublas_calls.push_back("GemmEx");
  state.gemm_algo = algo;
  state.compute_type = compute;
  const cudaDataType scale = compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F : CUDA_R_32F;
  const Product product{
      m,   n,   k,   op_a == CUBLAS_OP_T,      op_b == CUBLAS_OP_T,    type, a, b, c, c, lda,
      ldb, ldc, ldc, element(alpha, scale, 0), element(beta, scale, 0)};
  product.compute();
  return CUBLAS_STATUS_SUCCESS;
}
EXPORT cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, std::int64_t m, std::int64_t n,
    std::int64_t k, const void* alpha, const void* a, cudaDataType type, std::int64_t lda,
    long long int stride_a, const void* b, cudaDataType, std::int64_t ldb, long long int stride_b,
    const void* beta, void* c, cudaDataType, std::int64_t ldc, long long int stride_c,
    std::int64_t batch, cublasComputeType_t compute, cublasGemmAlgo_t algo) {
  state.cublas_calls.push_back("GemmStridedBatchedEx");
  state.gemm_algo = algo;
  state.compute_type = compute;
  const cudaDataType scale = compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F : CUDA_R_32F;
  Product product{
      m,   n,   k,   op_a == CUBLAS_OP_T,      op_b == CUBLAS_OP_T,    type, a, b, c, c, lda,
      ldb, ldc, ldc, element(alpha, scale, 0), element(beta, scale, 0)};
  product.batch = batch;
  product.stride_a = stride_a;
  product.stride_b = stride_b;
  product.stride_c = product.stride_d = stride_c;
  product.compute();
  return CUBLAS_STATUS_SUCCESS;
}
#endif  // GEMMSMITH_FAKE_LT_ALONE
