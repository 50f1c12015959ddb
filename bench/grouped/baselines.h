// baselines.h -- what a user has without grouped kernels: a loop of tuned cuBLASLt calls, one a
// group, and cublasGemmGroupedBatchedEx. Both must know every group's rows on the host.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "grouped/cases.h"
#include "measure/gpu_session.h"
#include "measure/vendor_launches.h"

namespace gemmsmith::grouped {

// The groups' calls one after the other, each by the best of what the heuristic names for its
// number of rows.
class LtLoop : public Launch {
 public:
  static Result<std::unique_ptr<LtLoop>> tune(GpuSession& session, const Case& groups);
  Result<void> enqueue(const plan::Operands& operands, CUstream stream) override;

 private:
  LtLoop(GpuSession& session, const Case& groups) : session_(session), groups_(groups) {}
  Result<void> tune(std::int64_t rows);

  struct Call {
    std::unique_ptr<vendor::LtMatmul> matmul;
    vendor::LtAlgo algo;
  };
  GpuSession& session_;
  const Case& groups_;
  std::map<std::int64_t, Call> calls_;  // by rows
};

// One call; its arrays of pointers are made before, for every operand set of the layout.
class CublasGrouped : public Launch {
 public:
  // kUnsupported where the library has no such function (before cuBLAS 12.5).
  static Result<std::unique_ptr<CublasGrouped>> create(GpuSession& session, const Case& groups,
                                                       void* base, const OperandLayout& layout);
  Result<void> enqueue(const plan::Operands& operands, CUstream stream) override;

 private:
  using Function = decltype(::cublasGemmGroupedBatchedEx_64);
  CublasGrouped(GpuSession& session, const Case& groups) : session_(session), groups_(groups) {}
  Result<void> make_arrays(void* base, const OperandLayout& layout);

  struct Arrays {  // on the device, `count` pointers each
    const void* const* a = nullptr;
    const void* const* b = nullptr;
    void* const* c = nullptr;
  };
  GpuSession& session_;
  const Case& groups_;
  Function* function_ = nullptr;
  DeviceBuffer pointers_;
  std::map<const void*, Arrays> arrays_;  // by A, of an operand set
  std::vector<cublasOperation_t> transa_, transb_;
  std::vector<std::int64_t> m_, n_, k_, lda_, ldb_, ldc_, sizes_;
  std::vector<float> alpha_, beta_;
};

}  // namespace gemmsmith::grouped
