// The fake libcuda and NVML of fake_driver.h.
#include "device/fake_driver.h"

#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/parts/args.cuh"
#include "support/fake_pack.h"

#undef cuEventElapsedTime  // CUDA 13's cuda.h renames it; drivers keep the old symbol

namespace {

using gemmsmith_kernels::GemmArgs;
using gemmsmith_kernels::PackArgs;

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// What FAKE_CUDA_FAIL says about `function`.
CUresult planned(std::string_view function) {
  const char* text = std::getenv("FAKE_CUDA_FAIL");
  std::string_view rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string item(rest.substr(0, comma));
    const std::size_t equals = item.find('=');
    if (item.substr(0, equals) == function)
      return static_cast<CUresult>(std::atoi(item.c_str() + equals + 1));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return CUDA_SUCCESS;
}

#define FAKE_BEGIN \
  if (const CUresult status = planned(__func__); status != CUDA_SUCCESS) return status

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

struct FakeFunction {
  int parameters = 1;
  bool computes = false;
  bool packs = false;
  bool bf16 = false;
  // As on a device: 48 KiB until it is raised, and a launch that needs more is refused.
  int dynamic_shared_limit = 48 << 10;
};
struct FakeModule {
  FakeFunction function;
  const char* name = "gemm";
};
struct FakeGraph {
  std::vector<std::function<void()>> nodes;
};
struct FakeStream {
  FakeGraph* capture = nullptr;
};
struct FakeEvent {
  std::chrono::steady_clock::time_point time;
};

std::mutex launch_mutex;
std::int64_t launch_count = 0;
FakeLaunch last_launch = {};
FakeLaunch last_pack = {};
std::atomic<std::int64_t> allocations{0};
thread_local CUcontext current_context = nullptr;
char context_token;

CUcontext the_context() { return reinterpret_cast<CUcontext>(&context_token); }

// Now, or as a node of the graph being captured.
void run_or_capture(CUstream stream, std::function<void()> work) {
  auto* fake = reinterpret_cast<FakeStream*>(stream);
  // The default streams' handles are small numbers.
  if (reinterpret_cast<std::uintptr_t>(stream) > 2 && fake->capture != nullptr) {
    fake->capture->nodes.push_back(std::move(work));
  } else {
    work();
  }
}

double half_to_double(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

std::uint16_t double_to_half(double value) {
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7fff;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return static_cast<std::uint16_t>(sign);
  if (magnitude >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent, -13);  // subnormals share the smallest exponent
  const int units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 11 - exponent)));
  // 1024..2048 units for normal numbers; a carry to 2048 runs into the exponent by itself.
  return static_cast<std::uint16_t>(sign | ((exponent + 13) * 1024 + units));
}

double bf16_to_double(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

std::uint16_t double_to_bf16(double value) {
  if (std::isnan(value)) return 0x7fff;
  const float narrow = static_cast<float>(value);
  std::uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}

void compute(const FakeFunction& function, const GemmArgs& args) {
  const auto to_double = function.bf16 ? bf16_to_double : half_to_double;
  const auto from_double = function.bf16 ? double_to_bf16 : double_to_half;
  const auto* a = static_cast<const std::uint16_t*>(args.a);
  const auto* b = static_cast<const std::uint16_t*>(args.b);
  const auto* c = static_cast<const std::uint16_t*>(args.c);
  auto* d = static_cast<std::uint16_t*>(args.d);
  const double alpha = args.alpha_device != nullptr ? *args.alpha_device : args.alpha;
  const double beta = args.beta_device != nullptr ? *args.beta_device : args.beta;
  for (int matrix = 0; matrix < args.batch; ++matrix) {
    for (int i = 0; i < args.m; ++i) {
      for (int j = 0; j < args.n; ++j) {
        double sum = 0;
        for (int k = 0; k < args.k; ++k)
          sum += to_double(a[i * args.lda + k]) * to_double(b[j * args.ldb + k]);
        double value = alpha * sum;
        if (beta != 0) value += beta * to_double(c[i * args.ldc + j]);
        d[i * args.ldd + j] = from_double(value);
      }
    }
    a += args.stride_a;
    b += args.stride_b;
    c += beta != 0 ? args.stride_c : 0;
    d += args.stride_d;
  }
}

FakeLaunch describe_launch(const CUlaunchConfig& config, int parameters) {
  FakeLaunch launch = {};
  launch.grid = config.gridDimX;
  launch.splits = config.gridDimY;
  launch.block = config.blockDimX;
  launch.cluster = 1;
  launch.shared_bytes = config.sharedMemBytes;
  launch.parameters = parameters;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      launch.cluster = attribute.value.clusterDim.x;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      launch.programmatic = attribute.value.programmaticStreamSerializationAllowed;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      launch.cooperative = attribute.value.cooperative;
  }
  return launch;
}

}  // namespace

