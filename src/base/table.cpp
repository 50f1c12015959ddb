#include "base/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace gemmsmith {
namespace {

bool is_number(const Cell& cell) { return !std::holds_alternative<std::string>(cell.value); }

std::string human(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) return *text;
  if (const auto* whole = std::get_if<long long>(&cell.value)) return std::to_string(*whole);
  const double number = std::get<double>(cell.value);
  return std::isnan(number) ? "-" : fmt::format("{:.{}f}", number, cell.digits);
}

// RFC 4180 quoting.
std::string csv(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) {
    if (text->find_first_of(",\"\r\n") == std::string::npos) return *text;
    std::string quoted = "\"";
    for (const char c : *text) {
      if (c == '"') quoted += '"';
      quoted += c;
    }
    return quoted + '"';
  }
  if (const auto* whole = std::get_if<long long>(&cell.value)) return std::to_string(*whole);
  const double number = std::get<double>(cell.value);
  return std::isnan(number) ? "" : fmt::format("{:.6g}", number);
}

nlohmann::ordered_json json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) return *text;
  if (const auto* whole = std::get_if<long long>(&cell.value)) return *whole;
  const double number = std::get<double>(cell.value);
  if (!std::isfinite(number)) return nullptr;
  return number;
}

}  // namespace

std::string Table::render(OutputFormat format) const {
  std::string out;
  if (format == OutputFormat::kJson) {
    auto array = nlohmann::ordered_json::array();
    for (const auto& row : rows_) {
      auto object = nlohmann::ordered_json::object();
      for (std::size_t i = 0; i < row.size(); ++i) object[columns_[i]] = json(row[i]);
      array.push_back(std::move(object));
    }
    return array.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  if (format == OutputFormat::kCsv) {
    for (std::size_t i = 0; i < columns_.size(); ++i) out += (i ? "," : "") + columns_[i];
    out += '\n';
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) out += (i ? "," : "") + csv(row[i]);
      out += '\n';
    }
    return out;
  }
  std::vector<std::size_t> widths;
  for (const auto& column : columns_) widths.push_back(column.size());
  std::vector<bool> right(columns_.size(), false);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], human(row[i]).size());
      right[i] = right[i] || is_number(row[i]);
    }
  const auto line = [&](const auto& text_of) {
    std::string text;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) text += "  ";
      text += right[i] ? fmt::format("{:>{}}", text_of(i), widths[i])
                       : fmt::format("{:<{}}", text_of(i), widths[i]);
    }
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  out += line([&](std::size_t i) { return columns_[i]; });
  for (const auto& row : rows_) out += line([&](std::size_t i) { return human(row[i]); });
  return out;
}

}  // namespace gemmsmith
