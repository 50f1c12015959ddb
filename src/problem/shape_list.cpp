// shape_list.cpp -- two readers (CSV, JSON Lines) that turn a line into named texts, and one
// function that turns named texts into a Problem, so both formats accept and refuse the same.
#include "problem/shape_list.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/files.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/strict_json.h"

namespace gemmsmith {
namespace {

enum class Column {
  kM,
  kN,
  kK,
  kBatch,
  kType,
  kAcc,
  kLayout,
  kLda,
  kLdb,
  kLdc,
  kLdd,
  kAlpha,
  kBeta,
  kStrideA,
  kStrideB,
  kStrideC,
  kStrideD,
  kOut  // behind the operands' type, which it is compared with
};
constexpr std::array<std::string_view, 18> kColumnNames = {
    "m",   "n",   "k",     "batch", "type",     "acc",      "layout",   "lda",      "ldb",
    "ldc", "ldd", "alpha", "beta",  "stride_a", "stride_b", "stride_c", "stride_d", "out"};

std::optional<Column> column_of(std::string_view name) {
  const auto found = std::find(kColumnNames.begin(), kColumnNames.end(), name);
  if (found == kColumnNames.end()) return std::nullopt;
  return static_cast<Column>(found - kColumnNames.begin());
}

std::string_view name(Column column) { return kColumnNames[static_cast<std::size_t>(column)]; }

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The texts of one shape, by column; an absent or empty one takes the default.
using Fields = std::array<std::optional<std::string>, kColumnNames.size()>;

Result<void> set_int(std::int64_t& target, std::string_view text) {
  GEMMSMITH_TRY(target, parse_int64(text));
  return {};
}

Result<void> set_float(float& target, std::string_view text) {
  GEMMSMITH_TRY(const double value, parse_double(text));
  target = static_cast<float>(value);
  if (!std::isfinite(target))
    return fail(ErrorCode::kBadInput, "'{}' does not fit in a 32-bit float", text);
  return {};
}

Result<void> set_type(DataType& target, std::string_view text) {
  GEMMSMITH_TRY(target, parse_data_type(text));
  return {};
}

Result<void> set_field(Problem& problem, Column column, std::string_view text) {
  switch (column) {
    case Column::kM:
      return set_int(problem.m, text);
    case Column::kN:
      return set_int(problem.n, text);
    case Column::kK:
      return set_int(problem.k, text);
    case Column::kBatch:
      return set_int(problem.batch, text);
    case Column::kType:
      return set_type(problem.type, text);
    case Column::kAcc:
      return set_type(problem.accumulator, text);
    case Column::kLayout: {
      GEMMSMITH_TRY(problem.layout, parse_layout(text));
      return {};
    }
    case Column::kLda:
      return set_int(problem.lda, text);
    case Column::kLdb:
      return set_int(problem.ldb, text);
    case Column::kLdc:
      return set_int(problem.ldc, text);
    case Column::kLdd:
      return set_int(problem.ldd, text);
    case Column::kAlpha:
      return set_float(problem.alpha, text);
    case Column::kBeta:
      return set_float(problem.beta, text);
    case Column::kStrideA:
      return set_int(problem.stride_a, text);
    case Column::kStrideB:
      return set_int(problem.stride_b, text);
    case Column::kStrideC:
      return set_int(problem.stride_c, text);
    case Column::kStrideD:
      return set_int(problem.stride_d, text);
    case Column::kOut:
      return set_output(problem, text);
  }
  return {};
}

bool is_required(Column column) {
  return column == Column::kM || column == Column::kN || column == Column::kK;
}

bool is_stride(Column column) { return column >= Column::kStrideA && column <= Column::kStrideD; }

// Collects problems in file order, each once.
class Collector {
 public:
  Collector(const std::string& file, const Problem& defaults) : file_(file), defaults_(defaults) {}

