// torch_side.h -- what the operators need of torch itself, by its stable ABI: its own kernels,
// which serve what no plan does, tensors to write into, and errors in its words.
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "blas/gemm_call.h"

// Tests compile these files for the CPU, where a fake driver's device memory is the host's.
#ifndef GEMMSMITH_TORCH_KEY
#define GEMMSMITH_TORCH_KEY CUDA
#define GEMMSMITH_TORCH_DEFINES_SCHEMAS
#endif

#define GEMMSMITH_TEXT_OF(x) #x
#define GEMMSMITH_TEXT(x) GEMMSMITH_TEXT_OF(x)

namespace gemmsmith::python {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

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
  AOTITorchError (*baddbmm_out)(Handle out, Handle input, Handle a, Handle b, double beta,
                                double alpha) = nullptr;
  AOTITorchError (*current_stream)(std::int32_t device, void** stream) = nullptr;

  static const TorchKernels& get();

 private:
  TorchKernels();
};

// Null for the CPU.
cudaStream_t current_stream(const Tensor& tensor);

// The tensor's device, current while it lives.
class Guard {
 public:
  explicit Guard(const Tensor& tensor);

 private:
  std::optional<torch::stable::accelerator::DeviceGuard> guard_;
};

// Whether torch.cuda.tunable chooses the kernels of torch's own products, so that they must reach
// torch. It is asked in each call, as torch itself does.
bool is_tunable_op_enabled();

bool are_together(const Tensor& a, const Tensor& b);

// Contiguous, of at most three dimensions, on the device of `like`; of its type, or of `type`.
Tensor new_tensor(const Tensor& like, std::span<const std::int64_t> sizes,
                  std::optional<ScalarType> type = std::nullopt);

// Throws what torch had to say, where this torch can tell it (2.12 and later).
void check_torch(AOTITorchError code, const char* name);

// Through the dispatcher; `stack` holds the arguments, and the first of it the result.
Tensor call_torch(const char* name, const char* overload, StableIValue* stack);

// torch's rules of a product, in its words and order: the ABI of 2.10 and 2.11 does not hand on
// what an operator that failed had to say.
void check_mm(const Tensor& a, const Tensor& b);
void check_bmm(const Tensor& a, const Tensor& b);

}  // namespace gemmsmith::python
