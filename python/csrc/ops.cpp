// ops.cpp -- gemmsmith's operators for PyTorch, on its stable ABI: one build serves every torch
// from 2.10 on, and nothing of torch's C++ is linked but its C functions.
//
// A product that a plan serves is launched by it. A short one without a plan goes to cuBLASLt from
// here, which costs the host less than torch's way to the same library. Everything else goes to
// torch's own operator with the same tensors, so that results, errors and their order stay torch's.
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "calls.h"
#include "serving.h"
#include "torch_side.h"

namespace gemmsmith::python {
namespace {

using blas::GemmCall;

std::atomic<std::int64_t> served{0};      // by plans
std::atomic<std::int64_t> by_library{0};  // by cuBLASLt, from here
std::atomic<std::int64_t> passed{0};      // to torch

constexpr float kOne = 1;
constexpr float kZero = 0;

// 32 MiB, which is what torch itself gives cuBLASLt on Hopper.
constexpr std::int64_t kWorkspaceBytes = std::int64_t{32} << 20;
constexpr std::uintptr_t kWorkspaceAlignment = 256;

// From torch's allocator, which knows streams and graphs; given back at once, used in order.
class TensorWorkspace {
 public:
  explicit TensorWorkspace(const Tensor& like) : like_(like) {}
  TensorWorkspace(const TensorWorkspace&) = delete;
  TensorWorkspace& operator=(const TensorWorkspace&) = delete;

  Workspaces source() { return {kWorkspaceBytes, make, this}; }

