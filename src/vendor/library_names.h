// library_names.h -- where NVIDIA's BLAS libraries are looked for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gemmsmith::vendor {

// The file named by the variable `environment` alone, where it is set; else `stem`.so.13 and .12
// from the loader's path, $CUDA_HOME/lib64 and /usr/local/cuda/lib64.
std::vector<std::string> library_names(const char* environment, std::string_view stem);

}  // namespace gemmsmith::vendor
