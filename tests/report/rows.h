// rows.h -- measurements for tests of the report: of one problem after another, with lt_tuned and
// ratios over it.
#pragma once

#include <string>
#include <vector>

#include "device/measurement.h"

namespace gemmsmith::report {

struct Rows {
  std::vector<Measurement> all;
  Problem problem;
  double lt_tuned_us = 10;

  Rows& shape(std::int64_t m, std::int64_t n, std::int64_t k, double tuned_us = 10) {
    problem = {};
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem = *make_problem(problem);
    lt_tuned_us = tuned_us;
    return add(Kind::kLtTuned, "cublaslt:a66.t20.s35", 1, Setting::kChained, Stage::kFinal);
  }

  Rows& add(Kind kind, const std::string& config, double ratio, Setting setting, Stage stage) {
    Measurement row;
    row.problem = problem;
    row.kind = kind;
    row.config = config;
    row.setting = setting;
    row.stage = stage;
    row.run = "20260101T000000.000Z-0001-tune";
    row.ratio = ratio;
    row.ratio_low = ratio - 0.001;
    row.ratio_high = ratio + 0.001;
    row.median_us = lt_tuned_us / ratio;
    all.push_back(row);
    return *this;
  }

  Rows& final(Kind kind, const std::string& config, double chained, double foreign) {
    return add(kind, config, chained, Setting::kChained, Stage::kFinal)
        .add(kind, config, foreign, Setting::kForeign, Stage::kFinal);
  }

  Rows& screened(const std::string& config, double ratio) {
    return add(Kind::kKernel, config, ratio, Setting::kChained, Stage::kScreen);
  }
};

}  // namespace gemmsmith::report
