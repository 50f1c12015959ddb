// fake_cupti.cpp -- a libcupti that needs no GPU and counts nothing: it follows the order in which
// it is called and answers as told.
//   FAKE_CUPTI_LOG      a file that gets each call's name as a line
//   FAKE_CUPTI_FAIL     "RangeProfilerEnable 35": that function gives that CUptiResult
//   FAKE_CUPTI_PASSES   launches until all passes are submitted [2]
//   FAKE_CUPTI_KERNELS  ranges that were counted [1]
//   FAKE_CUPTI_DROPPED  ranges for which there was no room [0]
//   FAKE_CUPTI_WITHOUT  a field of DeviceSupported that says no: vGpu, cmp, wsl, ...
// Metric i of range r is 100 * (r + 1) + i. A metric whose name starts with "unknown" is refused.
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

std::string text(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::size_t number(const char* name, std::size_t otherwise) {
  const std::string value = text(name);
  return value.empty() ? otherwise : std::stoul(value);
}

// Logs the call and gives its planned result.
CUptiResult called(const char* function) {
  if (const std::string path = text("FAKE_CUPTI_LOG"); !path.empty())
    std::ofstream(path, std::ios::app) << function << '\n';
  const std::string plan = text("FAKE_CUPTI_FAIL");
  const std::size_t space = plan.find(' ');
  if (space != std::string::npos && plan.substr(0, space) == function)
    return static_cast<CUptiResult>(std::stoi(plan.substr(space + 1)));
  return CUPTI_SUCCESS;
}

std::size_t passes_done = 0;
int object = 0;

}  // namespace

extern "C" {

CUptiResult cuptiGetResultString(CUptiResult result, const char** name) {
  static std::string kept;
  kept = "RESULT_" + std::to_string(static_cast<int>(result));
  *name = kept.c_str();
  return CUPTI_SUCCESS;
}

CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  p->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(&object);
  return called("ProfilerHostInitialize");
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params*) {
  return called("ProfilerHostDeinitialize");
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  for (std::size_t i = 0; i < p->numMetrics; ++i)
    if (std::strncmp(p->ppMetricNames[i], "unknown", 7) == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  return called("ProfilerHostConfigAddMetrics");
}
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  p->configImageSize = 16;
  return called("ProfilerHostGetConfigImageSize");
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params*) {
  return called("ProfilerHostGetConfigImage");
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  p->numOfPasses = number("FAKE_CUPTI_PASSES", 2);
  return called("ProfilerHostGetNumOfPasses");
}
CUptiResult cuptiProfilerHostEvaluateToGpuValues(
    CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  for (std::size_t i = 0; i < p->numMetrics; ++i)
    p->pMetricValues[i] = static_cast<double>(100 * (p->rangeIndex + 1) + i);
  return called("ProfilerHostEvaluateToGpuValues");
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) {
  return called("ProfilerInitialize");
}
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params*) {
  return called("ProfilerDeInitialize");
}
CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* p) {
  constexpr auto kYes = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  constexpr auto kNo = CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED;
  const std::string without = text("FAKE_CUPTI_WITHOUT");
  p->isSupported = without.empty() ? kYes : kNo;
  p->architecture = without == "architecture" ? kNo : kYes;
  p->sli = without == "sli" ? kNo : kYes;
  p->vGpu = without == "vGpu" ? CUPTI_PROFILER_CONFIGURATION_DISABLED : kYes;
  p->confidentialCompute = without == "confidentialCompute" ? kNo : kYes;
  p->cmp = without == "cmp" ? kNo : kYes;
  p->wsl = without == "wsl" ? kNo : kYes;
  return called("ProfilerDeviceSupported");
}
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* p) {
  p->counterAvailabilityImageSize = 8;
  return called("ProfilerGetCounterAvailability");
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  p->pChipName = "GH100";
  return called("DeviceGetChipName");
}

CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  p->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(&object);
  return called("RangeProfilerEnable");
}
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params*) {
  return called("RangeProfilerDisable");
}
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  p->counterDataSize = 32;
  return called("RangeProfilerGetCounterDataSize");
}
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params*) {
  return called("RangeProfilerCounterDataImageInitialize");
}
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params*) {
  passes_done = 0;
  return called("RangeProfilerSetConfig");
}
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  return called("RangeProfilerStart");
}
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  p->isAllPassSubmitted = ++passes_done >= number("FAKE_CUPTI_PASSES", 2) ? 1 : 0;
  return called("RangeProfilerStop");
}
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  p->numOfRangeDropped = number("FAKE_CUPTI_DROPPED", 0);
  return called("RangeProfilerDecodeData");
}
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* p) {
  p->numTotalRanges = number("FAKE_CUPTI_KERNELS", 1);
  return called("RangeProfilerGetCounterDataInfo");
}

}  // extern "C"
