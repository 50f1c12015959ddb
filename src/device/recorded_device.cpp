#include "device/recorded_device.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/statistics.h"
#include "device/device_json.h"
#include "device/recording.h"

namespace gemmsmith {
namespace {

std::string key_of(const Problem& problem) {
  return fmt::format("{}_{}_{}x{} {}/{} {}{}", problem.m, problem.n, problem.k, problem.batch,
                     name(problem.type), name(problem.accumulator), name(problem.layout),
                     problem.f32_output ? " out=f32" : "");
}

bool is_recordable(const Problem& problem) {
  return !problem.grouped && problem.lda == packed_lda(problem) &&
         problem.ldb == packed_ldb(problem) && problem.ldd == packed_ldd(problem) &&
         problem.stride_a == default_stride_a(problem) &&
         problem.stride_b == default_stride_b(problem) &&
         problem.stride_d == default_stride_d(problem) && problem.alpha == 1 && problem.beta == 0;
}

// How many times larger or smaller, over all sizes together.
double distance(const Problem& a, const Problem& b) {
  const auto apart = [](std::int64_t x, std::int64_t y) {
    return std::abs(std::log(static_cast<double>(std::max<std::int64_t>(x, 1)) /
                             static_cast<double>(std::max<std::int64_t>(y, 1))));
  };
  return apart(a.m, b.m) + apart(a.n, b.n) + apart(a.k, b.k) + apart(a.batch, b.batch);
}

}  // namespace

Result<RecordedDevice> RecordedDevice::open(const std::filesystem::path& path) {
  GEMMSMITH_TRY(std::vector<Measurement> rows, read_recording(path));
  if (rows.empty())
    return fail(ErrorCode::kBadInput, "{} records nothing: it has a header and no row",
                path.string());
  GEMMSMITH_TRY(std::string sidecar, read_sidecar(path));
  Result<DeviceInfo> info = device_from_sidecar(sidecar);
  if (!info)
    return fail(ErrorCode::kBadInput, "{}: {}; it must say which device was recorded",
                sidecar_path(path).string(), info.error().what);
  if (const auto checked = check_plausible(*info); !checked)
    return fail(ErrorCode::kBadInput, "{}: {}", sidecar_path(path).string(), checked.error().what);
  return from_rows(std::move(rows), std::move(*info), std::move(sidecar));
}

RecordedDevice RecordedDevice::from_rows(std::vector<Measurement> rows, DeviceInfo info,
                                         std::string sidecar) {
  RecordedDevice device;
  device.info_ = std::move(info);
  device.sidecar_ = std::move(sidecar);
  device.rows_ = std::move(rows);
  device.refusals_ = std::make_unique<std::atomic<std::int64_t>>(0);
  for (std::size_t i = 0; i < device.rows_.size(); ++i) {
    std::vector<std::size_t>& of_problem = device.rows_by_problem_[key_of(device.rows_[i].problem)];
    if (of_problem.empty()) device.first_rows_.push_back(i);
    of_problem.push_back(i);
  }
  return device;
}

std::vector<Problem> RecordedDevice::problems() const {
  std::vector<Problem> problems;
  problems.reserve(first_rows_.size());
  for (const std::size_t row : first_rows_) problems.push_back(rows_[row].problem);
  return problems;
}

const std::vector<std::size_t>* RecordedDevice::rows_of(const Problem& problem) const {
  if (!is_recordable(problem)) return nullptr;
  const auto found = rows_by_problem_.find(key_of(problem));
  return found == rows_by_problem_.end() ? nullptr : &found->second;
}

std::vector<Measurement> RecordedDevice::rows(const Problem& problem, Stage stage) const {
  std::vector<Measurement> found;
  if (const std::vector<std::size_t>* places = rows_of(problem))
    for (const std::size_t i : *places)
      if (rows_[i].stage == stage) found.push_back(rows_[i]);
  return found;
}

Result<void> RecordedDevice::check_has(const Problem& problem) const {
  if (holds(problem)) return {};
  const std::vector<Problem> held = problems();
  std::vector<Signature> signatures;
  std::vector<std::pair<double, std::size_t>> near;  // by distance
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Signature signature = signature_of(held[i]);
    if (std::find(signatures.begin(), signatures.end(), signature) == signatures.end())
      signatures.push_back(signature);
    if (signature == signature_of(problem)) near.emplace_back(distance(problem, held[i]), i);
  }
  const std::string shapes = held.size() == 1 ? "one shape" : fmt::format("{} shapes", held.size());
  std::string of;
  for (const Signature& signature : signatures)
    of += (of.empty() ? "" : ", ") + describe(signature);
  if (!is_recordable(problem))
    return fail(
        ErrorCode::kUnsupported,
        "{}: a recording holds packed matrices with alpha 1 and beta 0 only; this one holds "
        "{} of {}",
        describe(problem), shapes, of);
  if (near.empty())
    return fail(ErrorCode::kUnsupported, "{}: the recording holds none of its kind, only {} of {}",
                describe(problem), shapes, of);
  constexpr std::size_t kMostNamed = 3;
  const std::size_t count = std::min(near.size(), kMostNamed);
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  std::string names;
  for (std::size_t i = 0; i < count; ++i)
    names += (i == 0 ? "" : ", ") + shape_name(held[near[i].second]);
  return fail(ErrorCode::kUnsupported,
              "{}: the recording does not hold this shape, but {} of {}; nearest: {}",
              describe(problem), shapes, of, names);
}

