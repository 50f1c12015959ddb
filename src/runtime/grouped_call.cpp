#include "runtime/grouped_call.h"

#include <limits>
#include <utility>

namespace gemmsmith::runtime {
namespace {

// What a kernel counts in 32 bits, tiles included.
constexpr std::int64_t kMostGroups = 1 << 20;

// B, C and D are one matrix each, whose columns are cut. With one group no stride is looked at, as
// with a batch of one.
Result<void> check_strides(const gemmsmithProblem_t& problem) {
  if (problem.batch == 1) return {};
  for (const auto& [argument, stride] : {std::pair{"stride_b", problem.stride_b},
                                         {"stride_c", problem.stride_c},
                                         {"stride_d", problem.stride_d}})
    if (stride != 0)
      return fail(ErrorCode::kBadInput,
                  "{} = {}: must be 0, since the groups follow each other in one matrix", argument,
                  stride);
  if (problem.stride_a < 0)
    return fail(ErrorCode::kBadInput, "stride_a = {}: must not be negative", problem.stride_a);
  constexpr std::int64_t kMostElements = std::numeric_limits<std::int64_t>::max() / 8;
  if (problem.stride_a > kMostElements / problem.batch)
    return fail(ErrorCode::kBadInput, "stride_a = {}: {} matrices would span more than 2^63 bytes",
                problem.stride_a, problem.batch);
  return {};
}

Result<void> check_groups(const gemmsmithProblem_t& problem) {
  if (problem.batch < 1 || problem.batch > kMostGroups)
    return fail(ErrorCode::kBadInput, "batch = {}: expected 1 to {} groups", problem.batch,
                kMostGroups);
  GEMMSMITH_CHECK(check_strides(problem));
  if (problem.transb != GEMMSMITH_OP_N)
    return fail(ErrorCode::kUnsupported,
                "transb = {}: groups are columns of B, which must not be transposed",
                problem.transb);
  if (problem.epilogue != 0)
    return fail(ErrorCode::kUnsupported, "epilogue = {}: grouped products have no epilogues",
                problem.epilogue);
  return {};
}

}  // namespace

Result<Call> check_grouped_call(const gemmsmithProblem_t* problem, const MatmulArguments& arguments,
                                const std::int32_t* column_ends) {
  GEMMSMITH_TRY(const gemmsmithProblem_t grouped, read_problem(problem));
  // What is left without the groups is one product of all columns.
  gemmsmithProblem_t single = grouped;
  single.batch = single.stride_a = single.stride_b = single.stride_c = single.stride_d = 0;
  GEMMSMITH_TRY(single, check_problem(&single));
  GEMMSMITH_CHECK(check_groups(grouped));
  GEMMSMITH_TRY(Call call, check_call(single, arguments));
  call.problem.batch = grouped.batch;
  call.problem.grouped = true;
  call.problem.stride_b = grouped.batch == 1 ? 0 : grouped.stride_a;
  if (call.problem.is_empty()) return call;
  lower_alignment(call.problem.alignment.b, call.problem.stride_b, 2);
  if (call.is_scaling())
    return fail(ErrorCode::kUnsupported,
                "alpha or k is 0: there is nothing to multiply, and grouped products do nothing "
                "else");
  if (column_ends == nullptr)
    return fail(ErrorCode::kBadInput,
                "column_ends is NULL: pass {} 32-bit integers in device memory", grouped.batch);
  if (reinterpret_cast<std::uintptr_t>(column_ends) % sizeof *column_ends != 0)
    return fail(ErrorCode::kBadInput, "column_ends = {}: must be a multiple of {} bytes",
                static_cast<const void*>(column_ends), sizeof *column_ends);
  return call;
}

}  // namespace gemmsmith::runtime
