// ops.cpp -- gemmsmith's operators for PyTorch, on its stable ABI: one build serves every torch
// from 2.10 on, and nothing of torch's C++ is linked but its C functions.
//
// A product that a plan serves is launched by it; everything else goes to torch's own operator with
// the same tensors, so that results, errors and their order stay torch's.
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "serving.h"

namespace {

using gemmsmith::blas::GemmCall;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// Tests compile this file for the CPU, where a fake driver's device memory is the host's.
#ifndef GEMMSMITH_TORCH_KEY
#define GEMMSMITH_TORCH_KEY CUDA
#define GEMMSMITH_TORCH_DEFINES_SCHEMAS
#endif

std::atomic<std::int64_t> served{0};
std::atomic<std::int64_t> passed{0};

#define GEMMSMITH_TEXT_OF(x) #x
#define GEMMSMITH_TEXT(x) GEMMSMITH_TEXT_OF(x)

constexpr bool kIsCuda = std::string_view(GEMMSMITH_TEXT(GEMMSMITH_TORCH_KEY)) == "CUDA";

// torch's own kernels by their C names, which compiled models call as well: no dispatcher between,
// and scalars, which the dispatcher's C form cannot pass. They are in torch's library for the
// device, which is found when it is first needed: a torch without CUDA imports this file as well.
struct TorchKernels {
  using Handle = AtenTensorHandle;
  AOTITorchError (*mm_out)(Handle out, Handle a, Handle b) = nullptr;
  AOTITorchError (*bmm_out)(Handle out, Handle a, Handle b) = nullptr;
  AOTITorchError (*addmm_out)(Handle out, Handle input, Handle a, Handle b, double beta,
                              double alpha) = nullptr;
  AOTITorchError (*current_stream)(std::int32_t device, void** stream) = nullptr;

  static const TorchKernels& get() {
    static const TorchKernels kernels;
    return kernels;
  }

