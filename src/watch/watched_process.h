// watched_process.h -- the side of the shared file that is watched: makes the file, finds a place
// for each shape and tells what was timed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "watch/mapping.h"

namespace gemmsmith::watch {

// What is told of a shape once.
struct ShapeFacts {
  ShapeKey key;
  std::string_view device;
  std::string_view plan;
  float promised_us = 0;
  float promised_library_us = 0;
  std::span<const std::string> alternates;  // at most kMostAlternates
};

// One timed call.
struct Timing {
  std::uint64_t time_ns = 0;
  float latency_us = 0;
  std::uint32_t serving = kPlan;
  bool is_probe = false;
};

class WatchedProcess {
 public:
  // Makes the file, in the place of one whose process has ended. A file of this very process (the
  // library may be in it twice) is shared. Errors: another kind of file, a damaged one, one of
  // another version, one whose process lives; a folder that cannot be written.
  static Result<WatchedProcess> open(const std::filesystem::path& path);

  // The shape's place, the same for the same facts. Null where all places are taken.
  Shape* place_of(const ShapeFacts& facts);

  std::uint64_t heartbeat_ns() const {
    return mapping_->header.heartbeat_ns.load(std::memory_order_relaxed);
  }

 private:
  explicit WatchedProcess(Mapping mapping) : mapping_(std::move(mapping)) {}
  Mapping mapping_;
};

// Any number of threads may tell at once.
void tell(Shape& shape, const Timing& timing);

}  // namespace gemmsmith::watch
