// The C++ face: ownership moves with the handle, failures are exceptions with status and text.
#include <gemmsmith/gemmsmith.hpp>

#include "runtime/fixture.h"

namespace gemmsmith::runtime {
namespace {

TEST_F(RuntimeTest, CppHandleMultiplies) {
  Product product;
  gemmsmith::Handle first;
  const gemmsmith::Handle handle = std::move(first);
  EXPECT_EQ(first.get(), nullptr);
  const float one = 1;
  const float zero = 0;
  handle.matmul(product.problem, &one, product.a.data(), product.b.data(), &zero, nullptr,
                product.d.data(), nullptr, 0, nullptr);
  EXPECT_EQ(product.difference(), "");
  EXPECT_EQ(handle.workspace_size(product.problem), std::size_t{64} << 20);
  EXPECT_EQ(handle.plan_info(product.problem).source, GEMMSMITH_SOURCE_CUBLASLT);
}

TEST_F(RuntimeTest, CppFailuresCarryStatusAndText) {
  try {
    const gemmsmith::Handle handle("/nowhere/h200.plan");
    FAIL() << "the file does not exist";
  } catch (const gemmsmith::StatusError& error) {
    EXPECT_EQ(error.status(), GEMMSMITH_STATUS_INVALID_VALUE);
    EXPECT_EQ(std::string(error.what()).find("GEMMSMITH_STATUS_INVALID_VALUE: "), 0U);
    EXPECT_NE(std::string(error.what()).find("/nowhere/h200.plan"), std::string::npos);
  }
}

}  // namespace
}  // namespace gemmsmith::runtime
