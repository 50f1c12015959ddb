// vendor_launches.h -- cuBLASLt algorithms and cuBLAS calls as launches.
#pragma once

#include <memory>

#include "measure/launch.h"
#include "vendor/cublas_gemm.h"
#include "vendor/lt_matmul.h"

namespace gemmsmith {

// The matmul must outlive it.
class LtLaunch : public Launch {
 public:
  LtLaunch(const vendor::LtMatmul& matmul, const vendor::LtAlgo& algo, vendor::Workspace workspace)
      : matmul_(matmul), algo_(algo), workspace_(workspace) {}

  Result<void> enqueue(const plan::Operands& o, CUstream stream) override {
    return matmul_.run(algo_, {o.a, o.b, o.c, o.d}, workspace_, stream);
  }
  const vendor::LtAlgo& algo() const { return algo_; }

 private:
  const vendor::LtMatmul& matmul_;
  vendor::LtAlgo algo_;
  vendor::Workspace workspace_;
};

class CublasLaunch : public Launch {
 public:
  // Not for problems with beta: cublasGemmEx adds in place, and the harness keeps C and D apart.
  static Result<std::unique_ptr<CublasLaunch>> create(std::shared_ptr<vendor::CublasHandle> handle,
                                                      const Problem& problem,
                                                      vendor::CublasAlgo algo,
                                                      vendor::Workspace workspace) {
    if (problem.beta != 0)
      return fail(ErrorCode::kUnsupported,
                  "cublasGemmEx adds in place: no baseline for {} with C apart from D",
                  describe(problem));
    GEMMSMITH_TRY(vendor::CublasGemm gemm,
                  vendor::CublasGemm::create(std::move(handle), problem, algo));
    return std::unique_ptr<CublasLaunch>(new CublasLaunch(std::move(gemm), workspace));
  }

  // Before the first capture: lets autotune try its algorithms.
  Result<void> prime(const plan::Operands& o, CUstream stream) {
    return gemm_.prime({o.a, o.b, o.d, o.d}, workspace_, stream);
  }
  Result<void> enqueue(const plan::Operands& o, CUstream stream) override {
    return gemm_.run({o.a, o.b, o.d, o.d}, workspace_, stream);
  }

 private:
  CublasLaunch(vendor::CublasGemm gemm, vendor::Workspace workspace)
      : gemm_(std::move(gemm)), workspace_(workspace) {}
  vendor::CublasGemm gemm_;
  vendor::Workspace workspace_;
};

}  // namespace gemmsmith
