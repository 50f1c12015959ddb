// measurement.h -- times of one kernel on one problem, with the baseline of the same run. A row of
// a recording and of the store is exactly this.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"

namespace gemmsmith {

enum class Kind { kKernel, kVendor, kCublas, kCublasAutotune, kLtFirst, kLtTuned };
enum class Setting { kChained, kForeign };  // back to back, or between foreign kernels
enum class CacheState { kCold, kHot };  // operands rotate through more than 2x L2, or stay in it
enum class Stage { kScreen, kFinal };
enum class Status {
  kOk,
  kCompile,
  kSpill,
  kSerialised,
  kLaunch,
  kTimeout,
  kFault,
  kWrong,
  kNondeterministic,
  kFloor
};

const char* name(Kind kind);         // kernel vendor cublas cublas_autotune lt_first lt_tuned
const char* name(Setting setting);   // chained foreign
const char* name(CacheState cache);  // cold hot
const char* name(Stage stage);       // screen final
const char* name(Status status);     // ok compile spill serialised launch timeout fault wrong ...
Result<Kind> parse_kind(std::string_view text);
Result<Setting> parse_setting(std::string_view text);
Result<CacheState> parse_cache_state(std::string_view text);
Result<Stage> parse_stage(std::string_view text);
Result<Status> parse_status(std::string_view text);

struct Measurement {
  Problem problem;
  Kind kind = Kind::kKernel;
  std::string config;  // to_text(Config); for cublas, cublas_autotune: empty
  Status status = Status::kOk;
  Setting setting = Setting::kChained;
  CacheState cache = CacheState::kCold;
  Stage stage = Stage::kScreen;
  std::string run;  // identity of the process run that measured it, a key into the sidecar
  double median_us = 0;
  double low_us = 0;  // 95 % interval of the median
  double high_us = 0;
  double ratio = 0;  // paired time of lt_tuned over this one's; above 1: faster than lt_tuned
  double ratio_low = 0;
  double ratio_high = 0;
  std::vector<double> repeats_us;
  double compile_s = 0;
  std::string detail;  // why a status is not ok; not part of a recording's row
};

}  // namespace gemmsmith
