// gemmsmith space --l2: the prediction as a table, and what it refuses.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/run_program.h"

namespace gemmsmith::test {
namespace {

TEST(L2Table, HoldsTheConfigFirstThenOtherOrdersByTraffic) {
  const ProgramResult result =
      run_program({"space", "--mnk", "8192_8192_8192", "--l2", "sm90_ws:w2.m128.n256", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const auto rows = nlohmann::json::parse(result.out);
  ASSERT_GT(rows.size(), 4U);
  EXPECT_EQ(rows[0]["config"], "sm90_ws:w2.m128.n256");
  for (std::size_t i = 2; i < rows.size(); ++i)
    EXPECT_LE(rows[i - 1]["memory_read_mib"], rows[i]["memory_read_mib"]) << rows[i]["config"];
  for (const auto& row : rows) {
    EXPECT_GE(row["memory_over_least"], 1) << row["config"];
    EXPECT_EQ(row["memory_written_mib"], 128) << row["config"];
  }
}

// A figure without its standing would be taken for a measurement.
TEST(L2Table, SaysThatItIsAPrediction) {
  const ProgramResult result = run_program(
      {"space", "--mnk", "512_512_512", "--l2", "sm90_ws:w2.m128.n128", "--target", "h100"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(
      result.err,
      "predicted for NVIDIA H100 from an empty L2 (how near to the counters: docs/l2_model.md)\n");
}

TEST(L2Table, RefusesTheLibrarysConfigsAndIllegalOnes) {
  const ProgramResult vendor =
      run_program({"space", "--mnk", "512_512_512", "--l2", "cublaslt:a66.t20.s35"});
  EXPECT_EQ(vendor.exit_code, 2);
  EXPECT_EQ(vendor.err,
            "gemmsmith: cublaslt:a66.t20.s35: in which order the library computes its tiles is not "
            "known: name a config of ours\n");
  const ProgramResult illegal = run_program(
      {"space", "--mnk", "512_512_512", "--l2", "sm90_ws:w2.m128.n128", "--target", "a100"});
  EXPECT_EQ(illegal.exit_code, 2);
  EXPECT_NE(illegal.err.find("is not legal for 512_512_512 f16/f32 tn"), std::string::npos)
      << illegal.err;
}

}  // namespace
}  // namespace gemmsmith::test