 private:
  static void* make(void* maker, std::int64_t bytes) {
    auto& self = *static_cast<TensorWorkspace*>(maker);
    const std::array<std::int64_t, 1> halves = {(bytes + std::int64_t{kWorkspaceAlignment}) /
                                                2};  // `like` is 16 bits wide
    self.memory_ = new_tensor(self.like_, halves);
    const auto address = reinterpret_cast<std::uintptr_t>(self.memory_->data_ptr());
    return static_cast<char*>(self.memory_->data_ptr()) +
           (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
  }

  const Tensor& like_;
  std::optional<Tensor> memory_;
};

// Whether the product takes the device about as long as enqueueing it takes the host, or less.
// Longer ones stay torch's own: nothing is gained by enqueueing them sooner, and the library's two
// doors do not choose the same algorithm for the longest.
bool is_short(const gemmsmithProblem_t& problem) {
  constexpr double kFlopPerUs = 600e6;  // what large products reach on an H200
  constexpr double kBytesPerUs = 4e6;
  constexpr double kShortUs = 50;
  const auto m = static_cast<double>(problem.m), n = static_cast<double>(problem.n);
  const auto k = static_cast<double>(problem.k);
  const auto batch = static_cast<double>(std::max<std::int64_t>(1, problem.batch));
  return batch * std::max(2 * m * n * k / kFlopPerUs, 2 * (m * k + n * k + m * n) / kBytesPerUs) <
         kShortUs;
}

// Whether a plan or cuBLASLt computed it. `like`: a 16-bit tensor of the device.
bool is_served(std::optional<GemmCall> call, const Tensor& like, const float& alpha = kOne,
               const float& beta = kZero) {
  if (!call) return false;
  call->alpha = &alpha;
  call->beta = &beta;
  ServedBy by = ServedBy::kNothing;
  if (is_short(call->problem) && !is_tunable_op_enabled()) {
    TensorWorkspace workspace(like);
    by = serve_or_library(*call, workspace.source());
  } else if (serve(*call)) {
    by = ServedBy::kPlan;
  }
  if (by == ServedBy::kNothing) return false;
  (by == ServedBy::kPlan ? served : by_library).fetch_add(1, std::memory_order_relaxed);
  return true;
}

// torch's own product into `out`. Not aten::mm itself, which may be routed here: the form with
// `out` is the same kernel behind the same checks.
Tensor torch_mm(const Tensor& a, const Tensor& b, Tensor out) {
  passed.fetch_add(1, std::memory_order_relaxed);
  check_torch(TorchKernels::get().mm_out(out.get(), a.get(), b.get()), "aten::mm");
  return out;
}

Tensor torch_bmm(const Tensor& a, const Tensor& b, Tensor out) {
  passed.fetch_add(1, std::memory_order_relaxed);
  check_torch(TorchKernels::get().bmm_out(out.get(), a.get(), b.get()), "aten::bmm");
  return out;
}

// The same for operands that nobody has looked at.
Tensor checked_torch_mm(const Tensor& a, const Tensor& b) {
  const Guard guard(a);
  if (are_together(a, b)) check_mm(a, b);
  const bool fit = a.dim() == 2 && b.dim() == 2;
  return torch_mm(a, b,
                  new_tensor(a, fit ? matrix_sizes(a, b) : std::array<std::int64_t, 2>{0, 0}));
}

Tensor checked_torch_bmm(const Tensor& a, const Tensor& b) {
  const Guard guard(a);
  if (are_together(a, b)) check_bmm(a, b);
  const bool fit = a.dim() == 3 && b.dim() == 3;
  return torch_bmm(a, b,
                   new_tensor(a, fit ? batch_sizes(a, b) : std::array<std::int64_t, 3>{0, 0, 0}));
}

Tensor mm(Tensor a, Tensor b) {
  if (a.dim() != 2 || !is_covered(a, b)) return checked_torch_mm(a, b);
  const Guard guard(a);
  Tensor d = new_tensor(a, matrix_sizes(a, b));
  return is_served(call_of(a, b, d), a) ? d : torch_mm(a, b, std::move(d));
}

Tensor bmm(Tensor a, Tensor b) {
  if (a.dim() != 3 || !is_covered(a, b)) return checked_torch_bmm(a, b);
  const Guard guard(a);
  Tensor d = new_tensor(a, batch_sizes(a, b));
  return is_served(call_of(a, b, d), a) ? d : torch_bmm(a, b, std::move(d));
}

// torch's own by its form with `out`, which is not routed.
Tensor torch_with_type(const char* name, const Tensor& a, const Tensor& b, ScalarType type,
                       const Tensor& out) {
  using torch::stable::detail::from;
  passed.fetch_add(1, std::memory_order_relaxed);
  std::array<StableIValue, 4> stack = {from(a), from(b), from(type), from(out)};
  return call_torch(name, "dtype_out", stack.data());
}

Tensor mm_dtype(Tensor a, Tensor b, ScalarType type) {
  const bool fit = a.dim() == 2 && b.dim() == 2;
  const Guard guard(a);
  Tensor d = new_tensor(a, fit ? matrix_sizes(a, b) : std::array<std::int64_t, 2>{0, 0}, type);
  const bool has_plans = fit && (type == ScalarType::Float || type == a.scalar_type());
  if (has_plans && is_covered(a, b) && is_served(call_of(a, b, d), a)) return d;
  return torch_with_type("aten::mm", a, b, type, d);
}

Tensor bmm_dtype(Tensor a, Tensor b, ScalarType type) {
  const bool fit = a.dim() == 3 && b.dim() == 3;
  const Guard guard(a);
  Tensor d = new_tensor(a, fit ? batch_sizes(a, b) : std::array<std::int64_t, 3>{0, 0, 0}, type);
  const bool has_plans = fit && (type == ScalarType::Float || type == a.scalar_type());
  if (has_plans && is_covered(a, b) && is_served(call_of(a, b, d), a)) return d;
  return torch_with_type("aten::bmm", a, b, type, d);
}

// Whether a plan or cuBLASLt computed d = beta * input + alpha * (a b). With beta = 0, input is not
// looked at; one vector for all rows is a bias.
bool is_served_sum(const Tensor& input, const Tensor& a, const Tensor& b, double beta, double alpha,
                   const Tensor& d) {
  if (!is_covered(a, b)) return false;
  auto call = call_of(a, b, d);
  if (!call) return false;
  const auto narrow_alpha = static_cast<float>(alpha);
  if (beta == 1 && input.dim() == 1)
    return set_bias(*call, input, d) && is_served(call, a, narrow_alpha);
  if (beta != 0 && !set_c(*call, input, d)) return false;
  return is_served(call, a, narrow_alpha, static_cast<float>(beta));
}

// torch's addmm, whose rules the caller has seen to (in Python, where torch's own words are).
Tensor addmm(Tensor input, Tensor a, Tensor b, double beta, double alpha) {
  STD_TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "gemmsmith::addmm: expected two matrices, not ",
                  a.dim(), "-D and ", b.dim(), "-D");
  const Guard guard(a);
  Tensor d = new_tensor(a, matrix_sizes(a, b));
  if (is_served_sum(input, a, b, beta, alpha, d)) return d;
  passed.fetch_add(1, std::memory_order_relaxed);
  check_torch(TorchKernels::get().addmm_out(d.get(), input.get(), a.get(), b.get(), beta, alpha),
              "aten::addmm");
  return d;
}

// torch's baddbmm, likewise.
Tensor baddbmm(Tensor input, Tensor a, Tensor b, double beta, double alpha) {
  STD_TORCH_CHECK(a.dim() == 3 && b.dim() == 3, "gemmsmith::baddbmm: expected two batches, not ",
                  a.dim(), "-D and ", b.dim(), "-D");
  const Guard guard(a);
  Tensor d = new_tensor(a, batch_sizes(a, b));
  if (is_served_sum(input, a, b, beta, alpha, d)) return d;
  passed.fetch_add(1, std::memory_order_relaxed);
  check_torch(TorchKernels::get().baddbmm_out(d.get(), input.get(), a.get(), b.get(), beta, alpha),
              "aten::baddbmm");
  return d;
}

std::optional<std::int32_t> epilogue_of(const std::string& activation) {
  if (activation == "none") return GEMMSMITH_EPILOGUE_NONE;
  if (activation == "relu") return GEMMSMITH_EPILOGUE_RELU;
  if (activation == "gelu_tanh") return GEMMSMITH_EPILOGUE_GELU_TANH;
  return std::nullopt;
}

// activation(a b + bias) in one launch, by a plan's kernel with epilogues or by cuBLASLt's; none
// where it cannot be had.
std::optional<Tensor> fused_addmm(const Tensor& bias, const Tensor& a, const Tensor& b,
                                  const std::string& activation) {
  if (a.dim() != 2 || !is_covered(a, b)) return std::nullopt;
  const Guard guard(a);
  Tensor d = new_tensor(a, matrix_sizes(a, b));
  auto call = call_of(a, b, d);
  if (!call || !set_bias(*call, bias, d, epilogue_of(activation).value())) return std::nullopt;
  call->alpha = &kOne;
  call->beta = &kZero;
  TensorWorkspace workspace(a);
  const ServedBy by = serve_or_library(*call, workspace.source());
  if (by == ServedBy::kNothing) return std::nullopt;
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
std::int64_t by_library_count() { return by_library; }
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
  routes->impl("mm.dtype", TORCH_BOX(&mm_dtype));
  routes->impl("bmm.dtype", TORCH_BOX(&bmm_dtype));
}

}  // namespace
}  // namespace gemmsmith::python

