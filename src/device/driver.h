// driver.h -- the CUDA driver API, found at run time. One table for the process, filled on first
// use; everything that talks to a GPU takes it.
#pragma once

#include <cuda.h>

#include <string>

#include "base/result.h"

namespace gemmsmith {

// Pointers to the driver's functions, each named as in cuda.h without the "cu" prefix.
#define GEMMSMITH_DRIVER_FUNCTIONS(X)                                                              \
  X(Init)                                                                                          \
  X(DriverGetVersion)                                                                              \
  X(DeviceGetCount)                                                                                \
  X(DeviceGet)                                                                                     \
  X(DeviceGetName)                                                                                 \
  X(DeviceGetAttribute)                                                                            \
  X(DeviceTotalMem_v2)                                                                             \
  X(DeviceGetUuid_v2) X(DevicePrimaryCtxRetain) X(DevicePrimaryCtxRelease_v2) X(CtxSetCurrent)     \
      X(CtxGetCurrent) X(CtxGetDevice) X(CtxSynchronize) X(ModuleLoadData) X(ModuleUnload)         \
          X(ModuleGetFunction) X(FuncSetAttribute) X(FuncGetAttribute) X(LaunchKernelEx) X(        \
              LaunchKernel) X(MemAlloc_v2) X(MemFree_v2) X(MemGetInfo_v2) X(MemcpyHtoDAsync_v2)    \
              X(MemcpyDtoHAsync_v2) X(MemcpyDtoDAsync_v2) X(MemsetD8Async) X(MemsetD16Async)       \
                  X(MemsetD32Async) X(MemAllocHost_v2) X(MemFreeHost) X(StreamCreate)              \
                      X(StreamDestroy_v2) X(StreamSynchronize) X(StreamQuery) X(StreamIsCapturing) \
                          X(StreamGetCaptureInfo_v3) X(StreamGetId) X(StreamBeginCapture_v2) X(    \
                              StreamEndCapture) X(ThreadExchangeStreamCaptureMode) X(EventCreate)  \
                              X(EventDestroy_v2) X(EventRecord) X(EventSynchronize)                \
                                  X(EventElapsedTime) X(EventQuery) X(GraphInstantiateWithFlags)   \
                                      X(GraphLaunch) X(GraphUpload) X(GraphDestroy)                \
                                          X(GraphExecDestroy) X(TensorMapEncodeTiled)              \
                                              X(OccupancyMaxActiveClusters)                        \
                                                  X(OccupancyMaxActiveBlocksPerMultiprocessor)     \
                                                      X(PointerGetAttribute) X(GetErrorName)       \
                                                          X(GetErrorString)

struct Driver {
#define GEMMSMITH_DRIVER_MEMBER(function) decltype(::cu##function)* function = nullptr;
  GEMMSMITH_DRIVER_FUNCTIONS(GEMMSMITH_DRIVER_MEMBER)
#undef GEMMSMITH_DRIVER_MEMBER
};

// Loads libcuda (GEMMSMITH_LIBCUDA, else libcuda.so.1) and calls cuInit. Errors (kEnvironment): no
// driver, no device, or a driver older than CUDA 12.3 (which named entry point it lacks). The
// result is the same on every call.
Result<const Driver*> load_driver();

// GEMMSMITH_LIBCUDA, else libcuda.so.1.
std::string driver_library_name();

// The same for the library at `path`, anew on every call.
Result<Driver> open_driver(const std::string& path);

// "CUDA_ERROR_INVALID_VALUE: invalid argument".
std::string describe(const Driver& driver, CUresult result);

// GEMMSMITH_CHECK(check(driver, driver.MemFree_v2(p), "freeing an operand")).
Result<void> check(const Driver& driver, CUresult result, const char* doing);

}  // namespace gemmsmith
