// What is assumed, none of it validated by counters yet:
// - As many clusters as the device holds run at once and go through k in step; when they end, the
//   next ones of the tile order start together. (CTAs do drift apart on a device.)
// - Each of two partitions serves the SMs on its side. Memory belongs half to one, half to the
//   other, in pieces far smaller than a block. A read looks in its own side's partition, then in
//   that of the memory, then in memory, and is kept in every partition it came through: operands
//   that both sides read take their bytes twice. ("Each L2 partition caches data for memory
//   accesses from SMs in the GPCs directly connected to the partition": NVIDIA A100 architecture
//   paper; H100 and H200 are taken to be alike.)
// - Consecutive clusters lie on different sides.
// - Replacement is by age, over blocks of one operand's tile rows times a step of k.
// - D is written whole, stays for its age and reaches memory once.
#include "policy/l2_model.h"

#include <algorithm>
#include <optional>

#include "base/numbers.h"
#include "policy/kernel_model.h"
#include "policy/lru_blocks.h"
#include "policy/tile_order.h"
#include "space/kernel_problem.h"

namespace gemmsmith::policy {
namespace {

// Steps of k are made coarser until one launch needs no more touches than this: a second's work.
constexpr std::int64_t kMostTouches = 8'000'000;

// One operand: rows of tiles (A's along m, B's along n) by steps of k.
struct Operand {
  std::size_t first_block = 0;
  std::int64_t size = 0;  // m or n
  int tile = 0;
  std::int64_t steps = 1;  // of all k slices together
  double row_bytes = 0;    // of one row's share of a step

  // A tile beyond the edge, where clusters are rounded up, reads nothing.
  double bytes(std::int64_t row) const {
    const std::int64_t first = row * tile;
    return first >= size
               ? 0
               : static_cast<double>(std::min<std::int64_t>(tile, size - first)) * row_bytes;
  }
  std::size_t block(std::int64_t row, std::int64_t step) const {
    return first_block + static_cast<std::size_t>(row * steps + step);
  }
};

// The cache's partitions, and what reads found in them.
class L2 {
 public:
  L2(const L2Organisation& l2, std::size_t blocks) : partitions_(l2.partitions) {
    for (int i = 0; i < partitions_; ++i)
      parts_.emplace_back(l2.bytes / partitions_, blocks * static_cast<std::size_t>(partitions_));
  }

  void read(int side, std::size_t block, double bytes, L2Traffic& traffic) {
    if (bytes <= 0) return;
    traffic.requested += bytes;
    for (int home = 0; home < partitions_; ++home) {
      const std::size_t piece = piece_of(block, home);
      const double share = bytes / partitions_;
      if (part(side).touch(piece, share))
        traffic.near += share;
      else if (home != side && part(home).touch(piece, share))
        traffic.far += share;
      else
        traffic.memory_read += share;
    }
  }

  void write(std::size_t block, double bytes) {
    for (int home = 0; home < partitions_; ++home)
      part(home).touch(piece_of(block, home), bytes / partitions_);
  }

  int side_of(std::int64_t cluster) const { return static_cast<int>(cluster % partitions_); }

 private:
  std::size_t piece_of(std::size_t block, int home) const {
    return block * static_cast<std::size_t>(partitions_) + static_cast<std::size_t>(home);
  }
  LruBlocks& part(int partition) { return parts_[static_cast<std::size_t>(partition)]; }

  int partitions_;
  std::vector<LruBlocks> parts_;
};

class Simulation {
 public:
  Simulation(const Problem& problem, const KernelShape& kernel, const Target& target,
             const L2Organisation& l2)
      : problem_(problem), kernel_(kernel), element_(size_bytes(problem.type)) {
    order_ = {ceil_div(ceil_div(problem.m, kernel.tile_m), kernel.cluster_m),
              ceil_div(ceil_div(problem.n, kernel.tile_n), kernel.cluster_n), kernel.group,
              kernel.along_n};
    clusters_ = order_.count_m * order_.count_n;
    at_once_ = std::max(
        1, ctas_at_once(kernel, target) / (kernel.cluster_m * kernel.cluster_n * kernel.split_k));
    const std::int64_t k_tiles = ceil_div(std::max<std::int64_t>(problem.k, 1), kernel.tile_k);
    const std::int64_t touches_a_step =
        2 * l2.partitions * clusters_ * kernel.split_k * (kernel.cluster_m + kernel.cluster_n);
    steps_ = std::clamp<std::int64_t>(kMostTouches / touches_a_step, 1,
                                      ceil_div(k_tiles, kernel.split_k));
    const std::int64_t all_steps = steps_ * kernel.split_k;
    const double row_bytes =
        static_cast<double>(problem.k) * element_ / static_cast<double>(all_steps);
    a_ = {0, problem.m, kernel.tile_m, all_steps, row_bytes};
    const std::int64_t blocks_a = order_.count_m * kernel.cluster_m * all_steps;
    const std::int64_t blocks_b = order_.count_n * kernel.cluster_n * all_steps;
    b_ = {static_cast<std::size_t>(blocks_a), problem.n, kernel.tile_n, all_steps, row_bytes};
    first_d_ = static_cast<std::size_t>(blocks_a + blocks_b);
    cache_.emplace(l2, first_d_ + static_cast<std::size_t>(clusters_));
  }

