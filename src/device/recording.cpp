#include "device/recording.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "device/zstd_text.h"

namespace gemmsmith {

const std::string_view kRecordingHeader =
    "m,n,k,batch,type,acc,layout,kind,config,status,setting,cache,stage,run,median_us,low_us,"
    "high_us,ratio,ratio_low,ratio_high,repeats_us,compile_s";

namespace {

enum Column : std::size_t {
  kM,
  kN,
  kK,
  kBatch,
  kType,
  kAcc,
  kLayout,
  kKindColumn,
  kConfig,
  kStatusColumn,
  kSettingColumn,
  kCacheColumn,
  kStageColumn,
  kRun,
  kMedian,
  kLow,
  kHigh,
  kRatio,
  kRatioLow,
  kRatioHigh,
  kRepeats,
  kCompile,
  kColumns
};
using Fields = std::array<std::string_view, kColumns>;

// What would need quoting; nothing in a recording is quoted.
constexpr std::string_view kNotInTexts = ",;\"\r\n";
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;  // a hundred times the largest so far

// Cuts `text` at the first `separator` and returns what was before it.
std::string_view next_piece(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view piece = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return piece;
}

// The text between two commas of the header.
std::string_view column_name(std::size_t column) {
  std::string_view rest = kRecordingHeader;
  for (std::size_t i = 0; i < column; ++i) next_piece(rest, ',');
  return next_piece(rest, ',');
}

// Reads the fields of one row; remembers which column failed.
class RowReader {
 public:
  // `output` is empty where no row has any.
  RowReader(const Fields& fields, std::string_view output) : fields_(fields), output_(output) {}

  Result<Measurement> read() {
    Measurement row;
    GEMMSMITH_TRY(row.problem, read_problem());
    GEMMSMITH_TRY(row.kind, parse_kind(at(kKindColumn)));
    GEMMSMITH_TRY(row.config, plain_text(kConfig));
    GEMMSMITH_TRY(row.status, parse_status(at(kStatusColumn)));
    GEMMSMITH_TRY(row.setting, parse_setting(at(kSettingColumn)));
    GEMMSMITH_TRY(row.cache, parse_cache_state(at(kCacheColumn)));
    GEMMSMITH_TRY(row.stage, parse_stage(at(kStageColumn)));
    GEMMSMITH_TRY(row.run, plain_text(kRun));
    GEMMSMITH_TRY(row.median_us, number(kMedian));
    if (row.status == Status::kOk && !(row.median_us > 0))
      return fail(ErrorCode::kBadInput, "'{}': a status of ok needs a time above 0", at(kMedian));
    GEMMSMITH_TRY(row.low_us, number(kLow));
    GEMMSMITH_TRY(row.high_us, number(kHigh));
    GEMMSMITH_TRY(row.ratio, number(kRatio));
    GEMMSMITH_TRY(row.ratio_low, number(kRatioLow));
    GEMMSMITH_TRY(row.ratio_high, number(kRatioHigh));
    GEMMSMITH_TRY(row.repeats_us, numbers(kRepeats));
    GEMMSMITH_TRY(row.compile_s, number(kCompile));
    return row;
  }

  // "problem": each of its fields can be read, but not together.
  std::string_view column() const {
    if (column_ == kOutput) return "out";
    return column_ == kColumns ? "problem" : column_name(column_);
  }

 private:
  std::string_view at(std::size_t column) {
    column_ = column;
    return fields_[column];
  }

  Result<Problem> read_problem() {
    Problem problem;
    GEMMSMITH_TRY(problem.m, parse_int64(at(kM)));
    GEMMSMITH_TRY(problem.n, parse_int64(at(kN)));
    GEMMSMITH_TRY(problem.k, parse_int64(at(kK)));
    GEMMSMITH_TRY(problem.batch, parse_int64(at(kBatch)));
    GEMMSMITH_TRY(problem.type, parse_data_type(at(kType)));
    GEMMSMITH_TRY(problem.accumulator, parse_data_type(at(kAcc)));
    GEMMSMITH_TRY(problem.layout, parse_layout(at(kLayout)));
    column_ = kOutput;
    if (!output_.empty()) GEMMSMITH_CHECK(set_output(problem, output_));
    column_ = kColumns;
    return make_problem(problem);
  }

