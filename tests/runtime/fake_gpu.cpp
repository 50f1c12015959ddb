#include "runtime/fake_gpu.h"

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/parts/args.cuh"
#include "support/fake_pack.h"

// The driver's exports carry version suffixes in some headers and not in others: both spellings.
#undef cuEventElapsedTime
#undef cuEventElapsedTime_v2

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

struct CUctx_st {
  int device = 0;
};

namespace {

enum class KernelKind { kGemm, kGemmWithMaps, kScale, kFinish, kPack };

struct FakeModule {
  KernelKind kind = KernelKind::kGemm;
  bool a_is_k_contiguous = true;
  bool b_is_k_contiguous = true;
  bool is_bf16 = false;
  bool is_fused = false;       // has epilogues; else the arguments' are not looked at
  bool is_f32_out = false;     // C, D and the bias
  bool is_transposed = false;  // of the product that the arguments are of, C and D lie transposed
};

struct FakeEvent {
  int own_launches = 0;
};

// Of the calling thread: what lies between two events that it records.
thread_local int own_launches = 0;

CUctx_st contexts[FakeGpu::kDevices] = {{0}, {1}};
thread_local CUcontext current = nullptr;
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

float load(const void* base, std::int64_t index, bool is_bf16) {
  if (is_bf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(base)[index]);
  return __half2float(static_cast<const __half*>(base)[index]);
}

void store(void* base, std::int64_t index, float value, bool is_bf16) {
  if (is_bf16)
    static_cast<__nv_bfloat16*>(base)[index] = __float2bfloat16(value);
  else
    static_cast<__half*>(base)[index] = __float2half(value);
}

double activate(int activation, double x) {
  switch (activation) {
    case gemmsmith_kernels::kRelu:
      return x < 0 ? 0 : x;
    case gemmsmith_kernels::kGeluTanh:
      return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case gemmsmith_kernels::kGeluErf:
      return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case gemmsmith_kernels::kSilu:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

// What kernels/parts/args.cuh promises, in the plainest way.
void run_gemm(const FakeModule& kernel, const gemmsmith_kernels::GemmArgs& args) {
  const float alpha = args.alpha_device != nullptr ? *args.alpha_device : args.alpha;
  const float beta = args.beta_device != nullptr ? *args.beta_device : args.beta;
  const bool grouped = args.group_ends != nullptr;
  for (std::int64_t matrix = 0; matrix < args.batch; ++matrix)
    for (std::int64_t i = grouped && matrix > 0 ? args.group_ends[matrix - 1] : 0;
         i < (grouped ? args.group_ends[matrix] : args.m); ++i)
      for (std::int64_t j = 0; j < args.n; ++j) {
        float sum = 0;
        for (std::int64_t p = 0; p < args.k; ++p) {
          const std::int64_t a = kernel.a_is_k_contiguous ? i * args.lda + p : p * args.lda + i;
          const std::int64_t b = kernel.b_is_k_contiguous ? j * args.ldb + p : p * args.ldb + j;
          sum += load(args.a, matrix * args.stride_a + a, kernel.is_bf16) *
                 load(args.b, matrix * args.stride_b + b, kernel.is_bf16);
        }
        const auto output = [&](const void* base, std::int64_t index) {
          return kernel.is_f32_out ? static_cast<const float*>(base)[index]
                                   : load(base, index, kernel.is_bf16);
        };
        float value = alpha * sum;
        const std::int64_t row = kernel.is_transposed ? j : i;  // of D as it lies
        const std::int64_t column = kernel.is_transposed ? i : j;
        if (beta != 0)
          value += beta * output(args.c, matrix * args.stride_c + row * args.ldc + column);
        if (kernel.is_fused) {
          if (args.bias != nullptr) value += output(args.bias, column);
          value = static_cast<float>(activate(args.activation, value));
        }
        const std::int64_t at = matrix * args.stride_d + row * args.ldd + column;
        if (kernel.is_f32_out)
          static_cast<float*>(args.d)[at] = value;
        else
          store(args.d, at, value, kernel.is_bf16);
      }
}

void use_scratch(const gemmsmith_kernels::GemmArgs& args) {
  if (args.counters == nullptr) return;
  FakeGpu& gpu = fake_gpu();
  gpu.last_workspace = args.workspace;
  gpu.last_counters = args.counters;
  if ((*args.counters & 0x7fffffffU) != 0) ++gpu.dirty_counters;
  *args.counters ^= 0x80000000U;
  std::memset(args.workspace, 0xa5, 64);
}

template <class T>
T parameter(void** parameters, int index) {
  T value;
  std::memcpy(&value, parameters[index], sizeof value);
  return value;
}

// The PTX of src/runtime/scale_kernel.cpp, in C++.
void run_scale(void** parameters) {
  auto* d = parameter<void*>(parameters, 0);
  const auto* c = parameter<const void*>(parameters, 1);
  const auto* beta_device = parameter<const void*>(parameters, 2);
  const auto rows = parameter<std::int64_t>(parameters, 3);
  const auto columns = parameter<std::int64_t>(parameters, 4);
  const auto ldc = parameter<std::int64_t>(parameters, 5);
  const auto ldd = parameter<std::int64_t>(parameters, 6);
  auto beta = parameter<float>(parameters, 7);
  const auto flags = parameter<unsigned>(parameters, 8);
  const bool is_bf16 = (flags & 1U) != 0;
  if (beta_device != nullptr)
    beta = (flags & 2U) != 0 ? __half2float(*static_cast<const __half*>(beta_device))
                             : *static_cast<const float*>(beta_device);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      if ((flags & 4U) != 0) {
        static_cast<float*>(d)[i * ldd + j] =
            beta == 0 ? 0.0F : beta * static_cast<const float*>(c)[i * ldc + j];
        continue;
      }
      const float value = beta == 0 ? 0.0F : beta * load(c, i * ldc + j, is_bf16);
      store(d, i * ldd + j, value, is_bf16);
    }
}

// The PTX of src/runtime/finish_kernel.cpp, in C++.
void run_finish(void** parameters) {
  auto* d = parameter<void*>(parameters, 0);
  const auto* bias = parameter<const void*>(parameters, 1);
  const auto lines = parameter<std::int64_t>(parameters, 2);
  const auto rows = parameter<std::int64_t>(parameters, 3);
  const auto columns = parameter<std::int64_t>(parameters, 4);
  const auto ldd = parameter<std::int64_t>(parameters, 5);
  const auto stride = parameter<std::int64_t>(parameters, 6);
  const auto flags = parameter<unsigned>(parameters, 7);
  const auto activation = parameter<int>(parameters, 8);
  const bool is_bf16 = (flags & 1U) != 0;
  const bool is_f32 = (flags & 2U) != 0;
  const auto read = [&](const void* base, std::int64_t index) {
    return is_f32 ? static_cast<const float*>(base)[index] : load(base, index, is_bf16);
  };
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t at = line / rows * stride + line % rows * ldd + j;
      const float sum = read(d, at) + (bias != nullptr ? read(bias, j) : 0.0F);
      const auto value = static_cast<float>(activate(activation, sum));
      if (is_f32)
        static_cast<float*>(d)[at] = value;
      else
        store(d, at, value, is_bf16);
    }
}

CUresult run(CUfunction function, unsigned grid_y, void** parameters) {
  FakeGpu& gpu = fake_gpu();
  if (gpu.fail_launch) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ++gpu.launches;
  ++own_launches;
  if (gpu.is_capturing) ++gpu.captured_nodes;
  if (gpu.skip_work) return CUDA_SUCCESS;
  const auto& kernel = *reinterpret_cast<const FakeModule*>(function);
  // Others are given scratch too, and must leave it alone: their operands may lie there.
  const bool splits = grid_y > 1;
  if (kernel.kind == KernelKind::kGemmWithMaps && splits)
    use_scratch(*static_cast<const gemmsmith_kernels::GemmArgs*>(parameters[3]));
  switch (kernel.kind) {
    case KernelKind::kScale:
      run_scale(parameters);
      break;
    case KernelKind::kFinish:
      ++gpu.finishes;
      run_finish(parameters);
      break;
    case KernelKind::kPack:
      ++gpu.packs;
      gemmsmith::test::fake_pack(*static_cast<const gemmsmith_kernels::PackArgs*>(parameters[0]),
                                 grid_y);
      break;
    case KernelKind::kGemm:
      run_gemm(kernel, *static_cast<const gemmsmith_kernels::GemmArgs*>(parameters[0]));
      break;
    case KernelKind::kGemmWithMaps:
      run_gemm(kernel, *static_cast<const gemmsmith_kernels::GemmArgs*>(parameters[3]));
      break;
  }
  return CUDA_SUCCESS;
}

int attribute_value(CUdevice_attribute attribute) {
  const FakeGpu& gpu = fake_gpu();
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return gpu.compute_capability / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return gpu.compute_capability % 10;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return gpu.sm_count;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 232448;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 233472;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    default:
      return 1000;
  }
}

}  // namespace

