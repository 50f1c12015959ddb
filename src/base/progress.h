// progress.h -- one live line on stderr: done, total, rate, time left. On a terminal it redraws in
// place; elsewhere it prints a plain line every half minute; under --quiet nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace gemmsmith {

class ProgressLine {
 public:
  // `what` is the unit of the count: "shapes", "kernels".
  ProgressLine(std::string what, std::int64_t total, bool quiet);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();  // leaves the last line on the screen

  // `note` says what is going on now.
  void update(std::int64_t done, const std::string& note);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::int64_t total_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_;
  Clock::time_point last_;
};

// "3 min 20 s", "12 s".
std::string duration_text(double seconds);

}  // namespace gemmsmith
