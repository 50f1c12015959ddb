// profiler_marks.h -- cuProfilerStart and cuProfilerStop: what an outside profiler (ncu
// --profile-from-start off) takes as the part of a run to look at.
#pragma once

#include "base/result.h"
#include "device/driver.h"

namespace gemmsmith {

class ProfilerMarks {
 public:
  // Errors: load_driver()'s; kEnvironment where the driver lacks the calls.
  static Result<ProfilerMarks> open();

  Result<void> start() const;
  Result<void> stop() const;

 private:
  const Driver* driver_ = nullptr;
  CUresult (*start_)() = nullptr;
  CUresult (*stop_)() = nullptr;
};

}  // namespace gemmsmith
