#include "base/progress.h"
#include "base/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace gemmsmith {

ProgressLine::ProgressLine(std::string what, std::int64_t total, bool quiet)
    : what_(std::move(what)),
      total_(total),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      last_(start_ - std::chrono::hours(1)) {}

ProgressLine::~ProgressLine() {
  if (drawn_) talk("\n");
}

void ProgressLine::update(std::int64_t done, const std::string& note) {
  if (quiet_) return;
  const auto now = Clock::now();
  const auto interval = terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(30);
  if (now - last_ < interval && done < total_) return;
  last_ = now;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string left;
  if (done > 0 && done < total_)
    left = ", " +
           duration_text(elapsed * static_cast<double>(total_ - done) / static_cast<double>(done)) +
           " left";
  std::string line =
      fmt::format("{}/{} {} in {}{}  {}", done, total_, what_, duration_text(elapsed), left, note);
  if (terminal_) {
    if (line.size() > 100) line.resize(100);
    talk("\r\x1b[K{}", line);
    drawn_ = true;
  } else {
    talk("{}\n", line);
  }
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace gemmsmith
