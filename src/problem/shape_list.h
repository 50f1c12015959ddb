// shape_list.h -- reads the shapes a user wants tuned: CSV with a header (m,n,k and any other
// columns) or JSON Lines ({"m":..,"n":..,"k":..} with optional problem fields).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "problem/problem.h"

namespace gemmsmith {

// Columns or keys understood: m n k (required), batch, type, acc, out, layout, lda, ldb, ldc, ldd,
// alpha, beta; the rest is ignored. Missing ones come from `defaults`. Repeated problems are kept
// once, at their first place. Errors (kBadInput) read "FILE:LINE: column: what was expected".
Result<std::vector<Problem>> parse_shape_list(std::string_view text, const std::string& file_name,
                                              const Problem& defaults);

// Reads `path`; the format is taken from the first character that is not white space ('{': JSON
// Lines).
Result<std::vector<Problem>> read_shape_list(const std::filesystem::path& path,
                                             const Problem& defaults);

}  // namespace gemmsmith
