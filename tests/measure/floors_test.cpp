// The floors, against every committed table of measured cuBLAS times.
#include "measure/floors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "measure/operands.h"

namespace gemmsmith {
namespace {

// Of the runs that made the tables.
constexpr double kEmptyPeriodUs = 0.56;
constexpr std::int64_t kBaselineSets = 64;

Target h200() { return *known_target("h200"); }

Problem shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return *make_problem(problem);
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

// Columns that hold microseconds, by the tables' own names.
bool is_time(const std::string& column) {
  return column.ends_with("_us") || column == "heur" || column == "auto" || column == "best";
}

// Row by row: column -> text.
std::vector<std::map<std::string, std::string>> read_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) continue;  // remarks at the end of a table
    const std::vector<std::string> fields = split(line);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < fields.size() && i < header.size(); ++i) row[header[i]] = fields[i];
    rows.push_back(row);
  }
  return rows;
}

TEST(ImpossibleFloor, RejectsNoCommittedBaseline) {
  int checked = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(GEMMSMITH_SOURCE_DIR "/data/baselines")) {
    if (file.path().extension() != ".csv") continue;
    for (auto& row : read_table(file.path())) {
      Problem problem = shape(std::stoll(row["m"]), std::stoll(row["n"]), std::stoll(row["k"]));
      if (row.contains("type")) {
        const auto type = parse_data_type(row["type"]);
        if (!type || size_bytes(*type) != 2) continue;  // 8-bit types are not ours yet
        problem.type = *type;
      }
      const CacheState cache = cache_state(problem, h200().l2_bytes, kBaselineSets);
      const double floor_us = impossible_floor_us(problem, h200(), cache, kEmptyPeriodUs);
      for (const auto& [column, text] : row) {
        if (!is_time(column) || text.empty()) continue;
        EXPECT_GE(std::stod(text), floor_us)
            << file.path().filename() << " " << shape_name(problem) << " " << column;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 8000);  // the tables were there
}

TEST(ImpossibleFloor, IsTheLargestOfItsThreeTerms) {
  // A launch: the empty kernel. A large square: FLOP at 132 * 4096 * 1.98 GHz. A wide output of a
  // short k: bytes that do not fit L2 at 4.8 TB/s.
  EXPECT_DOUBLE_EQ(impossible_floor_us(shape(64, 64, 64), h200(), CacheState::kHot, 0.56), 0.56);
  EXPECT_NEAR(impossible_floor_us(shape(8192, 8192, 8192), h200(), CacheState::kCold, 0.56),
              2.0 * 8192 * 8192 * 8192 / (132 * 4096 * 1980e6) * 1e6, 0.01);
  const Problem wide = shape(16384, 16384, 64);
  const double bytes = wide.min_bytes();
  EXPECT_NEAR(impossible_floor_us(wide, h200(), CacheState::kCold, 0.56),
              (bytes - 60.0 * (1 << 20)) / 4.8e12 * 1e6, 0.01);
}

TEST(ImpossibleFloor, CreditsAtMostHalfOfARotationToL2) {
  const Problem problem = shape(64, 4096, 4096);  // 34 MB a set, rotated cold
  EXPECT_NEAR(impossible_floor_us(problem, h200(), CacheState::kCold, 0),
              problem.min_bytes() / 2 / 4.8e12 * 1e6, 1e-6);
}

TEST(ImpossibleFloor, KnowsTheTensorPeakOfAnA100) {
  // 312 TFLOP/s: the data sheet's figure.
  const double us =
      impossible_floor_us(shape(8192, 8192, 8192), *known_target("a100"), CacheState::kCold, 0);
  EXPECT_NEAR(2.0 * 8192 * 8192 * 8192 / us * 1e-6, 312, 1);
}

TEST(ExpectedFloor, IsAboveTheImpossibleOne) {
  for (const std::int64_t m : {64, 512, 4096, 16384})
    for (const std::int64_t k : {64, 1024, 16384})
      for (const CacheState cache : {CacheState::kCold, CacheState::kHot}) {
        const Problem problem = shape(m, 4096, k);
        EXPECT_GE(expected_floor_us(problem, h200(), cache),
                  impossible_floor_us(problem, h200(), cache, 0.56))
            << shape_name(problem);
      }
}

TEST(ExpectedFloor, FollowsTheMeasuredRates) {
  // 800 TFLOP/s on a large square, 4.66 TB/s of memory.
  EXPECT_NEAR(2.0 * 16384 * 16384 * 16384 /
                  expected_floor_us(shape(16384, 16384, 16384), h200(), CacheState::kCold) * 1e-6,
              800, 5);
  const Problem wide = shape(12288, 4096, 64);
  EXPECT_NEAR(wide.min_bytes() / expected_floor_us(wide, h200(), CacheState::kCold) * 1e-6, 4.66,
              0.01);
}

}  // namespace
}  // namespace gemmsmith
