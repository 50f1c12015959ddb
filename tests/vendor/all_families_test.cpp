#include "vendor/all_families.h"

#include <gtest/gtest.h>

#include <string>

#include "vendor/cublaslt_family.h"

namespace gemmsmith {
namespace {

TEST(AllFamilies, OursInTheirOrderThenTheVendors) {
  std::string names;
  for (const Family* family : all_families()) names += std::string(family->name) + " ";
  EXPECT_EQ(names, "sm90_ws sm80_mma cublaslt ");
}

// Identity, not equality: a config's family is compared by address.
TEST(AllFamilies, ParsedConfigsBelongToTheFamilyItself) {
  const auto vendor = parse_config("cublaslt:a66.t20", all_families());
  ASSERT_TRUE(vendor) << vendor.error().what;
  EXPECT_TRUE(vendor::is_vendor(*vendor));
  const auto ours = parse_config("sm80_mma:m128", all_families());
  ASSERT_TRUE(ours) << ours.error().what;
  EXPECT_EQ(ours->family, &sm80_mma_family());
}

}  // namespace
}  // namespace gemmsmith
