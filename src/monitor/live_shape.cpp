#include "monitor/live_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "space/family.h"

namespace gemmsmith::monitor {
namespace {

// Calls made just after an order may not have heard of it. Later ones that are served otherwise
// show that it cannot be obeyed, and are judged.
constexpr std::uint64_t kHeardWithinNs = 500'000'000;

std::size_t metric_index(std::string_view name) {
  for (std::size_t i = 0; i < metrics().size(); ++i)
    if (metrics()[i].name == name) return i;
  return 0;
}

int alignment_of(std::uint8_t classes, int operand) {
  const int shift = classes >> (2 * operand) & 3;
  return shift == 0 ? 256 : 16 >> shift;
}

std::optional<double> percent(const std::optional<double>& part, double of) {
  if (!part || of <= 0) return std::nullopt;
  return 100 * *part / of;
}

}  // namespace

Problem problem_of(const watch::ShapeKey& key) {
  Problem problem;
  problem.m = key.m;
  problem.n = key.n;
  problem.k = key.k;
  problem.batch = key.batch;
  problem.type = static_cast<DataType>(key.type);
  problem.accumulator = static_cast<DataType>(key.accumulator);
  problem.layout = static_cast<Layout>(key.layout);
  problem.f32_output = key.f32_output == 1;
  problem.lda = packed_lda(problem);
  problem.ldb = packed_ldb(problem);
  problem.ldc = problem.ldd = packed_ldd(problem);
  problem.stride_a = default_stride_a(problem);
  problem.stride_b = default_stride_b(problem);
  problem.stride_d = default_stride_d(problem);
  problem.stride_c = default_stride_c(problem);
  problem.beta = key.epilogue == 2 ? 1.0F : 0.0F;
  problem.has_bias = key.fused == 1;
  problem.alignment = {alignment_of(key.alignment, 0), alignment_of(key.alignment, 1),
                       alignment_of(key.alignment, 2), alignment_of(key.alignment, 3)};
  return problem;
}

std::optional<double> RecentTimings::median_with(std::uint32_t serving, double latency_us) {
  if (serving != serving_) last_.clear();
  serving_ = serving;
  last_.push_back(latency_us);
  if (last_.size() > most_) last_.erase(last_.begin());
  if (last_.size() < kFewest) return std::nullopt;
  std::vector<double> sorted = last_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[(sorted.size() - 1) / 2];
}

LiveShape::LiveShape(const watch::SeenShape& seen, const Target& target)
    : place_(seen.place),
      device_(seen.device),
      problem_(problem_of(seen.key)),
      target_(target),
      texts_{seen.plan, ""},
      promised_library_us_(seen.promised_library_us),
      baseline_(seen.promised_us, problem_.min_bytes() / target.memory_bytes_per_s * 1e6) {}

Result<LiveShape> LiveShape::make(const watch::SeenShape& seen, const Policy& policy,
                                  const Target& target, std::span<const Family* const> families) {
  LiveShape shape(seen, target);
  GEMMSMITH_TRY(Config plan, parse_config(seen.plan, families));
  std::vector<Config> alternates;
  for (const std::string& text : seen.alternates) {
    GEMMSMITH_TRY(Config config, parse_config(text, families));
    alternates.push_back(std::move(config));
    shape.texts_.push_back(text);
  }
  const auto next = [alternates](const Problem&, const std::vector<Config>& tried) {
    for (const Config& config : alternates)
      if (std::find(tried.begin(), tried.end(), config) == tried.end())
        return std::optional<Config>(config);
    return std::optional<Config>();
  };
  const auto can_serve = [alternates](const Problem&, const Config& config) {
    return std::find(alternates.begin(), alternates.end(), config) != alternates.end();
  };
  shape.engine_.emplace(policy, target, next, can_serve);
  shape.engine_->serve(shape.problem_, std::move(plan));
  return shape;
}

std::vector<std::string> LiveShape::alternates() const {
  return {texts_.begin() + watch::kFirstAlternate, texts_.end()};
}

std::uint32_t LiveShape::number_of(const Serving& serving) const {
  if (!serving) return watch::kLibrary;
  const std::string text = to_text(*serving);
  for (std::size_t i = 0; i < texts_.size(); ++i)
    if (texts_[i] == text) return static_cast<std::uint32_t>(i);
  return watch::kPlan;
}

// Of another plan nothing was promised for this shape: it should do what the plan did. The library
// did it in lt_tuned's time, measured without what events add; where the plan is held to less than
// it promised, so is the library.
double LiveShape::held_against(std::uint32_t serving) const {
  const double plan_us = baseline_.us().value_or(0);
  const double promised_us = baseline_.promised_us();
  if (serving != watch::kLibrary || promised_library_us_ == 0 || promised_us == 0) return plan_us;
  if (plan_us < promised_us) return plan_us * promised_library_us_ / promised_us;
  return plan_us + promised_library_us_ - promised_us;
}

std::optional<LiveLook> LiveShape::look(const watch::Timing& timing, const GpuSample& gpu,
                                        double t_s) {
  if (timing.serving >= texts_.size()) return std::nullopt;
  if (!baseline_.us()) {
    if (timing.serving == watch::kPlan && baseline_.add(timing.latency_us))
      processes_ = gpu.compute_processes.value_or(0);
    return std::nullopt;
  }
  const std::uint32_t ordered = timing.is_probe ? order_.probe : order_.serving;
  if (timing.serving != ordered && timing.time_ns < order_changed_ns_ + kHeardWithinNs)
    return std::nullopt;
  if (timing.is_probe && (order_.serving == watch::kPlan || timing.serving != ordered))
    return std::nullopt;
  const auto median =
      (timing.is_probe ? probed_ : served_).median_with(timing.serving, timing.latency_us);
  if (!median) return std::nullopt;
  LiveLook look;
  look.config = texts_[timing.serving];
  look.latency_us = *median;
  look.promised_us = held_against(timing.serving);
  look.sample.t_s = t_s;
  look.sample.problem = problem_;
  look.sample.of_left = timing.is_probe;
  look.sample.values.resize(metrics().size());
  static const std::size_t kRatio = metric_index("latency_ratio");
  static const std::size_t kPower = metric_index("power_pct");
  static const std::size_t kClock = metric_index("sm_clock_pct");
  look.sample.values[kRatio] = latency_ratio(look.latency_us, look.promised_us);
  look.sample.values[kPower] = percent(gpu.power_w, gpu.power_limit_w.value_or(0));
  look.sample.values[kClock] = percent(gpu.sm_clock_mhz, target_.sm_clock_mhz);
  if (processes_ > 0) look.more_processes = gpu.compute_processes.value_or(0) - processes_;
  look.sample.throttled = (gpu.throttle_reasons.value_or(0) & kThrottleSlowdown) != 0;
  return look;
}

std::optional<Decision> LiveShape::judge(const LiveLook& look, const watch::Timing& timing) {
  auto decision = engine_->judge(look.sample);
  if (!decision) return decision;
  if (decision->verb != Verb::kReturn && look.more_processes > 0)
    decision->reason += fmt::format("; processes on the GPU: {:.0f}, at its first timings {:.0f}",
                                    processes_ + look.more_processes, processes_);
  if (decision->verb == Verb::kHold) return decision;
  order_.serving = number_of(engine_->serving(problem_));
  const Serving* const left = engine_->left(problem_);
  order_.probe = left != nullptr ? number_of(*left) : watch::kPlan;
  order_changed_ns_ = std::max(watch::now_ns(), timing.time_ns);
  return decision;
}

}  // namespace gemmsmith::monitor
