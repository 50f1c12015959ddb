// problem.h -- what to compute: D = alpha * op(A) * op(B) + beta * C, with sizes, types, layout and
// leading dimensions. Everything else in the project is a function of a Problem and a Target.
//
// C and D are row-major here: element (i, j) of D is at i * ldd + j, as in PyTorch. The C API
// speaks cuBLAS's column-major language and translates by exchanging A and B (runtime/translate.h):
// a column-major m x n product is the row-major n x m product of the swapped operands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gemmsmith {

enum class DataType { kF16, kBf16, kF32 };

// cuBLAS's letters: the first for A (T: k contiguous, N: m contiguous), the second for B
// (N: k contiguous, T: n contiguous). TN is the usual inference layout.
enum class Layout { kTN, kNN, kNT, kTT };

// What becomes of a finished sum, bias included. kGeluTanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715
// x^3))); kGeluErf: x/2 (1 + erf(x / sqrt(2))); kSilu: x / (1 + exp(-x)).
enum class Activation { kNone, kRelu, kGeluTanh, kGeluErf, kSilu };

// Bytes that the base pointer of each operand is a multiple of; what a config may rely on.
struct Alignment {
  int a = 256;
  int b = 256;
  int c = 256;
  int d = 256;
  bool operator==(const Alignment&) const = default;
};

// A stride of Problem that is not given: a batch's matrices then follow each other without gaps.
constexpr std::int64_t kDense = -1;

struct Problem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t batch = 1;
  DataType type = DataType::kF16;         // of A and B, and of C, D and the bias unless f32_output
  DataType accumulator = DataType::kF32;  // kF32, or kF16 with f16 operands
  Layout layout = Layout::kTN;
  std::int64_t lda = 0;  // elements; make_problem fills in the packed values
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  std::int64_t ldd = 0;
  float alpha = 1;
  float beta = 0;
  Alignment alignment = {};
  // Elements from one matrix of the batch to the next. 0 for A, B or C: one matrix serves the whole
  // batch. D's matrices must not overlap. kDense where there is no batch.
  std::int64_t stride_a = kDense;
  std::int64_t stride_b = kDense;
  std::int64_t stride_c = kDense;
  std::int64_t stride_d = kDense;
  // The rows of A, C and D are cut into `batch` groups, each with a B of its own, stride_b apart (a
  // mixture of experts); m counts the rows of all. How many a group has is known on the device
  // only.
  bool grouped = false;
  bool f32_output = false;  // C, D and the bias are f32; with f32 accumulators only
  // The epilogue: D = activation(alpha A B + beta C + bias), in f32 and rounded once. The bias has
  // one element of D's type for each column of D, the same for a whole batch.
  bool has_bias = false;
  Activation activation = Activation::kNone;

  bool operator==(const Problem&) const = default;

  DataType output_type() const { return f32_output ? DataType::kF32 : type; }
  bool has_epilogue() const { return has_bias || activation != Activation::kNone; }

  // m, n or batch is 0: nothing to compute. (k = 0 still writes beta * C.)
  bool is_empty() const { return m == 0 || n == 0 || batch == 0; }
  bool is_batched() const { return batch > 1 && !grouped; }
  double flop() const;
  // Bytes that must move once: A, B and D, and C where beta is not 0.
  double min_bytes() const;
};

// What of a problem its kernels are compiled for; sizes and strides are launch arguments.
struct Signature {
  DataType type = DataType::kF16;
  DataType accumulator = DataType::kF32;
  Layout layout = Layout::kTN;
  bool batched = false;
  bool grouped = false;
  bool fused = false;  // with any epilogue: which one is a launch argument
  bool f32_output = false;

  bool operator==(const Signature&) const = default;

  DataType output_type() const { return f32_output ? DataType::kF32 : type; }
};

// A or B that is a vector with its elements side by side lies in two ways at once; it is then said
// to have k contiguous, which kernels read faster. Does nothing to other problems. make_problem()
// does it.
void straighten_vectors(Problem& problem);

Signature signature_of(const Problem& problem);
// "f16/f32 tn", "f16/f32 tn batched", "f16/f32 tn fused", "f16/f32 tn out=f32"
std::string describe(const Signature& signature);

int size_bytes(DataType type);
const char* name(DataType type);          // "f16", "bf16", "f32"
const char* name(Layout layout);          // "tn", "nn", "nt", "tt"
const char* name(Activation activation);  // "none", "relu", "gelu_tanh", "gelu_erf", "silu"
// Case-insensitive; errors (kBadInput) list the accepted names.
Result<DataType> parse_data_type(std::string_view text);
Result<Layout> parse_layout(std::string_view text);
// Sets f32_output by the name of C and D's type: f32, or that of the operands, which must be set
// before. kBadInput for another one.
Result<void> set_output(Problem& problem, std::string_view text);

bool a_is_k_contiguous(Layout layout);
bool b_is_k_contiguous(Layout layout);
std::int64_t packed_lda(const Problem& problem);  // the smallest legal leading dimensions, >= 1
std::int64_t packed_ldb(const Problem& problem);
std::int64_t packed_ldd(const Problem& problem);
// What a stride that is not given becomes: the matrices follow each other, and C lies like D where
// their leading dimensions are the same. kDense where there is no batch.
std::int64_t default_stride_a(const Problem& problem);
std::int64_t default_stride_b(const Problem& problem);
std::int64_t default_stride_c(const Problem& problem);
std::int64_t default_stride_d(const Problem& problem);

// Fills leading dimensions that are 0 with the packed ones, strides that are kDense with the dense
// ones, and checks the rest: sizes not negative and below 2^31, leading dimensions large enough,
// rows and matrices less than 2^40 bytes apart (what TMA takes) and operands below 2^63 bytes, D's
// matrices apart, type, accumulator and output legal together. Groups need an A with k contiguous
// and have no epilogue. Without a batch strides mean nothing, negative ones
// neither: they become kDense (of a single group, dense). The error names the argument, its value
// and the rule.
Result<Problem> make_problem(Problem problem);

// "64_4096_64", of a batch of 512 "64_4096_64x512": the shape alone, as on the command line; of 8
// groups "64_4096_64g8".
std::string shape_name(const Problem& problem);
// "64_4096_64 f16/f32 tn", with leading dimensions, strides, alpha, beta, epilogue and alignment
// where not the default.
std::string describe(const Problem& problem);

// "M_N_K", three whole numbers, or "M_N_KxBATCH"; fills m, n, k and the batch.
Result<Problem> parse_mnk(std::string_view text, Problem defaults);

}  // namespace gemmsmith
