// library_text.cpp -- the C text of an exported library: what it promises (header) and how it loads
// and launches (source). Data follows in a file of its own.
#include "export/exported_library.h"

namespace gemmsmith::exporting {

const char* library_header_text() {
  return R"c(/* @NAME@.h -- matrix products by kernels that were tuned for one GPU; exported by gemmsmith.
 *
 *   D = alpha * op(A) * op(B) + beta * C        column-major, 16-bit elements
 *
 * Problems are those of @NAME@_count() and no others: there is no other library behind this one.
 * The CUDA driver (libcuda.so.1) is found when @NAME@_open() runs.
 */
#ifndef @NAME_UPPER@_H_
#define @NAME_UPPER@_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cublasStatus_t's values. */
typedef enum {
  @NAME_UPPER@_SUCCESS = 0,
  @NAME_UPPER@_NOT_INITIALIZED = 1,   /* no driver, or no current context */
  @NAME_UPPER@_ALLOC_FAILED = 3,      /* out of host or device memory */
  @NAME_UPPER@_INVALID_VALUE = 7,     /* a null or misaligned pointer, or no such problem */
  @NAME_UPPER@_ARCH_MISMATCH = 8,     /* the plans were tuned on another GPU */
  @NAME_UPPER@_EXECUTION_FAILED = 13, /* the driver refused the work */
  @NAME_UPPER@_NOT_SUPPORTED = 15     /* no plan for this problem */
} @NAME@_status;

/* Enumerations have cuBLAS's values: transa and transb 0 (N) or 1 (T); type 2 (half) or 14 (bf16);
 * compute_type 64 (half) or 68 (float); alpha and beta are floats in either case. */
typedef struct {
  int32_t transa;
  int32_t transb;
  int32_t type;
  int32_t compute_type;
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t lda;
  int64_t ldb;
  int64_t ldc; /* equals ldd where has_c is 0 */
  int64_t ldd;
  int32_t has_c; /* 1: tuned with beta != 0 */
  int64_t scratch_bytes; /* of its plan; not 0: it needs a scratch. Ignored by @NAME@_find(). */
  int32_t f32_output; /* 1: C and D are float; else they have A and B's type */
} @NAME@_problem;

/* The kernels on the device of one context. Used by any number of threads at once. */
typedef struct @NAME@_library @NAME@_library;

/* What the plans were tuned on: "NVIDIA H200". */
const char* @NAME@_device(void);
int @NAME@_count(void);
/* NULL for an index out of range. */
const @NAME@_problem* @NAME@_at(int index);
/* The index of a problem; -1 where there is no plan for it. */
int @NAME@_find(const @NAME@_problem* problem);

/* Loads the kernels into the current context. Not inside a stream capture. */
@NAME@_status @NAME@_open(@NAME@_library** library);
/* NULL is allowed. Finish the work, and destroy the graphs, that use the kernels first. */
void @NAME@_close(@NAME@_library* library);

/* Device memory that some kernels add up in. Runs that may be under way at the same time, graphs that
 * hold them included, must not share one. */
typedef struct @NAME@_scratch @NAME@_scratch;

/* In the library's context, large enough for every problem. Not inside a stream capture. */
@NAME@_status @NAME@_scratch_create(const @NAME@_library* library, @NAME@_scratch** scratch);
/* NULL is allowed. Before the library is closed; finish the runs that use it first. */
void @NAME@_scratch_destroy(const @NAME@_library* library, @NAME@_scratch* scratch);

/* Enqueues problem `index` on `stream` (a CUstream or cudaStream_t) of the library's context, which
 * must be current. Waits for nothing and may be captured. C may be NULL with beta = 0; beta must be 0
 * where has_c is 0. Pointers must be multiples of 16 bytes. D may equal C and overlaps nothing else.
 * `scratch` may be NULL where scratch_bytes is 0. */
@NAME@_status @NAME@_run(const @NAME@_library* library, int index, float alpha, const void* A,
                         const void* B, float beta, const void* C, void* D,
                         const @NAME@_scratch* scratch, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* @NAME_UPPER@_H_ */
)c";
}

const char* library_source_text() {
  return R"c(/* @NAME@.c -- loading and launching; exported by gemmsmith. The numbers are in
 * @NAME@_data.c. */
@INCLUDE@ "@NAME@.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

@INCLUDE@ "@NAME@_data.h"

/* The driver's functions that are used, each with its type from cuda.h. */
typedef struct {
  CUresult (*init)(unsigned);
  CUresult (*context_current)(CUcontext*);
  CUresult (*context_device)(CUdevice*);
  CUresult (*device_name)(char*, int, CUdevice);
  CUresult (*device_attribute)(int*, CUdevice_attribute, CUdevice);
  CUresult (*module_load)(CUmodule*, const void*);
  CUresult (*module_unload)(CUmodule);
  CUresult (*module_function)(CUfunction*, CUmodule, const char*);
  CUresult (*function_attribute)(CUfunction, CUfunction_attribute, int);
  CUresult (*function_get_attribute)(int*, CUfunction_attribute, CUfunction);
  CUresult (*most_clusters)(int*, CUfunction, const CUlaunchConfig*);
  CUresult (*most_blocks)(int*, CUfunction, int, size_t);
  CUresult (*memory_allocate)(CUdeviceptr*, size_t);
  CUresult (*memory_free)(CUdeviceptr);
  CUresult (*memory_set)(CUdeviceptr, unsigned, size_t, CUstream);
  CUresult (*stream_synchronize)(CUstream);
  CUresult (*encode_map)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                         const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                         CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                         CUtensorMapFloatOOBfill);
  CUresult (*launch)(const CUlaunchConfig*, CUfunction, void**, void**);
} driver_functions;

struct @NAME@_scratch {
  CUdeviceptr workspace;
  CUdeviceptr counters;
};

struct @NAME@_library {
  driver_functions driver;
  CUmodule* modules;      /* one a kernel */
  CUfunction* functions;  /* one a kernel */
  unsigned* grids;        /* one a plan */
};

const char* @NAME@_device(void) { return @NAME@_data_device; }
int @NAME@_count(void) { return @NAME@_data_plan_count; }

const @NAME@_problem* @NAME@_at(int index) {
  return index < 0 || index >= @NAME@_data_plan_count ? NULL : &@NAME@_data_plans[index].problem;
}

static int is_same(const @NAME@_problem* a, const @NAME@_problem* b) {
  return a->transa == b->transa && a->transb == b->transb && a->type == b->type && a->f32_output == b->f32_output &&
         a->compute_type == b->compute_type && a->m == b->m && a->n == b->n && a->k == b->k &&
         a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc && a->ldd == b->ldd &&
         a->has_c == b->has_c;
}

int @NAME@_find(const @NAME@_problem* problem) {
  int i;
  if (problem == NULL) return -1;
  for (i = 0; i < @NAME@_data_plan_count; ++i)
    if (is_same(&@NAME@_data_plans[i].problem, problem)) return i;
  return -1;
}

/* Never closed: its exit handlers must not outlive its code. */
static int open_driver(driver_functions* driver) {
  const struct {
    const char* name;
    void* function;
  } wanted[] = {{"cuInit", &driver->init},
                {"cuCtxGetCurrent", &driver->context_current},
                {"cuCtxGetDevice", &driver->context_device},
                {"cuDeviceGetName", &driver->device_name},
                {"cuDeviceGetAttribute", &driver->device_attribute},
                {"cuModuleLoadData", &driver->module_load},
                {"cuModuleUnload", &driver->module_unload},
                {"cuModuleGetFunction", &driver->module_function},
                {"cuFuncSetAttribute", &driver->function_attribute},
                {"cuFuncGetAttribute", &driver->function_get_attribute},
                {"cuOccupancyMaxActiveClusters", &driver->most_clusters},
                {"cuOccupancyMaxActiveBlocksPerMultiprocessor", &driver->most_blocks},
                {"cuMemAlloc_v2", &driver->memory_allocate},
                {"cuMemFree_v2", &driver->memory_free},
                {"cuMemsetD32Async", &driver->memory_set},
                {"cuStreamSynchronize", &driver->stream_synchronize},
                {"cuTensorMapEncodeTiled", &driver->encode_map},
                {"cuLaunchKernelEx", &driver->launch}};
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  size_t i;
  if (handle == NULL) return 0;
  for (i = 0; i < sizeof wanted / sizeof wanted[0]; ++i) {
    void* symbol = dlsym(handle, wanted[i].name);
    if (symbol == NULL) return 0;
    memcpy(wanted[i].function, &symbol, sizeof symbol);
  }
  return driver->init(0) == CUDA_SUCCESS;
}

/* Another number of SMs has other winners, another architecture cannot run the kernels. */
static @NAME@_status check_device(const driver_functions* driver) {
  char name[256] = "";
  CUcontext context = NULL;
  CUdevice device = 0;
  int major = 0, minor = 0, sm_count = 0;
  if (driver->context_current(&context) != CUDA_SUCCESS || context == NULL ||
      driver->context_device(&device) != CUDA_SUCCESS)
    return @NAME_UPPER@_NOT_INITIALIZED;
  if (driver->device_name(name, (int)sizeof name, device) != CUDA_SUCCESS ||
      driver->device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) !=
          CUDA_SUCCESS ||
      driver->device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device) !=
          CUDA_SUCCESS ||
      driver->device_attribute(&sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) !=
          CUDA_SUCCESS)
    return @NAME_UPPER@_EXECUTION_FAILED;
  return strcmp(name, @NAME@_data_device) == 0 &&
                 major * 10 + minor == @NAME@_data_compute_capability &&
                 sm_count == @NAME@_data_sm_count
             ? @NAME_UPPER@_SUCCESS
             : @NAME_UPPER@_ARCH_MISMATCH;
}

