// Shape lists, CSV and JSON Lines: every problem read is a legal one, named once.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "problem/shape_list.h"

using namespace gemmsmith;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto problems = parse_shape_list(fuzz::text_of(data, size), "list", Problem{});
  if (!problems) {
    const ErrorCode code = problems.error().code;
    fuzz::require(code == ErrorCode::kBadInput || code == ErrorCode::kUnsupported,
                  "a bad list is bad input, or asks for what is not supported");
    fuzz::require(problems.error().what.find("list") != std::string::npos, "the file is named");
    return 0;
  }
  for (std::size_t i = 0; i < problems->size(); ++i) {
    const Problem& problem = (*problems)[i];
    const auto made = make_problem(problem);
    fuzz::require(made.has_value() && *made == problem, "a listed problem is legal and complete");
    fuzz::require(std::find(problems->begin(), problems->begin() + static_cast<std::ptrdiff_t>(i),
                            problem) == problems->begin() + static_cast<std::ptrdiff_t>(i),
                  "a problem is listed once");
  }
  return 0;
}
