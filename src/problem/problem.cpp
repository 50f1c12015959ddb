#include "problem/problem.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "problem/matrix_shape.h"

namespace gemmsmith {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

// Sizes travel to the kernels as 32-bit integers; offsets are 64-bit.
constexpr std::int64_t kMaxSize = std::numeric_limits<std::int32_t>::max();

Result<void> check_size(const char* argument, std::int64_t value) {
  if (value < 0)
    return fail(ErrorCode::kBadInput, "{} = {}: a size must not be negative", argument, value);
  if (value > kMaxSize)
    return fail(ErrorCode::kBadInput, "{} = {}: a size must be at most {}", argument, value,
                kMaxSize);
  return {};
}

// A TMA descriptor's stride is below 2^40 bytes.
std::int64_t max_ld(int element_bytes) { return (std::int64_t{1} << 40) / element_bytes - 1; }

std::int64_t max_elements(int element_bytes) {
  return std::numeric_limits<std::int64_t>::max() / element_bytes;
}

Result<void> check_ld(const char* argument, std::int64_t value, std::int64_t least,
                      std::int64_t rows, int element_bytes) {
  if (value < least)
    return fail(ErrorCode::kBadInput, "{} = {}: this leading dimension must be at least {}",
                argument, value, least);
  if (value > max_ld(element_bytes))
    return fail(ErrorCode::kBadInput, "{} = {}: this leading dimension must be at most {}",
                argument, value, max_ld(element_bytes));
  // Offsets are bytes in 64 bits.
  if (rows > 0 && value > max_elements(element_bytes) / rows)
    return fail(ErrorCode::kBadInput,
                "{} = {}: with {} rows this leading dimension must be at most {}: a matrix has at "
                "most 2^63 bytes",
                argument, value, rows, max_elements(element_bytes) / rows);
  return {};
}

// `one` is a matrix of the batch.
Result<void> check_stride(const char* argument, std::int64_t value, std::int64_t batch,
                          const MatrixShape& one) {
  if (value < 0)
    return fail(ErrorCode::kBadInput, "{} = {}: a stride must not be negative", argument, value);
  if (value > max_ld(one.element_bytes))
    return fail(ErrorCode::kBadInput, "{} = {}: a stride must be at most {}", argument, value,
                max_ld(one.element_bytes));
  const std::int64_t steps = std::max<std::int64_t>(batch - 1, 0);
  if (steps > 0 && value > (max_elements(one.element_bytes) - one.matrix_extent()) / steps)
    return fail(ErrorCode::kBadInput, "{} = {}: {} matrices would span more than 2^63 bytes",
                argument, value, batch);
  return {};
}

// Fills in the dense ones.
Result<void> settle_strides(Problem& problem) {
  if (problem.grouped) {
    problem.stride_a = problem.stride_c = problem.stride_d = kDense;
    if (problem.stride_b == kDense || problem.batch == 1)
      problem.stride_b = default_stride_b(problem);
    if (!a_is_k_contiguous(problem.layout))
      return fail(ErrorCode::kUnsupported,
                  "layout = {}: groups are rows of A, which must have k contiguous",
                  name(problem.layout));
    if (problem.has_epilogue())
      return fail(ErrorCode::kUnsupported,
                  "activation = {}, has_bias = {}: groups have no epilogue",
                  name(problem.activation), problem.has_bias);
    return check_stride("stride_b", problem.stride_b, problem.batch, stored_b(problem));
  }
  if (!problem.is_batched()) {
    problem.stride_a = problem.stride_b = problem.stride_c = problem.stride_d = kDense;
    return {};
  }
  if (problem.stride_a == kDense) problem.stride_a = default_stride_a(problem);
  if (problem.stride_b == kDense) problem.stride_b = default_stride_b(problem);
  if (problem.stride_d == kDense) problem.stride_d = default_stride_d(problem);
  if (problem.stride_c == kDense) problem.stride_c = default_stride_c(problem);
  GEMMSMITH_CHECK(check_stride("stride_a", problem.stride_a, problem.batch, stored_a(problem)));
  GEMMSMITH_CHECK(check_stride("stride_b", problem.stride_b, problem.batch, stored_b(problem)));
  GEMMSMITH_CHECK(check_stride("stride_d", problem.stride_d, problem.batch, stored_d(problem)));
  GEMMSMITH_CHECK(check_stride("stride_c", problem.stride_c, problem.batch, stored_c(problem)));
  if (problem.m == 0 || problem.n == 0 || stored_d(problem).matrices_are_apart()) return {};
  return fail(ErrorCode::kBadInput,
              "stride_d = {}: the {} results of {} x {} with ldd {} would overlap",
              problem.stride_d, problem.batch, problem.m, problem.n, problem.ldd);
}

}  // namespace

