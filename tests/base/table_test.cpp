// table_test.cpp -- one table, three readers.
#include "base/table.h"

#include <gtest/gtest.h>

#include <limits>

namespace gemmsmith {
namespace {

Table sample() {
  Table table({"shape", "us", "count"});
  table.add({"64_64_64", Cell(1.23456, 2), 3});
  table.add({"a,\"b\"", Cell(std::numeric_limits<double>::quiet_NaN(), 2), 12});
  return table;
}

TEST(Table, IsAlignedForPeople) {
  EXPECT_EQ(sample().render(OutputFormat::kText),
            "shape       us  count\n"
            "64_64_64  1.23      3\n"
            "a,\"b\"        -     12\n");
}

TEST(Table, IsQuotedForSpreadsheets) {
  EXPECT_EQ(sample().render(OutputFormat::kCsv),
            "shape,us,count\n64_64_64,1.23456,3\n\"a,\"\"b\"\"\",,12\n");
}

TEST(Table, IsOneArrayForPrograms) {
  EXPECT_EQ(sample().render(OutputFormat::kJson), R"([
  {
    "shape": "64_64_64",
    "us": 1.23456,
    "count": 3
  },
  {
    "shape": "a,\"b\"",
    "us": null,
    "count": 12
  }
]
)");
}

TEST(Table, WithoutRowsStaysValid) {
  const Table table({"shape"});
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.render(OutputFormat::kText), "shape\n");
  EXPECT_EQ(table.render(OutputFormat::kCsv), "shape\n");
  EXPECT_EQ(table.render(OutputFormat::kJson), "[]\n");
}

}  // namespace
}  // namespace gemmsmith
