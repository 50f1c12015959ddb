// cupti.h -- CUPTI's functions for hardware counters, found at run time, and what its errors mean.
// Only files of this folder include it: CUPTI's headers stay here.
#pragma once

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace gemmsmith {

// Each named as in CUPTI's headers without the "cupti" prefix. The first group needs no GPU.
#define GEMMSMITH_CUPTI_FUNCTIONS(X)         \
  X(GetResultString)                         \
  X(ProfilerHostInitialize)                  \
  X(ProfilerHostDeinitialize)                \
  X(ProfilerHostConfigAddMetrics)            \
  X(ProfilerHostGetConfigImageSize)          \
  X(ProfilerHostGetConfigImage)              \
  X(ProfilerHostGetNumOfPasses)              \
  X(ProfilerHostEvaluateToGpuValues)         \
  X(ProfilerInitialize)                      \
  X(ProfilerDeInitialize)                    \
  X(ProfilerDeviceSupported)                 \
  X(ProfilerGetCounterAvailability)          \
  X(DeviceGetChipName)                       \
  X(RangeProfilerEnable)                     \
  X(RangeProfilerDisable)                    \
  X(RangeProfilerGetCounterDataSize)         \
  X(RangeProfilerCounterDataImageInitialize) \
  X(RangeProfilerSetConfig)                  \
  X(RangeProfilerStart)                      \
  X(RangeProfilerStop)                       \
  X(RangeProfilerDecodeData)                 \
  X(RangeProfilerGetCounterDataInfo)

struct Cupti {
#define GEMMSMITH_CUPTI_MEMBER(function) decltype(::cupti##function)* function = nullptr;
  GEMMSMITH_CUPTI_FUNCTIONS(GEMMSMITH_CUPTI_MEMBER)
#undef GEMMSMITH_CUPTI_MEMBER
  std::string path;  // the name that was opened
};

// A zeroed parameter block of CUPTI's, told its own size.
#define GEMMSMITH_CUPTI_PARAMS(Type, variable) \
  Type variable{};                             \
  variable.structSize = Type##_STRUCT_SIZE

// Where CUPTI is looked for: GEMMSMITH_CUPTI alone where it is set; else beside the toolkit's other
// libraries and in its extras folder, then by soname: a loader path that mixes toolkits would give
// a CUPTI whose metric library is of another version.
std::vector<std::string> cupti_names();

// Errors (kEnvironment): not found, or one from before CUDA 12.6, which has no range profiler. The
// library stays loaded.
Result<std::shared_ptr<const Cupti>> load_cupti();

// "CUPTI_ERROR_HARDWARE_BUSY".
std::string cupti_name(const Cupti& cupti, CUptiResult result);

// What failed and, where the machine does not allow counting, why and what to do (kEnvironment);
// else kDevice.
Result<void> check(const Cupti& cupti, CUptiResult result, const char* doing);

}  // namespace gemmsmith
