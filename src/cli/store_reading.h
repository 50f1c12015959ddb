// store_reading.h -- what the verbs that read a store share: which environment is meant, which
// device measured it, and what must not be overwritten.
#pragma once

#include <filesystem>
#include <string>

#include "device/device_info.h"
#include "report/html_report.h"
#include "store/store.h"

namespace gemmsmith::cli {

// The one environment whose fingerprint has `fingerprint` in it. Error (kBadInput) where there is
// none, or a list where there are several.
Result<Environment> only_environment(const Store& store, const std::string& fingerprint);

// Rows whose checksum does not match are left out of everything; the user must hear of it.
void warn_of_damage(const Store& store);

// Error (kBadInput) where the environment's figures are a model's predictions: nothing that serves,
// or passes for measured, is made from them.
Result<void> check_is_measured(const Environment& environment);

// What measured an environment's results: the device of the last run that says so.
Result<DeviceInfo> device_of(const Store& store, const Environment& environment);

// The device and the runs of an environment, for a report on them.
Result<report::ReportContext> context_of(const Store& store, const Environment& environment);

// Writing a file over the store it comes from would lose both.
Result<void> check_is_not_store(const std::string& file, const std::filesystem::path& store);

}  // namespace gemmsmith::cli
