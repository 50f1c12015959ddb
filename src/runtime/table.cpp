#include "runtime/table.h"

#include <atomic>
#include <string_view>
#include <utility>

namespace gemmsmith::runtime {
namespace {

constexpr const char* kFromMemory = "plan table from memory";

}  // namespace

std::uint64_t next_epoch() {
  static std::atomic<std::uint64_t> epoch{0};
  return ++epoch;  // 0 stays free: it marks an empty cache entry
}

Result<std::unique_ptr<const Table>> Table::open(const char* path) {
  GEMMSMITH_TRY(plan::PlanTable plans, plan::PlanTable::open(path));
  return std::unique_ptr<const Table>(new Table(std::move(plans), path));
}

Result<std::unique_ptr<const Table>> Table::copy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  GEMMSMITH_TRY(plan::PlanTable plans, plan::PlanTable::from_bytes(text, kFromMemory));
  return std::unique_ptr<const Table>(new Table(std::move(plans), kFromMemory));
}

bool Table::fits(const DeviceInfo& device) const {
  return plans_.compute_capability() == device.target.compute_capability &&
         plans_.sm_count() == device.target.sm_count && plans_.device_name() == device.target.name;
}

std::string Table::misfit_text(const DeviceInfo& device) const {
  return fmt::format(
      "{}: made for {} (sm_{}, {} SMs), but the current device is {} (sm_{}, {} SMs); load a table "
      "made for it, or make the other device current first",
      name_, plans_.device_name(), plans_.compute_capability(), plans_.sm_count(),
      device.target.name, device.target.compute_capability, device.target.sm_count);
}

}  // namespace gemmsmith::runtime