  L2Traffic run() {
    const double d_bytes = static_cast<double>(problem_.m) * static_cast<double>(problem_.n) *
                           size_bytes(problem_.output_type());
    for (std::int64_t first = 0; first < clusters_; first += at_once_) {
      const std::int64_t last = std::min(clusters_, first + at_once_);
      for (std::int64_t step = 0; step < steps_; ++step)
        for (std::int64_t cluster = first; cluster < last; ++cluster) read(cluster, step);
      for (std::int64_t cluster = first; cluster < last; ++cluster) write(cluster);
    }
    traffic_.memory_written = d_bytes;
    if (problem_.beta != 0) traffic_.memory_read += d_bytes;
    traffic_.compulsory = problem_.min_bytes();
    return traffic_;
  }

 private:
  // Each operand block that the cluster's CTAs share is fetched once for all of them; CTAs that
  // split k are at the same step of different slices.
  void read(std::int64_t cluster, std::int64_t step) {
    const TilePlace place = tile_at(order_, cluster);
    const int side = cache_->side_of(cluster);
    for (int slice = 0; slice < kernel_.split_k; ++slice) {
      const std::int64_t k_step = slice * steps_ + step;
      for (int i = 0; i < kernel_.cluster_m; ++i)
        read(side, a_, place.m * kernel_.cluster_m + i, k_step);
      for (int i = 0; i < kernel_.cluster_n; ++i)
        read(side, b_, place.n * kernel_.cluster_n + i, k_step);
    }
  }

  void read(int side, const Operand& operand, std::int64_t row, std::int64_t step) {
    cache_->read(side, operand.block(row, step), operand.bytes(row), traffic_);
  }

  void write(std::int64_t cluster) {
    const double bytes = static_cast<double>(kernel_.tile_m) * kernel_.cluster_m * kernel_.tile_n *
                         kernel_.cluster_n * element_;
    cache_->write(first_d_ + static_cast<std::size_t>(cluster), bytes);
  }

  const Problem& problem_;
  const KernelShape& kernel_;
  double element_;
  TileOrder order_;
  std::int64_t clusters_ = 0;
  std::int64_t at_once_ = 1;
  std::int64_t steps_ = 1;  // of one CTA's slice of k
  Operand a_, b_;
  std::size_t first_d_ = 0;
  std::optional<L2> cache_;  // made once the sizes are known
  L2Traffic traffic_;
};

}  // namespace

L2Organisation l2_organisation(const Target& target) {
  return {static_cast<double>(target.l2_bytes), 2};
}

Result<L2Traffic> predict_l2(const Problem& problem, const Config& config, const Target& target,
                             const L2Organisation& l2) {
  if (problem.is_empty()) return L2Traffic{};
  if (problem.is_batched() || problem.grouped)
    return fail(ErrorCode::kUnsupported, "{}: the L2 model knows single products",
                describe(problem));
  if (config.family != &sm90_ws_family() && config.family != &sm80_mma_family())
    return fail(ErrorCode::kUnsupported,
                "{}: in which order the library computes its tiles is not known: name a config of "
                "ours",
                to_text(config));
  if (const Constraint* const rule = broken_rule({problem, target}, config))
    return fail(ErrorCode::kUnsupported, "{} is not legal for {}: {} ({})", to_text(config),
                describe(problem), rule->reason, rule->id);
  const KernelShape kernel = kernel_shape(config, problem.accumulator);
  return Simulation(kernel_problem(problem, config), kernel, target, l2).run();
}

Result<L2Traffic> predict_l2(const Problem& problem, const Config& config, const Target& target) {
  return predict_l2(problem, config, target, l2_organisation(target));
}

}  // namespace gemmsmith::policy