 private:
  TorchKernels() {
    void* const library =
        dlopen(kIsCuda ? "libtorch_cuda.so" : "libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return;
    const std::string prefix = kIsCuda ? "aoti_torch_cuda_" : "aoti_torch_cpu_";
    const auto find = [&](auto& function, const std::string& name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          dlsym(library, name.c_str()));
    };
    find(mm_out, prefix + "mm_out");
    find(bmm_out, prefix + "bmm_out");
    find(addmm_out, prefix + "addmm_out");
    if (kIsCuda) find(current_stream, "aoti_torch_get_current_cuda_stream");
  }
};

cudaStream_t current_stream(std::int32_t device) {
  void* stream = nullptr;
  if (auto* const function = TorchKernels::get().current_stream; function != nullptr)
    TORCH_ERROR_CODE_CHECK(function(device, &stream));
  return static_cast<cudaStream_t>(stream);
}

// A matrix as the column-major library sees its memory: `op` is what makes it the transposed one.
struct Operand {
  std::int32_t op = CUBLAS_OP_N;
  std::int64_t ld = 0;
};

// None where neither dimension is contiguous. The stride of a dimension of size 1 means nothing.
std::optional<Operand> operand_of(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                                  std::int64_t column_stride) {
  if (column_stride == 1 || columns == 1) {
    const std::int64_t ld = rows == 1 ? columns : row_stride;
    if (ld >= columns && (columns != 1 || column_stride == 1 || ld >= 1))
      return Operand{CUBLAS_OP_N, std::max<std::int64_t>(1, ld)};
  }
  if (row_stride == 1 || rows == 1) {
    const std::int64_t ld = columns == 1 ? rows : column_stride;
    if (ld >= rows) return Operand{CUBLAS_OP_T, std::max<std::int64_t>(1, ld)};
  }
  return std::nullopt;
}

std::optional<Operand> operand_of(const Tensor& matrix) {
  const auto sizes = matrix.sizes();
  const auto strides = matrix.strides();
  return operand_of(sizes[0], sizes[1], strides[0], strides[1]);
}

bool are_together(const Tensor& a, const Tensor& b) {
  return a.is_cuda() == b.is_cuda() && a.get_device_index() == b.get_device_index();
}

bool is_half(ScalarType type) { return type == ScalarType::Half || type == ScalarType::BFloat16; }

// Two matrices that can be multiplied and whose product torch would compute on this device, in a
// type that plans have.
bool is_covered(const Tensor& a, const Tensor& b) {
  if (a.dim() != 2 || b.dim() != 2) return false;
  const ScalarType type = a.scalar_type();
  if (!is_half(type) || b.scalar_type() != type) return false;
  if (!are_together(a, b)) return false;
  const auto a_sizes = a.sizes();
  const auto b_sizes = b.sizes();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return a_sizes[1] == b_sizes[0] && a_sizes[0] > 0 && a_sizes[0] <= kMost && a_sizes[1] > 0 &&
         a_sizes[1] <= kMost && b_sizes[1] > 0 && b_sizes[1] <= kMost;
}

// An m x k times a k x n matrix in the library's terms: its A is our b, its B our a.
gemmsmithProblem_t problem_of(ScalarType type, std::int64_t m, std::int64_t n, std::int64_t k,
                              const Operand& a, const Operand& b) {
  gemmsmithProblem_t problem = {};
  problem.size = sizeof problem;
  problem.transa = b.op;
  problem.transb = a.op;
  problem.type = type == ScalarType::BFloat16 ? GEMMSMITH_R_16BF : GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.m = n;
  problem.n = m;
  problem.k = k;
  problem.lda = b.ld;
  problem.ldb = a.ld;
  problem.ldc = problem.ldd = n;
  return problem;
}

// D = a b. Empty where a layout does not fit.
std::optional<GemmCall> call_of(const Tensor& a, const Tensor& b, const Tensor& d) {
  const auto op_b = operand_of(b);
  const auto op_a = operand_of(a);
  if (!op_a || !op_b) return std::nullopt;
  const auto a_sizes = a.sizes();
  GemmCall call;
  call.problem = problem_of(a.scalar_type(), a_sizes[0], b.sizes()[1], a_sizes[1], *op_a, *op_b);
  call.a = b.data_ptr();
  call.b = a.data_ptr();
  call.c = call.d = d.data_ptr();
  if (a.is_cuda()) call.stream = current_stream(a.get_device_index());
  // torch's switch against reduced-precision reduction is not visible here; our kernels reduce in
  // f32 whatever it says, the vendor's may not.
  call.allows_vendor_plans = false;
  return call;
}

class Guard {
 public:
  explicit Guard(const Tensor& tensor) {
    if (!tensor.is_cuda()) return;
    const std::int32_t device = tensor.get_device_index();
    std::int32_t current = -1;
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_device_index(&current));
    if (device != current) guard_.emplace(device);
  }

 private:
  std::optional<torch::stable::accelerator::DeviceGuard> guard_;
};

constexpr float kOne = 1;
constexpr float kZero = 0;

// True where the product was enqueued.
bool serve(GemmCall call, const float* alpha, const float* beta) {
  call.alpha = alpha;
  call.beta = beta;
  return gemmsmith::python::serve(call);
}

Tensor new_tensor(const Tensor& like, std::span<const std::int64_t> sizes) {
  std::array<std::int64_t, 3> strides = {};
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(1, sizes[i]);
  }
  std::int32_t type = 0;
  std::int32_t device_type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(like.get(), &type));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &device_type));
  AtenTensorHandle made = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()),
                                                  sizes.data(), strides.data(), type, device_type,
                                                  like.get_device_index(), &made));
  return Tensor(made);
}

Tensor new_matrix(const Tensor& like, std::int64_t rows, std::int64_t columns) {
  return new_tensor(like, std::array{rows, columns});
}

