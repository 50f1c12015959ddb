/* gemmsmith.h -- the C API of gemmsmith: matrix products by kernels that were tuned, proved right
 * and kept in a plan table, with cuBLASLt for every problem that no plan covers.
 *
 *   D = act(alpha * op(A) * op(B) + beta * C + bias)     16-bit operands, column-major
 *
 * This header needs neither the CUDA toolkit nor C++; it compiles as C99 and as C++.
 *
 * Conventions
 *
 *  1. Every function that can fail returns a gemmsmithStatus_t, with cuBLAS's values. No function
 *     throws, aborts or prints.
 *  2. After a failure gemmsmithGetLastErrorString() tells what failed, on which argument, and what
 *     to do. The text belongs to the calling thread; a success leaves it as it was.
 *  3. Matrices are column-major, as in cuBLAS: element (i, j) of an r x c matrix with leading
 *     dimension ld lies at i + j * ld, and ld >= max(1, r). op(A) is m x k, op(B) is k x n, C and D
 *     are m x n. A row-major product is the column-major product of the exchanged operands.
 *  4. Enumerators have the values of the CUDA types named beside them: a cast converts.
 *  5. A structure starts with its size, which the caller sets to its sizeof. Fields are only ever
 *     added at the end, and 0 in a new field means what was done before it existed. A size too
 *     small is refused; so is a larger problem of which the unknown part is not all zero.
 *  6. Arguments are checked in a fixed order before anything is launched, and the first that breaks
 *     a rule is reported: handle; problem, its size, transa, transb, type, compute_type,
 *     pointer_mode, m, n, k, lda, ldb, ldc, ldd, epilogue, output, batch, strides, bias; alpha,
 *     beta; then, unless m or n is 0: A, B, C, D, workspace. Leading dimensions are
 *     checked for empty matrices, too.
 *  7. m = 0 or n = 0 succeeds and does nothing. k = 0 computes D = act(beta * C + bias).
 *  8. alpha and beta point to a float, or with GEMMSMITH_COMPUTE_16F to an IEEE half: on the host,
 *     at any address, or with GEMMSMITH_POINTER_MODE_DEVICE on the device. Host values are read
 *     before the call returns, device values when the product runs.
 *  9. Host values that are 0: with beta = 0, C is not read and may be NULL, and its NaNs do not
 *     reach D; with alpha = 0 or k = 0, the same holds for A and B. Device values are unknown at
 *     the time of the call: the pointers must then be valid, beta = 0 still does not let C into D,
 *     and with alpha = 0 NaNs of A and B may reach D.
 * 10. Every device pointer must be a multiple of its element's size; workspace of 256 bytes. D may
 *     equal C, with ldc = ldd. No other overlap of D with an operand is allowed; D equal to A or B
 *     is refused, anything else is the caller's to avoid. Inputs of a batch may overlap (a stride
 *     of 0 repeats one matrix); outputs that overlap are refused.
 * 11. The work is enqueued on `stream` of the thread's current context and nothing waits. A thread
 *     with no current context gets device 0's primary one, as in the CUDA runtime. Faults on the
 *     device surface at the next synchronisation.
 * 12. A handle serves any number of threads, streams and devices at once. The workspace belongs to
 *     the call: two calls that may run at the same time need two workspaces. Kernels that split k
 *     through a workspace also use memory of the handle's for each workspace they are given, 64 of
 *     them on a device. Where a call brings too little, such a kernel gets a workspace of the
 *     handle's, one for each of up to 16 streams of a device; beyond these numbers cuBLASLt serves.
 * 13. A repeated call (same thread, problem and pointers, or pointers seen lately) takes no lock
 *     and allocates nothing. What a thread remembers takes it about 300 KB.
 * 14. Calls may be captured into CUDA graphs. Nothing is loaded, allocated or waited for while the
 *     stream captures: gemmsmithCreate and gemmsmithLoadPlanTable, called with a context current,
 *     put what is needed on its device. A plan whose kernel is not there yet is replaced by
 *     cuBLASLt's choice; in a context never used outside a capture the call fails, with a text that
 *     says so, and leaves the capture intact. A captured call has the workspace that it brings and
 *     no other, since its graph may run on any stream.
 * 15. A plan is launched only where it is known to be right: device, leading dimensions and the
 *     pointers' real alignment included; and only for the work it was tuned with, which is
 *     D = A B (host values alpha = 1 and beta = 0) unless the table says otherwise. Plans for other
 *     work are D = alpha A B (beta = 0 on the host) and D = alpha A B + beta C (everything else,
 *     device values included). What no plan serves, cuBLASLt's heuristic does. The same table,
 *     device and arguments, with a large enough workspace, no monitor (19) and no policy (20), give
 *     the same kernel and the same bits.
 * 16. gemmsmithDestroy unloads the kernels: finish the work that uses them and destroy the graphs
 *     that hold them first, and destroy the handle before the contexts in which it was used.
 * 17. D = act(alpha * op(A) * op(B) + beta * C + bias): the bias is added before the activation,
 *     and a residual is C with beta = 1. A plan serves epilogues where the table holds its kernel
 *     with them; what neither such a plan nor cuBLASLt applies before D is rounded, a second launch
 *     does on the rounded D. f32 output (GEMMSMITH_OUTPUT_32F: C, D and the bias) is served in the
 *     same ways, by plans that were tuned for it.
 * 18. With GEMMSMITH_RECORD=FILE in the environment, each problem that no plan served is appended
 * to FILE once, as a shape list for `gemmsmith tune --shapes FILE`. At most 4096 problems are kept;
 *     nothing is written while a stream captures.
 * 19. With GEMMSMITH_MONITOR=FILE in the environment of the first gemmsmithCreate, a monitor may
 *     time calls and order cuBLASLt's heuristic or another plan's kernel in a plan's place, outside
 *     of captures. The process makes FILE, and leaves it alone where it is something else.
 * 20. With gemmsmithSetPolicy a single product that the table has no plan for is served by another
 *     plan's kernel, which the policy chose without a measurement, where the plans of the nearest
 *     problems say that it gains; as right as a plan's (15), but it may lose. It is chosen once, by
 *     the first such call outside of captures; in a capture before that cuBLASLt serves, so that
 *     the same arguments may then have other bits.
 */