double Problem::flop() const {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
         static_cast<double>(grouped ? 1 : batch);
}

double Problem::min_bytes() const {
  const auto md = static_cast<double>(m);
  const auto nd = static_cast<double>(n);
  const auto kd = static_cast<double>(k);
  // As if every group had rows.
  if (grouped)
    return (md * kd + nd * kd * static_cast<double>(std::min(batch, m))) * size_bytes(type) +
           md * nd * (beta != 0 ? 2 : 1) * size_bytes(output_type());
  const auto matrices = [this](std::int64_t stride) {
    return static_cast<double>(is_batched() && stride == 0 ? 1 : batch);
  };
  const double inputs = md * kd * matrices(stride_a) + kd * nd * matrices(stride_b);
  const double outputs =
      md * nd * (static_cast<double>(batch) + (beta != 0 ? matrices(stride_c) : 0.0));
  return inputs * size_bytes(type) + outputs * size_bytes(output_type());
}

int size_bytes(DataType type) { return type == DataType::kF32 ? 4 : 2; }

const char* name(DataType type) {
  switch (type) {
    case DataType::kF16:
      return "f16";
    case DataType::kBf16:
      return "bf16";
    case DataType::kF32:
      return "f32";
  }
  return "?";
}

const char* name(Layout layout) {
  switch (layout) {
    case Layout::kTN:
      return "tn";
    case Layout::kNN:
      return "nn";
    case Layout::kNT:
      return "nt";
    case Layout::kTT:
      return "tt";
  }
  return "?";
}

const char* name(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kRelu:
      return "relu";
    case Activation::kGeluTanh:
      return "gelu_tanh";
    case Activation::kGeluErf:
      return "gelu_erf";
    case Activation::kSilu:
      return "silu";
  }
  return "?";
}

Result<DataType> parse_data_type(std::string_view text) {
  for (const DataType type : {DataType::kF16, DataType::kBf16, DataType::kF32})
    if (lower(text) == name(type)) return type;
  return fail(ErrorCode::kBadInput, "unknown type '{}': expected f16, bf16 or f32", text);
}

Result<Layout> parse_layout(std::string_view text) {
  for (const Layout layout : {Layout::kTN, Layout::kNN, Layout::kNT, Layout::kTT})
    if (lower(text) == name(layout)) return layout;
  return fail(ErrorCode::kBadInput, "unknown layout '{}': expected tn, nn, nt or tt", text);
}

Result<void> set_output(Problem& problem, std::string_view text) {
  GEMMSMITH_TRY(const DataType output, parse_data_type(text));
  problem.f32_output = output == DataType::kF32;
  if (problem.f32_output || output == problem.type) return {};
  return fail(ErrorCode::kBadInput, "output = {}: with {} operands it must be {} or f32",
              name(output), name(problem.type), name(problem.type));
}

bool a_is_k_contiguous(Layout layout) { return layout == Layout::kTN || layout == Layout::kTT; }
bool b_is_k_contiguous(Layout layout) { return layout == Layout::kTN || layout == Layout::kNN; }

std::int64_t packed_lda(const Problem& problem) {
  return std::max<std::int64_t>(1, a_is_k_contiguous(problem.layout) ? problem.k : problem.m);
}
std::int64_t packed_ldb(const Problem& problem) {
  return std::max<std::int64_t>(1, b_is_k_contiguous(problem.layout) ? problem.k : problem.n);
}
std::int64_t packed_ldd(const Problem& problem) { return std::max<std::int64_t>(1, problem.n); }

