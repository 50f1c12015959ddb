// harness_kernels.h -- the utility kernels (kernels/harness.cu, reference.cu) as typed calls. Each
// enqueues on a stream and returns; sizes are elements, words are 16 bits.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/cuda.h"
#include "kernels/parts/harness_args.cuh"
#include "measure/operands.h"
#include "problem/problem.h"

namespace gemmsmith {

// What a check writes: how many differ and where the first is; kNothingFound before and where
// nothing was found.
struct Report {
  std::uint64_t count = 0;
  std::uint64_t first = ~0ULL;
};

// The cubins that the harness is made of, and the one that kernels' packing is done by.
struct HarnessCubins {
  std::string_view harness;
  std::string_view reference;
  std::string_view pack;
};

class HarnessKernels {
 public:
  static Result<HarnessKernels> load(const Driver& driver, const HarnessCubins& cubins,
                                     int sm_count);

  // A batch whose matrices overlap is filled as a whole, padding included.
  Result<void> fill_normal(CUstream stream, CUdeviceptr data, const MatrixShape& shape,
                           DataType type, std::uint64_t seed, std::uint64_t sequence) const;
  Result<void> fill_integers(CUstream stream, CUdeviceptr data, const MatrixShape& shape,
                             DataType type, int low, int high, std::uint64_t seed,
                             std::uint64_t sequence) const;
  Result<void> fill_pattern(CUstream stream, CUdeviceptr words, std::int64_t count,
                            std::uint16_t pattern) const;

  // `bitwise`: the same bits; else the same values (zeros of either sign, NaNs of any payload).
  Result<void> compare(CUstream stream, CUdeviceptr actual, CUdeviceptr expected,
                       const MatrixShape& shape, DataType type, bool bitwise,
                       CUdeviceptr report) const;
  Result<void> compare_words(CUstream stream, CUdeviceptr actual, CUdeviceptr expected,
                             std::int64_t count, CUdeviceptr report) const;
  // Everything of the region but the matrices' elements must hold the pattern. Of a batch they must
  // be apart.
  Result<void> check_guard(CUstream stream, CUdeviceptr base, const Region& region,
                           const MatrixShape& shape, std::uint16_t pattern,
                           CUdeviceptr report) const;

  // FP64 sums of A(i, l) * B(l, j) and of their magnitudes at Positions.
  Result<void> reference_sampled(CUstream stream, const Problem& problem,
                                 const plan::Operands& operands, CUdeviceptr positions, int samples,
                                 CUdeviceptr sums, CUdeviceptr magnitudes) const;
  Result<void> gather(CUstream stream, CUdeviceptr data, const MatrixShape& shape, DataType type,
                      CUdeviceptr positions, int samples, CUdeviceptr values) const;
  // Adds sum (actual - expected)^2 and sum expected^2 to two f64.
  Result<void> error_norms(CUstream stream, CUdeviceptr actual, CUdeviceptr expected,
                           const MatrixShape& shape, DataType type, CUdeviceptr norms) const;
  // The naive product, summed in FP64.
  Result<void> reference(CUstream stream, const Problem& problem,
                         const plan::Operands& operands) const;

  // What stands between two products of a model.
  Result<void> foreign_pass(CUstream stream, CUdeviceptr floats, std::int64_t count) const;
  Result<void> empty(CUstream stream) const;

  // For plan::launch().
  CUfunction pack() const { return pack_; }

 private:
  Result<void> launch(CUfunction function, std::int64_t work, CUstream stream, void** arguments,
                      const char* doing) const;

  const Driver* driver_ = nullptr;
  int sm_count_ = 0;
  Module harness_module_;
  Module reference_module_;
  Module pack_module_;
  CUfunction fill_normal_ = nullptr;
  CUfunction fill_integers_ = nullptr;
  CUfunction fill_pattern_ = nullptr;
  CUfunction compare_exact_ = nullptr;
  CUfunction compare_words_ = nullptr;
  CUfunction check_guard_ = nullptr;
  CUfunction reference_sampled_ = nullptr;
  CUfunction gather_sampled_ = nullptr;
  CUfunction error_norms_ = nullptr;
  CUfunction foreign_pass_ = nullptr;
  CUfunction empty_kernel_ = nullptr;
  CUfunction reference_gemm_ = nullptr;
  CUfunction pack_ = nullptr;
};

}  // namespace gemmsmith