#ifdef GEMMSMITH_TORCH_DEFINES_SCHEMAS
STABLE_TORCH_LIBRARY(gemmsmith, m) {
  m.def("mm(Tensor a, Tensor b) -> Tensor");
  m.def("bmm(Tensor a, Tensor b) -> Tensor");
  m.def("addmm(Tensor input, Tensor a, Tensor b, float beta, float alpha) -> Tensor");
  m.def("baddbmm(Tensor input, Tensor a, Tensor b, float beta, float alpha) -> Tensor");
  m.def("addmm_activation(Tensor bias, Tensor a, Tensor b, str activation) -> Tensor");
  // The same without gradients and autocast, whose Python a compiled graph need not pass through.
  m.def("_mm(Tensor a, Tensor b) -> Tensor");
  m.def("_bmm(Tensor a, Tensor b) -> Tensor");
  m.def("_mm_dtype(Tensor a, Tensor b, ScalarType dtype) -> Tensor");
  m.def("_bmm_dtype(Tensor a, Tensor b, ScalarType dtype) -> Tensor");
  m.def("_addmm(Tensor input, Tensor a, Tensor b, float beta, float alpha) -> Tensor");
  m.def("_baddbmm(Tensor input, Tensor a, Tensor b, float beta, float alpha) -> Tensor");
  m.def("_addmm_activation(Tensor bias, Tensor a, Tensor b, str activation) -> Tensor");
}
#endif