void FakeGpu::reset() {
  launches = packs = finishes = modules_loaded = modules_unloaded = maps_encoded =
      contexts_retained = 0;
  last_cluster = last_grid = last_splits = 0;
  last_cooperative = last_programmatic = false;
  captured_nodes = 0;
  capture_id = 1;
  waits_for = 1;
  fail_context = false;
  last_workspace = nullptr;
  last_counters = nullptr;
  dirty_counters = allocations = 0;
  kernel_us = 5;
  library_us = 6;
  is_busy = false;
  events_recorded = captured_events = 0;
  fail_allocation = refuse_cooperative = false;
  captures_spoiled = 0;
  another_thread_captures = false;
  fail_module_load = fail_encode = fail_launch = is_capturing = skip_work = false;
  compute_capability = 90;
  sm_count = 132;
  name = "NVIDIA H200";
}

__attribute__((visibility("default"))) FakeGpu& fake_gpu() {
  static FakeGpu gpu;
  return gpu;
}

FAKE_EXPORT CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
FAKE_EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDeviceGetCount(int* count) {
  *count = FakeGpu::kDevices;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, fake_gpu().name, static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = attribute_value(attribute);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = std::size_t{1} << 37;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, device, sizeof *uuid);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (fake_gpu().fail_context) return CUDA_ERROR_OUT_OF_MEMORY;
  ++fake_gpu().contexts_retained;
  *context = &contexts[device];
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  --fake_gpu().contexts_retained;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = current->device;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }
FAKE_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  FakeGpu& gpu = fake_gpu();
  if (gpu.fail_module_load) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (gpu.is_capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (gpu.another_thread_captures && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
    ++gpu.captures_spoiled;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::string text = static_cast<const char*>(image);
  auto loaded = new FakeModule;
  if (text.find("gemmsmith_scale") != std::string::npos) {
    loaded->kind = KernelKind::kScale;
  } else if (text.find("gemmsmith_finish") != std::string::npos) {
    loaded->kind = KernelKind::kFinish;
  } else if (text.find("FAKE pack") != std::string::npos) {
    loaded->kind = KernelKind::kPack;
  } else if (const std::size_t at = text.find("FAKE gemm "); at != std::string::npos) {
    loaded->a_is_k_contiguous = text[at + 10] == 't';
    loaded->b_is_k_contiguous = text[at + 11] == 'n';
    loaded->is_bf16 = text.find("bf16") != std::string::npos;
    loaded->is_fused = text.find("fused") != std::string::npos;
    loaded->is_f32_out = text.find("out=f32") != std::string::npos;
    loaded->is_transposed = text.find("transposed ") != std::string::npos;
    if (text.find("maps") != std::string::npos) loaded->kind = KernelKind::kGemmWithMaps;
  } else {
    delete loaded;
    return CUDA_ERROR_INVALID_IMAGE;
  }
  ++gpu.modules_loaded;
  *module = reinterpret_cast<CUmodule>(loaded);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuModuleUnload(CUmodule module) {
  ++fake_gpu().modules_unloaded;
  delete reinterpret_cast<FakeModule*>(module);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char*) {
  *function = reinterpret_cast<CUfunction>(module);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  *value = 0;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                      void** parameters, void**) {
  unsigned cluster = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      cluster = config->attrs[i].value.clusterDim.x;
  bool cooperative = false;
  bool programmatic = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      cooperative = config->attrs[i].value.cooperative != 0;
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      programmatic = config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
  }
  fake_gpu().last_cluster = cluster;
  fake_gpu().last_grid = config->gridDimX;
  fake_gpu().last_splits = config->gridDimY;
  fake_gpu().last_cooperative = cooperative;
  fake_gpu().last_programmatic = programmatic;
  if (cooperative && fake_gpu().refuse_cooperative) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return run(function, config->gridDimY, parameters);
}
FAKE_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned, unsigned grid_y, unsigned,
                                    unsigned, unsigned, unsigned, unsigned, CUstream,
                                    void** parameters, void**) {
  return run(function, grid_y, parameters);
}
FAKE_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  if (fake_gpu().fail_allocation) return CUDA_ERROR_OUT_OF_MEMORY;
  if (fake_gpu().is_capturing && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  ++fake_gpu().allocations;
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 37;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes,
                                          CUstream) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                                          CUstream) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, std::size_t, CUstream) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
