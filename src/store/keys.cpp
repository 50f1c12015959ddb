// The text that names a problem in the store: every field, in a fixed order, exactly reversible.
#include <array>
#include <vector>

#include "base/numbers.h"
#include "store/store.h"

namespace gemmsmith {
namespace {

constexpr std::array kSources = {"kernel", "vendor", "lt_tuned"};
constexpr std::size_t kFields = 17;
constexpr std::size_t kBatchField = 3;
constexpr std::size_t kStrideFields = 4;            // behind the others, of a batch
constexpr std::string_view kF32Output = "out=f32";  // behind all, where C and D are f32

Result<std::vector<std::string_view>> split_fields(std::string_view text) {
  std::vector<std::string_view> fields;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    fields.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (fields.back() == kF32Output) fields.pop_back();
  std::size_t expected = kFields;
  if (fields.size() > kBatchField) {
    GEMMSMITH_TRY(const std::int64_t batch, parse_int64(fields[kBatchField]));
    if (batch > 1) expected += kStrideFields;
  }
  if (fields.size() != expected)
    return fail(ErrorCode::kBadInput, "problem key '{}': expected {} fields", text, expected);
  return fields;
}

Result<int> parse_alignment(std::string_view text) {
  GEMMSMITH_TRY(const std::int64_t value, parse_int64(text));
  if (value < 1 || value > (1 << 20))
    return fail(ErrorCode::kBadInput, "'{}' is no alignment in bytes", text);
  return static_cast<int>(value);
}

}  // namespace

const char* name(WinnerSource source) { return kSources[static_cast<std::size_t>(source)]; }

Result<WinnerSource> parse_winner_source(std::string_view text) {
  for (std::size_t i = 0; i < kSources.size(); ++i)
    if (text == kSources[i]) return static_cast<WinnerSource>(i);
  return fail(ErrorCode::kBadInput, "unknown source '{}': expected kernel, vendor or lt_tuned",
              text);
}

std::string problem_key(const Problem& p) {
  std::string key =
      fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", p.m, p.n, p.k, p.batch,
                  name(p.type), name(p.accumulator), name(p.layout), p.lda, p.ldb, p.ldc, p.ldd,
                  p.alpha, p.beta, p.alignment.a, p.alignment.b, p.alignment.c, p.alignment.d);
  // Without a batch as it was before there were strides.
  if (p.is_batched())
    key += fmt::format(",{},{},{},{}", p.stride_a, p.stride_b, p.stride_c, p.stride_d);
  if (p.f32_output) key += fmt::format(",{}", kF32Output);
  return key;
}

Result<Problem> parse_problem_key(std::string_view text) {
  GEMMSMITH_TRY(const auto fields, split_fields(text));
  Problem p;
  std::int64_t* const sizes[] = {&p.m, &p.n, &p.k, &p.batch};
  for (std::size_t i = 0; i < 4; ++i) {
    GEMMSMITH_TRY(*sizes[i], parse_int64(fields[i]));
  }
  GEMMSMITH_TRY(p.type, parse_data_type(fields[4]));
  GEMMSMITH_TRY(p.accumulator, parse_data_type(fields[5]));
  GEMMSMITH_TRY(p.layout, parse_layout(fields[6]));
  std::int64_t* const strides[] = {&p.lda, &p.ldb, &p.ldc, &p.ldd};
  for (std::size_t i = 0; i < 4; ++i) {
    GEMMSMITH_TRY(*strides[i], parse_int64(fields[7 + i]));
  }
  GEMMSMITH_TRY(const double alpha, parse_double(fields[11]));
  GEMMSMITH_TRY(const double beta, parse_double(fields[12]));
  p.f32_output = text.ends_with(kF32Output);
  p.alpha = static_cast<float>(alpha);
  p.beta = static_cast<float>(beta);
  int* const alignments[] = {&p.alignment.a, &p.alignment.b, &p.alignment.c, &p.alignment.d};
  for (std::size_t i = 0; i < 4; ++i) {
    GEMMSMITH_TRY(*alignments[i], parse_alignment(fields[13 + i]));
  }
  if (fields.size() > kFields) {
    std::int64_t* const steps[] = {&p.stride_a, &p.stride_b, &p.stride_c, &p.stride_d};
    for (std::size_t i = 0; i < kStrideFields; ++i) {
      GEMMSMITH_TRY(*steps[i], parse_int64(fields[kFields + i]));
    }
  }
  return make_problem(p);
}

}  // namespace gemmsmith
