// program.cpp -- a program that calls cuBLAS and knows nothing of gemmsmith: it makes the calls
// that its arguments describe and prints, for each, who served it (kernel, lt, cublas, nobody), the
// status and whether the result is exact. Calls are separated by "--"; a word is name=value.
#include <cublasLt.h>
#include <cublas_api.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "blas/fake_cublas.h"
#include "runtime/fake_gpu.h"
#include "vendor/fake_cublaslt.h"

extern "C" FakeCublasLt* fake_cublaslt_state();
extern "C" cublasStatus_t fake_cusolver_multiply(cublasHandle_t handle, int size,
                                                 const float* alpha, const void* a, const void* b,
                                                 const float* beta, void* c);

namespace {

using Words = std::map<std::string, std::string>;

struct Call {
  std::string function = "GemmEx";
  int m = 64, n = 64, k = 64;
  int transa = CUBLAS_OP_T, transb = CUBLAS_OP_N;
  cudaDataType type = CUDA_R_16F;
  int out = -1;  // the type of C, where it is not `type`
  int compute = CUBLAS_COMPUTE_32F;
  int algo = CUBLAS_GEMM_DEFAULT;
  int batch = 1;
  int dense = 0;  // 1: the matrices of the batch follow each other; else all strides are 0
  int math = CUBLAS_DEFAULT_MATH;
  int pointer_mode = CUBLAS_POINTER_MODE_HOST;
  int sm_count = 0;
  int epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int order = CUBLASLT_ORDER_COL;
  int workspace = 0;     // bytes given to the handle, or to cublasLtMatmul
  int stream_after = 0;  // sets the stream after the workspace, which takes it back
  int odd_scalars = 0;
  int repeat = 1;
  int null_handle = 0;
  double alpha = 1, beta = 0;
};

Call call_of(const Words& words) {
  Call call;
  const std::map<std::string, int*> numbers = {{"m", &call.m},
                                               {"n", &call.n},
                                               {"k", &call.k},
                                               {"transa", &call.transa},
                                               {"transb", &call.transb},
                                               {"out", &call.out},
                                               {"compute", &call.compute},
                                               {"algo", &call.algo},
                                               {"batch", &call.batch},
                                               {"dense", &call.dense},
                                               {"math", &call.math},
                                               {"pointer_mode", &call.pointer_mode},
                                               {"sm_count", &call.sm_count},
                                               {"epilogue", &call.epilogue},
                                               {"order", &call.order},
                                               {"workspace", &call.workspace},
                                               {"stream_after", &call.stream_after},
                                               {"odd_scalars", &call.odd_scalars},
                                               {"repeat", &call.repeat},
                                               {"null_handle", &call.null_handle}};
  for (const auto& [name, value] : words) {
    if (const auto found = numbers.find(name); found != numbers.end())
      *found->second = std::atoi(value.c_str());
    else if (name == "function")
      call.function = value;
    else if (name == "type")
      call.type = static_cast<cudaDataType>(std::atoi(value.c_str()));
    else if (name == "alpha")
      call.alpha = std::atof(value.c_str());
    else if (name == "beta")
      call.beta = std::atof(value.c_str());
    else if (name == "capturing")
      fake_gpu().is_capturing = value == "1";
    else if (name == "fail_launch")
      fake_gpu().fail_launch = value == "1";
    else if (name == "through_lt")
      fake_cublas_state()->works_through_lt = value == "1";
    else
      std::exit(2);
  }
  return call;
}

template <class T>
T* aligned(std::vector<T>& storage) {
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  return storage.data() + (256 - address % 256) % 256 / sizeof(T);
}

struct Matrix {
  // `copies` of it side by side.
  Matrix(cudaDataType element, int row_count, int column_count, int seed, int copies)
      : type(element),
        rows(row_count),
        columns(column_count * copies),
        stride(copies > 1 ? row_count * column_count : 0) {
    const auto count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    storage.resize(count * 2 + 256);  // of f32, too
    unsigned x = static_cast<unsigned>(seed) * 2654435761U + 1;
    for (int i = 0; i < rows * columns; ++i) {
      x = x * 1664525U + 1013904223U;
      set(i, static_cast<int>((x >> 24) % 5) - 2);
    }
  }
  void* data() { return aligned(storage); }
  // The words may lie elsewhere in the two storages.
  void copy_from(Matrix& other) {
    for (int i = 0; i < rows * columns; ++i) set(i, other.at(i));
  }
  void set(int index, double value) {
    const auto narrow = static_cast<float>(value);
    if (type == CUDA_R_16F)
      static_cast<__half*>(data())[index] = __float2half(narrow);
    else if (type == CUDA_R_16BF)
      static_cast<__nv_bfloat16*>(data())[index] = __float2bfloat16(narrow);
    else
      static_cast<float*>(data())[index] = narrow;
  }
  double at(int index) {
    if (type == CUDA_R_16F) return __half2float(static_cast<__half*>(data())[index]);
    if (type == CUDA_R_16BF) return __bfloat162float(static_cast<__nv_bfloat16*>(data())[index]);
    return static_cast<double>(static_cast<float*>(data())[index]);
  }
  int one_columns(int batch) const { return stride > 0 ? columns / batch : columns; }
  cudaDataType type;
  int rows, columns;
  int stride;  // between copies
  std::vector<std::uint16_t> storage;
};

// alpha or beta in the scale type, at an odd address where asked.
struct Scalar {
  Scalar(const Call& call, double value) : offset(call.odd_scalars != 0 ? 1 : 0) {
    if (call.compute == CUBLAS_COMPUTE_16F) {
      const __half half = __float2half(static_cast<float>(value));
      std::memcpy(bytes + offset, &half, sizeof half);
    } else {
      const auto narrow = static_cast<float>(value);
      std::memcpy(bytes + offset, &narrow, sizeof narrow);
    }
  }
  const void* data() const { return bytes + offset; }
  int offset;
  alignas(8) unsigned char bytes[8] = {};
};

std::vector<unsigned char>& workspace_storage() {
  static std::vector<unsigned char> storage(1 << 20);
  return storage;
}

cublasStatus_t run_lt(const Call& call, const Scalar& alpha, const Scalar& beta, Matrix& a,
                      Matrix& b, Matrix& c) {
  cublasLtHandle_t lt = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t layouts[3] = {};
  cublasLtCreate(&lt);
  cublasLtMatmulDescCreate(&operation, static_cast<cublasComputeType_t>(call.compute),
                           call.compute == CUBLAS_COMPUTE_16F ? CUDA_R_16F : CUDA_R_32F);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, std::int32_t value) {
    cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, call.transa);
  set(CUBLASLT_MATMUL_DESC_TRANSB, call.transb);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, call.epilogue);
  set(CUBLASLT_MATMUL_DESC_POINTER_MODE, call.pointer_mode);
  int index = 0;
  for (const Matrix* matrix : {&a, &b, &c}) {
    cublasLtMatrixLayoutCreate(
        &layouts[index], matrix->type, static_cast<std::uint64_t>(matrix->rows),
        static_cast<std::uint64_t>(matrix->one_columns(call.batch)), matrix->rows);
    cublasLtMatrixLayoutSetAttribute(layouts[index], CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                     &call.batch, sizeof call.batch);
    const std::int64_t stride = matrix->stride;
    cublasLtMatrixLayoutSetAttribute(layouts[index], CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                     &stride, sizeof stride);
    cublasLtMatrixLayoutSetAttribute(layouts[index], CUBLASLT_MATRIX_LAYOUT_ORDER, &call.order,
                                     sizeof call.order);
    ++index;
  }
  const cublasLtMatmulAlgo_t algo = {};
  const cublasStatus_t status = cublasLtMatmul(
      call.null_handle != 0 ? nullptr : lt, operation, alpha.data(), a.data(), layouts[0], b.data(),
      layouts[1], beta.data(), c.data(), layouts[2], c.data(), layouts[2], &algo,
      call.workspace != 0 ? aligned(workspace_storage()) : nullptr,
      static_cast<std::size_t>(call.workspace), nullptr);
  for (const cublasLtMatrixLayout_t layout : layouts) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(operation);
  cublasLtDestroy(lt);
  return status;
}