std::int64_t default_stride_a(const Problem& problem) {
  if (!problem.is_batched()) return kDense;
  return stored_a(problem).rows * problem.lda;
}
std::int64_t default_stride_b(const Problem& problem) {
  if (!problem.is_batched() && !problem.grouped) return kDense;
  return stored_b(problem).rows * problem.ldb;
}
std::int64_t default_stride_c(const Problem& problem) {
  if (!problem.is_batched()) return kDense;
  return problem.ldc == problem.ldd ? problem.stride_d : problem.m * problem.ldc;
}
std::int64_t default_stride_d(const Problem& problem) {
  return problem.is_batched() ? problem.m * problem.ldd : kDense;
}

Result<Problem> make_problem(Problem problem) {
  GEMMSMITH_CHECK(check_size("m", problem.m));
  GEMMSMITH_CHECK(check_size("n", problem.n));
  GEMMSMITH_CHECK(check_size("k", problem.k));
  GEMMSMITH_CHECK(check_size("batch", problem.batch));
  for (const auto& [argument, value] : {std::pair("alpha", problem.alpha), {"beta", problem.beta}})
    if (!std::isfinite(value))
      return fail(ErrorCode::kBadInput, "{} = {}: must be a finite f32 number", argument, value);
  if (problem.type == DataType::kF32)
    return fail(ErrorCode::kUnsupported, "type = f32: operands must be f16 or bf16");
  if (problem.accumulator == DataType::kBf16)
    return fail(ErrorCode::kUnsupported, "accumulator = bf16: expected f32 or f16");
  if (problem.accumulator == DataType::kF16 && problem.type != DataType::kF16)
    return fail(ErrorCode::kUnsupported,
                "accumulator = f16 with type = {}: f16 accumulation needs f16 operands",
                name(problem.type));
  if (problem.f32_output && problem.accumulator != DataType::kF32)
    return fail(ErrorCode::kUnsupported, "output = f32 with accumulator = {}: needs f32",
                name(problem.accumulator));
  const int in = size_bytes(problem.type);
  const int out = size_bytes(problem.output_type());
  if (problem.lda == 0) problem.lda = packed_lda(problem);
  if (problem.ldb == 0) problem.ldb = packed_ldb(problem);
  if (problem.ldd == 0) problem.ldd = packed_ldd(problem);
  if (problem.ldc == 0) problem.ldc = problem.ldd;
  const std::int64_t a_rows = a_is_k_contiguous(problem.layout) ? problem.m : problem.k;
  const std::int64_t b_rows = b_is_k_contiguous(problem.layout) ? problem.n : problem.k;
  GEMMSMITH_CHECK(check_ld("lda", problem.lda, packed_lda(problem), a_rows, in));
  GEMMSMITH_CHECK(check_ld("ldb", problem.ldb, packed_ldb(problem), b_rows, in));
  // ldd first: ldc may only repeat it.
  GEMMSMITH_CHECK(check_ld("ldd", problem.ldd, packed_ldd(problem), problem.m, out));
  GEMMSMITH_CHECK(check_ld("ldc", problem.ldc, packed_ldd(problem), problem.m, out));
  GEMMSMITH_CHECK(settle_strides(problem));
  straighten_vectors(problem);
  return problem;
}

void straighten_vectors(Problem& problem) {
  const auto turn_a = [&] {
    problem.layout = b_is_k_contiguous(problem.layout) ? Layout::kTN : Layout::kTT;
    problem.lda = packed_lda(problem);
  };
  const auto turn_b = [&] {
    problem.layout = a_is_k_contiguous(problem.layout) ? Layout::kTN : Layout::kNN;
    problem.ldb = packed_ldb(problem);
  };
  if (problem.m == 1 && problem.lda == 1 && !a_is_k_contiguous(problem.layout)) turn_a();
  if (problem.n == 1 && problem.ldb == 1 && !b_is_k_contiguous(problem.layout)) turn_b();
}

