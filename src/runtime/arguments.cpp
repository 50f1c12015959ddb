#include "runtime/arguments.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/translate.h"

namespace gemmsmith::runtime {
namespace {

constexpr int kElementBytes = 2;
constexpr std::size_t kWorkspaceAlignment = 256;  // cublasLtMatmul's rule

Result<void> check_operation(const char* argument, std::int32_t value) {
  if (value < GEMMSMITH_OP_N || value > GEMMSMITH_OP_C)
    return fail(ErrorCode::kBadInput,
                "{} = {}: expected GEMMSMITH_OP_N (0), GEMMSMITH_OP_T (1) or GEMMSMITH_OP_C (2)",
                argument, value);
  return {};
}

Result<void> check_types(const gemmsmithProblem_t& problem) {
  if (problem.type != GEMMSMITH_R_16F && problem.type != GEMMSMITH_R_16BF)
    return fail(ErrorCode::kUnsupported,
                "type = {}: only GEMMSMITH_R_16F (2) and GEMMSMITH_R_16BF (14) are supported",
                problem.type);
  if (problem.compute_type != GEMMSMITH_COMPUTE_32F &&
      problem.compute_type != GEMMSMITH_COMPUTE_16F)
    return fail(ErrorCode::kUnsupported,
                "compute_type = {}: only GEMMSMITH_COMPUTE_32F (68) and GEMMSMITH_COMPUTE_16F (64) "
                "are supported",
                problem.compute_type);
  if (problem.compute_type == GEMMSMITH_COMPUTE_16F && problem.type != GEMMSMITH_R_16F)
    return fail(ErrorCode::kUnsupported,
                "compute_type = GEMMSMITH_COMPUTE_16F (64): needs type GEMMSMITH_R_16F (2), not {}",
                problem.type);
  if (problem.pointer_mode != GEMMSMITH_POINTER_MODE_HOST &&
      problem.pointer_mode != GEMMSMITH_POINTER_MODE_DEVICE)
    return fail(ErrorCode::kBadInput,
                "pointer_mode = {}: expected GEMMSMITH_POINTER_MODE_HOST (0) or "
                "GEMMSMITH_POINTER_MODE_DEVICE (1)",
                problem.pointer_mode);
  return {};
}

Result<void> check_size(const char* argument, std::int64_t value) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (value < 0)
    return fail(ErrorCode::kBadInput, "{} = {}: a size must not be negative", argument, value);
  if (value > kMost)
    return fail(ErrorCode::kBadInput, "{} = {}: a size must be at most {}", argument, value, kMost);
  return {};
}

// `matrix` is stored as rows x columns.
Result<void> check_ld(const char* argument, const char* matrix, std::int64_t ld, std::int64_t rows,
                      std::int64_t columns) {
  const std::int64_t least = std::max<std::int64_t>(1, rows);
  if (ld < least)
    return fail(ErrorCode::kBadInput, "{} = {}: must be at least {}, the rows of {} as stored",
                argument, ld, least, matrix);
  constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max() / kElementBytes;
  if (ld > (kMostElements - rows) / std::max<std::int64_t>(1, columns))
    return fail(ErrorCode::kBadInput, "{} = {}: {} columns of {} would span more than 2^63 bytes",
                argument, ld, columns, matrix);
  return {};
}

Result<void> check_epilogue(const gemmsmithProblem_t& problem) {
  const std::int32_t value = problem.epilogue;
  const std::int32_t activation = value & ~GEMMSMITH_EPILOGUE_BIAS;
  if ((value & ~kServedEpilogues) != 0 || (activation & (activation - 1)) != 0)
    return fail(ErrorCode::kBadInput,
                "epilogue = {}: expected at most one activation of gemmsmithEpilogue_t, or-ed with "
                "GEMMSMITH_EPILOGUE_BIAS (4)",
                value);
  if (problem.output != GEMMSMITH_OUTPUT_AS_TYPE && problem.output != GEMMSMITH_OUTPUT_32F)
    return fail(ErrorCode::kBadInput,
                "output = {}: expected GEMMSMITH_OUTPUT_AS_TYPE (0) or GEMMSMITH_OUTPUT_32F (1)",
                problem.output);
  if (problem.output == GEMMSMITH_OUTPUT_32F && problem.compute_type != GEMMSMITH_COMPUTE_32F)
    return fail(ErrorCode::kUnsupported,
                "output = GEMMSMITH_OUTPUT_32F (1): needs GEMMSMITH_COMPUTE_32F (68), not {}",
                problem.compute_type);
  return {};
}

// C6: outputs that overlap would be a race. Apart are matrices that follow each other, and those
// whose columns are interleaved (E4: heads of attention).
Result<void> check_batch(const gemmsmithProblem_t& problem) {
  GEMMSMITH_CHECK(check_size("batch", problem.batch));
  if (problem.batch <= 1) return {};
  const std::pair<const char*, std::int64_t> strides[] = {{"stride_a", problem.stride_a},
                                                          {"stride_b", problem.stride_b},
                                                          {"stride_c", problem.stride_c},
                                                          {"stride_d", problem.stride_d}};
  constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max() / 8;
  for (const auto& [argument, stride] : strides) {
    if (stride < 0)
      return fail(ErrorCode::kBadInput, "{} = {}: must not be negative", argument, stride);
    if (stride > kMostElements / problem.batch)
      return fail(ErrorCode::kBadInput, "{} = {}: {} matrices would span more than 2^63 bytes",
                  argument, stride, problem.batch);
  }
  if (problem.m == 0 || problem.n == 0) return {};
  const bool follow = problem.stride_d >= (problem.n - 1) * problem.ldd + problem.m;
  const bool interleave = problem.stride_d >= problem.m &&
                          problem.ldd >= (problem.batch - 1) * problem.stride_d + problem.m;
  if (!follow && !interleave)
    return fail(ErrorCode::kBadInput,
                "stride_d = {}: the {} outputs of {} x {} with ldd {} would overlap",
                problem.stride_d, problem.batch, problem.m, problem.n, problem.ldd);
  return {};
}

Result<void> check_bias(const gemmsmithProblem_t& problem) {
  if ((problem.epilogue & GEMMSMITH_EPILOGUE_BIAS) == 0) return {};
  if (problem.bias == nullptr)
    return fail(ErrorCode::kBadInput,
                "bias is NULL: GEMMSMITH_EPILOGUE_BIAS needs m values in device memory");
  const unsigned bytes = problem.output == GEMMSMITH_OUTPUT_32F ? 4 : kElementBytes;
  if (reinterpret_cast<std::uintptr_t>(problem.bias) % bytes != 0)
    return fail(ErrorCode::kBadInput, "bias = {}: must be a multiple of {} bytes", problem.bias,
                bytes);
  return {};
}

Result<void> check_pointer(const char* argument, const void* pointer, bool is_needed,
                           unsigned bytes = kElementBytes) {
  if (pointer == nullptr) {
    if (is_needed) return fail(ErrorCode::kBadInput, "{} is NULL: pass device memory", argument);
    return {};
  }
  if (reinterpret_cast<std::uintptr_t>(pointer) % bytes != 0)
    return fail(ErrorCode::kBadInput, "{} = {}: must be a multiple of {} bytes", argument, pointer,
                bytes);
  return {};
}

Result<void> check_scalar(const gemmsmithProblem_t& problem, const char* argument,
                          const void* pointer) {
  const bool is_device = problem.pointer_mode == GEMMSMITH_POINTER_MODE_DEVICE;
  if (pointer == nullptr)
    return fail(ErrorCode::kBadInput, "{} is NULL: pass a {} in {} memory", argument,
                problem.compute_type == GEMMSMITH_COMPUTE_16F ? "half" : "float",
                is_device ? "device" : "host");
  if (!is_device) return {};  // P8: read byte by byte
  const std::size_t bytes = problem.compute_type == GEMMSMITH_COMPUTE_16F ? 2 : 4;
  if (reinterpret_cast<std::uintptr_t>(pointer) % bytes != 0)
    return fail(ErrorCode::kBadInput, "{} = {}: must be a multiple of {} bytes", argument, pointer,
                bytes);
  return {};
}

Result<void> check_pointers(const gemmsmithProblem_t& problem, const MatmulArguments& arguments,
                            const vendor::Scalars& scalars) {
  const bool is_host = scalars.mode == vendor::ScalarMode::kHost;
  const bool reads_ab = problem.k != 0 && !(is_host && scalars.alpha == 0);
  const bool reads_c = !(is_host && scalars.beta == 0);
  GEMMSMITH_CHECK(check_pointer("A", arguments.a, reads_ab));
  GEMMSMITH_CHECK(check_pointer("B", arguments.b, reads_ab));
  const unsigned bytes = problem.output == GEMMSMITH_OUTPUT_32F ? 4 : kElementBytes;
  GEMMSMITH_CHECK(check_pointer("C", arguments.c, reads_c, bytes));
  GEMMSMITH_CHECK(check_pointer("D", arguments.d, true, bytes));
  if (reads_ab && arguments.d == arguments.a)
    return fail(ErrorCode::kBadInput, "D = {}: must not overlap A", arguments.d);
  if (reads_ab && arguments.d == arguments.b)
    return fail(ErrorCode::kBadInput, "D = {}: must not overlap B", arguments.d);
  if (reads_c && arguments.d == arguments.c && problem.ldc != problem.ldd)
    return fail(ErrorCode::kBadInput, "ldd = {}: must equal ldc = {} where D is C", problem.ldd,
                problem.ldc);
  if (reads_c && arguments.d == arguments.c && problem.batch > 1 &&
      problem.stride_c != problem.stride_d)
    return fail(ErrorCode::kBadInput, "stride_d = {}: must equal stride_c = {} where D is C",
                problem.stride_d, problem.stride_c);
  return {};
}

Result<void> check_workspace(const MatmulArguments& arguments) {
  if (arguments.workspace == nullptr && arguments.workspace_bytes != 0)
    return fail(ErrorCode::kBadInput, "workspace is NULL: must not be with workspace_bytes = {}",
                arguments.workspace_bytes);
  if (reinterpret_cast<std::uintptr_t>(arguments.workspace) % kWorkspaceAlignment != 0)
    return fail(ErrorCode::kBadInput, "workspace = {}: must be a multiple of {} bytes",
                arguments.workspace, kWorkspaceAlignment);
  if (arguments.workspace_bytes >
      static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
    return fail(ErrorCode::kBadInput, "workspace_bytes = {}: must be less than 2^63",
                arguments.workspace_bytes);
  return {};
}

// Every matrix of a batch is as aligned as the first and the step to the next.
void lower_to_strides(Problem& problem) {
  const std::int64_t output = size_bytes(problem.output_type());
  lower_alignment(problem.alignment.a, problem.stride_a, kElementBytes);
  lower_alignment(problem.alignment.b, problem.stride_b, kElementBytes);
  lower_alignment(problem.alignment.c, problem.stride_c, output);
  lower_alignment(problem.alignment.d, problem.stride_d, output);
}

// A host scalar in the type that goes with the accumulator.
float read_scalar(const gemmsmithProblem_t& problem, const void* pointer) {
  if (problem.compute_type == GEMMSMITH_COMPUTE_16F) {
    std::uint16_t half = 0;
    std::memcpy(&half, pointer, sizeof half);
    return half_to_float(half);
  }
  float value = 0;
  std::memcpy(&value, pointer, sizeof value);
  return value;
}

}  // namespace

Result<gemmsmithProblem_t> read_problem(const gemmsmithProblem_t* problem) {
  if (problem == nullptr)
    return fail(ErrorCode::kBadInput, "problem is NULL: pass a gemmsmithProblem_t");
  const std::size_t size = problem->size;
  if (size < kFirstProblemBytes)
    return fail(ErrorCode::kBadInput,
                "problem->size = {}: must be sizeof(gemmsmithProblem_t), which is {}", size,
                sizeof(gemmsmithProblem_t));
  const auto* bytes = reinterpret_cast<const unsigned char*>(problem);
  if (size > sizeof(gemmsmithProblem_t) &&
      std::any_of(bytes + sizeof(gemmsmithProblem_t), bytes + size,
                  [](unsigned char byte) { return byte != 0; }))
    return fail(ErrorCode::kUnsupported,
                "problem->size = {}: this library knows {} bytes and the others are not all zero; "
                "use a newer library",
                size, sizeof(gemmsmithProblem_t));
  gemmsmithProblem_t copy = {};
  std::memcpy(&copy, problem, std::min(size, sizeof copy));
  copy.size = sizeof copy;
  return copy;
}

void lower_alignment(int& alignment, std::int64_t stride, std::int64_t element_bytes) {
  while (alignment > 1 && stride * element_bytes % alignment != 0) alignment /= 2;
}

Result<gemmsmithProblem_t> check_problem(const gemmsmithProblem_t* problem) {
  GEMMSMITH_TRY(const gemmsmithProblem_t checked, read_problem(problem));
  GEMMSMITH_CHECK(check_operation("transa", checked.transa));
  GEMMSMITH_CHECK(check_operation("transb", checked.transb));
  GEMMSMITH_CHECK(check_types(checked));
  GEMMSMITH_CHECK(check_size("m", checked.m));
  GEMMSMITH_CHECK(check_size("n", checked.n));
  GEMMSMITH_CHECK(check_size("k", checked.k));
  const bool ta = checked.transa != GEMMSMITH_OP_N;
  const bool tb = checked.transb != GEMMSMITH_OP_N;
  const auto [m, n, k] = std::array{checked.m, checked.n, checked.k};
  GEMMSMITH_CHECK(check_ld("lda", "A", checked.lda, ta ? k : m, ta ? m : k));
  GEMMSMITH_CHECK(check_ld("ldb", "B", checked.ldb, tb ? n : k, tb ? k : n));
  GEMMSMITH_CHECK(check_ld("ldc", "C", checked.ldc, m, n));
  GEMMSMITH_CHECK(check_ld("ldd", "D", checked.ldd, m, n));
  GEMMSMITH_CHECK(check_epilogue(checked));
  GEMMSMITH_CHECK(check_batch(checked));
  GEMMSMITH_CHECK(check_bias(checked));
  return checked;
}

Result<void> check_scalars(const gemmsmithProblem_t& problem, const MatmulArguments& arguments) {
  GEMMSMITH_CHECK(check_scalar(problem, "alpha", arguments.alpha));
  return check_scalar(problem, "beta", arguments.beta);
}

vendor::Scalars read_scalars(const gemmsmithProblem_t& problem, const void* alpha,
                             const void* beta) {
  if (problem.pointer_mode == GEMMSMITH_POINTER_MODE_DEVICE)
    return vendor::Scalars::device(alpha, beta);
  return vendor::Scalars::host(read_scalar(problem, alpha), read_scalar(problem, beta));
}

Result<Call> check_call(const gemmsmithProblem_t& problem, const MatmulArguments& arguments) {
  GEMMSMITH_CHECK(check_scalars(problem, arguments));
  Call call;
  call.problem = to_row_major(problem);
  call.extras = extras_of(problem);
  call.scalars = read_scalars(problem, arguments.alpha, arguments.beta);
  call.stream = arguments.stream;
  const bool is_host = call.scalars.mode == vendor::ScalarMode::kHost;
  call.problem.alpha = is_host ? call.scalars.alpha : 1;
  call.problem.beta = is_host ? call.scalars.beta : 1;
  if (call.problem.is_empty()) return call;

  GEMMSMITH_CHECK(check_pointers(problem, arguments, call.scalars));
  GEMMSMITH_CHECK(check_workspace(arguments));
  // With beta = 0 C is not read: D stands in for it, so that nothing below sees a null.
  const bool reads_c = !(is_host && call.scalars.beta == 0);
  call.operands = {arguments.b, arguments.a, reads_c ? arguments.c : arguments.d, arguments.d};
  if (!reads_c) {
    call.problem.ldc = call.problem.ldd;
    call.problem.stride_c = call.problem.stride_d;
  }
  call.problem.alignment = {alignment_of(call.operands.a), alignment_of(call.operands.b),
                            alignment_of(call.operands.c), alignment_of(call.operands.d)};
  if (call.problem.is_batched()) lower_to_strides(call.problem);
  call.workspace = {arguments.workspace, static_cast<std::int64_t>(arguments.workspace_bytes)};
  return call;
}

}  // namespace gemmsmith::runtime
