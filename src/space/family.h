// family.h -- the interface through which configs come: a family names its parameters and the
// constraints among them. Our families and the vendor library's space implement it alike.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "problem/problem.h"
#include "problem/target.h"
#include "space/config.h"

namespace gemmsmith {

// What a constraint may look at besides the config.
struct SpaceContext {
  const Problem& problem;
  const Target& target;
};

// A named rule. `holds` must only read parameters named in `reads`: enumeration tests the rule as
// soon as those have values, and cuts the whole subtree when it fails. The problem that it is given
// is the product as the config's kernel computes it (space/kernel_problem.h).
struct Constraint {
  std::string_view id;      // "rows_fill_wgmma"
  std::string_view reason;  // one sentence for the user
  std::vector<std::string_view> reads;
  bool (*holds)(const SpaceContext&, const Config&) = nullptr;
};

struct Preset {
  std::string_view name;    // "h100-f16-128x128x64"
  std::string_view config;  // text form
  std::string_view origin;  // who recommends it, for what
};

// Threads of a block and bytes of dynamic shared memory of one config: known before compiling,
// used by constraints and plans.
struct Footprint {
  int threads = 0;
  int shared_bytes = 0;
};

struct Family {
  std::string_view name;
  std::string_view source;  // kernel text, "sm90_ws.cu"; empty for the vendor's
  std::vector<Parameter> parameters;
  std::vector<Constraint> constraints;
  std::vector<Preset> presets;
  Footprint (*footprint)(const Config&, const Signature&) = nullptr;  // null for the vendor's

  // Index of a parameter by name; -1 where the family has none of that name.
  int index_of(std::string_view parameter) const;
};

const Family& sm90_ws_family();
const Family& sm80_mma_family();

// Our families, in the order they are listed to users. (The vendor's is added by callers.)
std::span<const Family* const> kernel_families();

// A config with every parameter at its default.
Config default_config(const Family& family);

// The rules that `config` breaks for a problem on a target, in the family's order; none when it is
// legal. A value below or above all those that the family offers breaks "values_in_range", and then
// no other rule is asked: they divide by parameters and multiply them.
std::vector<const Constraint*> broken_rules(const SpaceContext& context, const Config& config);

// The first of them; null when the config is legal.
const Constraint* broken_rule(const SpaceContext& context, const Config& config);

}  // namespace gemmsmith