#define GEMMSMITH_IMPLEMENT(key) STABLE_TORCH_LIBRARY_IMPL(gemmsmith, key, m)
GEMMSMITH_IMPLEMENT(GEMMSMITH_TORCH_KEY) {
  using namespace gemmsmith::python;
  m.impl("mm", TORCH_BOX(&mm));
  m.impl("bmm", TORCH_BOX(&bmm));
  m.impl("addmm", TORCH_BOX(&addmm));
  m.impl("baddbmm", TORCH_BOX(&baddbmm));
  m.impl("addmm_activation", TORCH_BOX(&addmm_activation));
  m.impl("_mm", TORCH_BOX(&mm));
  m.impl("_bmm", TORCH_BOX(&bmm));
  m.impl("_mm_dtype", TORCH_BOX(&mm_dtype));
  m.impl("_bmm_dtype", TORCH_BOX(&bmm_dtype));
  m.impl("_addmm", TORCH_BOX(&addmm));
  m.impl("_baddbmm", TORCH_BOX(&baddbmm));
  m.impl("_addmm_activation", TORCH_BOX(&addmm_activation));
}

// For ctypes: they take no tensor, so they are no operators.
extern "C" {
// What a plan would make of the product on the current device: 1 and its microseconds and speedup
// when it was measured; 0: no plan serves it; -1: that cannot be known here.
__attribute__((visibility("default"))) int gemmsmith_torch_forecast(
    const gemmsmith::python::AskedProduct* asked, float beta, double* us_and_speedup) {
  const auto call = gemmsmith::python::call_of(*asked);
  return call ? gemmsmith::python::forecast(*call, beta, us_and_speedup) : 0;
}
// Of the plan tables that would be loaded: another text, another identity.
__attribute__((visibility("default"))) std::uint64_t gemmsmith_torch_plans_identity(void) {
  return gemmsmith::python::plans_identity();
}
// Which of torch's operators with scalars a plan table has plans for, for whatever device: 1 for
// addmm, or-ed with 2 for baddbmm.
__attribute__((visibility("default"))) int gemmsmith_torch_planned_sums(void) {
  const auto planned = gemmsmith::python::planned_sums();
  return (planned.addmm ? 1 : 0) | (planned.baddbmm ? 2 : 0);
}
__attribute__((visibility("default"))) void gemmsmith_torch_set_routing(int wanted) {
  gemmsmith::python::set_routing(wanted != 0);
}
__attribute__((visibility("default"))) std::int64_t gemmsmith_torch_served(void) {
  return gemmsmith::python::served_count();
}
__attribute__((visibility("default"))) std::int64_t gemmsmith_torch_by_library(void) {
  return gemmsmith::python::by_library_count();
}
__attribute__((visibility("default"))) std::int64_t gemmsmith_torch_passed(void) {
  return gemmsmith::python::passed_count();
}
}
