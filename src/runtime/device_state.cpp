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
  state->load_scale_kernel();
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

void DeviceState::load_scale_kernel() {
  auto kernel = ScaleKernel::load(driver_);
  if (!kernel) {
    scale_error_ = kernel.error();
    return;
  }
  scale_kernel_ = *std::move(kernel);
  has_scale_kernel_ = true;
}

Result<void> DeviceState::run_fallback(const Problem& problem, const vendor::Operands& operands,
                                       const vendor::Scalars& scalars,
                                       const vendor::Workspace& workspace, CUstream stream) {
  if (fallback_ == nullptr)
    return fail(lt_error_.code, "no plan fits {} and cuBLASLt cannot serve it: {}",
                describe(problem), lt_error_.what);
  return fallback_->run(problem, operands, scalars, workspace, stream);
}

Result<void> DeviceState::run_scaling(const Call& call) const {
  if (!has_scale_kernel_)
    return fail(scale_error_.code,
                "D = beta * C for {} needs a kernel that did not load: {}; is "
                "CUDA_DISABLE_PTX_JIT set?",
                describe(call.problem), scale_error_.what);
  return scale_kernel_.run(driver_, call.problem, call.operands, call.scalars, call.stream);
}

}  // namespace gemmsmith::runtime
