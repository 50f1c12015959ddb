/* consumer.c -- the smallest program that links the library: prints both versions, and what a
 * failure looks like. Runs without a GPU. */
#include <gemmsmith/gemmsmith.h>
#include <stdio.h>

int main(void) {
  printf("header %d, library %d\n", GEMMSMITH_VERSION, gemmsmithGetVersion());
  if (gemmsmithLoadPlanTable(NULL, "plans.gsp") != GEMMSMITH_STATUS_SUCCESS)
    printf("a failure reads: %s\n", gemmsmithGetLastErrorString());
  return gemmsmithGetVersion() / 100 == GEMMSMITH_VERSION / 100 ? 0 : 1;
}
