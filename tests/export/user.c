/* user.c -- a C99 program that links an exported library named gemms and knows nothing else: runs
 * every problem in it on the fake driver and prints how each went. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemms.h"

/* The fake driver's context; its memory is the host's. */
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);

static float half_to_float(unsigned short bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = (float)(bits & 1023);
  const float magnitude =
      exponent == 0 ? ldexpf(fraction, -24) : ldexpf(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/* -2, -1, 0, 1 or 2. */
static unsigned short small_half(unsigned index) {
  static const unsigned short values[5] = {0xC000, 0xBC00, 0, 0x3C00, 0x4000};
  return values[(index * 2654435761U >> 16) % 5];
}

static unsigned short* matrix(int64_t elements, unsigned seed) {
  unsigned short* data = aligned_alloc(256, (size_t)((elements * 2 + 255) / 256 * 256));
  int64_t i;
  for (i = 0; i < elements; ++i) data[i] = small_half((unsigned)i + seed);
  return data;
}

/* 1 where every element is exact. */
static int check(const gemms_problem* p, float alpha, float beta, const unsigned short* a,
                 const unsigned short* b, const unsigned short* c, const unsigned short* d) {
  int64_t i, j, k;
  for (j = 0; j < p->n; ++j)
    for (i = 0; i < p->m; ++i) {
      float sum = 0, expected;
      for (k = 0; k < p->k; ++k)
        sum += half_to_float(a[p->transa ? k + i * p->lda : i + k * p->lda]) *
               half_to_float(b[p->transb ? j + k * p->ldb : k + j * p->ldb]);
      expected = alpha * sum;
      if (beta != 0) expected += beta * half_to_float(c[i + j * p->ldc]);
      if (half_to_float(d[i + j * p->ldd]) != expected) return 0;
    }
  return 1;
}

static void run(const gemms_library* library, int index, const gemms_scratch* scratch) {
  const gemms_problem* p = gemms_at(index);
  unsigned short* a = matrix(p->lda * (p->transa ? p->m : p->k), 1);
  unsigned short* b = matrix(p->ldb * (p->transb ? p->k : p->n), 2);
  unsigned short* c = matrix(p->ldc * p->n, 3);
  unsigned short* d = matrix(p->ldd * p->n, 4);
  const float beta = p->has_c ? -1.0F : 0.0F;
  const gemms_status status =
      gemms_run(library, index, 2, a, b, beta, p->has_c ? c : NULL, d, scratch, NULL);
  const int exact = check(p, 2, beta, a, b, c, d);
  const gemms_status misaligned = gemms_run(library, index, 1, a + 1, b, 0, NULL, d, scratch, NULL);
  const gemms_status overlap = gemms_run(library, index, 1, d, b, 0, NULL, d, scratch, NULL);
  const gemms_status with_beta = gemms_run(library, index, 1, a, b, 1, c, d, scratch, NULL);
  const gemms_status bare = gemms_run(library, index, 1, a, b, 0, NULL, d, NULL, NULL);
  printf("%lld_%lld_%lld scratch=%lld status=%d%s misaligned=%d overlap=%d beta=%d bare=%d\n",
         (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->scratch_bytes, (int)status,
         exact ? " exact" : " WRONG", (int)misaligned, (int)overlap, (int)with_beta, (int)bare);
  free(a);
  free(b);
  free(c);
  free(d);
}

int main(int argc, char** argv) {
  gemms_library* library = NULL;
  gemms_scratch* scratch = NULL;
  gemms_problem unknown;
  gemms_status status;
  void* context = NULL;
  int i;
  (void)argv;
  if (argc == 1) {
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
  }
  printf("device=%s count=%d\n", gemms_device(), gemms_count());
  for (i = 0; i < gemms_count(); ++i)
    if (gemms_find(gemms_at(i)) != i) printf("problem %d is not found\n", i);
  memset(&unknown, 0, sizeof unknown);
  if (gemms_find(&unknown) != -1 || gemms_at(-1) != NULL || gemms_at(gemms_count()) != NULL)
    printf("a problem that is not there is found\n");
  status = gemms_open(&library);
  printf("open=%d\n", (int)status);
  if (status != GEMMS_SUCCESS) return library == NULL ? 0 : 1;
  printf("scratch=%d\n", (int)gemms_scratch_create(library, &scratch));
  for (i = 0; i < gemms_count(); ++i) run(library, i, scratch);
  printf("out_of_range=%d\n",
         (int)gemms_run(library, gemms_count(), 1, NULL, NULL, 0, NULL, NULL, NULL, NULL));
  gemms_scratch_destroy(library, scratch);
  gemms_close(library);
  return 0;
}