// An error of torch's own, with its own text where this torch can tell it (2.12 and later).
void check_torch(AOTITorchError code, const char* name) {
  if (code == AOTI_TORCH_SUCCESS) return;
  using Function = const char*();
  static auto* const what = reinterpret_cast<Function*>(
      dlsym(RTLD_DEFAULT, "torch_exception_get_what_without_backtrace"));
  const char* const text = what != nullptr ? what() : nullptr;
  throw std::runtime_error(text != nullptr ? text : std::string(name) + " failed; see stderr");
}

Tensor call_torch(const char* name, const char* overload, StableIValue* stack) {
  check_torch(torch_call_dispatcher(name, overload, stack, TORCH_ABI_VERSION), name);
  return torch::stable::detail::to<Tensor>(stack[0]);
}

std::string size_text(const Tensor& matrix) {
  const auto sizes = matrix.sizes();
  return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]);
}

// As torch's errors name a type; empty for a rare one, whose error is then left to torch.
std::string type_text(ScalarType type) {
  switch (type) {
    case ScalarType::Half:
      return "c10::Half";
    case ScalarType::BFloat16:
      return "c10::BFloat16";
    case ScalarType::Float:
      return "float";
    case ScalarType::Double:
      return "double";
    case ScalarType::ComplexHalf:
      return "c10::complex<c10::Half>";
    case ScalarType::ComplexFloat:
      return "c10::complex<float>";
    case ScalarType::ComplexDouble:
      return "c10::complex<double>";
    case ScalarType::Char:
      return "signed char";
    case ScalarType::Byte:
      return "unsigned char";
    case ScalarType::Short:
      return "short int";
    case ScalarType::Int:
      return "int";
    case ScalarType::Long:
      return "long int";
    case ScalarType::Bool:
      return "bool";
    default:
      return "";
  }
}

// torch's rules of a product, in its words and order: the ABI of 2.10 and 2.11 does not hand on
// what an operator that failed had to say.
void check_mm(const Tensor& a, const Tensor& b) {
  if (a.dim() != 2) throw std::runtime_error("self must be a matrix");
  if (b.dim() != 2) throw std::runtime_error("mat2 must be a matrix");
  if (a.sizes()[1] != b.sizes()[0])
    throw std::runtime_error("mat1 and mat2 shapes cannot be multiplied (" + size_text(a) +
                             " and " + size_text(b) + ")");
  const std::string a_type = type_text(a.scalar_type());
  const std::string b_type = type_text(b.scalar_type());
  if (a_type != b_type && !a_type.empty() && !b_type.empty())
    throw std::runtime_error(std::string("expected ") + (kIsCuda ? "mat1 and mat2" : "m1 and m2") +
                             " to have the same dtype, but got: " + a_type + " != " + b_type);
}

void check_bmm(const Tensor& a, const Tensor& b) {
  if (a.dim() != 3) throw std::runtime_error("batch1 must be a 3D tensor");
  if (b.dim() != 3) throw std::runtime_error("batch2 must be a 3D tensor");
  const auto a_sizes = a.sizes();
  const auto b_sizes = b.sizes();
  if (b_sizes[0] != a_sizes[0] || b_sizes[1] != a_sizes[2])
    throw std::runtime_error("Expected size for first two dimensions of batch2 tensor to be: [" +
                             std::to_string(a_sizes[0]) + ", " + std::to_string(a_sizes[2]) +
                             "] but got: [" + std::to_string(b_sizes[0]) + ", " +
                             std::to_string(b_sizes[1]) + "].");
}

// torch's own product into `out`. Not aten::mm itself, which may be routed here: the form with
// `out` is the same kernel behind the same checks.
Tensor torch_mm(const Tensor& a, const Tensor& b, Tensor out) {
  passed.fetch_add(1, std::memory_order_relaxed);
  check_torch(TorchKernels::get().mm_out(out.get(), a.get(), b.get()), "aten::mm");
  return out;
}