#ifndef GEMMSMITH_GEMMSMITH_H_
#define GEMMSMITH_GEMMSMITH_H_

#include <stddef.h>
#include <stdint.h>

#define GEMMSMITH_VERSION_MAJOR 0
#define GEMMSMITH_VERSION_MINOR 1
#define GEMMSMITH_VERSION_PATCH 0
/* cuBLAS's formula: 0.1.0 is 100, 1.2.3 is 10203. */
#define GEMMSMITH_VERSION \
  (GEMMSMITH_VERSION_MAJOR * 10000 + GEMMSMITH_VERSION_MINOR * 100 + GEMMSMITH_VERSION_PATCH)

#if defined(__GNUC__)
#define GEMMSMITH_API __attribute__((visibility("default")))
#else
#define GEMMSMITH_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* cublasStatus_t */
typedef enum {
  GEMMSMITH_STATUS_SUCCESS = 0,
  GEMMSMITH_STATUS_NOT_INITIALIZED = 1,   /* no handle, driver, device or cuBLASLt */
  GEMMSMITH_STATUS_ALLOC_FAILED = 3,      /* out of host memory */
  GEMMSMITH_STATUS_INVALID_VALUE = 7,     /* an argument breaks a rule, or a file is not valid */
  GEMMSMITH_STATUS_ARCH_MISMATCH = 8,     /* the plan table was made for another device */
  GEMMSMITH_STATUS_MAPPING_ERROR = 11,    /* not returned; in the list because cuBLAS has it */
  GEMMSMITH_STATUS_EXECUTION_FAILED = 13, /* the driver or cuBLASLt refused the work */
  GEMMSMITH_STATUS_INTERNAL_ERROR = 14,   /* a broken promise of the library: please report it */
  GEMMSMITH_STATUS_NOT_SUPPORTED = 15,    /* legal, but nothing here can compute it */
  GEMMSMITH_STATUS_LICENSE_ERROR = 16     /* not returned; in the list because cuBLAS has it */
} gemmsmithStatus_t;

/* cublasOperation_t. For these real types C is the same as T. */
typedef enum {
  GEMMSMITH_OP_N = 0, /* op(X) = X */
  GEMMSMITH_OP_T = 1, /* op(X) = X transposed */
  GEMMSMITH_OP_C = 2
} gemmsmithOperation_t;

