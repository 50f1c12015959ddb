// shipped_data_test.cpp -- what is said of the committed measurements is what they hold: how much
// of each shape was measured, the bars of the scoreboard, its page to the letter, and that the same
// kernel on both sides wins nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "base/files.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "device/device_json.h"
#include "device/recording.h"
#include "problem/shape_list.h"
#include "report/latest_rows.h"
#include "report/run_conditions.h"
#include "report/scoreboard.h"

namespace gemmsmith::report {
namespace {

const std::string kTree = GEMMSMITH_SOURCE_DIR;

std::vector<Measurement> recording(const std::string& name) {
  auto rows = read_recording(kTree + "/data/recordings/h200/" + name + ".csv.zst");
  if (!rows) ADD_FAILURE() << rows.error().what;
  return rows ? std::move(*rows) : std::vector<Measurement>{};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) all.push_back(field);
  return all;
}

TEST(GridRecording, EveryShapeHasItsConfigsAndBaselines) {
  std::map<std::string, std::map<Kind, std::set<std::string>>> measured;
  for (const Measurement& row : recording("grid1000_f16_f32_tn"))
    if (row.status == Status::kOk) measured[describe(row.problem)][row.kind].insert(row.config);
  const auto shapes = read_shape_list(kTree + "/data/shapes/grid1000.csv", Problem{});
  ASSERT_TRUE(shapes) << shapes.error().what;
  ASSERT_EQ(shapes->size(), 1000U);
  EXPECT_EQ(measured.size(), 1000U);
  for (const Problem& problem : *shapes) {
    auto& kinds = measured[describe(problem)];
    EXPECT_GE(kinds[Kind::kKernel].size(), 40U) << describe(problem);
    EXPECT_GE(kinds[Kind::kVendor].size(), 24U) << describe(problem);
    for (const Kind baseline :
         {Kind::kCublas, Kind::kCublasAutotune, Kind::kLtFirst, Kind::kLtTuned})
      EXPECT_EQ(kinds[baseline].size(), 1U) << describe(problem) << " " << name(baseline);
  }
}

std::set<std::string> shapes_of(const std::vector<Problem>& problems) {
  std::set<std::string> names;
  for (const Problem& problem : problems) names.insert(shape_name(problem));
  return names;
}

TEST(SixthRecordings, AreOfEverySixthShapeOfTheGridFromTheThirdOn) {
  const auto grid = read_shape_list(kTree + "/data/shapes/grid1000.csv", Problem{});
  const auto sixth = read_shape_list(kTree + "/data/shapes/sixth1000.csv", Problem{});
  ASSERT_TRUE(grid) << grid.error().what;
  ASSERT_TRUE(sixth) << sixth.error().what;
  std::vector<Problem> drawn;
  for (std::size_t i = 2; i < grid->size(); i += 6) drawn.push_back((*grid)[i]);
  EXPECT_EQ(*sixth, drawn);
  for (const char* layout : {"nn", "nt", "tt"}) {
    std::vector<Problem> measured;
    for (const Measurement& row : recording(std::string("sixth1000_f16_f32_") + layout))
      measured.push_back(row.problem);
    EXPECT_EQ(shapes_of(measured), shapes_of(drawn)) << layout;
  }
}

// What docs/scoreboard.md is of: the whole grid, and what was measured again.
std::vector<Measurement> grid() {
  return latest_rows({recording("grid1000_f16_f32_tn"), recording("longk172_f16_f32_tn"),
                      recording("fast772_f16_f32_tn"), recording("turned_f16_f32_tn")});
}

TEST(GridRecording, TheScoreboardIsAboveItsBars) {
  const std::vector<Measurement> rows = grid();
  const Scoreboard board = make_scoreboard(rows);
  EXPECT_EQ(board.failed, 0);
  EXPECT_EQ(board.not_retested, 0);
  EXPECT_EQ(board.overall.shapes, 1000);
  EXPECT_EQ(board.overall.with_ours, 1000);
  EXPECT_EQ(board.overall.served_losses, 0);
  std::map<std::string, double (*)(const ShapeLine&)> figures;
  figures["raw"] = [](const ShapeLine& line) { return line.raw->chained; };
  figures["ours_and_vendor"] = [](const ShapeLine& line) { return line.ours_and_vendor->chained; };
  figures["served"] = [](const ShapeLine& line) { return line.served.chained; };
  const std::vector<std::string> bars = lines(*read_file(kTree + "/bench/grid/bars.csv"));
  ASSERT_EQ(bars.front(), "figure,lt_tuned_below_us,at_least");
  ASSERT_GE(bars.size(), 5U);
  for (std::size_t i = 1; i < bars.size(); ++i) {
    const std::vector<std::string> bar = fields(bars[i]);
    ASSERT_EQ(bar.size(), 3U) << bars[i];
    ASSERT_EQ(figures.count(bar[0]), 1U) << bars[i];
    const double below_us = parse_double(bar[1]).value_or(std::numeric_limits<double>::infinity());
    std::vector<double> inside;
    for (const ShapeLine& line : board.shapes)
      if (line.lt_tuned_us < below_us) inside.push_back(figures[bar[0]](line));
    EXPECT_GT(inside.size(), 400U) << bars[i];
    EXPECT_GE(geometric_mean(inside), *parse_double(bar[2])) << bars[i];
  }
}

TEST(ScoreboardPage, HoldsWhatTheReportPrintsToday) {
  const auto page = read_file(kTree + "/docs/scoreboard.md");
  ASSERT_TRUE(page) << page.error().what;
  const std::vector<std::string> written = lines(*page);
  const std::set<std::string> held(written.begin(), written.end());
  const std::vector<Measurement> rows = grid();
  const std::vector<std::string> printed = lines(to_markdown(make_scoreboard(rows)));
  EXPECT_GT(printed.size(), 40U);
  for (const std::string& line : printed)
    EXPECT_EQ(held.count(line), 1U) << "docs/scoreboard.md lacks: " << line;
  // Of the others, the table of times.
  for (const std::string name : {"longk172_f16_f32_tn", "workloads_bf16_f32_tn",
                                 "workloads_bf16_f32_nn", "workloads_bf16_f32_nt",
                                 "batched60_bf16_f32_tn"}) {
    int buckets = 0;
    std::vector<std::vector<Measurement>> runs = {recording(name)};
    if (const std::string real = "workloads_"; name.rfind(real, 0) == 0)
      runs.push_back(recording("workloads2_" + name.substr(real.size())));
    const std::vector<Measurement> others = latest_rows(std::move(runs));
    for (const std::string& line : lines(to_markdown(make_scoreboard(others)))) {
      if (line.find(" us |") == std::string::npos && line.rfind("| all |", 0) != 0) continue;
      if (std::count(line.begin(), line.end(), '|') != 11) continue;
      buckets += line.rfind("| lt_tuned time", 0) != 0;
      EXPECT_EQ(held.count(line), 1U) << name << ": docs/scoreboard.md lacks: " << line;
    }
    EXPECT_GT(buckets, 2) << name;
  }
}

double median_percent(const std::vector<const ShapeLine*>& shapes,
                      double (*share)(const ShapeLine&)) {
  std::vector<double> percents;
  for (const ShapeLine* line : shapes) percents.push_back(100 * share(*line));
  return median(percents);
}

TEST(ScoreboardPage, HoldsTheMediansOfFloors) {
  const std::string sidecar =
      *read_sidecar(kTree + "/data/recordings/h200/grid1000_f16_f32_tn.csv.zst");
  const std::vector<Measurement> rows = grid();
  Scoreboard board = make_scoreboard(rows);
  add_floors(board, device_from_sidecar(sidecar)->target,
             smallest_empty_us(*runs_of_sidecar(sidecar)));
  const std::string page = *read_file(kTree + "/docs/scoreboard.md");
  double from_us = 0;
  for (const auto& [name, below_us] : {std::pair{"< 3 µs", 3.},
                                       {"3–5 µs", 5.},
                                       {"5–10 µs", 10.},
                                       {"10–30 µs", 30.},
                                       {"30–100 µs", 100.},
                                       {"100–1000 µs", 1000.},
                                       {"> 1000 µs", 1e9}}) {
    std::vector<const ShapeLine*> inside;
    for (const ShapeLine& line : board.shapes) {
      EXPECT_LE(line.impossible_floor_us, line.lt_tuned_us / std::max(1., line.raw->chained));
      if (line.lt_tuned_us >= from_us && line.lt_tuned_us < below_us) inside.push_back(&line);
    }
    const auto of_ours = [](const ShapeLine& line) {
      return line.impossible_floor_us / line.lt_tuned_us * line.raw->chained;
    };
    const auto of_library = [](const ShapeLine& line) {
      return line.impossible_floor_us / line.lt_tuned_us;
    };
    const std::string words =
        fmt::format("| {} | {} | {:.0f} % | {:.0f} % |", name, inside.size(),
                    median_percent(inside, of_ours), median_percent(inside, of_library));
    EXPECT_NE(page.find(words), std::string::npos) << "docs/scoreboard.md lacks: " << words;
    from_us = below_us;
  }
}

struct Lane {
  std::vector<double> ratios;
  std::set<std::string> shapes;
  std::int64_t pairs = 0;
};

// Ours and cuBLASLt's kernel; each final has a row back to back and one between foreign kernels
// behind it. The rule that selects plans asks for an interval above 1 and a gain of 1 % in both.
TEST(SameKernelCheck, IsWithinThreeThousandthsAndWinsOnOneShapeAtMost) {
  const auto text = read_file(kTree + "/data/checks/h200_same_kernel.csv");
  ASSERT_TRUE(text) << text.error().what;
  const std::vector<std::string> table = lines(*text);
  ASSERT_EQ(table.front(), "m,n,k,config,setting,quadruples,median_us,ratio,ratio_low,ratio_high");
  std::map<std::pair<bool, std::string>, Lane> lanes;
  std::set<std::string> won_shapes;
  bool won_chained = false;
  for (std::size_t i = 1; i < table.size(); ++i) {
    const std::vector<std::string> row = fields(table[i]);
    ASSERT_EQ(row.size(), 10U) << table[i];
    ASSERT_EQ(row[4], i % 2 == 1 ? "chained" : "foreign") << "line " << i + 1;
    const std::string shape = row[0] + "_" + row[1] + "_" + row[2];
    const double ratio = *parse_double(row[7]);
    Lane& lane = lanes[{row[3].rfind("cublaslt:", 0) == 0, row[4]}];
    lane.shapes.insert(shape);
    lane.pairs += 2 * *parse_int64(row[5]);  // A B B A
    lane.ratios.push_back(ratio);
    const bool won = ratio >= 1.01 && *parse_double(row[8]) > 1;
    if (i % 2 == 1)
      won_chained = won;
    else if (won && won_chained)
      won_shapes.insert(shape);
  }
  ASSERT_EQ(lanes.size(), 4U);
  for (const auto& [who, lane] : lanes) {
    EXPECT_EQ(lane.shapes.size(), 50U) << who.second;
    EXPECT_GE(lane.pairs, 1000) << who.second;
    EXPECT_NEAR(median(lane.ratios), 1, 0.003) << who.second;
  }
  EXPECT_LE(won_shapes.size(), 1U);
}

}  // namespace
}  // namespace gemmsmith::report
