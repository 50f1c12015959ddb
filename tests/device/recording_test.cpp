// The recording's format: what is written reads back, what is damaged is refused by file and line.
#include "device/recording.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>

#include "base/files.h"

namespace gemmsmith {
namespace {

namespace fs = std::filesystem;

Problem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  Problem p;
  p.m = m;
  p.n = n;
  p.k = k;
  return *make_problem(p);
}

Measurement kernel_row() {
  Measurement row;
  row.problem = problem(64, 4096, 64);
  row.config = "sm90_ws:m128.n256";
  row.run = "r1";
  row.median_us = 2.345678;
  row.low_us = 2.3;
  row.high_us = 2.4;
  row.ratio = 1.0123456;
  row.ratio_low = 1.01;
  row.ratio_high = 1.02;
  row.repeats_us = {2.345678, 2.3, 2.4};
  row.compile_s = 0.61234;
  return row;
}

std::string with_row(const std::string& row) { return std::string(kRecordingHeader) + "\n" + row; }

constexpr const char* kGoodRow =
    "64,4096,64,1,f16,f32,tn,kernel,sm90_ws:m128.n256,ok,chained,cold,screen,r1,2.3457,2.3,2.4,"
    "1.0123,1.01,1.02,2.346;2.3;2.4,0.612\n";

// A folder of its own, gone at the end.
class Folder {
 public:
  Folder()
      : path_(fs::temp_directory_path() / fmt::format("gemmsmith_recording_test_{}", ::getpid())) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

TEST(Recording, WritesOneLineARow) {
  const Measurement row = kernel_row();
  EXPECT_EQ(format_recording({&row, 1}).value(), with_row(kGoodRow));
}

// A column that recordings have where they need it; without it they are as they were.
TEST(Recording, HoldsTheTypeOfD) {
  std::vector<Measurement> rows = {kernel_row(), kernel_row()};
  rows[1].problem.f32_output = true;
  const std::string text = format_recording(rows).value();
  EXPECT_EQ(text.substr(0, text.find('\n')), std::string(kRecordingHeader) + ",out");
  const auto read = parse_recording(text, "x.csv");
  ASSERT_TRUE(read) << read.error().what;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_FALSE((*read)[0].problem.f32_output);
  EXPECT_EQ((*read)[1].problem, rows[1].problem);
  std::string bad = text;
  bad.replace(bad.rfind("f32"), 3, "f64");
  EXPECT_EQ(parse_recording(bad, "x.csv").error().what,
            "x.csv:3: out: unknown type 'f64': expected f16, bf16 or f32");
}

TEST(Recording, HeaderIsTheDocumentedOne) {
  EXPECT_EQ(kRecordingHeader,
            "m,n,k,batch,type,acc,layout,kind,config,status,setting,cache,stage,run,median_us,"
            "low_us,high_us,ratio,ratio_low,ratio_high,repeats_us,compile_s");
}

TEST(Recording, ReadsEveryField) {
  const auto rows = parse_recording(with_row(kGoodRow), "x.csv");
  ASSERT_TRUE(rows) << rows.error().what;
  ASSERT_EQ(rows->size(), 1U);
  const Measurement& row = rows->front();
  EXPECT_EQ(row.problem, problem(64, 4096, 64));
  EXPECT_EQ(row.kind, Kind::kKernel);
  EXPECT_EQ(row.config, "sm90_ws:m128.n256");
  EXPECT_EQ(row.status, Status::kOk);
  EXPECT_EQ(row.setting, Setting::kChained);
  EXPECT_EQ(row.cache, CacheState::kCold);
  EXPECT_EQ(row.stage, Stage::kScreen);
  EXPECT_EQ(row.run, "r1");
  EXPECT_DOUBLE_EQ(row.median_us, 2.3457);
  EXPECT_DOUBLE_EQ(row.low_us, 2.3);
  EXPECT_DOUBLE_EQ(row.high_us, 2.4);
  EXPECT_DOUBLE_EQ(row.ratio, 1.0123);
  EXPECT_DOUBLE_EQ(row.ratio_low, 1.01);
  EXPECT_DOUBLE_EQ(row.ratio_high, 1.02);
  EXPECT_EQ(row.repeats_us, (std::vector<double>{2.346, 2.3, 2.4}));
  EXPECT_DOUBLE_EQ(row.compile_s, 0.612);
}

RC_GTEST_PROP(Recording, WritingWhatWasReadChangesNothing,
              (std::vector<std::array<unsigned short, 6>> seeds)) {
  std::vector<Measurement> rows;
  for (const auto& seed : seeds) {
    Measurement row = kernel_row();
    row.problem = problem(1 + seed[0], 1 + seed[1], 1 + seed[2]);
    row.kind = static_cast<Kind>(seed[3] % 6);
    row.status = static_cast<Status>(seed[4] % 10);
    row.setting = static_cast<Setting>(seed[5] % 2);
    row.stage = static_cast<Stage>(seed[4] % 2);
    row.cache = static_cast<CacheState>(seed[3] % 2);
    row.median_us = (1 + seed[0]) * 1e4 / (1 + seed[1]);
    row.ratio = seed[2] / 3.0;
    row.repeats_us.assign(seed[5] % 7, seed[4] / 7.0);
    rows.push_back(row);
  }
  const std::string once = format_recording(rows).value();
  const auto read = parse_recording(once, "x.csv");
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->size() == rows.size());
  RC_ASSERT(format_recording(*read).value() == once);
}

TEST(Recording, BadRowsAreNamedByFileLineAndColumn) {
  const auto expect = [](std::string from, const std::string& to, const std::string& message) {
    std::string row = kGoodRow;
    row.replace(row.find(from), from.size(), to);
    const auto read = parse_recording(with_row(kGoodRow + row), "x.csv");
    ASSERT_FALSE(read) << to;
    EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
    EXPECT_EQ(read.error().what, message);
  };
  expect("64,", "six,", "x.csv:3: m: 'six' is not a whole number");
  expect("f16,", "f17,", "x.csv:3: type: " + parse_data_type("f17").error().what);
  expect("kernel", "kernal", "x.csv:3: kind: " + parse_kind("kernal").error().what);
  expect("r1,", "r;1,", "x.csv:3: run: 'r;1' holds a semicolon, a quote or a line break");
  expect("2.3457", "-1", "x.csv:3: median_us: '-1' is negative");
  expect("2.3457", "0", "x.csv:3: median_us: '0': a status of ok needs a time above 0");
  expect("2.3457", "nan", "x.csv:3: median_us: 'nan' is not a finite number");
  expect("2.346;2.3", "2.346;;2.3", "x.csv:3: repeats_us: '' is not a finite number");
  expect(",0.612", "", "x.csv:3: 21 fields, expected 22");
  expect(",0.612", ",0.612,1", "x.csv:3: 23 fields, expected 22");
  expect("64,4096,64,1", "64,4096,64,-2",
         "x.csv:3: problem: batch = -2: a size must not be negative");
}

TEST(Recording, HoldsDenseBatchesAndNothingElse) {
  Measurement row = kernel_row();
  row.problem.batch = 12;
  row.problem = *make_problem(row.problem);
  const auto text = format_recording(std::vector{row});
  ASSERT_TRUE(text) << text.error().what;
  EXPECT_EQ(parse_recording(*text, "x.csv")->at(0).problem, row.problem);
  row.problem.stride_a = 0;
  EXPECT_EQ(format_recording(std::vector{row}).error().what,
            "a recording holds packed, aligned problems with alpha 1 and beta 0; " +
                describe(row.problem) + " is not one");
  row.problem.grouped = true;
  row.problem = *make_problem(row.problem);
  EXPECT_EQ(format_recording(std::vector{row}).error().what,
            "a recording holds no groups; " + describe(row.problem) + " has some");
}

TEST(Recording, OtherHeadersAreRefused) {
  const auto read = parse_recording("m,n,k\n1,2,3\n", "x.csv");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().what, fmt::format("x.csv:1: not a recording: expected the header '{}', "
                                           "found 'm,n,k'",
                                           kRecordingHeader));
  EXPECT_FALSE(parse_recording("", "x.csv"));
}

