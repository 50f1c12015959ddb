/* header_c99_test.c -- the public header in a C99 program, compiled with -Wpedantic and linked with
 * the shared library; runs without a GPU, where creating a handle succeeds and a product does not.
 */
#include <gemmsmith/gemmsmith.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "failed: %s (%s)\n", what, gemmsmithGetLastErrorString());
  ++failures;
}

int main(void) {
  gemmsmithHandle_t handle = NULL;
  gemmsmithProblem_t problem = {.size = sizeof(gemmsmithProblem_t)};
  gemmsmithPlanInfo_t info = {0};
  gemmsmithPlan_t plan = NULL;
  const float one = 1;
  expect(sizeof(gemmsmithProblem_t) == 136, "gemmsmithProblem_t has 136 bytes");
  expect(sizeof(gemmsmithPlanInfo_t) == 408, "gemmsmithPlanInfo_t has 408 bytes");
  expect(gemmsmithGetVersion() == GEMMSMITH_VERSION, "header and library are of one version");
  expect(strcmp(gemmsmithGetStatusName(GEMMSMITH_STATUS_NOT_SUPPORTED),
                "GEMMSMITH_STATUS_NOT_SUPPORTED") == 0,
         "statuses have names");
  expect(strcmp(gemmsmithGetStatusName((gemmsmithStatus_t)6), "unknown status") == 0,
         "other values have none");
  expect(gemmsmithGetLastErrorString()[0] == '\0', "no error before the first failure");
  expect(gemmsmithCreate(&handle) == GEMMSMITH_STATUS_SUCCESS, "a handle needs no GPU");
  expect(gemmsmithMatmul(handle, &problem, &one, NULL, NULL, &one, NULL, NULL, NULL, 0, NULL) ==
             GEMMSMITH_STATUS_NOT_SUPPORTED,
         "type 0 is refused");
  expect(strncmp(gemmsmithGetLastErrorString(), "type = 0: ", 10) == 0, "and named");
  problem.type = GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.lda = problem.ldb = problem.ldc = problem.ldd = 1;
  expect(gemmsmithMatmul(handle, &problem, &one, NULL, NULL, &one, NULL, NULL, NULL, 0, NULL) ==
             GEMMSMITH_STATUS_SUCCESS,
         "an empty product succeeds without a GPU");
  info.size = sizeof info;
  problem.m = problem.n = problem.k = 8;
  problem.lda = problem.ldb = problem.ldc = problem.ldd = 8;
  expect(gemmsmithGetPlanInfo(handle, &problem, &info) == GEMMSMITH_STATUS_SUCCESS &&
             info.match == GEMMSMITH_MATCH_NONE,
         "that there is no plan is known without a driver");
  expect(gemmsmithPlanCreate(handle, &problem, &plan) == GEMMSMITH_STATUS_NOT_INITIALIZED,
         "a plan object needs one");
  expect(gemmsmithDestroy(handle) == GEMMSMITH_STATUS_SUCCESS, "destroying");
  return failures == 0 ? 0 : 1;
}