/* `attributes` must outlive the result. */
static CUlaunchConfig launch_config(const @NAME@_plan* plan, unsigned grid, CUstream stream,
                                    CUlaunchAttribute attributes[2]) {
  CUlaunchConfig config;
  memset(&config, 0, sizeof config);
  memset(attributes, 0, 2 * sizeof attributes[0]);
  config.gridDimX = grid;
  config.gridDimY = plan->splits;
  config.gridDimZ = 1;
  config.blockDimX = plan->block;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = plan->shared_bytes;
  config.hStream = stream;
  config.attrs = attributes;
  if (plan->cluster > 1) {
    CUlaunchAttribute* attribute = &attributes[config.numAttrs++];
    attribute->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute->value.clusterDim.x = plan->cluster;
    attribute->value.clusterDim.y = attribute->value.clusterDim.z = 1;
  }
  /* All blocks or none: two launches that each held a part of the device would wait for ever. */
  if (plan->problem.scratch_bytes > 0) {
    CUlaunchAttribute* attribute = &attributes[config.numAttrs++];
    attribute->id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute->value.cooperative = 1;
  }
  if (plan->programmatic) {
    CUlaunchAttribute* attribute = &attributes[config.numAttrs++];
    attribute->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute->value.programmaticStreamSerializationAllowed = 1;
  }
  return config;
}

