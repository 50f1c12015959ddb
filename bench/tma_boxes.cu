// tma_boxes.cu -- what TMA loads cost by the box's rows, the number of warps that ask for them, and
// where rows start in a cache line (docs/experiments.md, 13). Every SM fills a ring of four 32 KiB
// stages from a matrix that L2 holds.
//
//   nvcc -O3 -arch=sm_90a -o tma_boxes bench/tma_boxes.cu -lcuda && ./tma_boxes
//
// With the argument `odd` it asks for a box that starts at an odd element, which this card refuses
// (illegal instruction).
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using u32 = unsigned;
using u64 = unsigned long long;

constexpr int kStageRows = 256;
constexpr int kRowBytes = 128;
constexpr int kStageBytes = kStageRows * kRowBytes;
constexpr int kStages = 4;
constexpr int kTurns = 200;
constexpr int kMatrixRows = 2048;
constexpr int kColumns = 1024;

void check(int error, const char* what) {
  if (error == 0) return;
  std::fprintf(stderr, "%s: error %d\n", what, error);
  std::exit(1);
}

__device__ u32 shared(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

__device__ void load_box(u32 to, const CUtensorMap& map, u32 barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
      "[%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

__device__ void wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra ready;\nbra again;\nready:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

template <int kBoxRows, int kWarps>
__global__ void fill(const __grid_constant__ CUtensorMap map, int first_column, long long* clocks) {
  extern __shared__ __align__(1024) unsigned char stages[];
  __shared__ u64 barriers[kStages];
  if (threadIdx.x == 0)
    for (u64& barrier : barriers)
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared(&barrier)));
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x / 32);
  if (threadIdx.x % 32 != 0) return;
  const int row = blockIdx.x * kStageRows % kMatrixRows;
  const long long start = clock64();
  for (int turn = 0; turn < kTurns + kStages - 1; ++turn) {
    const u32 barrier = shared(&barriers[turn % kStages]);
    const u32 stage = shared(stages) + turn % kStages * kStageBytes;
    if (turn < kTurns) {
      if (warp == 0)
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"(kStageBytes)
                     : "memory");
      constexpr int kBoxes = kStageRows / kBoxRows / kWarps;
#pragma unroll
      for (int i = 0; i < kBoxes; ++i) {
        const int box = warp * kBoxes + i;
        load_box(stage + box * kBoxRows * kRowBytes, map, barrier,
                 first_column + turn * 64 % (kColumns - 64), row + box * kBoxRows);
      }
    }
    const int oldest = turn - (kStages - 1);
    if (oldest >= 0) wait(shared(&barriers[oldest % kStages]), oldest / kStages & 1);
  }
  if (warp == 0) clocks[blockIdx.x] = clock64() - start;
}

template <int kBoxRows, int kWarps>
void measure(const char* name, void* matrix, int ld, int first_column) {
  CUtensorMap map;
  const cuuint64_t sizes[2] = {kColumns, kMatrixRows};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(ld) * 2};
  const cuuint32_t box[2] = {64, kBoxRows};
  const cuuint32_t steps[2] = {1, 1};
  check(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, matrix, sizes, strides,
                               box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  int sms = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0), "counting SMs");
  long long* clocks = nullptr;
  check(cudaMallocManaged(&clocks, sizeof(long long) * static_cast<std::size_t>(sms)), "memory");
  const auto kernel = fill<kBoxRows, kWarps>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kStages * kStageBytes),
        "shared memory");
  for (int i = 0; i < 3; ++i)
    kernel<<<sms, 32 * kWarps, kStages * kStageBytes>>>(map, first_column, clocks);
  check(cudaDeviceSynchronize(), name);
  double sum = 0;
  for (int i = 0; i < sms; ++i) sum += static_cast<double>(clocks[i]);
  const double stage = sum / sms / kTurns;
  std::printf("%-34s boxes of %3d rows, %d warps: %5.0f clocks a stage, %4.1f bytes a clock and SM\n",
              name, kBoxRows, kWarps, stage, kStageBytes / stage);
  check(cudaFree(clocks), "memory");
}

}  // namespace

int main(int count, char** arguments) {
  constexpr int kMostLd = kColumns + 64;
  void* matrix = nullptr;
  check(cudaMalloc(&matrix, static_cast<std::size_t>(kMatrixRows) * kMostLd * 2), "memory");
  check(cudaMemset(matrix, 0, static_cast<std::size_t>(kMatrixRows) * kMostLd * 2), "memory");
  if (count > 1 && std::string(arguments[1]) == "odd") {
    measure<256, 1>("starting at element 1", matrix, 1024, 1);
    return 0;
  }
  const char* const whole = "rows of whole cache lines";
  measure<256, 1>(whole, matrix, 1024, 0);
  measure<64, 1>(whole, matrix, 1024, 0);
  measure<64, 4>(whole, matrix, 1024, 0);
  measure<32, 1>(whole, matrix, 1024, 0);
  measure<32, 4>(whole, matrix, 1024, 0);
  measure<8, 1>(whole, matrix, 1024, 0);
  measure<8, 4>(whole, matrix, 1024, 0);
  const char* const straddling = "rows 16 bytes past a cache line";
  for (const int ld : {1032, 1056}) {
    measure<256, 1>(straddling, matrix, ld, 0);
    measure<64, 4>(straddling, matrix, ld, 0);
  }
  measure<256, 1>("starting at element 8", matrix, 1024, 8);
  return 0;
}
