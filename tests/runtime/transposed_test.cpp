// Plans whose kernels compute the transposed product, through the C API: operands, C, bias and
// padding are the caller's, whatever side the kernel sees them from.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "runtime/table_maker.h"
#include "runtime/table_test.h"

namespace gemmsmith::runtime {
namespace {

class TransposedTest : public TableTest {
 protected:
  TransposedTest() {
    options_.m = 72;  // rows of the column-major D: the kernel, which sees D row-major and
                      // transposed, has them as m
    options_.n = 32;
    options_.k = 40;
  }
};

TEST_F(TransposedTest, EveryLayoutIsExact) {
  for (const std::int32_t transa : {GEMMSMITH_OP_N, GEMMSMITH_OP_T})
    for (const std::int32_t transb : {GEMMSMITH_OP_N, GEMMSMITH_OP_T})
      for (const std::int64_t pad : {0, 8}) {
        options_.transa = transa;
        options_.transb = transb;
        options_.pad_a = pad;
        options_.pad_b = 2 * pad;
        options_.pad_c = options_.pad_d = pad;
        Product product(options_);
        load(TableMaker().kernel(product, "sm90_ws:t1.n32.s2", 3, 2));
        const int launches = gpu().launches;
        EXPECT_EQ(product.run_and_compare(handle_, 3, 2), "") << transa << transb << pad;
        EXPECT_EQ(gpu().launches, launches + 1) << "not the plan";
        EXPECT_EQ(product.d.damaged_words(), 0);
      }
}

TEST_F(TransposedTest, SplitsAreExact) {
  options_.k = 512;
  for (const char* config : {"sm90_ws:t1.n32.e1.s2.sp1.sk2", "sm90_ws:t1.n32.e1.s2.sp2.sk2"}) {
    Product product(options_);
    load(TableMaker().kernel(product, config));
    EXPECT_EQ(product.run_and_compare(handle_), "") << config;
  }
}

}  // namespace
}  // namespace gemmsmith::runtime