/* Shared memory and cluster limits; for a persistent plan the blocks that the device holds, and for one
 * whose blocks wait for each other that it holds them all. */
static @NAME@_status prepare(@NAME@_library* library, int index) {
  const @NAME@_plan* plan = &@NAME@_data_plans[index];
  const driver_functions* driver = &library->driver;
  CUfunction function = library->functions[plan->kernel];
  int limit = 0, count = 0;
  unsigned resident;
  library->grids[index] = plan->grid;
  if (driver->function_get_attribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                     function) != CUDA_SUCCESS)
    return @NAME_UPPER@_EXECUTION_FAILED;
  if (limit < (int)plan->shared_bytes &&
      driver->function_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 (int)plan->shared_bytes) != CUDA_SUCCESS)
    return @NAME_UPPER@_EXECUTION_FAILED;
  if (plan->cluster > 8 &&
      driver->function_attribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                                 1) != CUDA_SUCCESS)
    return @NAME_UPPER@_EXECUTION_FAILED;
  if (!plan->persistent && plan->problem.scratch_bytes == 0) return @NAME_UPPER@_SUCCESS;
  if (plan->cluster > 1) {
    CUlaunchAttribute attributes[2];
    const CUlaunchConfig config = launch_config(plan, plan->grid, NULL, attributes);
    if (driver->most_clusters(&count, function, &config) != CUDA_SUCCESS)
      return @NAME_UPPER@_EXECUTION_FAILED;
    resident = (unsigned)count * plan->cluster;
  } else {
    if (driver->most_blocks(&count, function, (int)plan->block, plan->shared_bytes) !=
        CUDA_SUCCESS)
      return @NAME_UPPER@_EXECUTION_FAILED;
    resident = (unsigned)count * (unsigned)@NAME@_data_sm_count;
  }
  if (plan->problem.scratch_bytes > 0)
    return plan->grid * plan->splits <= resident ? @NAME_UPPER@_SUCCESS
                                                 : @NAME_UPPER@_EXECUTION_FAILED;
  if (resident < plan->cluster) return @NAME_UPPER@_EXECUTION_FAILED;
  if (library->grids[index] > resident) library->grids[index] = resident;
  return @NAME_UPPER@_SUCCESS;
}