/* cudaDataType_t */
typedef enum { GEMMSMITH_R_16F = 2, GEMMSMITH_R_16BF = 14 } gemmsmithDataType_t;

/* cublasComputeType_t: the accumulator's type, and the type of alpha and beta. */
typedef enum {
  GEMMSMITH_COMPUTE_16F = 64, /* with GEMMSMITH_R_16F only */
  GEMMSMITH_COMPUTE_32F = 68
} gemmsmithComputeType_t;

/* cublasPointerMode_t: where alpha and beta are. */
typedef enum {
  GEMMSMITH_POINTER_MODE_HOST = 0,
  GEMMSMITH_POINTER_MODE_DEVICE = 1
} gemmsmithPointerMode_t;

/* What happens to alpha * op(A) * op(B) + beta * C: at most one activation, or-ed with a bias.
 * Where cuBLASLt has the same epilogue, its value. */
typedef enum {
  GEMMSMITH_EPILOGUE_NONE = 0,
  GEMMSMITH_EPILOGUE_RELU = 2,         /* max(x, 0) */
  GEMMSMITH_EPILOGUE_BIAS = 4,         /* bias[i] is added to row i of D */
  GEMMSMITH_EPILOGUE_GELU_TANH = 32,   /* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) */
  GEMMSMITH_EPILOGUE_GELU_ERF = 65536, /* x/2 (1 + erf(x / sqrt(2))) */
  GEMMSMITH_EPILOGUE_SILU = 131072     /* x / (1 + exp(-x)) */
} gemmsmithEpilogue_t;

/* The type of C and D. The bias has it, too. */
typedef enum {
  GEMMSMITH_OUTPUT_AS_TYPE = 0, /* that of A and B */
  GEMMSMITH_OUTPUT_32F = 1      /* float; with GEMMSMITH_COMPUTE_32F only */
} gemmsmithOutput_t;

typedef struct gemmsmithContext* gemmsmithHandle_t;

/* A problem that was checked and looked up once, to be run many times. */
typedef struct gemmsmithPlan* gemmsmithPlan_t;

/* cudaStream_t and CUstream are this same pointer type. */
typedef struct CUstream_st* gemmsmithStream_t;

/* What to compute, apart from values and pointers. Matrices are column-major, as cuBLAS's. The
 * program's command line and shape lists have row-major D instead: what is m = 4096, n = 64 here is
 * the shape 64_4096_K there. Enumerations are kept as int32_t so that the layout is the same for
 * every compiler. */
typedef struct {
  uint32_t size;        /* sizeof(gemmsmithProblem_t) */
  int32_t transa;       /* gemmsmithOperation_t */
  int32_t transb;       /* gemmsmithOperation_t */
  int32_t type;         /* gemmsmithDataType_t of A and B; of C and D, see output */
  int32_t compute_type; /* gemmsmithComputeType_t */
  int32_t pointer_mode; /* gemmsmithPointerMode_t */
  int64_t m;            /* 0 to 2^31 - 1, as n and k */
  int64_t n;
  int64_t k;
  int64_t lda; /* in elements; at least max(1, rows of A as stored) */
  int64_t ldb;
  int64_t ldc;
  int64_t ldd;
  /* Below: 0 everywhere is one plain product, and a size of 80 leaves these out. */
  int32_t epilogue; /* gemmsmithEpilogue_t */
  int32_t output;   /* gemmsmithOutput_t */
  int64_t batch;    /* products in one call, 0 counting as 1 */
  int64_t stride_a; /* elements from one matrix of the batch to the next; not negative, */
  int64_t stride_b; /* and not looked at with a batch of 0 or 1 */
  int64_t stride_c;
  int64_t stride_d;
  const void* bias; /* device memory, with GEMMSMITH_EPILOGUE_BIAS; one for the whole batch */
} gemmsmithProblem_t;

/* What serves a problem. */
typedef enum {
  GEMMSMITH_SOURCE_CUBLASLT = 0, /* cuBLASLt's heuristic choice */
  GEMMSMITH_SOURCE_KERNEL = 1,   /* a kernel of the plan table */
  GEMMSMITH_SOURCE_VENDOR = 2    /* a cuBLASLt configuration of the plan table */
} gemmsmithSource_t;

