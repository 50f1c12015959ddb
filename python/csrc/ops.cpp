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
#include <stdexcept>
#include <string>
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

// torch's current stream on the device. The function is in torch's CUDA library, which is found
// when it is first needed: a torch without CUDA imports this file as well.
cudaStream_t current_stream(std::int32_t device) {
  using Function = AOTITorchError(std::int32_t, void**);
  static auto* const function = reinterpret_cast<Function*>([]() -> void* {
    void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    return library == nullptr ? nullptr : dlsym(library, "aoti_torch_get_current_cuda_stream");
  }());
  void* stream = nullptr;
  if (function != nullptr) TORCH_ERROR_CODE_CHECK(function(device, &stream));
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

// D = a b in the library's terms: its A is our b, its B our a. Empty where a layout does not fit.
std::optional<GemmCall> call_of(const Tensor& a, const Tensor& b, const Tensor& d) {
  const auto op_b = operand_of(b);
  const auto op_a = operand_of(a);
  if (!op_a || !op_b) return std::nullopt;
  const auto a_sizes = a.sizes();
  GemmCall call;
  gemmsmithProblem_t& problem = call.problem;
  problem.size = sizeof problem;
  problem.transa = op_b->op;
  problem.transb = op_a->op;
  problem.type = a.scalar_type() == ScalarType::BFloat16 ? GEMMSMITH_R_16BF : GEMMSMITH_R_16F;
  problem.compute_type = GEMMSMITH_COMPUTE_32F;
  problem.m = b.sizes()[1];
  problem.n = a_sizes[0];
  problem.k = a_sizes[1];
  problem.lda = op_b->ld;
  problem.ldb = op_a->ld;
  problem.ldc = problem.ldd = problem.m;
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
    if (tensor.is_cuda()) guard_.emplace(tensor.get_device_index());
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

Tensor new_matrix(const Tensor& like, std::int64_t rows, std::int64_t columns) {
  const std::array<std::int64_t, 2> sizes = {rows, columns};
  return torch::stable::new_empty(like, {sizes.data(), sizes.size()});
}

// An error of torch's own, with its own text where this torch can tell it (2.12 and later).
Tensor call_torch(const char* name, const char* overload, StableIValue* stack) {
  if (torch_call_dispatcher(name, overload, stack, TORCH_ABI_VERSION) == AOTI_TORCH_SUCCESS)
    return torch::stable::detail::to<Tensor>(stack[0]);
  using Function = const char*();
  static auto* const what = reinterpret_cast<Function*>(
      dlsym(RTLD_DEFAULT, "torch_exception_get_what_without_backtrace"));
  const char* const text = what != nullptr ? what() : nullptr;
  throw std::runtime_error(text != nullptr ? text : std::string(name) + " failed; see stderr");
}

std::string size_text(const Tensor& matrix) {
  const auto sizes = matrix.sizes();
  return std::to_string(sizes[0]) + "x" + std::to_string(sizes[1]);
}

// torch's rules of a product, in its words and order: the ABI of 2.10 and 2.11 does not hand on
// what an operator that failed had to say.
void check_mm(const Tensor& a, const Tensor& b) {
  if (a.dim() != 2) throw std::runtime_error("self must be a matrix");
  if (b.dim() != 2) throw std::runtime_error("mat2 must be a matrix");
  if (a.sizes()[1] != b.sizes()[0])
    throw std::runtime_error("mat1 and mat2 shapes cannot be multiplied (" + size_text(a) +
                             " and " + size_text(b) + ")");
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

// torch's own product. Not aten::mm itself, which may be routed here: the form with `out` is the
// same kernel behind the same checks.
Tensor torch_mm(const Tensor& a, const Tensor& b) {
  passed.fetch_add(1, std::memory_order_relaxed);
  const Guard guard(a);
  if (are_together(a, b)) check_mm(a, b);
  Tensor out = a.dim() == 2 && b.dim() == 2 ? new_matrix(a, a.sizes()[0], b.sizes()[1])
                                            : new_matrix(a, 0, 0);
  using torch::stable::detail::from;
  std::array<StableIValue, 3> stack = {from(a), from(b), from(out)};
  return call_torch("aten::mm", "out", stack.data());
}

Tensor torch_bmm(const Tensor& a, const Tensor& b) {
  passed.fetch_add(1, std::memory_order_relaxed);
  const Guard guard(a);
  if (are_together(a, b)) check_bmm(a, b);
  std::array<std::int64_t, 3> sizes = {0, 0, 0};
  if (a.dim() == 3 && b.dim() == 3) sizes = {a.sizes()[0], a.sizes()[1], b.sizes()[2]};
  Tensor out = torch::stable::new_empty(a, {sizes.data(), sizes.size()});
  using torch::stable::detail::from;
  std::array<StableIValue, 3> stack = {from(a), from(b), from(out)};
  return call_torch("aten::bmm", "out", stack.data());
}

// A product by a plan; none where no plan serves it.
std::optional<Tensor> planned_mm(const Tensor& a, const Tensor& b) {
  if (!is_covered(a, b)) return std::nullopt;
  const Guard guard(a);
  Tensor d = new_matrix(a, a.sizes()[0], b.sizes()[1]);
  const auto call = call_of(a, b, d);
  if (!call || !serve(*call, &kOne, &kZero)) return std::nullopt;
  served.fetch_add(1, std::memory_order_relaxed);
  return d;
}

Tensor mm(Tensor a, Tensor b) {
  if (auto d = planned_mm(a, b)) return *std::move(d);
  return torch_mm(a, b);
}

// One product of a batch is a plain one; more have no plans yet.
Tensor bmm(Tensor a, Tensor b) {
  if (a.dim() != 3 || b.dim() != 3 || a.sizes()[0] != 1 || b.sizes()[0] != 1)
    return torch_bmm(a, b);
  const Tensor first = torch::stable::select(a, 0, 0);
  const Tensor second = torch::stable::select(b, 0, 0);
  if (auto d = planned_mm(first, second)) return torch::stable::unsqueeze(*d, 0);
  return torch_bmm(a, b);
}

// beta * input + alpha * (a b), input of the product's own shape. None where no plan serves it.
std::optional<Tensor> planned_addmm(const Tensor& input, const Tensor& a, const Tensor& b,
                                    double beta, double alpha) {
  if (!is_covered(a, b) || input.dim() != 2 || input.scalar_type() != a.scalar_type() ||
      input.get_device_index() != a.get_device_index() || input.is_cuda() != a.is_cuda() ||
      input.sizes()[0] != a.sizes()[0] || input.sizes()[1] != b.sizes()[1])
    return std::nullopt;
  const auto op_c = operand_of(input);
  if (!op_c || op_c->op != CUBLAS_OP_N) return std::nullopt;
  const Guard guard(a);
  Tensor d = new_matrix(a, a.sizes()[0], b.sizes()[1]);
  auto call = call_of(a, b, d);
  if (!call) return std::nullopt;
  call->c = input.data_ptr();
  call->problem.ldc = op_c->ld;
  const auto narrow_alpha = static_cast<float>(alpha);
  const auto narrow_beta = static_cast<float>(beta);
  if (!serve(*call, &narrow_alpha, &narrow_beta)) return std::nullopt;
  served.fetch_add(1, std::memory_order_relaxed);
  return d;
}

// An empty tensor says that no plan serves it: torch's form has arguments that this ABI cannot
// pass, so the caller, in Python, goes on.
Tensor try_addmm(Tensor input, Tensor a, Tensor b, double beta, double alpha) {
  if (auto d = planned_addmm(input, a, b, beta, alpha)) return *std::move(d);
  passed.fetch_add(1, std::memory_order_relaxed);
  return torch::stable::new_empty(a, torch::headeronly::IntHeaderOnlyArrayRef{});
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

#define GEMMSMITH_TEXT_OF(x) #x
#define GEMMSMITH_TEXT(x) GEMMSMITH_TEXT_OF(x)

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
  m.def("try_addmm(Tensor input, Tensor a, Tensor b, float beta, float alpha) -> Tensor");
  m.def("addmm_activation(Tensor bias, Tensor a, Tensor b, str activation) -> Tensor");
}
#endif

#define GEMMSMITH_IMPLEMENT(key) STABLE_TORCH_LIBRARY_IMPL(gemmsmith, key, m)
GEMMSMITH_IMPLEMENT(GEMMSMITH_TORCH_KEY) {
  m.impl("mm", TORCH_BOX(&mm));
  m.impl("bmm", TORCH_BOX(&bmm));
  m.impl("try_addmm", TORCH_BOX(&try_addmm));
  m.impl("addmm_activation", TORCH_BOX(&addmm_activation));
}

// For ctypes: they take no tensor, so they are no operators.
extern "C" {
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