  Result<void> add(const Fields& fields, std::size_t line) {
    Problem problem = defaults_;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto column = static_cast<Column>(i);
      if (!fields[i]) {
        if (is_required(column))
          return fail(ErrorCode::kBadInput, "{}:{}: {}: expected a whole number, found nothing",
                      file_, line, name(column));
        continue;
      }
      if (auto set = set_field(problem, column, *fields[i]); !set)
        return fail(ErrorCode::kBadInput, "{}:{}: {}: {}", file_, line, name(column),
                    set.error().what);
    }
    // Given, a stride is not kDense. Of a single product it means nothing, whatever it is.
    for (std::size_t i = 0; i < fields.size() && problem.batch > 1; ++i)
      if (const auto column = static_cast<Column>(i);
          is_stride(column) && fields[i] && fields[i]->front() == '-')
        return fail(ErrorCode::kBadInput, "{}:{}: {}: '{}': a stride must not be negative", file_,
                    line, name(column), *fields[i]);
    auto made = make_problem(problem);
    if (!made) return fail(made.error().code, "{}:{}: {}", file_, line, made.error().what);
    if (seen_.insert(describe(*made)).second) problems_.push_back(*made);
    return {};
  }

  Result<std::vector<Problem>> take() {
    if (problems_.empty())
      return fail(ErrorCode::kBadInput,
                  "{}: no shapes: expected at least one line below the header", file_);
    return std::move(problems_);
  }

 private:
  const std::string& file_;
  const Problem& defaults_;
  std::vector<Problem> problems_;
  std::unordered_set<std::string> seen_;
};

// Splits CSV text (RFC 4180: quoted fields may hold commas, quotes and line ends) into records.
class CsvReader {
 public:
  CsvReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  // The next record that is not blank; false at the end.
  Result<bool> next(std::vector<std::string>& fields) {
    while (!rest_.empty()) {
      record_line_ = line_;
      GEMMSMITH_CHECK(read_record(fields));
      if (fields.size() > 1 || !fields.front().empty()) return true;
    }
    return false;
  }

  std::size_t line() const { return record_line_; }  // where the last record began

 private:
  Result<void> read_record(std::vector<std::string>& fields) {
    fields.clear();
    while (true) {
      GEMMSMITH_TRY(std::string field, read_field());
      fields.push_back(std::move(field));
      if (rest_.empty()) return {};
      const char separator = rest_.front();
      rest_.remove_prefix(1);
      if (separator == ',') continue;
      ++line_;
      return {};
    }
  }

  // Leaves rest_ at the comma or line feed that ends the field.
  Result<std::string> read_field() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
    if (rest_.empty() || rest_.front() != '"') {
      const std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
      const std::string_view field = trim(rest_.substr(0, end));
      rest_.remove_prefix(end);
      return std::string(field);
    }
    rest_.remove_prefix(1);
    std::string field;
    while (true) {
      const std::size_t quote = rest_.find('"');
      if (quote == std::string_view::npos)
        return fail(ErrorCode::kBadInput, "{}:{}: a quoted field is not closed: expected '\"'",
                    file_, record_line_);
      field += rest_.substr(0, quote);
      line_ += static_cast<std::size_t>(
          std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(quote), '\n'));
      rest_.remove_prefix(quote + 1);
      if (rest_.empty() || rest_.front() != '"') break;
      field += '"';
      rest_.remove_prefix(1);
    }
    const std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    if (!trim(rest_.substr(0, end)).empty())
      return fail(ErrorCode::kBadInput,
                  "{}:{}: text follows a closing quote: expected ',' or the "
                  "end of the line",
                  file_, line_);
    rest_.remove_prefix(end);
    return field;
  }

  std::string_view rest_;
  const std::string& file_;
  std::size_t line_ = 1;
  std::size_t record_line_ = 1;
};

// Which column each field of a row fills; nullopt for columns that are ignored.
Result<std::vector<std::optional<Column>>> read_header(const std::vector<std::string>& names,
                                                       const std::string& file, std::size_t line) {
  std::vector<std::optional<Column>> columns;
  std::array<bool, kColumnNames.size()> seen{};
  for (std::string text : names) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::optional<Column> column = column_of(text);
    columns.push_back(column);
    if (column && std::exchange(seen[static_cast<std::size_t>(*column)], true))
      return fail(ErrorCode::kBadInput, "{}:{}: {}: the header names this column twice", file, line,
                  name(*column));
  }
  for (const Column column : {Column::kM, Column::kN, Column::kK})
    if (!seen[static_cast<std::size_t>(column)])
      return fail(ErrorCode::kBadInput,
                  "{}:{}: {}: the header lacks this column: expected m, n and k", file, line,
                  name(column));
  return columns;
}

