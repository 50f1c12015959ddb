#include "report/html_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/page_parts.h"
#include "report/rows.h"

namespace gemmsmith::report {
namespace {

using nlohmann::json;

ReportContext context() {
  ReportContext context;
  context.source = "grid.db";
  context.command = "gemmsmith report";
  context.device.target = *known_target("h200");
  return context;
}

std::string page_of(const Rows& rows, const ReportContext& given = context()) {
  Scoreboard board = make_scoreboard(rows.all);
  add_floors(board, given.device.target, smallest_empty_us(given.runs));
  return to_html(rows.all, board, given);
}

json part(const std::string& html, const std::string& id) {
  const std::string open = "id=\"" + id + "\">";
  const std::size_t begin = html.find(open) + open.size();
  return json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

int count(const std::string& text, const std::string& word) {
  int found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

Rows two_shapes() {
  Rows rows;
  rows.shape(64, 64, 64, 2)
      .final(Kind::kKernel, "sm90_ws:n8", 1.25, 1.1)
      .screened("sm90_ws:n8", 1.5)
      .screened("sm90_ws:n16", 1.0);
  rows.shape(128, 64, 64, 3).final(Kind::kVendor, "cublaslt:a66.t20.s35.c1", 0.9, 0.9);
  return rows;
}

TEST(HtmlReport, HasAColumnEntryForEachShape) {
  const json data = part(page_of(two_shapes()), "data");
  for (const auto& [name, column] : data["shapes"].items()) EXPECT_EQ(column.size(), 2U) << name;
  EXPECT_EQ(data["shapes"]["name"], json({"64_64_64", "128_64_64"}));
  EXPECT_EQ(data["shapes"]["raw"], json({1.25, nullptr}));
  EXPECT_EQ(data["shapes"]["vendor_foreign"], json({nullptr, 0.9}));
  EXPECT_EQ(data["shapes"]["lt_us"], json({2.0, 3.0}));
  EXPECT_EQ(data["overall"]["shapes"], 2);
  EXPECT_EQ(data["rows"], 8);
}

// 2 x config (+ 1: final), back to back, between foreign kernels; a final row outdoes a screened
// one.
TEST(HtmlReport, SpacesHoldEachConfigOnceTheLaterStageCounting) {
  const std::string html = page_of(two_shapes());
  const json configs = part(html, "data")["configs"];
  const json spaces = part(html, "spaces");
  ASSERT_EQ(spaces.size(), 2U);
  std::map<std::string, std::vector<int>> found;
  for (std::size_t i = 0; i < spaces[0].size(); i += 3)
    found[configs[spaces[0][i].get<std::size_t>() / 2]] = {
        spaces[0][i].get<int>() % 2, spaces[0][i + 1].get<int>(), spaces[0][i + 2].get<int>()};
  EXPECT_EQ(found.at("sm90_ws:n8"), (std::vector<int>{1, 12500, 11000}));
  EXPECT_EQ(found.at("sm90_ws:n16"), (std::vector<int>{0, 10000, 0}));
  EXPECT_EQ(found.count("cublaslt:a66.t20.s35"), 1U);
}

// Roofs and floors come from the device that measured.
TEST(HtmlReport, FloorsAreTheDevices) {
  Rows rows;
  rows.shape(8192, 8192, 8192, 1500);
  const json data = part(page_of(rows), "data");
  const double peak_tflops = data["roofs"]["peak_tflops"];
  const double floor_us = data["shapes"]["floor_us"][0];
  EXPECT_NEAR(floor_us, 2.0 * 8192 * 8192 * 8192 / (peak_tflops * 1e6), floor_us * 1e-3);
  EXPECT_NEAR(peak_tflops, 132 * 4096 * 1980e6 / 1e12, 1);
}

TEST(HtmlReport, TextFromFilesIsNeverMarkup) {
  Rows rows;
  rows.shape(64, 64, 64).final(Kind::kKernel, "</script><script>alert(1)<!--", 0.5, 0.5);
  ReportContext given = context();
  given.source = "<img src=x>";
  given.command = "{{d3.min.js}} \xff\xfe";
  RunConditions run;
  run.command = "</ScRiPt>";
  given.runs.push_back(run);
  const std::string html = page_of(rows, given);
  const std::string plain = page_of(two_shapes());
  for (const char* word : {"<script", "</script", "<img", "<!--", "</ScRiPt"})
    EXPECT_EQ(count(html, word), count(plain, word)) << word;
  const json data = part(html, "data");
  EXPECT_EQ(data["source"], "<img src=x>");
  EXPECT_EQ(data["command"], "{{d3.min.js}} \xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_NE(
      std::find(data["configs"].begin(), data["configs"].end(), "</script><script>alert(1)<!--"),
      data["configs"].end());
}

TEST(HtmlReport, NeedsNothingFromOutside) {
  const std::string html = page_of(two_shapes());
  for (const char* word : {"src=", "href=\"http", "@import", "url(", "<link rel=\"stylesheet"})
    EXPECT_EQ(count(html.substr(0, html.find("id=\"data\"")), word), 0) << word;
  EXPECT_EQ(count(html, "<script src"), 0);
  EXPECT_NE(html.find("d3js.org"), std::string::npos) << "the plotting library is not inside";
}

TEST(HtmlReport, EveryPartThatThePageNamesIsThere) {
  std::string_view rest = page_part("page.html");
  int parts = 0;
  for (std::size_t open = rest.find("{{"); open != std::string_view::npos; open = rest.find("{{")) {
    rest.remove_prefix(open + 2);
    const std::string_view name = rest.substr(0, rest.find("}}"));
    ++parts;
    EXPECT_TRUE(name == "data" || name == "spaces" || !page_part(name).empty()) << name;
  }
  EXPECT_GT(parts, 10);
}

// It would end the script or comment that it stands in.
TEST(HtmlReport, NoPartEndsItsOwnElement) {
  EXPECT_EQ(page_part("d3.min.js").find("</script"), std::string_view::npos);
  EXPECT_EQ(page_part("d3.licence").find("--"), std::string_view::npos);
  EXPECT_NE(page_part("d3.licence").find("Bostock"), std::string_view::npos);
}

TEST(HtmlReport, SameArgumentsSameBytes) {
  EXPECT_EQ(page_of(two_shapes()), page_of(two_shapes()));
}

TEST(HtmlReport, SixHundredConfigsCostLessThanFifteenBytesEach) {
  Rows rows;
  rows.shape(64, 64, 64);
  const std::size_t before = page_of(rows).size();
  for (int i = 0; i < 600; ++i) rows.screened(fmt::format("sm90_ws:n{}", i), 0.5 + i * 0.0011);
  Rows more = rows;
  const std::size_t one = page_of(rows).size();
  more.shape(128, 64, 64);
  for (int i = 0; i < 600; ++i) more.screened(fmt::format("sm90_ws:n{}", i), 0.5 + i * 0.0011);
  EXPECT_GT(one, before);
  EXPECT_LT(page_of(more).size() - one, 600U * 15U);
}

}  // namespace
}  // namespace gemmsmith::report
