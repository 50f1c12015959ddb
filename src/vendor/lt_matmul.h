// lt_matmul.h -- one problem's cuBLASLt descriptors: ask the heuristic, check an algorithm, enqueue
// it. Everything is fixed at creation, so a call only passes pointers.
#pragma once

#include <memory>
#include <vector>

#include "vendor/blas_library.h"
#include "vendor/blas_types.h"

namespace gemmsmith::vendor {

// An algorithm the library has checked for one problem.
struct LtAlgo {
  cublasLtMatmulAlgo_t algo = {};
  std::int64_t workspace_bytes = 0;  // what it needs
  float waves = 0;                   // of CTAs, as the library counts
};

// Whether the library applies it to a product.
bool lt_has(Activation activation);

class LtMatmul {
 public:
  // `workspace_bytes` bounds what algorithms may use. Where beta is 0 (host scalars), C is never
  // read and Operands::c may be null. Errors: kUnsupported (nothing to compute: an empty problem or
  // k = 0), kDevice.
  static Result<LtMatmul> create(std::shared_ptr<const LtHandle> handle, const Problem& problem,
                                 std::int64_t workspace_bytes, ScalarMode mode = ScalarMode::kHost,
                                 const Extras& extras = {});

  // At most `count` algorithms in the library's order, each usable. kUnsupported where it has none.
  Result<std::vector<LtAlgo>> heuristics(int count) const;

  // The library's verdict on a configured algorithm (cublasLtMatmulAlgoCheck), its workspace and
  // its pointer alignment. kUnsupported says which of them failed.
  Result<LtAlgo> check(const cublasLtMatmulAlgo_t& algo) const;

  // Enqueues one product on `stream`: no synchronisation, no allocation of ours, legal under
  // capture. The scalars' mode must be the one given to create().
  Result<void> run(const LtAlgo& algo, const Operands& operands, const Scalars& scalars,
                   const Workspace& workspace, CUstream stream) const;
  // With the problem's own alpha and beta.
  Result<void> run(const LtAlgo& algo, const Operands& operands, const Workspace& workspace,
                   CUstream stream) const {
    return run(algo, operands, Scalars::of(problem_), workspace, stream);
  }

  const Problem& problem() const { return problem_; }
  std::int64_t workspace_limit() const { return workspace_bytes_; }
  const LtHandle& handle() const { return *handle_; }

  LtMatmul(LtMatmul&& other) noexcept;
  LtMatmul& operator=(LtMatmul&& other) noexcept;
  LtMatmul(const LtMatmul&) = delete;
  LtMatmul& operator=(const LtMatmul&) = delete;
  ~LtMatmul();

 private:
  LtMatmul() = default;
  Result<void> create_descriptors();
  Result<void> create_layouts();
  Result<void> create_preference();

  std::shared_ptr<const LtHandle> handle_;
  Problem problem_;
  Extras extras_;
  std::int64_t workspace_bytes_ = 0;
  ScalarMode mode_ = ScalarMode::kHost;
  bool reads_c_ = false;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr, d_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
};

}  // namespace gemmsmith::vendor
