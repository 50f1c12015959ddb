// recorded_device.h -- a device that answers from a recording: the same problems, configs, times
// and failures as when it was made, and nothing else. What has no record is refused and counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "device/device_info.h"
#include "device/measurement.h"

namespace gemmsmith {

class RecordedDevice {
 public:
  // Reads a recording and its sidecar, whose "device" member says which GPU it was.
  static Result<RecordedDevice> open(const std::filesystem::path& path);
  // The same from parts, for tests and for what was just measured.
  static RecordedDevice from_rows(std::vector<Measurement> rows, DeviceInfo info,
                                  std::string sidecar);

  const DeviceInfo& info() const { return info_; }
  const std::string& sidecar() const { return sidecar_; }  // JSON text
  const std::vector<Measurement>& rows() const { return rows_; }
  std::vector<Measurement> rows(const Problem& problem, Stage stage) const;

  // In the order of their first row.
  std::vector<Problem> problems() const;
  bool holds(const Problem& problem) const { return rows_of(problem) != nullptr; }
  // Whether the recording has rows of the problem. The error (kUnsupported) says what it holds
  // instead: how many shapes, of which types and layouts, and those nearest in size of the
  // problem's own.
  Result<void> check_has(const Problem& problem) const;
  // Distinct config texts of a kind with a row of this stage and setting, in the order of the rows.
  // Empty for a problem without records.
  std::vector<std::string_view> configs(const Problem& problem, Kind kind, Stage stage,
                                        Setting setting) const;

  // The newest (last) row, or null; a null is counted as a refusal. Problems are matched by sizes,
  // types and layout, and only with packed leading dimensions, alpha 1 and beta 0 have records.
  const Measurement* find(const Problem& problem, Kind kind, std::string_view config, Stage stage,
                          Setting setting) const;
  // The same for a kind of which a problem has one config, whatever its text (the baselines).
  const Measurement* find_baseline(const Problem& problem, Kind kind, Stage stage,
                                   Setting setting) const;

  // As if `row` were measured again: repeats drawn from its repeats with replacement, the medians
  // and intervals that follow from them. Rows without repeats come back as they are.
  static Measurement replay(const Measurement& row, std::mt19937_64& rng);

  // Questions that had no record.
  std::int64_t refusals() const { return refusals_->load(); }

 private:
  RecordedDevice() = default;
  const std::vector<std::size_t>* rows_of(const Problem& problem) const;
  const Measurement* refuse() const;

  DeviceInfo info_;
  std::string sidecar_;
  std::vector<Measurement> rows_;
  std::vector<std::size_t> first_rows_;  // of each problem
  std::unordered_map<std::string, std::vector<std::size_t>> rows_by_problem_;
  std::unique_ptr<std::atomic<std::int64_t>> refusals_;
};

}  // namespace gemmsmith
