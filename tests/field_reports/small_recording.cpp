#include "field_reports/small_recording.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "device/device_json.h"
#include "device/recording.h"
#include "space/family.h"

namespace gemmsmith::test {
namespace {

constexpr double kLtTunedUs = 4;

Measurement row_of(const std::string& shape, Kind kind, const std::string& config, double us) {
  Measurement row;
  row.problem = *parse_mnk(shape, {});
  row.kind = kind;
  row.config = config;
  row.run = "r";
  row.median_us = us;
  row.low_us = us * 0.995;
  row.high_us = us * 1.005;
  row.ratio = kLtTunedUs / us;
  row.ratio_low = row.ratio * 0.995;
  row.ratio_high = row.ratio * 1.005;
  row.repeats_us = {row.low_us, us, row.high_us};
  return row;
}

// As the screening and the final pairs would have measured it, in both settings.
void add_everywhere(std::vector<Measurement>& rows, Measurement row) {
  for (const Stage stage : {Stage::kScreen, Stage::kFinal})
    for (const Setting setting : {Setting::kChained, Setting::kForeign}) {
      row.stage = stage;
      row.setting = setting;
      rows.push_back(row);
    }
}

}  // namespace

std::string SmallRecording::config(int i) {
  Config config = default_config(sm80_mma_family());
  for (const auto& [parameter, value] :
       {std::pair{"tile_m", 16}, std::pair{"tile_n", 16}, std::pair{"warps_m", 1},
        std::pair{"warps_n", 1}, std::pair{"stages", 2}, std::pair{"group", 1 << (i % 4)},
        std::pair{"raster", i / 4}})
    config.set(parameter, value);
  return to_text(config);
}

std::string SmallRecording::write(const std::string& folder, const std::string& name) const {
  std::vector<Measurement> rows;
  for (const std::string& shape : shapes) {
    add_everywhere(rows, row_of(shape, Kind::kCublas, "", 5));
    add_everywhere(rows, row_of(shape, Kind::kCublasAutotune, "", 4.5));
    add_everywhere(rows, row_of(shape, Kind::kLtFirst, "cublaslt:a66.t20", 4.25));
    add_everywhere(rows, row_of(shape, Kind::kLtTuned, "cublaslt:a66.t23", kLtTunedUs));
    for (int i = 0; i < configs; ++i) {
      Measurement row = row_of(shape, Kind::kKernel, config(i), i == fastest ? 2.0 : 3 + 0.01 * i);
      if (i == bad) {
        row.status = bad_status;
        row.median_us = row.low_us = row.high_us = 0;
        row.ratio = row.ratio_low = row.ratio_high = 0;
        row.repeats_us.clear();
      }
      add_everywhere(rows, row);
    }
  }
  DeviceInfo info;
  info.target = *known_target("h200");
  info.driver_version = driver;
  info.cublas_version = "13.1.0";
  info.compiler_version = "nvrtc 13.0";
  const std::string path = folder + "/" + name;
  const auto written = write_recording(path, rows);
  EXPECT_TRUE(written) << written.error().what;
  EXPECT_TRUE(write_file_atomic(sidecar_path(path), R"({"device":)" + device_to_json(info) + "}"));
  return "recorded:" + path;
}

}  // namespace gemmsmith::test