/* How well the plan table knows a problem. */
typedef enum {
  GEMMSMITH_MATCH_EXACT = 0,    /* it has a plan, which is used */
  GEMMSMITH_MATCH_NONE = 1,     /* it has none, or none was loaded */
  GEMMSMITH_MATCH_REJECTED = 2, /* it has one that cannot be used here: see `reason` */
  GEMMSMITH_MATCH_CHOSEN = 3    /* it has none; the policy chose another plan's kernel */
} gemmsmithMatch_t;

typedef struct {
  uint32_t size;            /* sizeof(gemmsmithPlanInfo_t), set by the caller */
  int32_t source;           /* gemmsmithSource_t */
  int32_t match;            /* gemmsmithMatch_t */
  float expected_speedup;   /* over tuned cuBLASLt when it was measured; 0 where unknown */
  uint64_t workspace_bytes; /* as gemmsmithGetWorkspaceSize */
  char config[128];         /* "sm90_ws:m128.n256.k64", or "" for cuBLASLt's heuristic choice */
  char reason[256];         /* why not a plan, or why chosen; "" with GEMMSMITH_MATCH_EXACT */
} gemmsmithPlanInfo_t;

/* What a library can do, whose header may be older or newer than this one. */
typedef enum {
  GEMMSMITH_CAPABILITY_MAX_BATCH = 0,       /* the most products in one call */
  GEMMSMITH_CAPABILITY_EPILOGUES = 1,       /* every gemmsmithEpilogue_t that is served, or-ed */
  GEMMSMITH_CAPABILITY_FUSED_EPILOGUES = 2, /* those that kernels of a plan table serve */
  GEMMSMITH_CAPABILITY_F32_OUTPUT = 3,      /* 1: GEMMSMITH_OUTPUT_32F is served */
  GEMMSMITH_CAPABILITY_PLAN_VERSION = 4,    /* of the plan tables that are read */
  GEMMSMITH_CAPABILITY_OLDEST_ARCH = 5      /* 80: kernels exist for sm_80 and later */
} gemmsmithCapability_t;

/* cublasLt's levels. */
typedef enum {
  GEMMSMITH_LOG_ERROR = 1, /* a call failed */
  GEMMSMITH_LOG_HINT = 3, /* a problem that no plan serves, once each, and why; a policy's choice */
  GEMMSMITH_LOG_INFO = 4  /* a plan table or a policy was taken or refused */
} gemmsmithLogLevel_t;

/* May be called on any thread, several at once, and inside captures: it must not call CUDA. */
typedef void (*gemmsmithLogCallback_t)(gemmsmithLogLevel_t level, const char* text, void* user);

/* The library's GEMMSMITH_VERSION, which may differ from the header's. */
GEMMSMITH_API int gemmsmithGetVersion(void);

/* GEMMSMITH_STATUS_NOT_SUPPORTED for a capability that this library does not know. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithGetCapability(gemmsmithCapability_t capability,
                                                       int64_t* value);

/* For the whole process; NULL, as at the start, for none. Text of a replaced callback's user must
 * live on while other threads may be inside it. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithSetLogCallback(gemmsmithLogCallback_t callback,
                                                        void* user);

/* "GEMMSMITH_STATUS_INVALID_VALUE", or "unknown status". Never NULL. */
GEMMSMITH_API const char* gemmsmithGetStatusName(gemmsmithStatus_t status);

/* What failed last on this thread; "" before the first failure. Valid until the next failure on the
 * thread. Never NULL. */
GEMMSMITH_API const char* gemmsmithGetLastErrorString(void);

