// Config texts: what is read comes back from its own text form, and judging it is safe for any
// values.
#include <vector>

#include "fuzz/fuzz.h"
#include "problem/problem.h"
#include "space/family.h"
#include "vendor/cublaslt_family.h"

using namespace gemmsmith;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<const Family*> families = {&sm90_ws_family(), &sm80_mma_family(),
                                                      &vendor::cublaslt_family()};
  static const Target h200 = *known_target("h200");
  static const Problem problem = [] {
    Problem p;
    p.m = 256;
    p.n = 128;
    p.k = 512;
    return *make_problem(p);
  }();
  const auto config = parse_config(fuzz::text_of(data, size), families);
  if (!config) {
    fuzz::require(config.error().code == ErrorCode::kBadInput, "a bad config is bad input");
    return 0;
  }
  const std::string text = to_text(*config);
  const auto again = parse_config(text, families);
  fuzz::require(again.has_value() && *again == *config, "a config's text reads back: " + text);
  fuzz::require(parse_config(kernel_text(*config), families).has_value(),
                "a kernel's text reads back: " + kernel_text(*config));
  (void)broken_rule({problem, h200}, *config);
  return 0;
}