static @NAME@_status load(@NAME@_library* library) {
  @NAME@_status status;
  int i;
  if (!open_driver(&library->driver)) return @NAME_UPPER@_NOT_INITIALIZED;
  status = check_device(&library->driver);
  if (status != @NAME_UPPER@_SUCCESS) return status;
  for (i = 0; i < @NAME@_data_kernel_count; ++i) {
    const @NAME@_kernel* kernel = &@NAME@_data_kernels[i];
    if (library->driver.module_load(&library->modules[i], kernel->cubin) != CUDA_SUCCESS ||
        library->driver.module_function(&library->functions[i], library->modules[i],
                                        kernel->function) != CUDA_SUCCESS)
      return @NAME_UPPER@_EXECUTION_FAILED;
  }
  for (i = 0; i < @NAME@_data_plan_count; ++i) {
    status = prepare(library, i);
    if (status != @NAME_UPPER@_SUCCESS) return status;
  }
  return @NAME_UPPER@_SUCCESS;
}

@NAME@_status @NAME@_open(@NAME@_library** library) {
  @NAME@_library* made;
  @NAME@_status status;
  if (library == NULL) return @NAME_UPPER@_INVALID_VALUE;
  *library = NULL;
  made = calloc(1, sizeof *made);
  if (made == NULL) return @NAME_UPPER@_ALLOC_FAILED;
  made->modules = calloc((size_t)@NAME@_data_kernel_count, sizeof *made->modules);
  made->functions = calloc((size_t)@NAME@_data_kernel_count, sizeof *made->functions);
  made->grids = calloc((size_t)@NAME@_data_plan_count, sizeof *made->grids);
  status = made->modules == NULL || made->functions == NULL || made->grids == NULL
               ? @NAME_UPPER@_ALLOC_FAILED
               : load(made);
  if (status == @NAME_UPPER@_SUCCESS)
    *library = made;
  else
    @NAME@_close(made);
  return status;
}

void @NAME@_close(@NAME@_library* library) {
  int i;
  if (library == NULL) return;
  for (i = 0; library->modules != NULL && i < @NAME@_data_kernel_count; ++i)
    if (library->modules[i] != NULL) library->driver.module_unload(library->modules[i]);
  free(library->modules);
  free(library->functions);
  free(library->grids);
  free(library);
}

void @NAME@_scratch_destroy(const @NAME@_library* library, @NAME@_scratch* scratch) {
  if (library == NULL || scratch == NULL) return;
  if (scratch->workspace != 0) library->driver.memory_free(scratch->workspace);
  if (scratch->counters != 0) library->driver.memory_free(scratch->counters);
  free(scratch);
}

@NAME@_status @NAME@_scratch_create(const @NAME@_library* library, @NAME@_scratch** scratch) {
  @NAME@_scratch* made;
  int64_t bytes = 0;
  size_t counters = 0;
  int i;
  if (library == NULL) return @NAME_UPPER@_NOT_INITIALIZED;
  if (scratch == NULL) return @NAME_UPPER@_INVALID_VALUE;
  *scratch = NULL;
  made = calloc(1, sizeof *made);
  if (made == NULL) return @NAME_UPPER@_ALLOC_FAILED;
  for (i = 0; i < @NAME@_data_plan_count; ++i) {
    const @NAME@_plan* plan = &@NAME@_data_plans[i];
    if (plan->problem.scratch_bytes > bytes) bytes = plan->problem.scratch_bytes;
    if (plan->counters > counters) counters = plan->counters;
  }
  /* The kernels leave the counters as they need to find them; the first one needs zeros. */
  if (bytes > 0 &&
      (library->driver.memory_allocate(&made->workspace, (size_t)bytes) != CUDA_SUCCESS ||
       library->driver.memory_allocate(&made->counters, counters * 4) != CUDA_SUCCESS)) {
    @NAME@_scratch_destroy(library, made);
    return @NAME_UPPER@_ALLOC_FAILED;
  }
  if (bytes > 0 &&
      (library->driver.memory_set(made->counters, 0, counters, NULL) != CUDA_SUCCESS ||
       library->driver.stream_synchronize(NULL) != CUDA_SUCCESS)) {
    @NAME@_scratch_destroy(library, made);
    return @NAME_UPPER@_EXECUTION_FAILED;
  }
  *scratch = made;
  return @NAME_UPPER@_SUCCESS;
}

static int is_aligned(const void* pointer, unsigned bytes) {
  return pointer != NULL && (uintptr_t)pointer % bytes == 0;
}