cublasStatus_t run(const Call& call, cublasHandle_t handle, const Scalar& alpha_scalar,
                   const Scalar& beta_scalar, Matrix& a, Matrix& b, Matrix& c) {
  const auto ta = static_cast<cublasOperation_t>(call.transa);
  const auto tb = static_cast<cublasOperation_t>(call.transb);
  const auto compute = static_cast<cublasComputeType_t>(call.compute);
  const auto algo = static_cast<cublasGemmAlgo_t>(call.algo);
  const int m = call.m, n = call.n, k = call.k;
  const int lda = std::max(1, a.rows), ldb = std::max(1, b.rows), ldc = std::max(1, c.rows);
  const void* alpha = alpha_scalar.data();
  const void* beta = beta_scalar.data();
  const auto* half_alpha = static_cast<const __half*>(alpha);
  const auto* half_beta = static_cast<const __half*>(beta);
  const auto* half_a = static_cast<const __half*>(a.data());
  const auto* half_b = static_cast<const __half*>(b.data());
  auto* half_c = static_cast<__half*>(c.data());
  const std::string& f = call.function;
  if (f == "GemmEx")
    return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a.data(), a.type, lda, b.data(), b.type,
                        ldb, beta, c.data(), c.type, ldc, compute, algo);
  if (f == "GemmEx_64")
    return cublasGemmEx_64(handle, ta, tb, m, n, k, alpha, a.data(), a.type, lda, b.data(), b.type,
                           ldb, beta, c.data(), c.type, ldc, compute, algo);
  if (f == "Hgemm")
    return cublasHgemm(handle, ta, tb, m, n, k, half_alpha, half_a, lda, half_b, ldb, half_beta,
                       half_c, ldc);
  if (f == "Hgemm_64")
    return cublasHgemm_64(handle, ta, tb, m, n, k, half_alpha, half_a, lda, half_b, ldb, half_beta,
                          half_c, ldc);
  if (f == "GemmStridedBatchedEx")
    return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a.data(), a.type, lda,
                                      a.stride, b.data(), b.type, ldb, b.stride, beta, c.data(),
                                      c.type, ldc, c.stride, call.batch, compute, algo);
  if (f == "GemmStridedBatchedEx_64")
    return cublasGemmStridedBatchedEx_64(handle, ta, tb, m, n, k, alpha, a.data(), a.type, lda,
                                         a.stride, b.data(), b.type, ldb, b.stride, beta, c.data(),
                                         c.type, ldc, c.stride, call.batch, compute, algo);
  if (f == "HgemmStridedBatched")
    return cublasHgemmStridedBatched(handle, ta, tb, m, n, k, half_alpha, half_a, lda, a.stride,
                                     half_b, ldb, b.stride, half_beta, half_c, ldc, c.stride,
                                     call.batch);
  if (f == "HgemmStridedBatched_64")
    return cublasHgemmStridedBatched_64(handle, ta, tb, m, n, k, half_alpha, half_a, lda, a.stride,
                                        half_b, ldb, b.stride, half_beta, half_c, ldc, c.stride,
                                        call.batch);
  const void* as[] = {a.data()};
  const void* bs[] = {b.data()};
  void* cs[] = {c.data()};
  if (f == "GemmBatchedEx")
    return cublasGemmBatchedEx(handle, ta, tb, m, n, k, alpha, as, a.type, lda, bs, b.type, ldb,
                               beta, cs, c.type, ldc, call.batch, compute, algo);
  if (f == "GemmBatchedEx_64")
    return cublasGemmBatchedEx_64(handle, ta, tb, m, n, k, alpha, as, a.type, lda, bs, b.type, ldb,
                                  beta, cs, c.type, ldc, call.batch, compute, algo);
  const __half* half_as[] = {half_a};
  const __half* half_bs[] = {half_b};
  __half* half_cs[] = {half_c};
  if (f == "HgemmBatched")
    return cublasHgemmBatched(handle, ta, tb, m, n, k, half_alpha, half_as, lda, half_bs, ldb,
                              half_beta, half_cs, ldc, call.batch);
  if (f == "HgemmBatched_64")
    return cublasHgemmBatched_64(handle, ta, tb, m, n, k, half_alpha, half_as, lda, half_bs, ldb,
                                 half_beta, half_cs, ldc, call.batch);
  if (f == "cusolver")
    return fake_cusolver_multiply(handle, m, static_cast<const float*>(alpha), a.data(), b.data(),
                                  static_cast<const float*>(beta), c.data());
  std::exit(2);
}

