/* matmul.c -- a whole program that uses the C API: multiplies two matrices of halves on the GPU and
 * checks every element.
 *
 *   matmul [PLAN_TABLE]
 *
 * With a plan table its kernels are used where they cover the problem; without one, cuBLASLt. */
#include <cuda_runtime_api.h>
#include <gemmsmith/gemmsmith.h>
#include <stdio.h>
#include <stdlib.h>

enum { kM = 256, kN = 128, kK = 512 };

static void check_cuda(cudaError_t error, const char* doing) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "matmul: %s: %s\n", doing, cudaGetErrorString(error));
  exit(3);
}

static void check(gemmsmithStatus_t status, const char* doing) {
  if (status == GEMMSMITH_STATUS_SUCCESS) return;
  fprintf(stderr, "matmul: %s: %s: %s\n", doing, gemmsmithGetStatusName(status),
          gemmsmithGetLastErrorString());
  exit(3);
}

/* Whole numbers from -2 to 2, as IEEE halves: sums of their products are exact. */
static int whole_number(size_t i) { return (int)((i * 2654435761u >> 13) % 5) - 2; }

static unsigned short half_of(int value) {
  static const unsigned short halves[] = {0xC000, 0xBC00, 0x0000, 0x3C00, 0x4000};
  return halves[value + 2];
}

static float float_of_half(unsigned short half) {
  const int exponent = (half >> 10) & 31;
  float value = exponent == 0 ? (float)(half & 1023) / 1024 : 1 + (float)(half & 1023) / 1024;
  int i;
  for (i = exponent == 0 ? 1 : exponent; i < 15; ++i) value /= 2;
  for (i = 15; i < exponent; ++i) value *= 2;
  return half & 0x8000 ? -value : value;
}

/* D(i, j) = sum over p of A(p, i) * B(p, j): A transposed times B, all column-major. */
static int count_wrong(const unsigned short* d) {
  int wrong = 0;
  size_t i, j, p;
  for (j = 0; j < kN; ++j)
    for (i = 0; i < kM; ++i) {
      int expected = 0;
      for (p = 0; p < kK; ++p)
        expected += whole_number(i * kK + p) * whole_number(1000003 + j * kK + p);
      if (float_of_half(d[j * kM + i]) != (float)expected) ++wrong;
    }
  return wrong;
}

static void* upload(const unsigned short* host, size_t bytes) {
  void* device = NULL;
  check_cuda(cudaMalloc(&device, bytes), "allocating a matrix");
  check_cuda(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copying a matrix");
  return device;
}

int main(int argc, char** argv) {
  static unsigned short a[kM * kK], b[kN * kK], d[kM * kN];
  const float alpha = 1, beta = 0;
  gemmsmithHandle_t handle = NULL;
  gemmsmithProblem_t problem = {0};
  gemmsmithPlanInfo_t info = {0};
  size_t workspace_bytes = 0, i;
  void *device_a, *device_b, *device_d, *workspace;
  int wrong;

  for (i = 0; i < sizeof a / sizeof *a; ++i) a[i] = half_of(whole_number(i));
  for (i = 0; i < sizeof b / sizeof *b; ++i) b[i] = half_of(whole_number(1000003 + i));
  device_a = upload(a, sizeof a);
  device_b = upload(b, sizeof b);
  device_d = upload(d, sizeof d);

  check(gemmsmithCreate(&handle), "creating a handle");
  if (argc > 1) check(gemmsmithLoadPlanTable(handle, argv[1]), "loading the plan table");

  problem.size = sizeof problem;
  problem.transa = GEMMSMITH_OP_T;
  problem.transb = GEMMSMITH_OP_N;
  problem.type = GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.m = kM;
  problem.n = kN;
  problem.k = kK;
  problem.lda = kK;
  problem.ldb = kK;
  problem.ldc = kM;
  problem.ldd = kM;

  info.size = sizeof info;
  check(gemmsmithGetPlanInfo(handle, &problem, &info), "asking for the plan");
  printf("served by %s%s%s\n", info.config[0] ? info.config : "cuBLASLt's heuristic",
         info.reason[0] ? ": " : "", info.reason);

  check(gemmsmithGetWorkspaceSize(handle, &problem, &workspace_bytes), "asking for a workspace");
  check_cuda(cudaMalloc(&workspace, workspace_bytes), "allocating the workspace");
  check(gemmsmithMatmul(handle, &problem, &alpha, device_a, device_b, &beta, NULL, device_d,
                        workspace, workspace_bytes, NULL),
        "multiplying");
  check_cuda(cudaMemcpy(d, device_d, sizeof d, cudaMemcpyDeviceToHost), "copying the result");

  wrong = count_wrong(d);
  printf("%d of %d elements wrong\n", wrong, kM * kN);

  check(gemmsmithDestroy(handle), "destroying the handle");
  cudaFree(workspace);
  cudaFree(device_d);
  cudaFree(device_b);
  cudaFree(device_a);
  return wrong == 0 ? 0 : 1;
}