// The same for operands that nobody has looked at.
Tensor checked_torch_mm(const Tensor& a, const Tensor& b) {
  const Guard guard(a);
  if (are_together(a, b)) check_mm(a, b);
  const bool are_matrices = a.dim() == 2 && b.dim() == 2;
  return torch_mm(a, b,
                  new_matrix(a, are_matrices ? a.sizes()[0] : 0, are_matrices ? b.sizes()[1] : 0));
}

Tensor checked_torch_bmm(const Tensor& a, const Tensor& b) {
  passed.fetch_add(1, std::memory_order_relaxed);
  const Guard guard(a);
  if (are_together(a, b)) check_bmm(a, b);
  std::array<std::int64_t, 3> sizes = {0, 0, 0};
  if (a.dim() == 3 && b.dim() == 3) sizes = {a.sizes()[0], a.sizes()[1], b.sizes()[2]};
  Tensor out = new_tensor(a, sizes);
  check_torch(TorchKernels::get().bmm_out(out.get(), a.get(), b.get()), "aten::bmm");
  return out;
}

// Whether a plan computed d = a b.
bool is_planned_mm(const Tensor& a, const Tensor& b, const Tensor& d) {
  const auto call = call_of(a, b, d);
  if (!call || !serve(*call, &kOne, &kZero)) return false;
  served.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Tensor mm(Tensor a, Tensor b) {
  if (!is_covered(a, b)) return checked_torch_mm(a, b);
  const Guard guard(a);
  Tensor d = new_matrix(a, a.sizes()[0], b.sizes()[1]);
  return is_planned_mm(a, b, d) ? d : torch_mm(a, b, std::move(d));
}

// One product of a batch is a plain one; more have no plans yet.
Tensor bmm(Tensor a, Tensor b) {
  if (a.dim() != 3 || b.dim() != 3 || a.sizes()[0] != 1 || b.sizes()[0] != 1)
    return checked_torch_bmm(a, b);
  const Tensor first = torch::stable::select(a, 0, 0);
  const Tensor second = torch::stable::select(b, 0, 0);
  if (!is_covered(first, second)) return checked_torch_bmm(a, b);
  const Guard guard(a);
  const Tensor d = new_matrix(a, first.sizes()[0], second.sizes()[1]);
  if (is_planned_mm(first, second, d)) return torch::stable::unsqueeze(d, 0);
  return checked_torch_bmm(a, b);
}

// Whether a plan computed d = beta * input + alpha * (a b). With beta = 0, input is not looked at.
bool is_planned_addmm(const Tensor& input, const Tensor& a, const Tensor& b, double beta,
                      double alpha, const Tensor& d) {
  auto call = call_of(a, b, d);
  if (!call) return false;
  if (beta != 0) {
    const auto sizes = d.sizes();
    if (input.dim() != 2 || input.scalar_type() != a.scalar_type() || !are_together(input, a) ||
        input.sizes()[0] != sizes[0] || input.sizes()[1] != sizes[1])
      return false;
    const auto op_c = operand_of(input);
    if (!op_c || op_c->op != CUBLAS_OP_N) return false;
    call->c = input.data_ptr();
    call->problem.ldc = op_c->ld;
  }
  const auto narrow_alpha = static_cast<float>(alpha);
  const auto narrow_beta = static_cast<float>(beta);
  if (!serve(*call, &narrow_alpha, &narrow_beta)) return false;
  served.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// torch's addmm, whose rules the caller has seen to (in Python, where torch's own words are).
Tensor addmm(Tensor input, Tensor a, Tensor b, double beta, double alpha) {
  STD_TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "gemmsmith::addmm: expected two matrices, not ",
                  a.dim(), "-D and ", b.dim(), "-D");
  const Guard guard(a);
  Tensor d = new_matrix(a, a.sizes()[0], b.sizes()[1]);
  if (is_covered(a, b) && is_planned_addmm(input, a, b, beta, alpha, d)) return d;
  passed.fetch_add(1, std::memory_order_relaxed);
  check_torch(TorchKernels::get().addmm_out(d.get(), input.get(), a.get(), b.get(), beta, alpha),
              "aten::addmm");
  return d;
}

std::optional<std::int32_t> epilogue_of(const std::string& activation) {
  if (activation == "none") return GEMMSMITH_EPILOGUE_NONE;
  if (activation == "relu") return GEMMSMITH_EPILOGUE_RELU;
  if (activation == "gelu_tanh") return GEMMSMITH_EPILOGUE_GELU_TANH;
  return std::nullopt;
}

// 32 MiB, which is what torch itself gives cuBLASLt on Hopper.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;
constexpr std::uintptr_t kWorkspaceAlignment = 256;

// activation(a b + bias) in one launch, by cuBLASLt's epilogue; none where it cannot be had.
std::optional<Tensor> fused_addmm(const Tensor& bias, const Tensor& a, const Tensor& b,
                                  const std::string& activation) {
  const auto epilogue = epilogue_of(activation);
  if (!epilogue || !is_covered(a, b) || bias.dim() != 1 || bias.sizes()[0] != b.sizes()[1] ||
      (bias.sizes()[0] != 1 && bias.strides()[0] != 1) || bias.scalar_type() != a.scalar_type() ||
      bias.get_device_index() != a.get_device_index() || bias.is_cuda() != a.is_cuda())
    return std::nullopt;
  const Guard guard(a);
  Tensor d = new_matrix(a, a.sizes()[0], b.sizes()[1]);
  auto call = call_of(a, b, d);
  if (!call) return std::nullopt;
  // From torch's allocator, which knows streams and graphs; given back at once, used in order.
  Tensor workspace = new_matrix(a, (kWorkspaceBytes + std::int64_t{kWorkspaceAlignment}) / 2, 1);
  const auto address = reinterpret_cast<std::uintptr_t>(workspace.data_ptr());
  call->workspace = static_cast<char*>(workspace.data_ptr()) +
                    (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
  call->workspace_bytes = static_cast<std::size_t>(kWorkspaceBytes);
  call->problem.epilogue = *epilogue | GEMMSMITH_EPILOGUE_BIAS;
  call->problem.bias = bias.data_ptr();
  call->alpha = &kOne;
  call->beta = &kZero;
  if (!gemmsmith::python::multiply(*call)) return std::nullopt;
  served.fetch_add(1, std::memory_order_relaxed);
  return d;
}

Tensor addmm_activation(Tensor bias, Tensor a, Tensor b, std::string activation) {
  STD_TORCH_CHECK(epilogue_of(activation).has_value(), "gemmsmith::addmm_activation: activation '",
                  activation, "': expected none, relu or gelu_tanh");
  if (auto d = fused_addmm(bias, a, b, activation)) return *std::move(d);
  // torch's linear is its addmm, in a form without scalars.
  using torch::stable::detail::from;
  passed.fetch_add(1, std::memory_order_relaxed);
  std::array<StableIValue, 3> linear = {from(a), from(torch::stable::transpose(b, 0, 1)),
                                        from(std::optional<Tensor>(bias))};
  Tensor sum = call_torch("aten::linear", "", linear.data());
  if (activation == "none") return sum;
  if (activation == "relu") {
    std::array<StableIValue, 1> stack = {from(sum)};
    return call_torch("aten::relu", "", stack.data());
  }
  std::array<StableIValue, 2> stack = {from(sum), from(std::string("tanh"))};
  return call_torch("aten::gelu", "", stack.data());
}

std::int64_t served_count() { return served; }
std::int64_t passed_count() { return passed; }

// What enable() puts in torch's place; null while it has not.
std::unique_ptr<torch::stable::detail::StableLibrary> routes;

void set_routing(bool wanted) {
  if (!wanted) {
    routes.reset();
    return;
  }
  if (routes != nullptr) return;
  using torch::stable::detail::StableLibrary;
  routes = std::make_unique<StableLibrary>(StableLibrary::Kind::IMPL, "aten",
                                           GEMMSMITH_TEXT(GEMMSMITH_TORCH_KEY), __FILE__, __LINE__);
  routes->impl("mm", TORCH_BOX(&mm));
  routes->impl("bmm", TORCH_BOX(&bmm));
}

}  // namespace

#ifdef GEMMSMITH_TORCH_DEFINES_SCHEMAS
STABLE_TORCH_LIBRARY(gemmsmith, m) {
  m.def("mm(Tensor a, Tensor b) -> Tensor");
  m.def("bmm(Tensor a, Tensor b) -> Tensor");
  m.def("addmm(Tensor input, Tensor a, Tensor b, float beta, float alpha) -> Tensor");
  m.def("addmm_activation(Tensor bias, Tensor a, Tensor b, str activation) -> Tensor");
  // The same without gradients and autocast, whose Python a compiled graph need not pass through.
  m.def("_mm(Tensor a, Tensor b) -> Tensor");
  m.def("_bmm(Tensor a, Tensor b) -> Tensor");
  m.def("_addmm(Tensor input, Tensor a, Tensor b, float beta, float alpha) -> Tensor");
  m.def("_addmm_activation(Tensor bias, Tensor a, Tensor b, str activation) -> Tensor");
}
#endif

#define GEMMSMITH_IMPLEMENT(key) STABLE_TORCH_LIBRARY_IMPL(gemmsmith, key, m)
GEMMSMITH_IMPLEMENT(GEMMSMITH_TORCH_KEY) {
  m.impl("mm", TORCH_BOX(&mm));
  m.impl("bmm", TORCH_BOX(&bmm));
  m.impl("addmm", TORCH_BOX(&addmm));
  m.impl("addmm_activation", TORCH_BOX(&addmm_activation));
  m.impl("_mm", TORCH_BOX(&mm));
  m.impl("_bmm", TORCH_BOX(&bmm));
  m.impl("_addmm", TORCH_BOX(&addmm));
  m.impl("_addmm_activation", TORCH_BOX(&addmm_activation));
}

// For ctypes: they take no tensor, so they are no operators.
extern "C" {
// What a plan would make of m x k times k x n, strides in elements (rows, columns), on the current
// device: 1 and its microseconds and speedup when it was measured; 0: no plan serves it; -1: that
// cannot be known here.
__attribute__((visibility("default"))) int gemmsmith_torch_forecast(
    int is_bfloat16, std::int64_t m, std::int64_t n, std::int64_t k, const std::int64_t* a_strides,
    const std::int64_t* b_strides, float beta, double* us_and_speedup) {
  const auto a = operand_of(m, k, a_strides[0], a_strides[1]);
  const auto b = operand_of(k, n, b_strides[0], b_strides[1]);
  if (!a || !b) return 0;
  GemmCall call;
  call.problem =
      problem_of(is_bfloat16 != 0 ? ScalarType::BFloat16 : ScalarType::Half, m, n, k, *a, *b);
  call.allows_vendor_plans = false;
  return gemmsmith::python::forecast(call, beta, us_and_speedup);
}
// Of the plan tables that would be loaded: another text, another identity.
__attribute__((visibility("default"))) std::uint64_t gemmsmith_torch_plans_identity(void) {
  return gemmsmith::python::plans_identity();
}
// 1 where a plan table has plans with beta * C, for whatever device.
__attribute__((visibility("default"))) int gemmsmith_torch_has_addmm_plans(void) {
  return gemmsmith::python::has_plans_with_c() ? 1 : 0;
}
__attribute__((visibility("default"))) void gemmsmith_torch_set_routing(int wanted) {
  set_routing(wanted != 0);
}
__attribute__((visibility("default"))) std::int64_t gemmsmith_torch_served(void) {
  return served_count();
}
__attribute__((visibility("default"))) std::int64_t gemmsmith_torch_passed(void) {
  return passed_count();
}
}
