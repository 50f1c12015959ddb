// strict_json.h -- JSON of users' files: what a lenient reader would quietly drop is refused.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

enum class Comments { kRefused, kSkipped };  // of C and C++

// The value of the whole text. Errors (kBadInput) say, in words that follow a file's name and line,
// that there is a NUL byte (what follows would be ignored), a key given twice in one object (the
// last would count), a number that does not fit, or where the text is no JSON.
Result<nlohmann::json> parse_json(std::string_view text, Comments comments = Comments::kRefused);

}  // namespace gemmsmith
