// fixture.h -- whole calls of the C API without a GPU: the fake driver and the fake cuBLASLt run
// them on host memory. Products of small whole numbers, so that results are exact.
#pragma once

#include <gemmsmith/gemmsmith.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/fake_gpu.h"
#include "vendor/fake_cublaslt.h"

namespace gemmsmith::runtime {

// The fake cuBLASLt's state.
FakeCublasLt& fake_lt();

// 16-bit elements of the type, on a chosen alignment, surrounded by guard words.
class HostMatrix {
 public:
  // `offset` elements after a 256-byte boundary.
  HostMatrix(std::int32_t type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
             std::int64_t offset = 0);
  void* data() { return elements(); }
  const void* data() const { return const_cast<HostMatrix*>(this)->elements(); }
  double at(std::int64_t row, std::int64_t column) const;
  void set(std::int64_t row, std::int64_t column, double value);
  void fill_whole_numbers(int seed);
  void fill_nan();
  // Words outside rows x columns, guards included, that are no longer what they were made as.
  int damaged_words() const;
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

 private:
  std::uint16_t* elements();
  std::int32_t type_;
  std::int64_t rows_, columns_, ld_;
  std::size_t begin_;
  std::vector<std::uint16_t> words_;
};

struct ProductOptions {
  std::int32_t transa = GEMMSMITH_OP_T;
  std::int32_t transb = GEMMSMITH_OP_N;
  std::int32_t type = GEMMSMITH_R_16F;
  std::int32_t compute_type = GEMMSMITH_COMPUTE_32F;
  std::int64_t m = 16, n = 24, k = 32;
  std::int64_t pad_a = 0, pad_b = 0, pad_c = 0, pad_d = 0;              // of leading dimensions
  std::int64_t offset_a = 0, offset_b = 0, offset_c = 0, offset_d = 0;  // elements
};

// One product: problem, matrices, and the reference.
class Product {
 public:
  explicit Product(const ProductOptions& options = {});
  gemmsmithProblem_t problem = {};
  HostMatrix a, b, c, d;

  // alpha and beta as floats, converted for compute_type.
  gemmsmithStatus_t run(gemmsmithHandle_t handle, float alpha = 1, float beta = 0,
                        bool c_is_d = false);
  // "" where D is alpha op(A) op(B) + beta C exactly, and nothing else was written.
  std::string difference(float alpha = 1, float beta = 0) const;
  // As run(), then the status's and difference()'s text.
  std::string run_and_compare(gemmsmithHandle_t handle, float alpha = 1, float beta = 0);

  std::vector<std::byte> workspace_storage = std::vector<std::byte>(1 << 16);
  std::size_t workspace_bytes = 1 << 15;
  gemmsmithStream_t stream = nullptr;

 private:
  ProductOptions options_;
};

// A handle on the fake H200, its context current; fakes reset.
class RuntimeTest : public testing::Test {
 public:
  // Makes device `ordinal`'s context current on the calling thread; -1: none.
  static void use_device(int ordinal);

 protected:
  RuntimeTest();
  ~RuntimeTest() override;
  FakeGpu& gpu() { return fake_gpu(); }

  gemmsmithHandle_t handle_ = nullptr;
};

gemmsmithPlanInfo_t plan_info(gemmsmithHandle_t handle, const gemmsmithProblem_t& problem);

}  // namespace gemmsmith::runtime
