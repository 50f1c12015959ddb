// table.h -- a plan table that was loaded into a handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/device_info.h"
#include "plan/plan_table.h"

namespace gemmsmith::runtime {

// A number that this process has not used before: what cached calls are told apart by.
std::uint64_t next_epoch();

class Table {
 public:
  static Result<std::unique_ptr<const Table>> open(const char* path);
  static Result<std::unique_ptr<const Table>> copy(std::span<const std::byte> bytes);

  const plan::PlanTable& plans() const { return plans_; }

  // Whether the plans were validated on this kind of device: another number of SMs or another
  // memory has other winners, another architecture cannot run the kernels.
  bool fits(const DeviceInfo& device) const;
  // A sentence on why not.
  std::string misfit_text(const DeviceInfo& device) const;

 private:
  Table(plan::PlanTable plans, std::string name)
      : plans_(std::move(plans)), name_(std::move(name)) {}
  plan::PlanTable plans_;
  std::string name_;
};

}  // namespace gemmsmith::runtime
