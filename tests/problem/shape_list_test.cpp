// shape_list_test.cpp -- what people's lists really look like is read, and what is wrong with one
// is said by file, line and column.
#include "problem/shape_list.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <fstream>

#include "base/interrupt.h"
#include "support/scratch.h"

namespace gemmsmith {
namespace {

std::vector<Problem> parsed(std::string_view text) {
  auto problems = parse_shape_list(text, "shapes.csv", {});
  EXPECT_TRUE(problems) << problems.error().what;
  return problems ? *problems : std::vector<Problem>{};
}

std::vector<std::string> names(const std::vector<Problem>& problems) {
  std::vector<std::string> result;
  for (const Problem& problem : problems) result.push_back(shape_name(problem));
  return result;
}

using Names = std::vector<std::string>;

TEST(ShapeList, ReadsACsv) {
  EXPECT_EQ(names(parsed("m,n,k\n64,4096,64\n1,2,3\n")), (Names{"64_4096_64", "1_2_3"}));
}

TEST(ShapeList, ColumnsComeInAnyOrderAndOthersAreIgnored) {
  const auto problems = parsed("source,k,m,n\nabc,3,1,2\n\"a, \"\"quoted\"\"\nb\",6,4,5\n");
  EXPECT_EQ(names(problems), (Names{"1_2_3", "4_5_6"}));
}

struct SpellingCase {
  const char* label;
  const char* text;
};

class Spelling : public ::testing::TestWithParam<SpellingCase> {};

TEST_P(Spelling, ReadsTheSameTwoShapes) {
  EXPECT_EQ(names(parsed(GetParam().text)), (Names{"1_2_3", "4_5_6"})) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    All, Spelling,
    ::testing::Values(
        SpellingCase{"plain", "m,n,k\n1,2,3\n4,5,6\n"},
        SpellingCase{"crlf", "m,n,k\r\n1,2,3\r\n4,5,6\r\n"},
        SpellingCase{"byte_order_mark", "\xEF\xBB\xBFm,n,k\n1,2,3\n4,5,6\n"},
        SpellingCase{"no_final_newline", "m,n,k\n1,2,3\n4,5,6"},
        SpellingCase{"blank_lines", "\n\nm,n,k\n\n1,2,3\n  \n4,5,6\n\n"},
        SpellingCase{"spaces", " m , n , k \n 1 , 2,3\n4,5 , 6 \n"},
        SpellingCase{"upper_case_header", "M,N,K\n1,2,3\n4,5,6\n"},
        SpellingCase{"quoted", "\"m\",\"n\",\"k\"\n\"1\",2,3\n4,\"5\" ,6\n"},
        SpellingCase{"repeated", "m,n,k\n1,2,3\n4,5,6\n1,2,3\n"},
        SpellingCase{"json_lines", "{\"m\":1,\"n\":2,\"k\":3}\n{\"k\":6,\"n\":5,\"m\":4}\n"},
        SpellingCase{"json_lines_crlf_bom",
                     "\xEF\xBB\xBF{\"m\":1,\"n\":2,\"k\":3}\r\n\r\n{\"m\":4,\"n\":5,\"k\":6}"},
        SpellingCase{"json_lines_extra",
                     " {\"m\":1,\"n\":2,\"k\":3,\"tag\":[1,{}],\"type\":null}\n"
                     "{\"m\":4,\"n\":5,\"k\":6}\n"}),
    [](const auto& test) { return std::string(test.param.label); });

TEST(ShapeList, OptionalColumnsSetTheProblem) {
  const auto problems = parsed(
      "m,n,k,type,acc,layout,lda,ldb,ldc,ldd,alpha,beta,batch\n"
      "16,32,64,bf16,f32,NT,24,40,48,56,0.5,-1.25,1\n"
      "16,32,64,,,,,,,,,,\n");
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(describe(problems[0]),
            "16_32_64 bf16/f32 nt lda=24 ldb=40 ldc=48 ldd=56 alpha=0.5 beta=-1.25");
  EXPECT_EQ(describe(problems[1]), "16_32_64 f16/f32 tn") << "an empty field takes the default";
}

TEST(ShapeList, TheTypeOfResultsIsAColumn) {
  const auto list =
      parse_shape_list("out,m,n,k,type\nf32,1,2,3,bf16\nbf16,1,2,3,bf16\n", "s.csv", {});
  ASSERT_TRUE(list) << list.error().what;
  EXPECT_TRUE(list->at(0).f32_output);
  EXPECT_FALSE(list->at(1).f32_output);
  EXPECT_EQ(parse_shape_list("m,n,k,out\n1,2,3,bf16\n", "s.csv", {}).error().what,
            "s.csv:2: out: output = bf16: with f16 operands it must be f16 or f32");
}

TEST(ShapeList, BatchesHaveStrides) {
  const auto problems = parsed(
      "m,n,k,batch,stride_a,stride_b,stride_d\n"
      "16,32,64,8,,,\n"
      "16,32,64,8,0,4096,600\n"
      "16,32,64,1,0,4096,600\n"
      "16,32,64,1,-5,-1,600\n"
      "16,32,64,9,,,\n");
  ASSERT_EQ(problems.size(), 4u);
  EXPECT_EQ(describe(problems[0]), "16_32_64x8 f16/f32 tn");
  EXPECT_EQ(describe(problems[1]), "16_32_64x8 f16/f32 tn stride_a=0 stride_b=4096 stride_d=600");
  EXPECT_EQ(describe(problems[2]), "16_32_64 f16/f32 tn");
  EXPECT_EQ(describe(problems[3]), "16_32_64x9 f16/f32 tn");
}

TEST(ShapeList, DefaultsFillWhatTheListLeavesOut) {
  Problem defaults;
  defaults.type = DataType::kBf16;
  defaults.layout = Layout::kNN;
  for (const char* text : {"m,n,k\n4,2,3\n", R"({"m":4,"n":2,"k":3})"}) {
    const auto problems = parse_shape_list(text, "x", defaults);
    ASSERT_TRUE(problems);
    EXPECT_EQ(describe(problems->front()), "4_2_3 bf16/f32 nn");
  }
}

TEST(ShapeList, ZeroSizesAreKept) {
  EXPECT_EQ(names(parsed("m,n,k\n0,1024,64\n8,0,0\n")), (Names{"0_1024_64", "8_0_0"}));
}

struct RefusedCase {
  const char* label;
  const char* text;
  const char* message;
};

class RefusedShapeList : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedShapeList, NamesFileLineAndColumn) {
  const auto problems = parse_shape_list(GetParam().text, "shapes.csv", {});
  ASSERT_FALSE(problems);
  EXPECT_EQ(problems.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(problems.error().what, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedShapeList,
    ::testing::Values(
        RefusedCase{"empty_file", "",
                    "shapes.csv:1: the file is empty: expected a header with m, n and k"},
        RefusedCase{"blank_file", "\n \r\n",
                    "shapes.csv:1: the file is empty: expected a header with m, n and k"},
        RefusedCase{"header_only", "m,n,k\n",
                    "shapes.csv: no shapes: expected at least one line below the header"},
        RefusedCase{"missing_column", "m,k\n1,2\n",
                    "shapes.csv:1: n: the header lacks this column: expected m, n and k"},
        RefusedCase{"no_header", "64,64,64\n",
                    "shapes.csv:1: m: the header lacks this column: expected m, n and k"},
        RefusedCase{"header_named_twice", "m,n,k,N\n1,2,3,4\n",
                    "shapes.csv:1: n: the header names this column twice"},
        RefusedCase{"letter", "m,n,k\n64,64,64\n64,abc,64\n",
                    "shapes.csv:3: n: 'abc' is not a whole number"},
        RefusedCase{"fraction", "m,n,k\n64,64,64.0\n",
                    "shapes.csv:2: k: '64.0' is not a whole number"},
        RefusedCase{"negative", "m,n,k\n-64,64,64\n",
                    "shapes.csv:2: m = -64: a size must not be negative"},
        RefusedCase{"overflow_64", "m,n,k\n\n64,64,9223372036854775808\n",
                    "shapes.csv:3: k: '9223372036854775808' does not fit in 64 bits"},
        RefusedCase{"overflow_32", "m,n,k\n64,2147483648,64\n",
                    "shapes.csv:2: n = 2147483648: a size must be at most 2147483647"},
        RefusedCase{"empty_field", "m,n,k\n64,,64\n",
                    "shapes.csv:2: n: expected a whole number, found nothing"},
        RefusedCase{"short_row", "m,n,k\n64,64\n",
                    "shapes.csv:2: expected 3 fields as in the header, found 2"},
        RefusedCase{"long_row", "m,n,k\n64,64,64,64\n",
                    "shapes.csv:2: expected 3 fields as in the header, found 4"},
        RefusedCase{"line_after_quoted_newline", "m,n,k,source\n1,2,3,\"a\nb\"\nx,2,3,c\n",
                    "shapes.csv:4: m: 'x' is not a whole number"},
        RefusedCase{"open_quote", "m,n,k,source\n1,2,3,\"abc\n",
                    "shapes.csv:2: a quoted field is not closed: expected '\"'"},
        RefusedCase{"text_after_quote", "m,n,k\n\"1\"2,2,3\n",
                    "shapes.csv:2: text follows a closing quote: expected ',' or the end of the "
                    "line"},
        RefusedCase{"unknown_type", "m,n,k,type\n1,2,3,int8\n",
                    "shapes.csv:2: type: unknown type 'int8': expected f16, bf16 or f32"},
        RefusedCase{"unknown_layout", "m,n,k,layout\n1,2,3,row\n",
                    "shapes.csv:2: layout: unknown layout 'row': expected tn, nn, nt or tt"},
        RefusedCase{"small_leading_dimension", "m,n,k,lda\n16,16,64,63\n",
                    "shapes.csv:2: lda = 63: this leading dimension must be at least 64"},
        RefusedCase{"negative_stride", "m,n,k,batch,stride_a\n16,16,64,2,-1\n",
                    "shapes.csv:2: stride_a: '-1': a stride must not be negative"},
        RefusedCase{"alpha_text", "m,n,k,alpha\n1,2,3,one\n",
                    "shapes.csv:2: alpha: 'one' is not a finite number"},
        RefusedCase{"alpha_too_large", "m,n,k,alpha\n1,2,3,1e39\n",
                    "shapes.csv:2: alpha: '1e39' does not fit in a 32-bit float"},
        RefusedCase{"json_broken", "{\"m\":1,\"n\":2,\"k\":3}\n{\"m\":1,\n",
                    "shapes.csv:2: not JSON: wrong or cut off at byte 8: expected a line such as "
                    "{\"m\":64,\"n\":4096,\"k\":64}"},
        RefusedCase{"json_doubled_key", "{\"m\":1,\"n\":2,\"k\":3,\"m\":4}\n",
                    "shapes.csv:1: the key 'm' is given twice: expected a line such as "
                    "{\"m\":64,\"n\":4096,\"k\":64}"},
        RefusedCase{"json_array", "{\"m\":1,\"n\":2,\"k\":3}\n[1,2,3]\n",
                    "shapes.csv:2: not a JSON object: expected a line such as "
                    "{\"m\":64,\"n\":4096,\"k\":64}"},
        RefusedCase{"json_missing_key", "{\"m\":1,\"k\":3}",
                    "shapes.csv:1: n: expected a whole number, found nothing"},
        RefusedCase{"json_text_size", "{\"m\":\"1\",\"n\":2,\"k\":3}",
                    "shapes.csv:1: m: expected a JSON number, found a JSON string"},
        RefusedCase{"json_number_type", "{\"m\":1,\"n\":2,\"k\":3,\"type\":16}",
                    "shapes.csv:1: type: expected a JSON string, found a JSON number"},
        RefusedCase{"json_fraction", "{\"m\":1.5,\"n\":2,\"k\":3}",
                    "shapes.csv:1: m: '1.5' is not a whole number"}),
    [](const auto& test) { return std::string(test.param.label); });

TEST(ShapeList, OneInterruptEndsALongOne) {
  set_interrupted(true);
  const auto csv = parse_shape_list("m,n,k\n1,2,3\n", "shapes.csv", {});
  const auto json = parse_shape_list("{\"m\":1,\"n\":2,\"k\":3}\n", "shapes.jsonl", {});
  set_interrupted(false);
  ASSERT_FALSE(csv);
  EXPECT_EQ(csv.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(csv.error().what, "interrupted at shapes.csv:1");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().what, "interrupted at shapes.jsonl:1");
}

TEST(ShapeListFile, IsReadFromDisk) {
  const testing::ScratchFolder folder;
  std::ofstream(folder / "a.csv") << "m,n,k\n1,2,3\n";
  EXPECT_EQ(names(*read_shape_list(folder / "a.csv", {})), (Names{"1_2_3"}));
}

TEST(ShapeListFile, AMissingOneAndADirectoryAreToldApart) {
  const testing::ScratchFolder folder;
  EXPECT_EQ(read_shape_list(folder / "none.csv", {}).error().what,
            "cannot open " + (folder / "none.csv").string() + ": No such file or directory");
  const auto directory = read_shape_list(folder.path(), {});
  EXPECT_EQ(directory.error().code, ErrorCode::kBadInput);
  EXPECT_EQ(directory.error().what,
            "cannot read " + folder.path().string() + ": it is a directory, expected a file");
}

struct ShippedCase {
  const char* file;
  std::size_t least;
};

class ShippedShapeList : public ::testing::TestWithParam<ShippedCase> {};

TEST_P(ShippedShapeList, IsRead) {
  const std::string path = std::string(GEMMSMITH_SOURCE_DIR) + "/data/shapes/" + GetParam().file;
  const auto problems = read_shape_list(path, {});
  ASSERT_TRUE(problems) << problems.error().what;
  EXPECT_GE(problems->size(), GetParam().least);
}

INSTANTIATE_TEST_SUITE_P(Files, ShippedShapeList,
                         ::testing::Values(ShippedCase{"grid1000.csv", 1000},
                                           ShippedCase{"workloads.csv", 100},
                                           ShippedCase{"zero_dims.csv", 5},
                                           ShippedCase{"demo.csv", 10}));

rc::Gen<Problem> any_problem() {
  return rc::gen::exec([] {
    Problem problem;
    problem.m = *rc::gen::inRange<std::int64_t>(0, 100000);
    problem.n = *rc::gen::inRange<std::int64_t>(0, 100000);
    problem.k = *rc::gen::inRange<std::int64_t>(0, 100000);
    problem.type = *rc::gen::element(DataType::kF16, DataType::kBf16);
    problem.accumulator = problem.type == DataType::kF16
                              ? *rc::gen::element(DataType::kF16, DataType::kF32)
                              : DataType::kF32;
    problem.layout = *rc::gen::element(Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT);
    problem.lda = packed_lda(problem) + *rc::gen::inRange(0, 100);
    problem.ldb = packed_ldb(problem) + *rc::gen::inRange(0, 100);
    problem.ldc = packed_ldd(problem) + *rc::gen::inRange(0, 100);
    problem.ldd = packed_ldd(problem) + *rc::gen::inRange(0, 100);
    problem.alpha = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 7;
    problem.beta = static_cast<float>(*rc::gen::inRange(-1000, 1000)) / 3;
    return problem;
  });
}

RC_GTEST_PROP(ShapeList, AnyProblemComesBackFromCsv, ()) {
  const Problem p = *any_problem();
  const auto problems = parse_shape_list(
      fmt::format("m,n,k,type,acc,layout,lda,ldb,ldc,ldd,alpha,beta\n{},{},{},{},{},{},{},{},{},{},"
                  "{},{}\n",
                  p.m, p.n, p.k, name(p.type), name(p.accumulator), name(p.layout), p.lda, p.ldb,
                  p.ldc, p.ldd, p.alpha, p.beta),
      "x", {});
  RC_ASSERT(problems.has_value());
  RC_ASSERT(*problems == std::vector<Problem>{p});
}

RC_GTEST_PROP(ShapeList, AnyProblemComesBackFromJson, ()) {
  const Problem p = *any_problem();
  const auto problems = parse_shape_list(
      fmt::format(R"({{"m":{},"n":{},"k":{},"type":"{}","acc":"{}","layout":"{}","lda":{},)"
                  R"("ldb":{},"ldc":{},"ldd":{},"alpha":{},"beta":{}}})",
                  p.m, p.n, p.k, name(p.type), name(p.accumulator), name(p.layout), p.lda, p.ldb,
                  p.ldc, p.ldd, p.alpha, p.beta),
      "x", {});
  RC_ASSERT(problems.has_value());
  RC_ASSERT(*problems == std::vector<Problem>{p});
}

TEST(ShapeList, ReadsTheTypeOfD) {
  const auto csv = parse_shape_list("m,n,k,out,type\n8,8,8,f32,bf16\n8,8,8,bf16,bf16\n8,8,8,,f16\n",
                                    "x.csv", {});
  ASSERT_TRUE(csv) << csv.error().what;
  ASSERT_EQ(csv->size(), 3U);
  EXPECT_EQ(describe((*csv)[0]), "8_8_8 bf16/f32 tn out=f32");
  EXPECT_EQ(describe((*csv)[1]), "8_8_8 bf16/f32 tn");
  EXPECT_EQ(describe((*csv)[2]), "8_8_8 f16/f32 tn");
  const auto json = parse_shape_list(R"({"m":8,"n":8,"k":8,"out":"f32"})", "x.json", {});
  ASSERT_TRUE(json) << json.error().what;
  EXPECT_TRUE(json->front().f32_output);
  EXPECT_EQ(parse_shape_list("m,n,k,out\n8,8,8,bf16\n", "x.csv", {}).error().what,
            "x.csv:2: out: output = bf16: with f16 operands it must be f16 or f32");
}

// What followed was ignored.
TEST(ShapeList, ANulByteIsRefused) {
  using namespace std::string_view_literals;
  EXPECT_EQ(parse_shape_list("{\"m\":1,\"n\":2,\"k\":3}\n{\"m\":1,\"n\":2,\"k\":3}\0,\"m\":4\n"sv,
                             "x", {})
                .error()
                .what,
            "x:2: a NUL byte at byte 20: expected a line such as {\"m\":64,\"n\":4096,\"k\":64}");
  EXPECT_EQ(parse_shape_list("m,n,k\n1,2,3\0"
                             "4\n"sv,
                             "x", {})
                .error()
                .what.rfind("x:2: k: '3", 0),
            0U);
}

RC_GTEST_PROP(ShapeList, AnyTextIsSafe, (const std::string& text, bool is_json)) {
  const std::string file = (is_json ? "{\"m\":" : "m,n,k\n") + text;
  const auto problems = parse_shape_list(file, "x", {});
  RC_ASSERT(problems.has_value() || problems.error().what.rfind("x:", 0) == 0);
}

}  // namespace
}  // namespace gemmsmith
