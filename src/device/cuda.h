// cuda.h -- owners of what the driver hands out: a device's primary context, memory, streams,
// events, loaded cubins and graphs. Each is move-only, frees in its destructor and reports failures
// of everything else as a Result. None outlives the context it was made in.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "device/device_info.h"
#include "device/driver.h"

namespace gemmsmith {

// While it lives, this thread may load modules and allocate although another thread captures in
// global mode, where the driver would otherwise refuse the call and spoil that capture. For work
// that belongs to no stream.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) : driver_(driver) {
    driver_.ThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCapture() { driver_.ThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;  // then the thread's own
};

// A driver handle and the driver's function that destroys it.
template <class Handle, auto kDestroy>
class OwnedHandle {
 public:
  OwnedHandle() = default;
  OwnedHandle(const Driver& driver, Handle handle) : driver_(&driver), handle_(handle) {}
  OwnedHandle(OwnedHandle&& other) noexcept
      : driver_(std::exchange(other.driver_, nullptr)), handle_(std::exchange(other.handle_, {})) {}
  OwnedHandle& operator=(OwnedHandle&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  OwnedHandle(const OwnedHandle&) = delete;
  OwnedHandle& operator=(const OwnedHandle&) = delete;
  // The result is not looked at: after a sticky error every call fails, and there is nobody to
  // tell.
  ~OwnedHandle() {
    if (driver_ != nullptr && handle_ != Handle{}) (driver_->*kDestroy)(handle_);
  }

  Handle get() const { return handle_; }
  const Driver& driver() const { return *driver_; }
  bool is_empty() const { return handle_ == Handle{}; }

 private:
  const Driver* driver_ = nullptr;
  Handle handle_ = {};
};

// The primary context of one device, retained: the one that the CUDA runtime and the libraries use.
class CudaContext {
 public:
  // Loads the driver, retains device `ordinal`'s primary context and makes it current on this
  // thread. Errors: load_driver()'s; kEnvironment where the machine has no such device or the
  // device's architecture is not supported.
  static Result<CudaContext> open(int ordinal);

  CudaContext(CudaContext&& other) noexcept;
  CudaContext& operator=(CudaContext&& other) noexcept;
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;
  ~CudaContext();

  const Driver& driver() const { return *driver_; }
  CUdevice device() const { return device_; }
  CUcontext get() const { return context_; }
  int ordinal() const { return ordinal_; }

  // Another thread that wants to use the context calls this first.
  Result<void> make_current() const;
  // Waits for all work of the context; where asynchronous faults show up.
  Result<void> synchronize() const;
  Result<std::size_t> free_bytes() const;

 private:
  CudaContext(const Driver& driver, int ordinal, CUdevice device, CUcontext context);
  const Driver* driver_ = nullptr;
  int ordinal_ = 0;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

// Reads a device's numbers, name, uuid and driver version; needs no context. cublas_version and
// compiler_version stay empty: only their owners know them.
Result<DeviceInfo> query_device(const Driver& driver, int ordinal);
Result<int> device_count(const Driver& driver);

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // 256-byte aligned; an empty buffer for 0 bytes. The error tells size asked for and size free.
  static Result<DeviceBuffer> allocate(const Driver& driver, std::size_t bytes);

  CUdeviceptr address() const { return memory_.get(); }
  void* pointer() const { return reinterpret_cast<void*>(memory_.get()); }
  std::size_t size() const { return size_; }

 private:
  OwnedHandle<CUdeviceptr, &Driver::MemFree_v2> memory_;
  std::size_t size_ = 0;
};

// Page-locked host memory, which copies reach without staging.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  static Result<PinnedBuffer> allocate(const Driver& driver, std::size_t bytes);

  void* pointer() const { return memory_.get(); }
  std::size_t size() const { return size_; }

 private:
  OwnedHandle<void*, &Driver::MemFreeHost> memory_;
  std::size_t size_ = 0;
};

class Stream {
 public:
  Stream() = default;
  // Non-blocking: does not wait for the legacy default stream.
  static Result<Stream> create(const Driver& driver);

  CUstream get() const { return stream_.get(); }
  Result<void> synchronize() const;

 private:
  OwnedHandle<CUstream, &Driver::StreamDestroy_v2> stream_;
};

class Event {
 public:
  Event() = default;
  static Result<Event> create(const Driver& driver);  // with timing

  CUevent get() const { return event_.get(); }
  Result<void> record(CUstream stream) const;
  Result<void> synchronize() const;
  friend Result<double> elapsed_us(const Event& start, const Event& stop);

 private:
  OwnedHandle<CUevent, &Driver::EventDestroy_v2> event_;
};

// GPU time between two recorded and finished events.
Result<double> elapsed_us(const Event& start, const Event& stop);

class Module {
 public:
  Module() = default;
  // `what` names the kernel in errors.
  static Result<Module> load(const Driver& driver, std::string_view cubin, const std::string& what);

  // Valid while the module lives.
  Result<CUfunction> function(const char* name) const;
  bool is_empty() const { return module_.is_empty(); }

 private:
  OwnedHandle<CUmodule, &Driver::ModuleUnload> module_;
  std::string what_;
};

class GraphExec {
 public:
  GraphExec() = default;
  // Captures what `enqueue` puts on the stream it is given (thread-local capture mode: other
  // threads go on unhindered) and instantiates it. `stream` must not be the default stream. An
  // error of `enqueue` ends the capture and is returned.
  static Result<GraphExec> capture(const Driver& driver, CUstream stream,
                                   const std::function<Result<void>(CUstream)>& enqueue);

  // Puts the graph's resources on the device, so that the first launch costs no more than others.
  Result<void> upload(CUstream stream) const;
  Result<void> launch(CUstream stream) const;
  bool is_empty() const { return exec_.is_empty(); }

 private:
  OwnedHandle<CUgraphExec, &Driver::GraphExecDestroy> exec_;
};

// Copies between host and device that have finished when the call returns.
Result<void> copy_to_device(const Driver& driver, CUdeviceptr destination, const void* source,
                            std::size_t bytes, CUstream stream);
Result<void> copy_to_host(const Driver& driver, void* destination, CUdeviceptr source,
                          std::size_t bytes, CUstream stream);

}  // namespace gemmsmith