  Result<std::string> plain_text(Column column) {
    const std::string_view text = at(column);
    if (text.find_first_of(kNotInTexts) != std::string_view::npos)
      return fail(ErrorCode::kBadInput, "'{}' holds a semicolon, a quote or a line break", text);
    return std::string(text);
  }
  Result<double> number(std::size_t column) { return non_negative(at(column)); }

  static Result<double> non_negative(std::string_view text) {
    GEMMSMITH_TRY(const double value, parse_double(text));
    if (value < 0) return fail(ErrorCode::kBadInput, "'{}' is negative", text);
    return value;
  }

  Result<std::vector<double>> numbers(std::size_t column) {
    std::vector<double> values;
    for (std::string_view rest = at(column); !rest.empty();) {
      GEMMSMITH_TRY(const double value, non_negative(next_piece(rest, ';')));
      values.push_back(value);
    }
    return values;
  }

  static constexpr std::size_t kOutput = kColumns + 1;

  const Fields& fields_;
  std::string_view output_;
  std::size_t column_ = 0;
};

// With `has_output` a row has one field more than kRecordingHeader names.
Result<Measurement> parse_row(std::string_view line, const std::string& file_name,
                              std::size_t line_number, bool has_output) {
  Fields fields;
  std::size_t count = 0;
  for (std::size_t start = 0; start <= line.size(); ++count) {
    const std::size_t end = std::min(line.find(',', start), line.size());
    if (count < kColumns) fields[count] = line.substr(start, end - start);
    start = end + 1;
  }
  const std::size_t expected = kColumns + (has_output ? 1 : 0);
  if (count != expected)
    return fail(ErrorCode::kBadInput, "{}:{}: {} fields, expected {}", file_name, line_number,
                count, expected);
  const std::string_view output = has_output ? line.substr(line.rfind(',') + 1) : "";
  RowReader reader(fields, output);
  Result<Measurement> row = reader.read();
  if (!row)
    return fail(ErrorCode::kBadInput, "{}:{}: {}: {}", file_name, line_number, reader.column(),
                row.error().what);
  return row;
}

Result<void> check_holdable(const Measurement& row) {
  if (row.problem.grouped)
    return fail(ErrorCode::kBadInput, "a recording holds no groups; {} has some",
                describe(row.problem));
  Problem packed = row.problem;
  packed.lda = packed.ldb = packed.ldc = packed.ldd = 0;
  packed.stride_a = packed.stride_b = packed.stride_c = packed.stride_d = kDense;
  packed.alpha = 1;
  packed.beta = 0;
  packed.alignment = {};
  GEMMSMITH_TRY(packed, make_problem(packed));
  if (packed != row.problem)
    return fail(ErrorCode::kBadInput,
                "a recording holds packed, aligned problems with alpha 1 and beta 0; {} is not one",
                describe(row.problem));
  for (const std::string& text : {row.config, row.run}) {
    if (text.find_first_of(kNotInTexts) != std::string::npos)
      return fail(ErrorCode::kBadInput, "a recording cannot hold the text '{}'", text);
  }
  for (const double value : {row.median_us, row.low_us, row.high_us, row.ratio, row.ratio_low,
                             row.ratio_high, row.compile_s}) {
    if (!std::isfinite(value) || value < 0)
      return fail(ErrorCode::kBadInput, "a recording cannot hold the figure {} ({} of {})", value,
                  row.config, describe(row.problem));
  }
  if (row.status == Status::kOk && !(row.median_us > 0))
    return fail(ErrorCode::kBadInput,
                "a recording cannot hold a time of 0 with status ok ({} of {})", row.config,
                describe(row.problem));
  return {};
}

void append_row(const Measurement& row, bool has_output, std::string& text) {
  const Problem& problem = row.problem;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{},{},{},{},{},{},{},{},{},{},{},{},{},{},", problem.m, problem.n, problem.k,
                 problem.batch, name(problem.type), name(problem.accumulator), name(problem.layout),
                 name(row.kind), row.config, name(row.status), name(row.setting), name(row.cache),
                 name(row.stage), row.run);
  fmt::format_to(out, "{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},{:.5g},", row.median_us, row.low_us,
                 row.high_us, row.ratio, row.ratio_low, row.ratio_high);
  for (std::size_t i = 0; i < row.repeats_us.size(); ++i)
    fmt::format_to(out, "{}{:.4g}", i == 0 ? "" : ";", row.repeats_us[i]);
  fmt::format_to(out, ",{:.3g}", row.compile_s);
  if (has_output) fmt::format_to(out, ",{}", name(problem.output_type()));
  text += '\n';
}

// The header of recordings in which some D is f32; the others look as they did before there were.
std::string with_output_column() { return std::string(kRecordingHeader) + ",out"; }

bool is_compressed(const std::filesystem::path& path) { return path.extension() == ".zst"; }

}  // namespace

