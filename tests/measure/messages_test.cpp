#include "measure/messages.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace gemmsmith {
namespace {

using nlohmann::json;

Problem any_problem() {
  Problem p;
  p.m = *rc::gen::inRange(1, 20000);
  p.n = *rc::gen::inRange(1, 20000);
  p.k = *rc::gen::inRange(0, 20000);
  p.type = *rc::gen::element(DataType::kF16, DataType::kBf16);
  p.layout = *rc::gen::element(Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT);
  p.ldd = p.n + *rc::gen::inRange(0, 100);
  p.alpha = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 7;
  p.beta = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 3;
  p.alignment.b = *rc::gen::element(2, 16, 256);
  return *make_problem(p);
}

RC_GTEST_PROP(Messages, ProblemsSurviveTheTrip, ()) {
  const Problem problem = any_problem();
  const auto back = messages::read_problem(json::parse(messages::to_json(problem).dump()));
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == problem);
}

RC_GTEST_PROP(Messages, MeasurementsSurviveTheTrip, ()) {
  Measurement m;
  m.problem = any_problem();
  m.kind = *rc::gen::element(Kind::kKernel, Kind::kVendor, Kind::kLtTuned);
  m.config = *rc::gen::string<std::string>();
  for (char& c : m.config) c = static_cast<char>(c & 0x7f);  // JSON is UTF-8
  m.status = *rc::gen::element(Status::kOk, Status::kWrong, Status::kFloor);
  m.setting = *rc::gen::element(Setting::kChained, Setting::kForeign);
  m.cache = *rc::gen::element(CacheState::kCold, CacheState::kHot);
  m.stage = *rc::gen::element(Stage::kScreen, Stage::kFinal);
  m.run = "r1";
  m.median_us = *rc::gen::inRange(1, 1000000) / 977.0;
  m.ratio = *rc::gen::inRange(1, 1000) / 311.0;
  m.repeats_us = {m.median_us, m.ratio};
  m.detail = "why";
  const auto back = messages::read_measurement(json::parse(messages::to_json(m).dump()), m.problem);
  RC_ASSERT(back.has_value());
  RC_ASSERT(back->problem == m.problem);
  RC_ASSERT(back->kind == m.kind);
  RC_ASSERT(back->config == m.config);
  RC_ASSERT(back->status == m.status);
  RC_ASSERT(back->setting == m.setting);
  RC_ASSERT(back->cache == m.cache);
  RC_ASSERT(back->stage == m.stage);
  RC_ASSERT(back->median_us == m.median_us);
  RC_ASSERT(back->ratio == m.ratio);
  RC_ASSERT(back->repeats_us == m.repeats_us);
  RC_ASSERT(back->detail == m.detail);
}

TEST(Messages, FiguresThatAreNoNumbersSurvive) {
  Measurement m;
  m.ratio = std::nan("");
  const auto back = messages::read_measurement(json::parse(messages::to_json(m).dump()), m.problem);
  ASSERT_TRUE(back);
  EXPECT_TRUE(std::isnan(back->ratio));
}

TEST(Messages, SettingsSurviveTheTrip) {
  BenchSettings s;
  s.seed = 12345678901234567890ULL;
  s.final_us = 123.5;
  s.verify = false;
  const auto back = messages::read_settings(json::parse(messages::to_json(s).dump()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->seed, s.seed);
  EXPECT_EQ(back->final_us, s.final_us);
  EXPECT_FALSE(back->verify);
}

TEST(Messages, AccuracySurvivesTheTrip) {
  AccuracyReport r;
  r.config = "sm80_mma:s3";
  r.status = Status::kWrong;
  r.detail = "bound: element (0, 0)";
  r.relative_error = 0.125;
  r.bound_ratio = std::nan("");
  const auto back = messages::read_accuracy(json::parse(messages::to_json(r).dump()));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->config, r.config);
  EXPECT_EQ(back->status, r.status);
  EXPECT_EQ(back->detail, r.detail);
  EXPECT_EQ(back->relative_error, r.relative_error);
  EXPECT_TRUE(std::isnan(back->bound_ratio));
}

