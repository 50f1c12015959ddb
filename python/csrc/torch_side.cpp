#include "torch_side.h"

#include <dlfcn.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace gemmsmith::python {
namespace {

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

}  // namespace

const TorchKernels& TorchKernels::get() {
  static const TorchKernels kernels;
  return kernels;
}

TorchKernels::TorchKernels() {
  void* const library =
      dlopen(kIsCuda ? "libtorch_cuda.so" : "libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  const std::string prefix = kIsCuda ? "aoti_torch_cuda_" : "aoti_torch_cpu_";
  const auto find = [&](auto& function, const std::string& name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name.c_str()));
  };
  find(mm_out, prefix + "mm_out");
  find(bmm_out, prefix + "bmm_out");
  find(addmm_out, prefix + "addmm_out");
  find(baddbmm_out, prefix + "baddbmm_out");
  if (kIsCuda) find(current_stream, "aoti_torch_get_current_cuda_stream");
}

cudaStream_t current_stream(const Tensor& tensor) {
  void* stream = nullptr;
  auto* const function = TorchKernels::get().current_stream;
  if (function != nullptr && tensor.is_cuda())
    TORCH_ERROR_CODE_CHECK(function(tensor.get_device_index(), &stream));
  return static_cast<cudaStream_t>(stream);
}

Guard::Guard(const Tensor& tensor) {
  if (!tensor.is_cuda()) return;
  const std::int32_t device = tensor.get_device_index();
  std::int32_t current = -1;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_device_index(&current));
  if (device != current) guard_.emplace(device);
}

bool is_tunable_op_enabled() {
  // torch's C interface does not say, so these are C++ functions by their symbols: a torch that has
  // them no more has no TunableOp that is known here.
  struct Switch {
    void* (*context)() = nullptr;
    bool (*is_enabled)(const void* context) = nullptr;
  };
  static const Switch found = [] {
    Switch result;
    void* const library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return result;
    const auto find = [&](auto& function, const char* name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    find(result.context, "_ZN2at4cuda7tunable16getTuningContextEv");
    find(result.is_enabled, "_ZNK2at4cuda7tunable13TuningContext18IsTunableOpEnabledEv");
    return result;
  }();
  return found.context != nullptr && found.is_enabled != nullptr &&
         found.is_enabled(found.context());
}

bool are_together(const Tensor& a, const Tensor& b) {
  return a.is_cuda() == b.is_cuda() && a.get_device_index() == b.get_device_index();
}

Tensor new_tensor(const Tensor& like, std::span<const std::int64_t> sizes,
                  std::optional<ScalarType> wanted) {
  std::array<std::int64_t, 3> strides = {};
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(1, sizes[i]);
  }
  std::int32_t type = 0;
  std::int32_t device_type = 0;
  if (wanted)
    // As the dispatcher hands it on: torch's numbers of types are its own.
    type = torch::stable::detail::to<std::int32_t>(torch::stable::detail::from(*wanted));
  else
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(like.get(), &type));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &device_type));
  AtenTensorHandle made = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<std::int64_t>(sizes.size()),
                                                  sizes.data(), strides.data(), type, device_type,
                                                  like.get_device_index(), &made));
  return Tensor(made);
}

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

}  // namespace gemmsmith::python
