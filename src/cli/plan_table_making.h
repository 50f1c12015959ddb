// plan_table_making.h -- gemmsmith store plan-table: a store's winners as one file for the runtime.
#pragma once

#include <string>

#include "cli/verb.h"
#include "store/store.h"

namespace gemmsmith::cli {

struct PlanTableOptions {
  std::string file;
  bool epilogues = false;  // kernels compiled with bias and activation beside the plain ones
  std::string onto;        // a table whose other plans are kept; "": none
};

// With the cubins of our kernels inside. Errors (kBadInput): no winner; one that was measured with
// another kernel text or compiler; a table of another origin to build on.
Result<void> write_plan_table(const Store& store, const Environment& environment,
                              const PlanTableOptions& options, const Session& session);

}  // namespace gemmsmith::cli