TEST(Messages, LoadSurvivesTheTripAndWhatIsMissingStaysMissing) {
  LoadReport r;
  r.status = Status::kLaunch;
  r.detail = "refused";
  r.unavailable = "no NVML";
  r.us = 12.5;
  r.launches = 1LL << 40;
  r.energy_uj = 3.25;
  r.throttled = 0x4;
  const auto back = messages::read_load_report(json::parse(messages::to_json(r).dump()));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->status, r.status);
  EXPECT_EQ(back->detail, r.detail);
  EXPECT_EQ(back->unavailable, r.unavailable);
  EXPECT_EQ(back->us, r.us);
  EXPECT_EQ(back->launches, r.launches);
  EXPECT_EQ(back->energy_uj, r.energy_uj);
  EXPECT_EQ(back->throttled, r.throttled);
  EXPECT_FALSE(back->power_w);
  EXPECT_FALSE(back->throttled_share);
}

TEST(Messages, EveryCounterSurvivesTheTrip) {
  CounterReport r;
  r.chip = "GH100";
  r.passes = 11;
  r.kernels = 2;
  double value = 0.5;
  for (const CounterRow& row : counter_table()) r.values[row.counter] = value++;
  r.values[Counter::kStallWgmma].reset();
  const auto back = messages::read_counter_report(json::parse(messages::to_json(r).dump()));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->chip, r.chip);
  EXPECT_EQ(back->passes, r.passes);
  EXPECT_EQ(back->kernels, r.kernels);
  EXPECT_EQ(back->values.values, r.values.values);
}

TEST(Messages, ServingSurvivesTheTrip) {
  ServeSettings s;
  s.target_qps = 12.5;
  s.duration_s = 3;
  s.slice_s = 0.25;
  s.seed = 12345678901234567890ULL;
  s.late_us = 7;
  s.depth = 3;
  const auto settings = messages::read_serve_settings(json::parse(messages::to_json(s).dump()));
  ASSERT_TRUE(settings);
  EXPECT_EQ(messages::to_json(*settings), messages::to_json(s));
  EXPECT_EQ(settings->seed, s.seed);

  ServeReport r;
  r.kind = Kind::kCublasAutotune;
  r.config = "x";
  r.status = Status::kLaunch;
  r.detail = "why";
  r.requests = 10;
  r.finished = 9;
  r.late = 8;
  r.achieved_qps = 7.5;
  r.mean_us = 1;
  r.p50_us = 2;
  r.p95_us = 3;
  r.p99_us = 4;
  r.max_us = std::nan("");
  const auto report = messages::read_serve_report(json::parse(messages::to_json(r).dump()));
  ASSERT_TRUE(report);
  EXPECT_EQ(messages::to_json(*report), messages::to_json(r));
  EXPECT_EQ(report->p99_us, 4);
  EXPECT_TRUE(std::isnan(report->max_us));
}

TEST(Messages, ErrorsKeepTheirCode) {
  for (const ErrorCode code : {ErrorCode::kBadInput, ErrorCode::kEnvironment, ErrorCode::kDevice,
                               ErrorCode::kInterrupted}) {
    const Error back = messages::read_error(messages::to_json(Error{code, "words"}));
    EXPECT_EQ(back.code, code);
    EXPECT_EQ(back.what, "words");
  }
  EXPECT_EQ(messages::read_error(json("nonsense")).code, ErrorCode::kInternal);
}

TEST(Messages, ABadMemberIsNamed) {
  json problem = messages::to_json(Problem{});
  problem["m"] = "many";
  EXPECT_FALSE(messages::read_problem(problem));
  problem.erase("m");
  const auto missing = messages::read_problem(problem);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("'m'"), std::string::npos) << missing.error().what;
  EXPECT_FALSE(messages::read_measurement(json::array(), Problem{}));
}

}  // namespace
}  // namespace gemmsmith