// Lists of millions of lines take a while.
Result<void> may_go_on(const std::string& file, std::size_t line) {
  if (interrupted()) return fail(ErrorCode::kInterrupted, "interrupted at {}:{}", file, line);
  return {};
}

Result<std::vector<Problem>> parse_csv(std::string_view text, const std::string& file,
                                       const Problem& defaults) {
  CsvReader reader(text, file);
  std::vector<std::string> record;
  GEMMSMITH_TRY(const bool has_header, reader.next(record));
  if (!has_header)
    return fail(ErrorCode::kBadInput, "{}:1: the file is empty: expected a header with m, n and k",
                file);
  GEMMSMITH_TRY(const auto columns, read_header(record, file, reader.line()));
  Collector collector(file, defaults);
  while (true) {
    GEMMSMITH_CHECK(may_go_on(file, reader.line()));
    GEMMSMITH_TRY(const bool has_record, reader.next(record));
    if (!has_record) return collector.take();
    if (record.size() != columns.size())
      return fail(ErrorCode::kBadInput, "{}:{}: expected {} fields as in the header, found {}",
                  file, reader.line(), columns.size(), record.size());
    Fields fields;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i] && !record[i].empty())
        fields[static_cast<std::size_t>(*columns[i])] = std::move(record[i]);
    GEMMSMITH_CHECK(collector.add(fields, reader.line()));
  }
}

bool is_text(Column column) {
  return column == Column::kType || column == Column::kAcc || column == Column::kLayout ||
         column == Column::kOut;
}

Result<Fields> fields_of(const nlohmann::json& object) {
  Fields fields;
  for (const auto& [key, value] : object.items()) {
    const std::optional<Column> column = column_of(key);
    if (!column || value.is_null()) continue;
    if (is_text(*column) ? !value.is_string() : !value.is_number())
      return fail(ErrorCode::kBadInput, "{}: expected a JSON {}, found a JSON {}", key,
                  is_text(*column) ? "string" : "number", value.type_name());
    fields[static_cast<std::size_t>(*column)] =
        value.is_string() ? value.get<std::string>() : value.dump();
  }
  return fields;
}

Result<std::vector<Problem>> parse_json_lines(std::string_view text, const std::string& file,
                                              const Problem& defaults) {
  Collector collector(file, defaults);
  for (std::size_t line = 1; !text.empty(); ++line) {
    GEMMSMITH_CHECK(may_go_on(file, line));
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.empty()) continue;
    const auto object = parse_json(row);
    if (!object || !object->is_object())
      return fail(ErrorCode::kBadInput,
                  R"({}:{}: {}: expected a line such as {{"m":64,"n":4096,"k":64}})", file, line,
                  object ? "not a JSON object" : object.error().what);
    auto fields = fields_of(*object);
    if (!fields) return fail(ErrorCode::kBadInput, "{}:{}: {}", file, line, fields.error().what);
    GEMMSMITH_CHECK(collector.add(*fields, line));
  }
  return collector.take();
}

}  // namespace

Result<std::vector<Problem>> parse_shape_list(std::string_view text, const std::string& file_name,
                                              const Problem& defaults) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    text.remove_prefix(kByteOrderMark.size());
  const std::string_view content = trim(text);
  if (!content.empty() && content.front() == '{')
    return parse_json_lines(text, file_name, defaults);
  return parse_csv(text, file_name, defaults);
}

Result<std::vector<Problem>> read_shape_list(const std::filesystem::path& path,
                                             const Problem& defaults) {
  // Some four million shapes; a device or a pipe may have no end.
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  GEMMSMITH_TRY(const std::string text, read_stream(path, kMostBytes));
  return parse_shape_list(text, path.string(), defaults);
}

}  // namespace gemmsmith
