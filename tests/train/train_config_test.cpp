#include "train/train_config.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace gemmsmith::train {
namespace {

TEST(TrainConfig, WhatIsWrittenIsReadBack) {
  TrainConfig config;
  config.seed = 18446744073709551615U;
  config.hold_out = "m=512";
  config.hidden = 17;
  config.shuffled_labels = true;
  config.ppo_budgets = {2, 3};
  config.list.rate = 0.125;
  const std::string text = format_train_config(config);
  EXPECT_EQ(format_train_config(*parse_train_config(text, "a.json")), text);
  const TrainConfig read = *parse_train_config(text, "a.json");
  EXPECT_EQ(read.seed, config.seed);
  EXPECT_EQ(read.hold_out, "m=512");
  EXPECT_EQ(read.hidden, 17);
  EXPECT_TRUE(read.shuffled_labels);
  EXPECT_EQ(read.ppo_budgets, config.ppo_budgets);
  EXPECT_EQ(read.list.rate, 0.125);
}

TEST(TrainConfig, WhatIsLeftOutKeepsItsDefault) {
  EXPECT_EQ(format_train_config(*parse_train_config("{}", "a.json")),
            format_train_config(TrainConfig{}));
}

// The committed file says in full what the defaults are.
TEST(TrainConfig, TheShippedFileIsReadable) {
  const std::string path = std::string(GEMMSMITH_SOURCE_DIR) + "/data/policy/train.json";
  const auto config = parse_train_config(*read_file(path), path);
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(format_train_config(*config), format_train_config(TrainConfig{}));
}

TEST(TrainConfig, ErrorsNameFileEntryAndWhatWasExpected) {
  const auto refusal = [](const char* text) {
    return parse_train_config(text, "a.json").error().what;
  };
  EXPECT_EQ(refusal("[1]"), "a.json: is not a JSON object");
  EXPECT_EQ(refusal("{\"seed\": 1"), "a.json: not JSON: wrong or cut off at byte 11");
  EXPECT_EQ(refusal(R"({"seed": 1, "seed": 2})"), "a.json: the key 'seed' is given twice");
  EXPECT_TRUE(parse_train_config("{} // a comment\n", "a.json"));
  EXPECT_EQ(refusal(R"({"hiden": 3})"), "a.json: unknown entry 'hiden' (docs/agent.md lists them)");
  EXPECT_EQ(refusal(R"({"hidden": 0})"),
            "a.json: hidden: expected a whole number from 1 to 4096, found 0");
  EXPECT_EQ(refusal(R"({"hidden": 1.5})"),
            "a.json: hidden: expected a whole number from 1 to 4096, found 1.5");
  EXPECT_EQ(refusal(R"({"ppo_clip": "x"})"),
            "a.json: ppo_clip: expected a number from 0 to 1, found \"x\"");
  EXPECT_EQ(refusal(R"({"seed": -1})"),
            "a.json: seed: expected a whole number of at least 0, found -1");
  EXPECT_EQ(refusal(R"({"hold_out": 1})"), "a.json: hold_out: expected a string, found 1");
  EXPECT_EQ(refusal(R"({"shuffled_labels": 1})"),
            "a.json: shuffled_labels: expected true or false, found 1");
  EXPECT_EQ(refusal(R"({"ppo_budgets": []})"),
            "a.json: ppo_budgets: expected a list of whole numbers from 1 to 10000, found []");
}

}  // namespace
}  // namespace gemmsmith::train
