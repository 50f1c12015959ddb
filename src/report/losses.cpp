// The rules, in the order in which they are asked. They see both configs through the policy's
// features (policy/features.h), which read ours and the library's alike; what the library hides
// (stages, threads) is guessed there, so no rule looks at that.
#include "report/losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "measure/floors.h"
#include "policy/features.h"
#include "search/selection.h"
#include "vendor/all_families.h"

namespace gemmsmith::report {
namespace {

// One config for one problem, by the names of its features.
class Traits {
 public:
  Traits(const policy::FeatureRows& rows, const Config& config) : row_(policy::feature_count()) {
    rows.fill(config, row_);
  }
  double operator[](std::string_view feature) const {
    const auto names = policy::feature_names();
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& name) { return name.name == feature; });
    return found == names.end()
               ? 0
               : static_cast<double>(row_[static_cast<std::size_t>(found - names.begin())]);
  }
  // Of a feature that is a logarithm to base 2.
  double plain(std::string_view feature) const { return std::exp2((*this)[feature]); }
  double tile_m() const { return plain("log_tile_m"); }
  double tile_n() const { return plain("log_tile_n"); }
  double split() const { return plain("log_split"); }
  double cluster() const { return plain("log_cluster_m") * plain("log_cluster_n"); }
  // CTAs over SMs, and the share of SM time that whole waves of them fill.
  double cta_share() const { return plain("log_cta_share"); }
  double filled() const { return std::exp2(-(*this)["tail_waste"]); }
  double padded() const { return plain("padding_m") * plain("padding_n"); }
  // Bytes that a multiply-add brings from L2, multicast taken off.
  double bytes_per_fma() const {
    return plain("log_bytes_per_fma") * (1 - (*this)["multicast_saving"]);
  }

 private:
  std::vector<float> row_;
};

struct Case {
  const ShapeLine& line;
  const Target& target;
  const Traits& ours;
  const Traits& theirs;
};

struct Cause {
  const char* name;
  std::optional<std::string> (*words)(const Case&);
};

std::string tile_text(const Traits& traits) {
  return fmt::format("{:.0f} x {:.0f}", traits.tile_m(), traits.tile_n());
}

int percent(double share) { return static_cast<int>(std::lround(100 * share)); }

bool is_behind(double ratio) { return ratio < kLostBelow; }

std::optional<std::string> cold_start(const Case& c) {
  if (is_behind(c.line.raw->chained)) return std::nullopt;
  return fmt::format(
      "level back to back ({:.3f}), behind only between foreign kernels ({:.3f}): what the launch "
      "before hides there, set-up and first loads, shows here",
      c.line.raw->chained, c.line.raw->foreign);
}

// Split over a cluster ours stops at its 16 CTAs; the library splits over the card.
std::optional<std::string> long_k(const Case& c) {
  const auto& p = c.line.problem;
  if (p.k < 4 * std::min(p.m, p.n) || c.theirs.split() < 2) return std::nullopt;
  if (c.ours.split() * 1.25 > c.theirs.split() && c.ours.cta_share() > 0.9) return std::nullopt;
  return fmt::format(
      "K = {} over few tiles: ours splits it {:.0f} ways ({:.2f} CTAs an SM), the library {:.0f} "
      "ways ({:.2f}) with a reduction of its own",
      p.k, c.ours.split(), c.ours.cta_share(), c.theirs.split(), c.theirs.cta_share());
}

std::optional<std::string> idle_sms(const Case& c) {
  if (c.ours.cta_share() >= 0.9 || c.theirs.cta_share() < 1.1 * c.ours.cta_share())
    return std::nullopt;
  return fmt::format("{:.0f} CTAs for {} SMs: {} % of the card works, {} % with the library's {}",
                     c.ours.cta_share() * c.target.sm_count, c.target.sm_count,
                     percent(c.ours.cta_share()), percent(std::min(1.0, c.theirs.cta_share())),
                     tile_text(c.theirs));
}

std::optional<std::string> last_wave(const Case& c) {
  if (c.ours.cta_share() < 1 || c.ours.filled() > c.theirs.filled() - 0.05) return std::nullopt;
  return fmt::format(
      "{:.2f} waves of CTAs: the last leaves {} % of SM time unused, the library's {:.2f} waves "
      "{} %",
      c.ours.cta_share(), percent(1 - c.ours.filled()), c.theirs.cta_share(),
      percent(1 - c.theirs.filled()));
}