/* A cudaDataType_t of 16 bits, or 0 for float. */
static CUresult encode(const driver_functions* driver, const @NAME@_map* map, int type,
                       const void* pointer, CUtensorMap* encoded) {
  const cuuint64_t sizes[2] = {(cuuint64_t)map->columns, (cuuint64_t)map->rows};
  const unsigned element_bytes = type == 0 ? 4 : 2;
  const cuuint64_t strides[1] = {(cuuint64_t)map->ld * element_bytes};
  const cuuint32_t box[2] = {map->box_columns, map->box_rows};
  const cuuint32_t steps[2] = {1, 1};
  const unsigned row_bytes = map->box_columns * element_bytes;
  const CUtensorMapSwizzle swizzle = row_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                     : row_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                     : row_bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                       : CU_TENSOR_MAP_SWIZZLE_NONE;
  return driver->encode_map(
      encoded,
      type == 0    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
      : type == 14 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                   : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
      2,
      (void*)(uintptr_t)pointer, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

/* The kernels' view is row-major: their A is the caller's B, their B the caller's A. */
@NAME@_status @NAME@_run(const @NAME@_library* library, int index, float alpha, const void* A,
                         const void* B, float beta, const void* C, void* D,
                         const @NAME@_scratch* scratch, void* stream) {
  const @NAME@_plan* plan;
  const void* read_c = beta == 0 ? D : C;
  /* As aligned as a kernel's arguments and tensor maps need. */
  union {
    CUtensorMap map;
    unsigned char bytes[sizeof(CUtensorMap)];
  } maps[3];
  union {
    uint64_t whole;
    unsigned char bytes[@NAME_UPPER@_ARGS_BYTES];
  } args;
  const void *own_a, *own_b; /* as the kernel calls them */
  void* with_maps[4];
  void* without_maps[1];
  CUlaunchAttribute attributes[2];
  CUlaunchConfig config;
  if (library == NULL) return @NAME_UPPER@_NOT_INITIALIZED;
  if (index < 0 || index >= @NAME@_data_plan_count) return @NAME_UPPER@_INVALID_VALUE;
  plan = &@NAME@_data_plans[index];
  if (beta != 0 && !plan->problem.has_c) return @NAME_UPPER@_NOT_SUPPORTED;
  if (!is_aligned(A, plan->align_b) || !is_aligned(B, plan->align_a) ||
      !is_aligned(read_c, plan->align_c) || !is_aligned(D, plan->align_d) || D == A || D == B)
    return @NAME_UPPER@_INVALID_VALUE;
  if (plan->problem.scratch_bytes > 0 && scratch == NULL) return @NAME_UPPER@_INVALID_VALUE;
  memcpy(args.bytes, plan->args, sizeof args.bytes);
  own_a = plan->transposed ? A : B;
  own_b = plan->transposed ? B : A;
  memcpy(args.bytes + @NAME_UPPER@_ARGS_A, &own_a, sizeof own_a);
  memcpy(args.bytes + @NAME_UPPER@_ARGS_B, &own_b, sizeof own_b);
  memcpy(args.bytes + @NAME_UPPER@_ARGS_C, &read_c, sizeof read_c);
  memcpy(args.bytes + @NAME_UPPER@_ARGS_D, &D, sizeof D);
  memcpy(args.bytes + @NAME_UPPER@_ARGS_ALPHA, &alpha, sizeof alpha);
  memcpy(args.bytes + @NAME_UPPER@_ARGS_BETA, &beta, sizeof beta);
  if (plan->problem.scratch_bytes > 0) {
    memcpy(args.bytes + @NAME_UPPER@_ARGS_WORKSPACE, &scratch->workspace, sizeof(void*));
    memcpy(args.bytes + @NAME_UPPER@_ARGS_COUNTERS, &scratch->counters, sizeof(void*));
  }
  memset(maps, 0, sizeof maps);
  if (plan->has_maps &&
      (encode(&library->driver, &plan->map_a, plan->problem.type, own_a, &maps[0].map) !=
           CUDA_SUCCESS ||
       encode(&library->driver, &plan->map_b, plan->problem.type, own_b, &maps[1].map) !=
           CUDA_SUCCESS))
    return @NAME_UPPER@_EXECUTION_FAILED;
  if (plan->has_map_d &&
      encode(&library->driver, &plan->map_d, plan->problem.f32_output ? 0 : plan->problem.type, D,
             &maps[2].map) != CUDA_SUCCESS)
    return @NAME_UPPER@_EXECUTION_FAILED;
  with_maps[0] = &maps[0];
  with_maps[1] = &maps[1];
  with_maps[2] = &maps[2];
  with_maps[3] = &args;
  without_maps[0] = &args;
  config = launch_config(plan, library->grids[index], (CUstream)stream, attributes);
  return library->driver.launch(&config, library->functions[plan->kernel],
                                plan->has_maps ? with_maps : without_maps, NULL) == CUDA_SUCCESS
             ? @NAME_UPPER@_SUCCESS
             : @NAME_UPPER@_EXECUTION_FAILED;
}
)c";
}

}  // namespace gemmsmith::exporting
