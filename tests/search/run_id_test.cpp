#include "search/run_id.h"

#include <gtest/gtest.h>

#include <regex>

namespace gemmsmith {
namespace {

TEST(RunId, CarriesItsPurpose) {
  for (const RunPurpose purpose :
       {RunPurpose::kTune, RunPurpose::kRetest, RunPurpose::kConfirm, RunPurpose::kCount})
    EXPECT_EQ(run_purpose(make_run_id(purpose)), purpose);
  EXPECT_EQ(run_purpose("h200-first-night"), RunPurpose::kTune);
}

TEST(RunId, SortsByTimeAndIsSafeInCsv) {
  const std::string id = make_run_id(RunPurpose::kRetest);
  EXPECT_TRUE(std::regex_match(id, std::regex(R"(\d{8}T\d{6}\.\d{3}Z-[0-9a-f]{4}-retest)"))) << id;
  EXPECT_TRUE(std::regex_match(utc_now(), std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
}

}  // namespace
}  // namespace gemmsmith