bool is_exact(const Call& call, Matrix& a, Matrix& b, Matrix& before, Matrix& after, int at) {
  for (int j = 0; j < call.n; ++j)
    for (int i = 0; i < call.m; ++i) {
      double sum = 0;
      for (int p = 0; p < call.k; ++p)
        sum += a.at(at * a.stride + (call.transa != 0 ? p + i * a.rows : i + p * a.rows)) *
               b.at(at * b.stride + (call.transb != 0 ? j + p * b.rows : p + j * b.rows));
      double expected = call.alpha * sum;
      if (call.beta != 0)
        expected += call.beta * before.at(at * before.stride + i + j * before.rows);
      if (after.at(at * after.stride + i + j * after.rows) != expected) return false;
    }
  return true;
}

bool is_exact(const Call& call, Matrix& a, Matrix& b, Matrix& before, Matrix& after) {
  for (int at = 0; at < call.batch; ++at)
    if (!is_exact(call, a, b, before, after, at)) return false;
  return true;
}

std::string perform(const Call& call) {
  const int copies = call.dense != 0 ? call.batch : 1;
  Matrix a(call.type, call.transa != 0 ? call.k : call.m, call.transa != 0 ? call.m : call.k, 1,
           copies);
  Matrix b(call.type, call.transb != 0 ? call.n : call.k, call.transb != 0 ? call.k : call.n, 2,
           copies);
  const cudaDataType out = call.out < 0 ? call.type : static_cast<cudaDataType>(call.out);
  Matrix before(out, call.m, call.n, 3, copies);
  Matrix after(out, call.m, call.n, 4, copies);
  const Scalar alpha(call, call.alpha);
  const Scalar beta(call, call.beta);
  cublasHandle_t handle = nullptr;
  cublasCreate_v2(&handle);
  cublasSetMathMode(handle, static_cast<cublasMath_t>(call.math));
  cublasSetPointerMode_v2(handle, static_cast<cublasPointerMode_t>(call.pointer_mode));
  cublasSetSmCountTarget(handle, call.sm_count);
  if (call.workspace != 0)
    cublasSetWorkspace_v2(handle, aligned(workspace_storage()),
                          static_cast<std::size_t>(call.workspace));
  if (call.stream_after != 0) cublasSetStream_v2(handle, nullptr);
  const int launches = fake_gpu().launches;
  const int lt_calls = fake_cublaslt_state()->matmul_calls;
  const int cublas_calls = fake_cublas_state()->gemm_calls;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  for (int i = 0; i < call.repeat; ++i) {
    after.copy_from(before);
    status = call.function == "LtMatmul"
                 ? run_lt(call, alpha, beta, a, b, after)
                 : run(call, call.null_handle != 0 ? nullptr : handle, alpha, beta, a, b, after);
  }
  std::string by;
  if (fake_gpu().launches != launches) by += "kernel ";
  if (fake_cublaslt_state()->matmul_calls != lt_calls) by += "lt ";
  if (fake_cublas_state()->gemm_calls != cublas_calls) by += "cublas ";
  if (by.empty()) by = "nobody ";
  if (by == "cublas " && fake_cublas_state()->last_alpha != alpha.data()) by = "cublas-changed ";
  cublasDestroy_v2(handle);
  const bool is_computed = status == CUBLAS_STATUS_SUCCESS &&
                           (call.batch == 1 || (call.dense != 0 && by == "kernel ")) &&
                           call.order == CUBLASLT_ORDER_COL &&
                           call.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
  return by + "status=" + std::to_string(status) +
         (!is_computed                          ? ""
          : is_exact(call, a, b, before, after) ? " exact"
                                                : " WRONG");
}

