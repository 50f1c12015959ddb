#include "vendor/all_families.h"

#include <vector>

#include "vendor/cublaslt_family.h"

namespace gemmsmith {

std::span<const Family* const> all_families() {
  static const std::vector<const Family*> families = [] {
    std::vector<const Family*> all(kernel_families().begin(), kernel_families().end());
    all.push_back(&vendor::cublaslt_family());
    return all;
  }();
  return families;
}

}  // namespace gemmsmith
