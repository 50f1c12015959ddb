// fake_fixture.h -- tests of the vendor layer against the fake library: a handle of it, its state,
// and problems with small whole numbers whose product is known exactly.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fake_cublaslt.h"
#include "problem/matrix_shape.h"
#include "vendor/lt_matmul.h"

namespace gemmsmith::vendor {

// The value of an environment variable for the life of the object.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const std::string& value);
  ~ScopedEnv();
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;

 private:
  const char* name_;
};

class FakeLibraryTest : public testing::Test {
 protected:
  FakeLibraryTest();
  // Also checks that every handle and descriptor was given back.
  ~FakeLibraryTest() override;

  FakeCublasLt& fake() { return *fake_; }
  std::shared_ptr<const LtHandle> handle();

  ScopedEnv lt_file_{"GEMMSMITH_CUBLASLT", GEMMSMITH_FAKE_CUBLASLT};
  ScopedEnv cublas_file_{"GEMMSMITH_CUBLAS", GEMMSMITH_FAKE_CUBLASLT};

 private:
  void* module_ = nullptr;
  FakeCublasLt* fake_ = nullptr;
};

// make_problem of sizes and layout, the rest default; fails the test on an error.
Problem problem_of(std::int64_t m, std::int64_t n, std::int64_t k, Layout layout = Layout::kTN);

// Host matrices of a problem, with rows padded to its leading dimensions.
class HostProduct {
 public:
  explicit HostProduct(const Problem& problem);
  Operands operands() { return {a_.data(), b_.data(), c_.data(), d_.data()}; }
  Operands in_place() { return {a_.data(), b_.data(), d_.data(), d_.data()}; }
  // What D differs in from alpha op(A) op(B) + beta C, computed row-major from Problem's own
  // definition; empty when equal. `in_place`: C was D's initial content.
  std::string difference(bool in_place = false) const;

 private:
  static std::int64_t words(const Problem& problem, const MatrixShape& shape);
  double value(const std::vector<std::uint16_t>& matrix, std::int64_t index) const;

  Problem problem_;
  std::vector<std::uint16_t> a_, b_, c_, d_, initial_d_;
};

}  // namespace gemmsmith::vendor
