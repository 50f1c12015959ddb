// losses.h -- why our best kernel is behind tuned cuBLASLt on a shape, in words, derived from the
// two configs and the shape. Nobody measured the cause: a rule names the first thing in which ours
// is clearly worse, and says so when there is none.
#pragma once

#include <string>
#include <vector>

#include "problem/target.h"
#include "report/scoreboard.h"

namespace gemmsmith::report {

struct Loss {
  std::size_t shape = 0;  // place in Scoreboard::shapes
  std::string cause;      // "last wave": the same for all losses of one kind
  std::string words;      // with this shape's numbers
  std::string theirs;     // the library's config that it is compared with
};

// Of every shape whose best kernel of ours is below kLostBelow of tuned cuBLASLt in either setting,
// the worst first.
std::vector<Loss> explain_losses(const Scoreboard& board, const Target& target);

}  // namespace gemmsmith::report
