// One row a tile order: hits, traffic, and traffic over the least there can be.
#include "cli/l2_table.h"

#include <algorithm>

#include "base/numbers.h"
#include "policy/l2_model.h"
#include "policy/tile_orders.h"

namespace gemmsmith::cli {
namespace {

void add_row(const Config& config, const Problem& problem, const policy::L2Traffic& traffic,
             Table& table) {
  const double memory = traffic.memory();
  table.add({shape_name(problem), to_text(config), Cell(100 * traffic.hit_rate(), 1),
             Cell(traffic.requested > 0 ? 100 * traffic.far / traffic.requested : 0, 1),
             Cell(traffic.requested / kMib, 1), Cell(traffic.memory_read / kMib, 1),
             Cell(traffic.memory_written / kMib, 1),
             Cell(traffic.compulsory > 0 ? memory / traffic.compulsory : 1, 2)});
}

}  // namespace

Table make_l2_table() {
  return Table({"shape", "config", "l2_hit_%", "far_hit_%", "requested_mib", "memory_read_mib",
                "memory_written_mib", "memory_over_least"});
}

Result<void> add_l2_rows(const Config& config, const SpaceContext& context, Table& table) {
  GEMMSMITH_TRY(const policy::L2Traffic own,
                policy::predict_l2(context.problem, config, context.target));
  add_row(config, context.problem, own, table);
  struct Other {
    Config config;
    policy::L2Traffic traffic;
  };
  std::vector<Other> others;
  for (Config& other : policy::other_orders(config, context)) {
    GEMMSMITH_TRY(const policy::L2Traffic traffic,
                  policy::predict_l2(context.problem, other, context.target));
    if (traffic.memory() != own.memory() || traffic.far != own.far)
      others.push_back({std::move(other), traffic});
  }
  std::stable_sort(others.begin(), others.end(), [](const Other& a, const Other& b) {
    return a.traffic.memory() < b.traffic.memory();
  });
  for (const Other& other : others) add_row(other.config, context.problem, other.traffic, table);
  return {};
}

}  // namespace gemmsmith::cli
