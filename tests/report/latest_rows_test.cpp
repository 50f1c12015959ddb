#include "report/latest_rows.h"

#include <gtest/gtest.h>

#include <string>

namespace gemmsmith::report {
namespace {

Measurement row(std::int64_t m, const std::string& run) {
  Measurement row;
  row.problem.m = m;
  row.problem.n = row.problem.k = 64;
  row.problem = *make_problem(row.problem);
  row.run = run;
  return row;
}

std::string text(const std::vector<Measurement>& rows) {
  std::string text;
  for (const Measurement& row : rows) text += std::to_string(row.problem.m) + row.run + " ";
  return text;
}

TEST(LatestRows, OfOneRecordingAreItsOwn) {
  EXPECT_EQ(text(latest_rows({{row(1, "a"), row(1, "b"), row(2, "a")}})), "1a 1b 2a ");
  EXPECT_EQ(text(latest_rows({})), "");
}

TEST(LatestRows, AProblemMeasuredAgainIsReplacedWhole) {
  EXPECT_EQ(text(latest_rows({{row(1, "a"), row(2, "a"), row(2, "b")},
                              {row(2, "c"), row(3, "c")},
                              {row(3, "d"), row(3, "e")}})),
            "1a 2c 3d 3e ");
}

TEST(LatestRows, OtherTypesAreOtherProblems) {
  Measurement other = row(1, "b");
  other.problem.type = DataType::kBf16;
  EXPECT_EQ(text(latest_rows({{row(1, "a")}, {other}})), "1a 1b ");
}

}  // namespace
}  // namespace gemmsmith::report
