// table_test.h -- what tests of served products share: a product of 64 x 64 x 64, and a plan table
// put into the handle.
#pragma once

#include "runtime/table_maker.h"

namespace gemmsmith::runtime {

class TableTest : public RuntimeTest {
 protected:
  TableTest() { options_.m = options_.n = options_.k = 64; }

  gemmsmithStatus_t try_load(const TableMaker& maker) {
    const std::string bytes = maker.bytes();
    return gemmsmithLoadPlanTableFromMemory(handle_, bytes.data(), bytes.size());
  }
  void load(const TableMaker& maker) {
    ASSERT_EQ(try_load(maker), GEMMSMITH_STATUS_SUCCESS) << gemmsmithGetLastErrorString();
  }

  ProductOptions options_;
};

}  // namespace gemmsmith::runtime
