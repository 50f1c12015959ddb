#include "device/profiler_marks.h"

#include <array>
#include <string>

#include "base/dynamic_library.h"

namespace gemmsmith {

Result<ProfilerMarks> ProfilerMarks::open() {
  ProfilerMarks marks;
  GEMMSMITH_TRY(marks.driver_, load_driver());
  const std::array names = {driver_library_name()};
  GEMMSMITH_TRY(DynamicLibrary library,
                DynamicLibrary::open(names, "the NVIDIA driver", "update the NVIDIA driver"));
  library.keep_loaded();
  GEMMSMITH_CHECK(library.load("cuProfilerStart", marks.start_));
  GEMMSMITH_CHECK(library.load("cuProfilerStop", marks.stop_));
  return marks;
}

Result<void> ProfilerMarks::start() const {
  return check(*driver_, start_(), "telling the outside profiler to start");
}

Result<void> ProfilerMarks::stop() const {
  return check(*driver_, stop_(), "telling the outside profiler to stop");
}

}  // namespace gemmsmith
