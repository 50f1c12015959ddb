#include "measure/messages.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "device/counter_json.h"

namespace gemmsmith::messages {
namespace {

using nlohmann::json;

// The library reports bad input by exceptions, which stay inside this folder.
template <class Function>
auto guarded(const char* what, Function function) -> decltype(function()) {
  try {
    return function();
  } catch (const json::exception& error) {
    return fail(ErrorCode::kBadInput, "a bad {} in a worker's message: {}", what, error.what());
  }
}

// JSON has no infinity and no NaN.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double read_number(const json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

template <class T>
json optional(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}
template <class T>
std::optional<T> read_optional(const json& value) {
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

constexpr std::array kErrorCodes = {
    ErrorCode::kBadInput,    ErrorCode::kUnsupported, ErrorCode::kEnvironment, ErrorCode::kStore,
    ErrorCode::kDevice,      ErrorCode::kCompile,     ErrorCode::kBadResult,   ErrorCode::kTimeout,
    ErrorCode::kInterrupted, ErrorCode::kInternal};

}  // namespace

json to_json(const Problem& p) {
  return {{"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"batch", p.batch},
          {"grouped", p.grouped},
          {"bias", p.has_bias},
          {"activation", static_cast<int>(p.activation)},
          {"type", name(p.type)},
          {"acc", name(p.accumulator)},
          {"f32_output", p.f32_output},
          {"layout", name(p.layout)},
          {"ld", {p.lda, p.ldb, p.ldc, p.ldd}},
          {"stride", {p.stride_a, p.stride_b, p.stride_c, p.stride_d}},
          {"alpha", p.alpha},
          {"beta", p.beta},
          {"align", {p.alignment.a, p.alignment.b, p.alignment.c, p.alignment.d}}};
}

Result<Problem> read_problem(const json& value) {
  return guarded("problem", [&]() -> Result<Problem> {
    Problem p;
    p.m = value.at("m").get<std::int64_t>();
    p.n = value.at("n").get<std::int64_t>();
    p.k = value.at("k").get<std::int64_t>();
    p.batch = value.at("batch").get<std::int64_t>();
    p.grouped = value.at("grouped").get<bool>();
    p.has_bias = value.at("bias").get<bool>();
    const int activation = value.at("activation").get<int>();
    if (activation < 0 || activation > static_cast<int>(Activation::kSilu))
      return fail(ErrorCode::kInternal, "{} is no activation", activation);
    p.activation = static_cast<Activation>(activation);
    GEMMSMITH_TRY(p.type, parse_data_type(value.at("type").get<std::string>()));
    GEMMSMITH_TRY(p.accumulator, parse_data_type(value.at("acc").get<std::string>()));
    p.f32_output = value.at("f32_output").get<bool>();
    GEMMSMITH_TRY(p.layout, parse_layout(value.at("layout").get<std::string>()));
    const auto ld = value.at("ld").get<std::array<std::int64_t, 4>>();
    p.lda = ld[0];
    p.ldb = ld[1];
    p.ldc = ld[2];
    p.ldd = ld[3];
    const auto stride = value.at("stride").get<std::array<std::int64_t, 4>>();
    p.stride_a = stride[0];
    p.stride_b = stride[1];
    p.stride_c = stride[2];
    p.stride_d = stride[3];
    p.alpha = value.at("alpha").get<float>();
    p.beta = value.at("beta").get<float>();
    const auto align = value.at("align").get<std::array<int, 4>>();
    p.alignment = {align[0], align[1], align[2], align[3]};
    return make_problem(p);
  });
}

json to_json(const BenchSettings& s) {
  return {{"seed", s.seed},
          {"workspace_bytes", s.workspace_bytes},
          {"screen_us", s.screen_us},
          {"screen_repeats", s.screen_repeats},
          {"final_pairs", s.final_pairs},
          {"final_us", s.final_us},
          {"candidate_timeout_s", s.candidate_timeout_s},
          {"verify", s.verify}};
}

Result<BenchSettings> read_settings(const json& value) {
  return guarded("settings", [&]() -> Result<BenchSettings> {
    BenchSettings s;
    s.seed = value.at("seed").get<std::uint64_t>();
    s.workspace_bytes = value.at("workspace_bytes").get<std::int64_t>();
    s.screen_us = value.at("screen_us").get<double>();
    s.screen_repeats = value.at("screen_repeats").get<int>();
    s.final_pairs = value.at("final_pairs").get<int>();
    s.final_us = value.at("final_us").get<double>();
    s.candidate_timeout_s = value.at("candidate_timeout_s").get<double>();
    s.verify = value.at("verify").get<bool>();
    return s;
  });
}

json to_json(const Measurement& m) {
  json repeats = json::array();
  for (const double us : m.repeats_us) repeats.push_back(number(us));
  return {{"kind", name(m.kind)},
          {"config", m.config},
          {"status", name(m.status)},
          {"setting", name(m.setting)},
          {"cache", name(m.cache)},
          {"stage", name(m.stage)},
          {"run", m.run},
          {"us", {number(m.low_us), number(m.median_us), number(m.high_us)}},
          {"ratio", {number(m.ratio_low), number(m.ratio), number(m.ratio_high)}},
          {"repeats_us", std::move(repeats)},
          {"compile_s", m.compile_s},
          {"detail", m.detail}};
}

Result<Measurement> read_measurement(const json& value, const Problem& problem) {
  return guarded("measurement", [&]() -> Result<Measurement> {
    Measurement m;
    m.problem = problem;
    GEMMSMITH_TRY(m.kind, parse_kind(value.at("kind").get<std::string>()));
    m.config = value.at("config").get<std::string>();
    GEMMSMITH_TRY(m.status, parse_status(value.at("status").get<std::string>()));
    GEMMSMITH_TRY(m.setting, parse_setting(value.at("setting").get<std::string>()));
    GEMMSMITH_TRY(m.cache, parse_cache_state(value.at("cache").get<std::string>()));
    GEMMSMITH_TRY(m.stage, parse_stage(value.at("stage").get<std::string>()));
    m.run = value.at("run").get<std::string>();
    const json& us = value.at("us");
    m.low_us = read_number(us.at(0));
    m.median_us = read_number(us.at(1));
    m.high_us = read_number(us.at(2));
    const json& ratio = value.at("ratio");
    m.ratio_low = read_number(ratio.at(0));
    m.ratio = read_number(ratio.at(1));
    m.ratio_high = read_number(ratio.at(2));
    for (const json& repeat : value.at("repeats_us")) m.repeats_us.push_back(read_number(repeat));
    m.compile_s = value.at("compile_s").get<double>();
    m.detail = value.at("detail").get<std::string>();
    return m;
  });
}

json to_json(const AccuracyReport& r) {
  return {{"config", r.config},
          {"status", name(r.status)},
          {"detail", r.detail},
          {"relative_error", number(r.relative_error)},
          {"bound_ratio", number(r.bound_ratio)}};
}

Result<AccuracyReport> read_accuracy(const json& value) {
  return guarded("accuracy", [&]() -> Result<AccuracyReport> {
    AccuracyReport r;
    r.config = value.at("config").get<std::string>();
    GEMMSMITH_TRY(r.status, parse_status(value.at("status").get<std::string>()));
    r.detail = value.at("detail").get<std::string>();
    r.relative_error = read_number(value.at("relative_error"));
    r.bound_ratio = read_number(value.at("bound_ratio"));
    return r;
  });
}

json to_json(const ServeSettings& s) {
  return {{"target_qps", s.target_qps}, {"duration_s", s.duration_s},
          {"slice_s", s.slice_s},       {"seed", s.seed},
          {"late_us", s.late_us},       {"depth", s.depth}};
}

Result<ServeSettings> read_serve_settings(const json& value) {
  return guarded("serve settings", [&]() -> Result<ServeSettings> {
    ServeSettings s;
    s.target_qps = value.at("target_qps").get<double>();
    s.duration_s = value.at("duration_s").get<double>();
    s.slice_s = value.at("slice_s").get<double>();
    s.seed = value.at("seed").get<std::uint64_t>();
    s.late_us = value.at("late_us").get<double>();
    s.depth = value.at("depth").get<int>();
    return s;
  });
}

json to_json(const ServeReport& r) {
  return {{"kind", name(r.kind)},
          {"config", r.config},
          {"status", name(r.status)},
          {"detail", r.detail},
          {"requests", r.requests},
          {"finished", r.finished},
          {"late", r.late},
          {"achieved_qps", number(r.achieved_qps)},
          {"mean_us", number(r.mean_us)},
          {"percentiles_us", {number(r.p50_us), number(r.p95_us), number(r.p99_us)}},
          {"max_us", number(r.max_us)}};
}

Result<ServeReport> read_serve_report(const json& value) {
  return guarded("serve report", [&]() -> Result<ServeReport> {
    ServeReport r;
    GEMMSMITH_TRY(r.kind, parse_kind(value.at("kind").get<std::string>()));
    r.config = value.at("config").get<std::string>();
    GEMMSMITH_TRY(r.status, parse_status(value.at("status").get<std::string>()));
    r.detail = value.at("detail").get<std::string>();
    r.requests = value.at("requests").get<std::int64_t>();
    r.finished = value.at("finished").get<std::int64_t>();
    r.late = value.at("late").get<std::int64_t>();
    r.achieved_qps = read_number(value.at("achieved_qps"));
    r.mean_us = read_number(value.at("mean_us"));
    const json& percentiles = value.at("percentiles_us");
    r.p50_us = read_number(percentiles.at(0));
    r.p95_us = read_number(percentiles.at(1));
    r.p99_us = read_number(percentiles.at(2));
    r.max_us = read_number(value.at("max_us"));
    return r;
  });
}

json to_json(const LoadReport& r) {
  return {{"status", name(r.status)},
          {"detail", r.detail},
          {"unavailable", r.unavailable},
          {"us", number(r.us)},
          {"launches", r.launches},
          {"energy_uj", optional(r.energy_uj)},
          {"power_w", optional(r.power_w)},
          {"power_limit_w", optional(r.power_limit_w)},
          {"sm_clock_mhz", optional(r.sm_clock_mhz)},
          {"memory_clock_mhz", optional(r.memory_clock_mhz)},
          {"temperature_c", optional(r.temperature_c)},
          {"throttled", optional(r.throttled)},
          {"throttled_share", optional(r.throttled_share)}};
}

Result<LoadReport> read_load_report(const json& value) {
  return guarded("load report", [&]() -> Result<LoadReport> {
    LoadReport r;
    GEMMSMITH_TRY(r.status, parse_status(value.at("status").get<std::string>()));
    r.detail = value.at("detail").get<std::string>();
    r.unavailable = value.at("unavailable").get<std::string>();
    r.us = read_number(value.at("us"));
    r.launches = value.at("launches").get<std::int64_t>();
    r.energy_uj = read_optional<double>(value.at("energy_uj"));
    r.power_w = read_optional<double>(value.at("power_w"));
    r.power_limit_w = read_optional<double>(value.at("power_limit_w"));
    r.sm_clock_mhz = read_optional<double>(value.at("sm_clock_mhz"));
    r.memory_clock_mhz = read_optional<double>(value.at("memory_clock_mhz"));
    r.temperature_c = read_optional<double>(value.at("temperature_c"));
    r.throttled = read_optional<std::uint64_t>(value.at("throttled"));
    r.throttled_share = read_optional<double>(value.at("throttled_share"));
    return r;
  });
}

json to_json(const CounterReport& r) {
  return {{"status", name(r.status)}, {"detail", r.detail},
          {"chip", r.chip},           {"passes", r.passes},
          {"kernels", r.kernels},     {"values", counters_to_json(r.values)}};
}

Result<CounterReport> read_counter_report(const json& value) {
  return guarded("counter report", [&]() -> Result<CounterReport> {
    CounterReport r;
    GEMMSMITH_TRY(r.status, parse_status(value.at("status").get<std::string>()));
    r.detail = value.at("detail").get<std::string>();
    r.chip = value.at("chip").get<std::string>();
    r.passes = value.at("passes").get<int>();
    r.kernels = value.at("kernels").get<int>();
    GEMMSMITH_TRY(r.values, counters_from_json(value.at("values")));
    return r;
  });
}

json to_json(const Error& error) { return {{"code", name(error.code)}, {"what", error.what}}; }

Error read_error(const json& value) {
  Error error{ErrorCode::kInternal, value.dump()};
  if (!value.is_object()) return error;
  const std::string code = value.value("code", std::string());
  for (const ErrorCode known : kErrorCodes)
    if (code == name(known)) error.code = known;
  error.what = value.value("what", error.what);
  return error;
}

}  // namespace gemmsmith::messages