Result<std::vector<Measurement>> parse_recording(std::string_view text,
                                                 const std::string& file_name) {
  const std::string_view header = next_piece(text, '\n');
  const bool has_output = header == with_output_column();
  if (header != kRecordingHeader && !has_output)
    return fail(ErrorCode::kBadInput, "{}:1: not a recording: expected the header '{}', found '{}'",
                file_name, kRecordingHeader, header.substr(0, 200));
  std::vector<Measurement> rows;
  for (std::size_t line_number = 2; !text.empty(); ++line_number) {
    GEMMSMITH_CHECK(go_on("reading " + file_name));
    GEMMSMITH_TRY(Measurement row,
                  parse_row(next_piece(text, '\n'), file_name, line_number, has_output));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<std::string> format_recording(std::span<const Measurement> rows) {
  const bool has_output = std::any_of(
      rows.begin(), rows.end(), [](const Measurement& row) { return row.problem.f32_output; });
  std::string text = has_output ? with_output_column() : std::string(kRecordingHeader);
  text += '\n';
  for (const Measurement& row : rows) {
    GEMMSMITH_CHECK(go_on("writing a recording"));
    GEMMSMITH_CHECK(check_holdable(row));
    append_row(row, has_output, text);
  }
  return text;
}

Result<std::vector<Measurement>> read_recording(const std::filesystem::path& path) {
  GEMMSMITH_TRY(std::string text, read_file(path, kMaxTextBytes));
  if (is_compressed(path)) {
    Result<std::string> plain = zstd_decompress(text, kMaxTextBytes);
    if (!plain)
      return fail(ErrorCode::kBadInput, "cannot read {}: {}", path.string(), plain.error().what);
    text = std::move(*plain);
  }
  return parse_recording(text, path.string());
}

namespace {

Result<StagedFile> stage_recording(const std::filesystem::path& path,
                                   std::span<const Measurement> rows) {
  GEMMSMITH_TRY(std::string text, format_recording(rows));
  if (is_compressed(path)) {
    GEMMSMITH_TRY(text, zstd_compress(text));
  }
  return StagedFile::write(path, text);
}

}  // namespace

Result<void> write_recording(const std::filesystem::path& path, std::span<const Measurement> rows) {
  GEMMSMITH_TRY(StagedFile recording, stage_recording(path, rows));
  return recording.commit();
}

Result<void> write_recording(const std::filesystem::path& path, std::span<const Measurement> rows,
                             std::string_view sidecar) {
  GEMMSMITH_TRY(StagedFile recording, stage_recording(path, rows));
  GEMMSMITH_TRY(StagedFile described, StagedFile::write(sidecar_path(path), sidecar));
  GEMMSMITH_CHECK(go_on("writing " + path.string()));
  GEMMSMITH_CHECK(recording.commit());
  return described.commit();
}

std::filesystem::path other_recording(const std::filesystem::path& recording) {
  std::filesystem::path path = recording;
  if (is_compressed(path)) return path.replace_extension();
  return path += ".zst";
}

std::filesystem::path sidecar_path(const std::filesystem::path& recording) {
  std::filesystem::path path = recording;
  if (is_compressed(path)) path.replace_extension();
  return path.replace_extension(".json");
}

Result<std::string> read_sidecar(const std::filesystem::path& recording) {
  return read_file(sidecar_path(recording));
}

}  // namespace gemmsmith