std::string shape_name(const Problem& problem) {
  std::string text = fmt::format("{}_{}_{}", problem.m, problem.n, problem.k);
  if (problem.grouped)
    text += fmt::format("g{}", problem.batch);
  else if (problem.batch != 1)
    text += fmt::format("x{}", problem.batch);
  return text;
}

Signature signature_of(const Problem& problem) {
  return {problem.type,    problem.accumulator,    problem.layout,    problem.is_batched(),
          problem.grouped, problem.has_epilogue(), problem.f32_output};
}

std::string describe(const Signature& signature) {
  return fmt::format("{}/{} {}{}{}{}{}", name(signature.type), name(signature.accumulator),
                     name(signature.layout), signature.batched ? " batched" : "",
                     signature.grouped ? " grouped" : "", signature.fused ? " fused" : "",
                     signature.f32_output ? " out=f32" : "");
}

std::string describe(const Problem& problem) {
  Signature signature = signature_of(problem);
  // The shape says it, or the words behind.
  signature.batched = signature.grouped = signature.fused = false;
  std::string text = fmt::format("{} {}", shape_name(problem), describe(signature));
  if (problem.lda != packed_lda(problem)) text += fmt::format(" lda={}", problem.lda);
  if (problem.ldb != packed_ldb(problem)) text += fmt::format(" ldb={}", problem.ldb);
  if (problem.ldc != packed_ldd(problem)) text += fmt::format(" ldc={}", problem.ldc);
  if (problem.ldd != packed_ldd(problem)) text += fmt::format(" ldd={}", problem.ldd);
  if (problem.grouped && problem.stride_b != default_stride_b(problem))
    text += fmt::format(" stride_b={}", problem.stride_b);
  if (problem.is_batched()) {
    if (problem.stride_a != default_stride_a(problem))
      text += fmt::format(" stride_a={}", problem.stride_a);
    if (problem.stride_b != default_stride_b(problem))
      text += fmt::format(" stride_b={}", problem.stride_b);
    if (problem.stride_c != default_stride_c(problem))
      text += fmt::format(" stride_c={}", problem.stride_c);
    if (problem.stride_d != default_stride_d(problem))
      text += fmt::format(" stride_d={}", problem.stride_d);
  }
  if (problem.alpha != 1) text += fmt::format(" alpha={}", problem.alpha);
  if (problem.beta != 0) text += fmt::format(" beta={}", problem.beta);
  if (problem.has_bias) text += " bias";
  if (problem.activation != Activation::kNone) text += fmt::format(" {}", name(problem.activation));
  if (problem.alignment != Alignment{})
    text += fmt::format(" align={},{},{},{}", problem.alignment.a, problem.alignment.b,
                        problem.alignment.c, problem.alignment.d);
  return text;
}

Result<Problem> parse_mnk(std::string_view text, Problem defaults) {
  std::vector<std::string_view> fields;
  std::string_view rest = text;
  while (true) {
    const std::size_t cut = rest.find('_');
    fields.push_back(rest.substr(0, cut));
    if (cut == std::string_view::npos) break;
    rest.remove_prefix(cut + 1);
  }
  if (fields.size() != 3)
    return fail(ErrorCode::kBadInput,
                "--mnk '{}': expected three sizes joined by '_', for example 64_4096_64", text);
  std::string_view batch;
  if (const std::size_t cross = fields[2].find('x'); cross != std::string_view::npos) {
    batch = fields[2].substr(cross);
    fields[2] = fields[2].substr(0, cross);
  }
  const std::array<std::int64_t*, 3> targets = {&defaults.m, &defaults.n, &defaults.k};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    auto value = parse_int64(fields[i]);
    if (!value) return fail(ErrorCode::kBadInput, "--mnk '{}': {}", text, value.error().what);
    *targets[i] = *value;
  }
  if (!batch.empty()) {
    auto value = parse_int64(batch.substr(1));
    if (!value) return fail(ErrorCode::kBadInput, "--mnk '{}': {}", text, value.error().what);
    defaults.batch = *value;
  }
  return make_problem(defaults);
}

}  // namespace gemmsmith
