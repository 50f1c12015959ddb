#include "cli/decision_text.h"

#include <fmt/format.h>

namespace gemmsmith::cli {
namespace {

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string text_of(const LiveDecision& live) {
  const monitor::Decision& d = live.decision;
  const std::string from = monitor::serving_text(d.from);
  const std::string to = monitor::serving_text(d.to);
  const std::string what = d.verb == monitor::Verb::kHold
                               ? fmt::format("hold {}", from)
                               : fmt::format("{} {} {} {}", name(d.verb), from,
                                             d.verb == monitor::Verb::kLeave ? "for" : "to", to);
  return fmt::format("{:.2f} s {}: {}: {} (rule {}; {:.1f} us against {:.1f} us; {})", d.t_s,
                     shape_name(d.problem), what, d.reason, d.rule, live.look.latency_us,
                     live.look.promised_us, describe(live.gpu));
}

nlohmann::ordered_json json_of(const LiveDecision& live) {
  const monitor::Decision& d = live.decision;
  nlohmann::ordered_json json;
  json["t_s"] = d.t_s;
  json["shape"] = shape_name(d.problem);
  json["problem"] = describe(d.problem);
  json["decision"] = name(d.verb);
  json["rule"] = d.rule;
  json["metric"] = d.metric;
  json["value"] = d.value;
  json["threshold"] = d.threshold;
  json["samples"] = d.samples;
  json["action"] = d.action;
  json["from"] = monitor::serving_text(d.from);
  json["to"] = monitor::serving_text(d.to);
  json["reason"] = d.reason;
  json["latency_us"] = live.look.latency_us;
  json["promised_us"] = live.look.promised_us;
  json["power_w"] = or_null(live.gpu.power_w);
  json["sm_clock_mhz"] = or_null(live.gpu.sm_clock_mhz);
  json["throttle"] = live.gpu.throttle_reasons
                         ? nlohmann::ordered_json(throttle_text(*live.gpu.throttle_reasons))
                         : nlohmann::ordered_json(nullptr);
  return json;
}

}  // namespace gemmsmith::cli