void make_current() {
  CUcontext context = nullptr;
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
}

}  // namespace

int main(int argc, char** argv) {
  make_current();
  std::vector<Words> calls(1);
  int threads = 0;
  bool forks = false;
  bool exits_at_once = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") {
      calls.emplace_back();
    } else if (word == "fork") {
      forks = true;
    } else if (word == "exit") {
      exits_at_once = true;
    } else if (word.rfind("threads=", 0) == 0) {
      threads = std::atoi(word.c_str() + 8);
    } else {
      const std::size_t at = word.find('=');
      calls.back()[word.substr(0, at)] = word.substr(at + 1);
    }
  }
  if (threads > 0) {  // the first call, by all threads at once
    std::vector<std::thread> running;
    std::vector<std::string> results(static_cast<std::size_t>(threads));
    for (std::string& result : results)
      running.emplace_back([&] {
        make_current();
        result = perform(call_of(calls[0]));
        // While the first thread makes the table's kernels ready, cuBLAS serves the others.
        result.erase(0, result.find("status"));
      });
    for (std::thread& thread : running) thread.join();
    std::sort(results.begin(), results.end());
    results.erase(std::unique(results.begin(), results.end()), results.end());
    for (const std::string& result : results) std::printf("%s\n", result.c_str());
  } else {
    for (const Words& words : calls) std::printf("%s\n", perform(call_of(words)).c_str());
  }
  std::fflush(stdout);
  if (forks && fork() == 0) return 0;
  if (exits_at_once) _exit(3);
  return 0;
}
