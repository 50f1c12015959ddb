// recorded_bench.h -- a Bench that answers from a recording: times drawn from the repeats that were
// measured, compile times and failures as they were. A config without a record fails with "no
// record" and is counted; nothing is interpolated.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "device/recorded_device.h"
#include "measure/bench.h"

namespace gemmsmith {

class RecordedBench : public Bench {
 public:
  RecordedBench(RecordedDevice device, const BenchSettings& settings);

  const RecordedDevice& recording() const { return device_; }
  const DeviceInfo& device() const override { return device_.info(); }
  // kUnsupported where the recording lacks the problem (RecordedDevice::check_has) or a baseline of
  // it.
  Result<std::vector<Measurement>> baselines(const Problem& problem) override;
  Result<std::vector<Config>> vendor_configs(const Problem& problem, int limit) override;
  Result<std::vector<Measurement>> screen(const Problem& problem, std::span<const Config> configs,
                                          Setting setting) override;
  Result<std::vector<Measurement>> finals(const Problem& problem,
                                          std::span<const Config> configs) override;
  // The recording's sidecar under "recorded", and how many configs had no record.
  std::string conditions() const override;

 private:
  Measurement answer(const Problem& problem, const Config& config, Stage stage, Setting setting);

  Measurement replayed(const Measurement& row);

  RecordedDevice device_;
  std::uint64_t seed_;
  std::map<std::string, int> asked_;  // how often each row was asked for
};

}  // namespace gemmsmith