std::vector<std::string_view> RecordedDevice::configs(const Problem& problem, Kind kind,
                                                      Stage stage, Setting setting) const {
  std::vector<std::string_view> texts;
  std::unordered_set<std::string_view> seen;
  const std::vector<std::size_t>* rows = rows_of(problem);
  if (rows == nullptr) return texts;
  for (const std::size_t i : *rows) {
    const Measurement& row = rows_[i];
    if (row.kind == kind && row.stage == stage && row.setting == setting &&
        seen.insert(row.config).second)
      texts.push_back(row.config);
  }
  return texts;
}

const Measurement* RecordedDevice::refuse() const {
  refusals_->fetch_add(1);
  return nullptr;
}

const Measurement* RecordedDevice::find(const Problem& problem, Kind kind, std::string_view config,
                                        Stage stage, Setting setting) const {
  const std::vector<std::size_t>* rows = rows_of(problem);
  if (rows == nullptr) return refuse();
  for (auto i = rows->rbegin(); i != rows->rend(); ++i) {
    const Measurement& row = rows_[*i];
    if (row.kind == kind && row.stage == stage && row.setting == setting && row.config == config)
      return &row;
  }
  return refuse();
}

const Measurement* RecordedDevice::find_baseline(const Problem& problem, Kind kind, Stage stage,
                                                 Setting setting) const {
  const std::vector<std::size_t>* rows = rows_of(problem);
  if (rows == nullptr) return refuse();
  for (auto i = rows->rbegin(); i != rows->rend(); ++i) {
    const Measurement& row = rows_[*i];
    if (row.kind == kind && row.stage == stage && row.setting == setting) return &row;
  }
  return refuse();
}

Measurement RecordedDevice::replay(const Measurement& row, std::mt19937_64& rng) {
  if (row.repeats_us.empty()) return row;
  Measurement again = row;
  for (double& value : again.repeats_us) value = row.repeats_us[rng() % row.repeats_us.size()];
  const Interval interval = median_interval(again.repeats_us);
  again.median_us = interval.mid;
  again.low_us = interval.low;
  again.high_us = interval.high;
  // The baseline of the same run is not drawn again: only this side's time moves the ratio.
  if (again.median_us > 0) {
    const double change = row.median_us / again.median_us;
    again.ratio *= change;
    again.ratio_low *= change;
    again.ratio_high *= change;
  }
  return again;
}

}  // namespace gemmsmith
