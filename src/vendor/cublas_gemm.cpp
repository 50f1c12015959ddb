#include "vendor/cublas_gemm.h"

#include <bit>
#include <utility>

#include "vendor/library_names.h"

namespace gemmsmith::vendor {
namespace {

// CUBLAS_GEMM_AUTOTUNE, which headers before 13.0 lack.
constexpr auto kAutotuneAlgo = std::bit_cast<cublasGemmAlgo_t>(999);

Result<std::size_t> version_of(const CublasFunctions& functions) {
  int parts[3] = {};
  const libraryPropertyType properties[3] = {MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL};
  for (int i = 0; i < 3; ++i)
    GEMMSMITH_CHECK(
        check(functions.GetProperty(properties[i], &parts[i]), "reading cuBLAS's version"));
  return static_cast<std::size_t>(parts[0] * 10000 + parts[1] * 100 + parts[2]);
}

}  // namespace

Result<std::shared_ptr<CublasHandle>> CublasHandle::create(
    std::shared_ptr<const BlasLibrary> library) {
  GEMMSMITH_TRY(auto file,
                DynamicLibrary::open(library_names("GEMMSMITH_CUBLAS", "libcublas"), "cuBLAS",
                                     "install cuBLAS 12 or 13, or name the file in "
                                     "GEMMSMITH_CUBLAS"));
  file.keep_loaded();
  std::shared_ptr<CublasHandle> handle(new CublasHandle(std::move(library), std::move(file)));
#define GEMMSMITH_CUBLAS_LOAD(function) \
  GEMMSMITH_CHECK(handle->library_.load("cublas" #function, handle->functions_.function));
  GEMMSMITH_CUBLAS_FUNCTIONS(GEMMSMITH_CUBLAS_LOAD)
#undef GEMMSMITH_CUBLAS_LOAD
  GEMMSMITH_TRY(handle->version_, version_of(handle->functions_));
  if (handle->version_ != handle->lt_->version_number())
    return fail(ErrorCode::kEnvironment,
                "cuBLAS {} ({}) and cuBLASLt {} ({}) are of different installations; set "
                "GEMMSMITH_CUBLAS and GEMMSMITH_CUBLASLT to one of them",
                version_text(handle->version_), handle->library_.path(), handle->lt_->version(),
                handle->lt_->path());
  if (const cublasStatus_t status = handle->functions_.Create_v2(&handle->handle_);
      status != CUBLAS_STATUS_SUCCESS)
    return fail(ErrorCode::kEnvironment,
                "cannot start cuBLAS {} ({}): {}; it needs a current CUDA context and a driver as "
                "new as itself",
                version_text(handle->version_), handle->library_.path(), describe(status));
  return handle;
}

CublasHandle::~CublasHandle() {
  if (handle_ != nullptr) functions_.Destroy_v2(handle_);
}

Result<CublasGemm> CublasGemm::create(std::shared_ptr<CublasHandle> handle, const Problem& problem,
                                      CublasAlgo algo) {
  if (algo == CublasAlgo::kAutotune && !handle->knows_autotune())
    return fail(ErrorCode::kUnsupported, "CUBLAS_GEMM_AUTOTUNE needs cuBLAS 13.0 or newer");
  if (problem.grouped)
    return fail(ErrorCode::kUnsupported, "cublasGemmEx has no product for {}: it knows no groups",
                describe(problem));
  if (problem.has_epilogue())
    return fail(ErrorCode::kUnsupported, "cublasGemmEx has no product for {}: it has no epilogues",
                describe(problem));
  if (problem.beta != 0 && problem.ldc != problem.ldd)
    return fail(ErrorCode::kUnsupported,
                "cublasGemmEx adds to D in place: ldc = {} and ldd = {} must be equal", problem.ldc,
                problem.ldd);
  if (problem.beta != 0 && problem.stride_c != problem.stride_d)
    return fail(ErrorCode::kUnsupported,
                "cublasGemmStridedBatchedEx adds to D in place: stride_c = {} and stride_d = {} "
                "must be equal",
                problem.stride_c, problem.stride_d);
  return CublasGemm(std::move(handle), problem, algo);
}

Result<void> CublasGemm::prime(const Operands& operands, const Workspace& workspace,
                               CUstream stream) {
  primed_ = true;
  return enqueue(operands, workspace, stream);
}

Result<void> CublasGemm::run(const Operands& operands, const Workspace& workspace,
                             CUstream stream) {
  if (algo_ == CublasAlgo::kAutotune && !primed_)
    return fail(ErrorCode::kInternal,
                "cuBLAS autotune of {} must be primed before it runs: its trial cannot be captured",
                describe(problem_));
  return enqueue(operands, workspace, stream);
}

Result<void> CublasGemm::enqueue(const Operands& operands, const Workspace& workspace,
                                 CUstream stream) {
  if (problem_.beta != 0 && operands.c != operands.d)
    return fail(ErrorCode::kUnsupported,
                "cublasGemmEx adds to D in place: C and D must be one matrix for {}",
                describe(problem_));
  const CublasFunctions& cublas = handle_->functions();
  // In this order: cublasSetStream puts the library's own workspace back.
  GEMMSMITH_CHECK(check(cublas.SetStream_v2(handle_->get(), stream), "setting cuBLAS's stream"));
  GEMMSMITH_CHECK(check(cublas.SetWorkspace_v2(handle_->get(), workspace.data,
                                               static_cast<std::size_t>(workspace.bytes)),
                        "setting cuBLAS's workspace"));
  const ColumnMajor view = column_major(problem_);
  const HostScalars scalars(Scalars::of(problem_), problem_.accumulator);
  const cudaDataType_t type = cuda_type(problem_.type);
  const cudaDataType_t output = cuda_type(problem_.output_type());
  const cublasComputeType_t compute = compute_type(problem_.accumulator);
  const cublasGemmAlgo_t algo =
      algo_ == CublasAlgo::kAutotune ? kAutotuneAlgo : CUBLAS_GEMM_DEFAULT;
  const cublasStatus_t status =
      problem_.is_batched()
          ? cublas.GemmStridedBatchedEx_64(handle_->get(), view.op_a, view.op_b, view.m, view.n,
                                           view.k, scalars.alpha(), operands.b, type, view.lda,
                                           view.stride_a, operands.a, type, view.ldb, view.stride_b,
                                           scalars.beta(), operands.d, output, view.ldd,
                                           view.stride_d, view.batch, compute, algo)
          : cublas.GemmEx_64(handle_->get(), view.op_a, view.op_b, view.m, view.n, view.k,
                             scalars.alpha(), operands.b, type, view.lda, operands.a, type,
                             view.ldb, scalars.beta(), operands.d, output, view.ldd, compute, algo);
  if (status != CUBLAS_STATUS_SUCCESS)
    return fail(
        status == CUBLAS_STATUS_NOT_SUPPORTED ? ErrorCode::kUnsupported : ErrorCode::kDevice,
        "{} of {} failed: {}",
        problem_.is_batched() ? "cublasGemmStridedBatchedEx" : "cublasGemmEx", describe(problem_),
        describe(status));
  return {};
}

}  // namespace gemmsmith::vendor