std::optional<std::string> padding(const Case& c) {
  if (c.ours.padded() < 1.05 * c.theirs.padded()) return std::nullopt;
  return fmt::format("tiles of {} compute {} % more than the product has, the library's {} {} %",
                     tile_text(c.ours), percent(c.ours.padded() - 1), tile_text(c.theirs),
                     percent(c.theirs.padded() - 1));
}

std::optional<std::string> short_k(const Case& c) {
  const double steps = c.ours.plain("log_k_tiles");
  const double stages = c.ours["stages"];
  if (steps > 2 * stages) return std::nullopt;
  return fmt::format(
      "short K: {:.0f} steps through a ring of {:.0f} stages, so filling and draining it is a "
      "large "
      "part of the kernel",
      steps, stages);
}

std::optional<std::string> operand_traffic(const Case& c) {
  const double more = c.ours.bytes_per_fma() / c.theirs.bytes_per_fma();
  if (more < 1.05) return std::nullopt;
  return fmt::format(
      "{} % more operand bytes through L2 for each multiply: {} in clusters of {:.0f} against {} "
      "in "
      "clusters of {:.0f}",
      percent(more - 1), tile_text(c.ours), c.ours.cluster(), tile_text(c.theirs),
      c.theirs.cluster());
}

// Within a tenth of what the power limit lets the tensor cores do there is little left to win.
std::optional<std::string> power_limit(const Case& c) {
  const double floor = expected_floor_us(c.line.problem, c.target, CacheState::kCold);
  const double ours_us = c.line.lt_tuned_us / c.line.raw->chained;
  if (c.line.problem.flop() / c.line.problem.min_bytes() < 256 || ours_us > 1.15 * floor)
    return std::nullopt;
  return fmt::format(
      "both run at the power-limited rate (ours at {:.2f} of that floor's time): what decides is "
      "energy for each multiply",
      ours_us / floor);
}

constexpr std::array kCauses = {
    Cause{"cold start", cold_start},   Cause{"long K, few tiles", long_k},
    Cause{"idle SMs", idle_sms},       Cause{"padding", padding},
    Cause{"last wave", last_wave},     Cause{"short K", short_k},
    Cause{"power limit", power_limit}, Cause{"operand traffic", operand_traffic},
};

constexpr const char* kUnexplained = "unexplained";

Loss explain(const ShapeLine& line, const Target& target) {
  Loss loss;
  loss.theirs =
      line.vendor && line.vendor->chained > 1 ? line.vendor->config : line.lt_tuned_config;
  loss.cause = kUnexplained;
  const auto& side = *line.raw;
  const auto ours =
      parse_config(is_behind(side.chained) ? side.config : side.foreign_config, all_families());
  const auto theirs = parse_config(loss.theirs, all_families());
  if (!ours || !theirs) {
    loss.words = "a config of this table is unknown to this version of the program";
    return loss;
  }
  const policy::FeatureRows rows(line.problem, target);
  const Traits our_traits(rows, *ours);
  const Traits their_traits(rows, *theirs);
  for (const Cause& cause : kCauses) {
    auto words = cause.words({line, target, our_traits, their_traits});
    if (!words) continue;
    loss.cause = cause.name;
    loss.words = std::move(*words);
    return loss;
  }
  loss.words = fmt::format(
      "tile, waves, split and traffic ({} against {}) do not tell the two apart: counters would",
      tile_text(our_traits), tile_text(their_traits));
  return loss;
}

}  // namespace

std::vector<Loss> explain_losses(const Scoreboard& board, const Target& target) {
  std::vector<Loss> losses;
  for (std::size_t i = 0; i < board.shapes.size(); ++i) {
    const ShapeLine& line = board.shapes[i];
    if (!line.raw || !(is_behind(line.raw->chained) || is_behind(line.raw->foreign))) continue;
    losses.push_back(explain(line, target));
    losses.back().shape = i;
  }
  const auto worst = [&](const Loss& loss) {
    const Side& side = *board.shapes[loss.shape].raw;
    return std::min(side.chained, side.foreign);
  };
  std::stable_sort(losses.begin(), losses.end(),
                   [&](const Loss& a, const Loss& b) { return worst(a) < worst(b); });
  return losses;
}

}  // namespace gemmsmith::report