extern "C" {

void fake_cuda_last_launch(FakeLaunch* launch) {
  const std::lock_guard lock(launch_mutex);
  *launch = last_launch;
}
void fake_cuda_last_pack(FakeLaunch* launch) {
  const std::lock_guard lock(launch_mutex);
  *launch = last_pack;
}
std::int64_t fake_cuda_live_allocations() { return allocations.load(); }

CUresult cuInit(unsigned) { return static_cast<CUresult>(number("FAKE_CUDA_INIT", 0)); }
CUresult cuDriverGetVersion(int* version) {
  *version = number("FAKE_CUDA_VERSION", 13000);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = number("FAKE_CUDA_DEVICES", 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  FAKE_BEGIN;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  const char* chosen = std::getenv("FAKE_CUDA_NAME");
  std::strncpy(name, chosen == nullptr ? "NVIDIA H200" : chosen, static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  FAKE_BEGIN;
  const int capability = number("FAKE_CUDA_CAPABILITY", 90);
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = capability / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = capability % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = 60 << 20;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 227 << 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      *value = 228 << 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      *value = 65536;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      *value = 2048;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      break;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      *value = 3201000;
      break;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      *value = 6144;
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{141} << 30;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
  for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(i);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  FAKE_BEGIN;
  *context = the_context();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxSetCurrent(CUcontext context) {
  current_context = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current_context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return current_context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  FAKE_BEGIN;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  FAKE_BEGIN;
  if (number("FAKE_CUDA_GLOBAL_CAPTURE", 0) != 0 && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  const auto* text = static_cast<const char*>(image);
  if (std::strncmp(text, "fake", 4) != 0) return CUDA_ERROR_INVALID_IMAGE;
  auto* fake = new FakeModule;
  const bool sm90 = std::strncmp(text, "fake sm90_ws", 12) == 0;
  const bool sm80 = std::strncmp(text, "fake sm80_mma", 13) == 0;
  if (std::strncmp(text, "fake pack", 9) == 0) {
    fake->function.packs = true;
    fake->name = "pack";
  }
  fake->function.computes = sm90 || sm80;
  fake->function.parameters = sm90 ? 4 : 1;
  fake->function.bf16 = std::strncmp(text + (sm90 ? 12 : sm80 ? 13 : 4), " bf16", 5) == 0;
  *module = reinterpret_cast<CUmodule>(fake);
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<FakeModule*>(module);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  auto* const fake = reinterpret_cast<FakeModule*>(module);
  if (std::strcmp(name, fake->name) != 0) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&fake->function);
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  FAKE_BEGIN;
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    reinterpret_cast<FakeFunction*>(function)->dynamic_shared_limit = value;
  return CUDA_SUCCESS;
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
               ? reinterpret_cast<FakeFunction*>(function)->dynamic_shared_limit
               : 128;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void**) {
  FAKE_BEGIN;
  const FakeFunction fake = *reinterpret_cast<FakeFunction*>(function);
  if (config->sharedMemBytes > static_cast<unsigned>(fake.dynamic_shared_limit))
    return CUDA_ERROR_INVALID_VALUE;
  const FakeLaunch launch = describe_launch(*config, fake.parameters);
  GemmArgs args = {};
  PackArgs pack = {};
  if (fake.computes) std::memcpy(&args, parameters[fake.parameters - 1], sizeof args);
  if (fake.packs) std::memcpy(&pack, parameters[0], sizeof pack);
  run_or_capture(config->hStream, [fake, launch, args, pack] {
    {
      const std::lock_guard lock(launch_mutex);
      FakeLaunch& latest = fake.packs ? last_pack : last_launch;
      latest = launch;
      latest.count = ++launch_count;
    }
    if (fake.computes) compute(fake, args);
    if (fake.packs) gemmsmith::test::fake_pack(pack, launch.splits);
  });
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned, unsigned, unsigned block_x,
                        unsigned, unsigned, unsigned shared, CUstream stream, void** parameters,
                        void** extra) {
  CUlaunchConfig config = {};
  config.gridDimX = grid_x;
  config.blockDimX = block_x;
  config.sharedMemBytes = shared;
  config.hStream = stream;
  return cuLaunchKernelEx(&config, function, parameters, extra);
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  FAKE_BEGIN;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(memory);
  ++allocations;
  return CUDA_SUCCESS;
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  std::free(reinterpret_cast<void*>(address));
  --allocations;
  return CUDA_SUCCESS;
}
CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = 1000;
  *total = std::size_t{141} << 30;
  return CUDA_SUCCESS;
}
CUresult cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  FAKE_BEGIN;
  *memory = std::malloc(bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* memory) {
  std::free(memory);
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes,
                              CUstream stream) {
  FAKE_BEGIN;
  run_or_capture(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  FAKE_BEGIN;
  run_or_capture(stream, [=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
  return CUDA_SUCCESS;
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                              CUstream stream) {
  run_or_capture(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  run_or_capture(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, count); });
  return CUDA_SUCCESS;
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, std::size_t count,
                          CUstream stream) {
  run_or_capture(stream, [=] {
    for (std::size_t i = 0; i < count; ++i) reinterpret_cast<unsigned short*>(to)[i] = value;
  });
  return CUDA_SUCCESS;
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  run_or_capture(stream, [=] {
    for (std::size_t i = 0; i < count; ++i) reinterpret_cast<unsigned*>(to)[i] = value;
  });
  return CUDA_SUCCESS;
}
CUresult cuPointerGetAttribute(void*, CUpointer_attribute, CUdeviceptr) {
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  FAKE_BEGIN;
  *stream = reinterpret_cast<CUstream>(new FakeStream);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  delete reinterpret_cast<FakeStream*>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream) {
  FAKE_BEGIN;
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream) { return CUDA_SUCCESS; }
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  *id = reinterpret_cast<std::uintptr_t>(stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const bool captures = reinterpret_cast<std::uintptr_t>(stream) > 2 &&
                        reinterpret_cast<FakeStream*>(stream)->capture != nullptr;
  *status = captures ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*,
                                   CUgraph*, const CUgraphNode**, const CUgraphEdgeData**,
                                   std::size_t* count) {
  *count = 0;
  return cuStreamIsCapturing(stream, status);
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  FAKE_BEGIN;
  reinterpret_cast<FakeStream*>(stream)->capture = new FakeGraph;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  auto* fake = reinterpret_cast<FakeStream*>(stream);
  *graph = reinterpret_cast<CUgraph>(std::exchange(fake->capture, nullptr));
  return CUDA_SUCCESS;
}
CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new FakeEvent);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  delete reinterpret_cast<FakeEvent*>(event);
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream) {
  reinterpret_cast<FakeEvent*>(event)->time = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventQuery(CUevent) { return CUDA_SUCCESS; }
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent stop) {
  const std::chrono::duration<float, std::milli> time =
      reinterpret_cast<FakeEvent*>(stop)->time - reinterpret_cast<FakeEvent*>(start)->time;
  *milliseconds = time.count();
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  FAKE_BEGIN;
  *exec = reinterpret_cast<CUgraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph*>(graph)));
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream) {
  for (const auto& node : reinterpret_cast<FakeGraph*>(exec)->nodes) node();
  return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec, CUstream) { return CUDA_SUCCESS; }
CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<FakeGraph*>(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  delete reinterpret_cast<FakeGraph*>(exec);
  return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill) {
  FAKE_BEGIN;
  // The driver's own rules.
  if (rank < 2 || rank > 3 || reinterpret_cast<std::uintptr_t>(address) % 16 != 0 ||
      strides[0] % 16 != 0 || box[0] > 256 || box[1] > 256 || box[0] * 2 > 128 || sizes[0] == 0 ||
      sizes[1] == 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (rank == 3 && (strides[1] % 16 != 0 || sizes[2] == 0 || box[2] != 1))
    return CUDA_ERROR_INVALID_VALUE;
  const FakeTensorMap fake = {address,
                              sizes[0],
                              sizes[1],
                              strides[0],
                              box[0],
                              box[1],
                              static_cast<std::uint32_t>(swizzle),
                              static_cast<std::uint32_t>(type),
                              static_cast<std::uint32_t>(promotion),
                              rank,
                              rank == 3 ? sizes[2] : 0,
                              rank == 3 ? strides[1] : 0};
  std::memcpy(map, &fake, sizeof fake);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* count, CUfunction, const CUlaunchConfig*) {
  FAKE_BEGIN;
  *count = number("FAKE_CUDA_RESIDENT_CLUSTERS", 66);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, CUfunction, int, std::size_t) {
  *count = number("FAKE_CUDA_BLOCKS_PER_SM", 1);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char** name) {
  switch (result) {
    case CUDA_ERROR_INVALID_VALUE:
      *name = "CUDA_ERROR_INVALID_VALUE";
      break;
    case CUDA_ERROR_OUT_OF_MEMORY:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_INVALID_IMAGE:
      *name = "CUDA_ERROR_INVALID_IMAGE";
      break;
    case CUDA_ERROR_NOT_FOUND:
      *name = "CUDA_ERROR_NOT_FOUND";
      break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      *name = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      *name = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH";
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "as the test planned";
  return CUDA_SUCCESS;
}

// NVML: one device, with the uuid of the fake above. FAKE_NVML_LIMITED=1: no power readings.
int nvmlInit_v2() { return number("FAKE_NVML_INIT", 0); }
int nvmlSystemGetDriverVersion(char* text, unsigned) {
  std::strcpy(text, "580.159.04");
  return 0;
}
const char* nvmlErrorString(int) { return "as the test planned"; }
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = nullptr;
  return std::strcmp(uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f") == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void*, unsigned which, unsigned* value) {
  *value = which == 1 ? 1980 : 3201;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* value) {
  *value = 312400;
  return number("FAKE_NVML_LIMITED", 0) == 1 ? 3 : 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* value) {
  *value = 700000;
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* value) {
  *value = 45;
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  *count = static_cast<unsigned>(number("FAKE_NVML_PROCESSES", 0));
  return *count == 0 ? 0 : 7;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  *millijoules = 7'654'321;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* value) {
  *value = 0x4;
  return 0;
}

}  // extern "C"
