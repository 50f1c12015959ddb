#include "policy/kernel_catalogue.h"

#include <gtest/gtest.h>

#include <set>

namespace gemmsmith::policy {
namespace {

// Compiling costs about a second a kernel: the first tuning run must not start with an hour of it.
TEST(KernelCatalogue, StaysSmallForEachTypeAndTarget) {
  for (const char* target : {"a100", "h100", "h200"})
    for (const DataType accumulator : {DataType::kF32, DataType::kF16}) {
      const auto kernels = kernel_catalogue(*known_target(target), {DataType::kF16, accumulator});
      EXPECT_LE(kernels.size(), 600U) << target;
      EXPECT_GE(kernels.size(), 50U) << target;
    }
}

TEST(KernelCatalogue, HoldsEachKernelOnceAtDefaultLaunch) {
  std::set<std::string> seen;
  for (const Config& kernel : kernel_catalogue(*known_target("h200"), {DataType::kBf16})) {
    EXPECT_TRUE(seen.insert(to_text(kernel)).second) << to_text(kernel);
    EXPECT_EQ(to_text(kernel), kernel_text(kernel));
  }
}

TEST(KernelCatalogue, OffersBothFamiliesOnHopperAndOneOnAmpere) {
  const auto families = [](const char* target) {
    std::set<const Family*> found;
    for (const Config& kernel : kernel_catalogue(*known_target(target), Signature{}))
      found.insert(kernel.family);
    return found;
  };
  EXPECT_EQ(families("h200"), (std::set{&sm90_ws_family(), &sm80_mma_family()}));
  EXPECT_EQ(families("a100"), (std::set{&sm80_mma_family()}));
}

}  // namespace
}  // namespace gemmsmith::policy