FAKE_EXPORT CUresult cuMemsetD16Async(CUdeviceptr, unsigned short, std::size_t, CUstream) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
FAKE_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream) {
  for (std::size_t i = 0; i < count; ++i) reinterpret_cast<unsigned*>(to)[i] = value;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuMemFreeHost(void* memory) {
  std::free(memory);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(new int);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  delete reinterpret_cast<int*>(stream);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  *id = reinterpret_cast<std::uintptr_t>(stream);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
FAKE_EXPORT CUresult cuStreamQuery(CUstream) { return CUDA_SUCCESS; }
FAKE_EXPORT CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
  *status =
      fake_gpu().is_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status,
                                               cuuint64_t* id, CUgraph*, const CUgraphNode** nodes,
                                               const CUgraphEdgeData**, std::size_t* count) {
  cuStreamIsCapturing(stream, status);
  if (*status == CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_SUCCESS;
  FakeGpu& gpu = fake_gpu();
  static thread_local CUgraphNode newest;
  newest = reinterpret_cast<CUgraphNode>(static_cast<std::uintptr_t>(gpu.captured_nodes));
  *id = gpu.capture_id;
  *nodes = &newest;
  *count = gpu.captured_nodes == 0 ? 0 : static_cast<std::size_t>(gpu.waits_for);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, capture_mode);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
FAKE_EXPORT CUresult cuStreamEndCapture(CUstream, CUgraph*) { return CUDA_ERROR_NOT_SUPPORTED; }
FAKE_EXPORT CUresult cuEventCreate(CUevent* event, unsigned) {
  ++fake_gpu().events;
  *event = reinterpret_cast<CUevent>(new FakeEvent);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  --fake_gpu().events;
  delete reinterpret_cast<FakeEvent*>(event);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuEventRecord(CUevent event, CUstream) {
  FakeGpu& gpu = fake_gpu();
  ++gpu.events_recorded;
  if (gpu.is_capturing) ++gpu.captured_events;
  reinterpret_cast<FakeEvent*>(event)->own_launches = own_launches;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuEventSynchronize(CUevent) { return CUDA_ERROR_NOT_SUPPORTED; }
FAKE_EXPORT CUresult cuEventQuery(CUevent) {
  FakeGpu& gpu = fake_gpu();
  if (gpu.another_thread_captures && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
    ++gpu.captures_spoiled;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return gpu.is_busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent begin, CUevent end) {
  const FakeGpu& gpu = fake_gpu();
  const bool by_kernel = reinterpret_cast<FakeEvent*>(end)->own_launches >
                         reinterpret_cast<FakeEvent*>(begin)->own_launches;
  *milliseconds = (by_kernel ? gpu.kernel_us : gpu.library_us) / 1000;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent begin, CUevent end) {
  return cuEventElapsedTime(milliseconds, begin, end);
}
FAKE_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec*, CUgraph, unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
FAKE_EXPORT CUresult cuGraphLaunch(CUgraphExec, CUstream) { return CUDA_ERROR_NOT_SUPPORTED; }
FAKE_EXPORT CUresult cuGraphUpload(CUgraphExec, CUstream) { return CUDA_ERROR_NOT_SUPPORTED; }
FAKE_EXPORT CUresult cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }
FAKE_EXPORT CUresult cuGraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }
FAKE_EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t,
                                            void* address, const cuuint64_t*, const cuuint64_t*,
                                            const cuuint32_t*, const cuuint32_t*,
                                            CUtensorMapInterleave, CUtensorMapSwizzle,
                                            CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  if (fake_gpu().fail_encode) return CUDA_ERROR_INVALID_VALUE;
  ++fake_gpu().maps_encoded;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &address, sizeof address);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction,
                                                  const CUlaunchConfig* config) {
  *clusters = 132 / static_cast<int>(config->attrs[0].value.clusterDim.x);
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int,
                                                                 std::size_t) {
  *blocks = 1;
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuPointerGetAttribute(void*, CUpointer_attribute, CUdeviceptr) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
FAKE_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
          : error == CUDA_ERROR_NO_BINARY_FOR_GPU     ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
                                                      : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
FAKE_EXPORT CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "made up by the fake driver";
  return CUDA_SUCCESS;
}
