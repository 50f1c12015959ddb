// compiler_knobs.h -- the compiler's knobs (register-usage-level, maxrregcount) around one config.
// They would multiply the space for little, so only the best of ours is tried with them.
#pragma once

#include <span>
#include <vector>

#include "device/measurement.h"
#include "space/family.h"

namespace gemmsmith {

// No parameter of the config that is for finalists only differs from its default.
bool has_default_knobs(const Config& config);

// `config` with one knob turned, for each value of each knob, in the family's order, where no
// constraint forbids it; the other knobs at their defaults. Empty for a family without knobs.
std::vector<Config> legal_knob_variants(const Config& config, const Problem& problem,
                                        const Target& target);

// Whether these rows of one problem say what its best kernel gains by its knobs: one that ran has
// all its variants screened, and those that ran paired. True where no kernel of ours was paired. A
// store may have been tuned without knobs, or killed among them.
bool knobs_were_tried(std::span<const Measurement> rows, const Problem& problem,
                      const Target& target);

}  // namespace gemmsmith
