// table.h -- rows of results, printed for a person (aligned text), a spreadsheet (CSV) or a program
// (JSON: one array of objects). Every verb's stdout goes through it.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace gemmsmith {

enum class OutputFormat { kText, kCsv, kJson };

// A number keeps its digits for machines and is rounded for people.
struct Cell {
  Cell(std::string text) : value(std::move(text)) {}            // NOLINT: implicit by design
  Cell(const char* text) : value(std::string(text)) {}          // NOLINT
  Cell(long long number) : value(number) {}                     // NOLINT
  Cell(int number) : value(static_cast<long long>(number)) {}   // NOLINT
  Cell(long number) : value(static_cast<long long>(number)) {}  // NOLINT
  Cell(double number, int decimals) : value(number), digits(decimals) {}
  std::variant<std::string, long long, double> value;
  int digits = 3;  // decimals for people
};

class Table {
 public:
  explicit Table(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  std::size_t size() const { return rows_.size(); }

  // NaN prints as "-" for people, as an empty field in CSV and as null in JSON.
  std::string render(OutputFormat format) const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace gemmsmith