/* Succeeds without a GPU, too: what is missing is reported by the first call that needs it. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithCreate(gemmsmithHandle_t* handle);

/* NULL is allowed. No other thread may be using the handle. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithDestroy(gemmsmithHandle_t handle);

/* Reads and checks a plan table (docs/format_plan_table.md), which replaces the one in use; a file
 * that fails leaves that one in place. With a context current, also loads the table's kernels on
 * its device, and refuses (GEMMSMITH_STATUS_ARCH_MISMATCH) a table made for another device. May be
 * called while other threads use the handle. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithLoadPlanTable(gemmsmithHandle_t handle, const char* path);

/* The same from `bytes` bytes at `data`, which are copied. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithLoadPlanTableFromMemory(gemmsmithHandle_t handle,
                                                                 const void* data, size_t bytes);

/* Reads and checks a policy (docs/format_policy.md, `gemmsmith train`), which from the next call on
 * chooses for problems that the table has no plan for (20), and forgets what an earlier one chose;
 * NULL, as at the start, for none. A file that fails leaves the one in use in place, and so does
 * one that learnt from another device than the current context's (GEMMSMITH_STATUS_ARCH_MISMATCH).
 * Plans that were created before keep theirs. May be called while other threads use the handle. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithSetPolicy(gemmsmithHandle_t handle, const char* path);

/* D = alpha * op(A) * op(B) + beta * C, by the plan of the table that fits, else by cuBLASLt. Any
 * workspace, none included, is accepted; a smaller one than gemmsmithGetWorkspaceSize reports may
 * mean a slower choice. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithMatmul(gemmsmithHandle_t handle,
                                                const gemmsmithProblem_t* problem,
                                                const void* alpha, const void* A, const void* B,
                                                const void* beta, const void* C, void* D,
                                                void* workspace, size_t workspace_bytes,
                                                gemmsmithStream_t stream);

/* Groups of columns, as of a mixture of experts, in one launch: the n columns of B, C and D are cut
 * into problem->batch groups, and each is multiplied by an A of its own, stride_a elements behind
 * the one before (0: one A for all). Group g's columns are column_ends[g - 1] (0 for the first
 * group) to column_ends[g] - 1. column_ends is in device memory and read when the product runs:
 * what enqueued before it on the stream may write it. Ends must not decrease and not exceed n; a
 * group may have no columns, and columns behind the last end are not touched. Ends that break this
 * give wrong results, but never touch memory beyond B, C and D.
 *
 * transb must be GEMMSMITH_OP_N, stride_b, stride_c and stride_d 0 (of one group no stride is
 * looked at); there are no epilogues and no workspace. Only a plan table's kernels can do this:
 * GEMMSMITH_STATUS_NOT_SUPPORTED where the table has none for the problem. One plan serves all n up
 * to the next power of two. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithGroupedMatmul(
    gemmsmithHandle_t handle, const gemmsmithProblem_t* problem, const void* alpha, const void* A,
    const void* B, const void* beta, const void* C, void* D, const int32_t* column_ends,
    gemmsmithStream_t stream);

/* The workspace with which gemmsmithMatmul has its free choice for this problem with alpha = 1 and
 * beta = 0. Other products may be left to cuBLASLt, whose free choice needs 64 MiB. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithGetWorkspaceSize(gemmsmithHandle_t handle,
                                                          const gemmsmithProblem_t* problem,
                                                          size_t* bytes);

/* What would serve the problem on the current device, for 256-byte aligned pointers, the full
 * workspace, and alpha = 1 and beta = 0 on the host or any values on the device. handle, problem
 * and info are checked, in this order, before a device is looked for; without one
 * (GEMMSMITH_STATUS_NOT_INITIALIZED) the answer is known all the same where the table has no plan
 * for the problem, and so is gemmsmithGetWorkspaceSize's. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithGetPlanInfo(gemmsmithHandle_t handle,
                                                     const gemmsmithProblem_t* problem,
                                                     gemmsmithPlanInfo_t* info);

/* A plan of the current context and the handle's table of now. A repeated run is cheaper than
 * gemmsmithMatmul: neither the problem nor the context is looked at. Destroy it before the handle;
 * a later gemmsmithLoadPlanTable does not change it. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithPlanCreate(gemmsmithHandle_t handle,
                                                    const gemmsmithProblem_t* problem,
                                                    gemmsmithPlan_t* plan);

/* As gemmsmithGetPlanInfo; workspace_bytes is what gemmsmithPlanRun needs for its free choice. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithPlanGetInfo(gemmsmithPlan_t plan,
                                                     gemmsmithPlanInfo_t* info);

/* As gemmsmithMatmul, in the plan's context, which must be current. Any number of threads and
 * streams may run one plan at once. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithPlanRun(gemmsmithPlan_t plan, const void* alpha,
                                                 const void* A, const void* B, const void* beta,
                                                 const void* C, void* D, void* workspace,
                                                 size_t workspace_bytes, gemmsmithStream_t stream);

/* NULL is allowed. No other thread may be using the plan; work that it enqueued goes on. */
GEMMSMITH_API gemmsmithStatus_t gemmsmithPlanDestroy(gemmsmithPlan_t plan);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* GEMMSMITH_GEMMSMITH_H_ */
