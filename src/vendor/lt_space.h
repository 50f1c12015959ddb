// lt_space.h -- legal configs of the `cublaslt` family for a problem, the most promising first. The
// library's heuristic shows 8 algorithms of the thousands it can run; this finds the others worth
// measuring.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "vendor/cublaslt_family.h"

namespace gemmsmith::vendor {

// What one algorithm id can be configured to (cublasLtMatmulAlgoCapGetAttribute).
struct LtCapabilities {
  int algo = 0;
  std::vector<int> tiles;
  std::vector<int> stages;
  bool split_k = false;
  int reduction_mask = 0;
  int swizzle_max = 0;
  int custom_max = 0;
};

class LtSpace {
 public:
  explicit LtSpace(std::shared_ptr<const LtHandle> handle) : handle_(std::move(handle)) {}

  // At most `limit` distinct configs, each accepted by AlgoCheck: the heuristic's own in its order,
  // then others by promise. Asks the library at most 8 * limit + 67 times, a few microseconds each.
  Result<std::vector<Config>> vendor_configs(const LtMatmul& matmul, const Target& target,
                                             int limit);

  // Every algorithm id of a type combination with what it supports; asked once, then remembered.
  Result<std::vector<LtCapabilities>> capabilities(const Problem& problem);

 private:
  std::shared_ptr<const LtHandle> handle_;
  std::mutex mutex_;
  std::map<std::tuple<DataType, DataType, DataType>, std::vector<LtCapabilities>> capabilities_;
};

}  // namespace gemmsmith::vendor
