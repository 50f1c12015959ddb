// watching.h -- the monitor's side of the shared file: follows a process that may start later, end
// or start anew; reads what was timed; gives orders that lapse without it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "watch/watched_process.h"

namespace gemmsmith::watch {

// A shape as its process told of it, checked: the file may hold anything.
struct SeenShape {
  std::size_t place = 0;
  ShapeKey key;
  std::string device;
  std::string plan;
  float promised_us = 0;
  float promised_library_us = 0;
  std::vector<std::string> alternates;
};

class Watching {
 public:
  // The file as it is now; nothing where there is none, or its process has ended. Errors: what
  // Mapping::open() refuses; a file that another monitor watches.
  static Result<std::optional<Watching>> attach(const std::filesystem::path& path);
  Watching(Watching&&) noexcept = default;
  Watching& operator=(Watching&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(seen_, other.seen_);
    std::swap(read_, other.read_);
    return *this;
  }
  // Takes all orders back.
  ~Watching();

  std::uint32_t process() const { return mapping_->header.process; }
  // Whether the process still is the one that serves by this file.
  bool is_live(const std::filesystem::path& path) const;
  std::uint64_t shapes_left_out() const;

  void beat();  // orders count for kLapseNs from here

  // Shapes that were not told of before.
  std::vector<SeenShape> new_shapes();
  // Timings since the last look, oldest first: what was overwritten meanwhile is missing.
  std::vector<Timing> new_timings(std::size_t place);
  std::uint64_t calls(std::size_t place) const;
  void order(std::size_t place, const Order& order);

 private:
  explicit Watching(Mapping mapping);
  Mapping mapping_;
  std::vector<bool> seen_;
  std::vector<std::uint64_t> read_;  // timings, by place
};

}  // namespace gemmsmith::watch