TEST(Recording, TruncationsLoseRowsOrAreRefusedButNeverInvent) {
  const std::string text = with_row(std::string(kGoodRow) + kGoodRow);
  for (std::size_t size = 0; size < text.size(); ++size) {
    const auto read = parse_recording(text.substr(0, size), "x.csv");
    if (!read) continue;
    for (const Measurement& row : *read) EXPECT_EQ(row.config, "sm90_ws:m128.n256");
  }
}

TEST(Recording, RefusesRowsThatTheFormatCannotHold) {
  Measurement row = kernel_row();
  row.problem.beta = 1;
  EXPECT_EQ(format_recording({&row, 1}).error().what,
            "a recording holds packed, aligned problems with alpha 1 and beta 0; " +
                describe(row.problem) + " is not one");
  row = kernel_row();
  row.problem.lda = 72;
  EXPECT_FALSE(format_recording({&row, 1}));
  row = kernel_row();
  row.run = "a,b";
  EXPECT_EQ(format_recording({&row, 1}).error().what, "a recording cannot hold the text 'a,b'");
  row = kernel_row();
  row.ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(format_recording({&row, 1}));
}

TEST(Recording, FilesWithAndWithoutCompression) {
  const Folder folder;
  const std::vector<Measurement> rows(100, kernel_row());
  for (const char* name : {"grid.csv", "grid.csv.zst"}) {
    const fs::path path = folder / name;
    ASSERT_TRUE(write_recording(path, rows));
    const auto read = read_recording(path);
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_EQ(read->size(), 100U);
  }
  EXPECT_LT(fs::file_size(folder / "grid.csv.zst"), fs::file_size(folder / "grid.csv") / 10);
}

TEST(Recording, DamagedFilesAreNamed) {
  const Folder folder;
  const fs::path path = folder / "grid.csv.zst";
  ASSERT_TRUE(write_file_atomic(path, with_row(kGoodRow)));
  EXPECT_EQ(read_recording(path).error().what,
            "cannot read " + path.string() + ": zstd data is damaged: Unknown frame descriptor");
  EXPECT_FALSE(read_recording(folder / "absent.csv"));
}

TEST(Recording, SidecarLiesBeside) {
  EXPECT_EQ(sidecar_path("data/h200/grid.csv.zst"), fs::path("data/h200/grid.json"));
  EXPECT_EQ(sidecar_path("grid.csv"), fs::path("grid.json"));
  const Folder folder;
  const fs::path path = folder / "grid.csv.zst";
  ASSERT_TRUE(write_file_atomic(sidecar_path(path), "{}"));
  EXPECT_EQ(read_sidecar(path).value(), "{}");
  EXPECT_TRUE(fs::exists(folder / "grid.json"));
}

}  // namespace
}  // namespace gemmsmith
