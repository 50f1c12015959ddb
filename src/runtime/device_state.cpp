#include "runtime/device_state.h"

namespace gemmsmith::runtime {

bool is_capturing(const Driver& driver, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver.StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Result<std::unique_ptr<DeviceState>> DeviceState::create(const Driver& driver, CUcontext context) {
  const RelaxedCapture relaxed(driver);
  std::unique_ptr<DeviceState> state(new DeviceState(driver, context));
  CUdevice device = 0;
  GEMMSMITH_CHECK(check(driver, driver.CtxGetDevice(&device), "asking for the current device"));
  // A CUdevice is its ordinal: the one that cuDeviceGet maps onto itself.
  GEMMSMITH_TRY(state->info_, query_device(driver, device));
  state->open_lt();
  state->load_own_kernels();
  return state;
}

void DeviceState::open_lt() {
  auto library = vendor::BlasLibrary::open();
  if (!library) {
    lt_error_ = library.error();
    return;
  }
  auto handle = vendor::LtHandle::create(*library);
  if (!handle) {
    lt_error_ = handle.error();
    return;
  }
  info_.cublas_version = (*library)->version();
  lt_ = *std::move(handle);
  fallback_ = std::make_unique<vendor::LtFallback>(lt_);
}

void DeviceState::load_own_kernels() {
  auto scale = ScaleKernel::load(driver_);
  auto finish = FinishKernel::load(driver_);
  if (!scale || !finish) {
    own_error_ = scale ? finish.error() : scale.error();
    return;
  }
  scale_kernel_ = *std::move(scale);
  finish_kernel_ = *std::move(finish);
  has_own_kernels_ = true;
}

Result<void> DeviceState::check_own_kernels(const char* work, const Problem& problem) const {
  if (has_own_kernels_) return {};
  return fail(own_error_.code,
              "{} for {} needs a kernel that did not load: {}; is CUDA_DISABLE_PTX_JIT set?", work,
              describe(problem), own_error_.what);
}

Result<void> DeviceState::run_fallback(const Problem& problem, const vendor::Extras& extras,
                                       const vendor::Operands& operands,
                                       const vendor::Scalars& scalars,
                                       vendor::WorkspaceSource& workspaces, CUstream stream) {
  if (fallback_ == nullptr)
    return fail(lt_error_.code, "no plan fits {} and cuBLASLt cannot serve it: {}",
                describe(problem), lt_error_.what);
  if (vendor::lt_has(problem.activation))
    return fallback_->run(problem, extras, operands, scalars, workspaces, stream);
  GEMMSMITH_CHECK(check_own_kernels("the activation", problem));
  Problem unfinished = problem;  // the library adds the bias
  unfinished.activation = Activation::kNone;
  GEMMSMITH_CHECK(fallback_->run(unfinished, extras, operands, scalars, workspaces, stream));
  Problem rest = problem;
  rest.has_bias = false;
  return finish_kernel_.run(driver_, rest, extras, operands.d, stream);
}

Result<void> DeviceState::run_scaling(const Call& call) const {
  GEMMSMITH_CHECK(check_own_kernels("D = beta * C", call.problem));
  GEMMSMITH_CHECK(scale(call));
  if (!call.problem.has_epilogue()) return {};
  return finish_kernel_.run(driver_, call.problem, call.extras, call.operands.d, call.stream);
}

Result<void> DeviceState::scale(const Call& call) const {
  const Problem& problem = call.problem;
  if (!problem.is_batched())
    return scale_kernel_.run(driver_, problem, call.operands, call.scalars, call.stream);
  // Matrices that follow each other row by row are one tall matrix.
  if (problem.stride_c == problem.m * problem.ldc && problem.stride_d == problem.m * problem.ldd) {
    Problem tall = problem;
    tall.m *= problem.batch;
    return scale_kernel_.run(driver_, tall, call.operands, call.scalars, call.stream);
  }
  vendor::Operands operands = call.operands;
  const std::int64_t element_bytes = size_bytes(problem.output_type());
  for (std::int64_t i = 0; i < problem.batch; ++i) {
    GEMMSMITH_CHECK(scale_kernel_.run(driver_, problem, operands, call.scalars, call.stream));
    operands.c = static_cast<const char*>(operands.c) + problem.stride_c * element_bytes;
    operands.d = static_cast<char*>(operands.d) + problem.stride_d * element_bytes;
  }
  return {};
}

}  // namespace gemmsmith::runtime
