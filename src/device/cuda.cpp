#include "device/cuda.h"

#include "device/driver_version.h"

namespace gemmsmith {

CudaContext::CudaContext(const Driver& driver, int ordinal, CUdevice device, CUcontext context)
    : driver_(&driver), ordinal_(ordinal), device_(device), context_(context) {}

CudaContext::CudaContext(CudaContext&& other) noexcept
    : driver_(std::exchange(other.driver_, nullptr)),
      ordinal_(other.ordinal_),
      device_(other.device_),
      context_(std::exchange(other.context_, nullptr)) {}

CudaContext& CudaContext::operator=(CudaContext&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(ordinal_, other.ordinal_);
  std::swap(device_, other.device_);
  std::swap(context_, other.context_);
  return *this;
}

CudaContext::~CudaContext() {
  if (driver_ != nullptr) driver_->DevicePrimaryCtxRelease_v2(device_);
}

Result<CudaContext> CudaContext::open(int ordinal) {
  GEMMSMITH_TRY(const Driver* driver, load_driver());
  GEMMSMITH_TRY(const DeviceInfo info, query_device(*driver, ordinal));
  if (const auto architecture = compile_architecture(info.target.compute_capability); !architecture)
    return fail(ErrorCode::kEnvironment, "cannot use cuda:{} ({}): {}; choose another device",
                ordinal, info.target.name, architecture.error().what);
  CUdevice device = 0;
  GEMMSMITH_CHECK(check(*driver, driver->DeviceGet(&device, ordinal), "opening the device"));
  CUcontext context = nullptr;
  if (const CUresult result = driver->DevicePrimaryCtxRetain(&context, device);
      result != CUDA_SUCCESS)
    return fail(ErrorCode::kEnvironment,
                "cannot create a context on cuda:{} ({}): {}; is it out of memory or in exclusive "
                "mode?",
                ordinal, info.target.name, describe(*driver, result));
  CudaContext owner(*driver, ordinal, device, context);
  GEMMSMITH_CHECK(owner.make_current());
  return owner;
}

Result<void> CudaContext::make_current() const {
  return check(*driver_, driver_->CtxSetCurrent(context_), "making the context current");
}

Result<void> CudaContext::synchronize() const {
  return check(*driver_, driver_->CtxSynchronize(), "waiting for the device");
}

Result<std::size_t> CudaContext::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  GEMMSMITH_CHECK(
      check(*driver_, driver_->MemGetInfo_v2(&free, &total), "asking for free device memory"));
  return free;
}

Result<int> device_count(const Driver& driver) {
  int count = 0;
  GEMMSMITH_CHECK(check(driver, driver.DeviceGetCount(&count), "counting devices"));
  return count;
}

namespace {

std::string uuid_text(const CUuuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// Reads attributes of one device, keeping the first failure.
class Attributes {
 public:
  Attributes(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {}

  int operator()(CUdevice_attribute attribute) {
    int value = 0;
    const CUresult result = driver_.DeviceGetAttribute(&value, attribute, device_);
    if (status_ == CUDA_SUCCESS) status_ = result;
    return value;
  }
  CUresult status() const { return status_; }

 private:
  const Driver& driver_;
  CUdevice device_;
  CUresult status_ = CUDA_SUCCESS;
};

Result<Target> query_target(const Driver& driver, CUdevice device) {
  char name[256] = {};
  GEMMSMITH_CHECK(check(driver, driver.DeviceGetName(name, sizeof name - 1, device),
                        "asking for the device's name"));
  Attributes get(driver, device);
  Target target;
  target.name = name;
  target.compute_capability = 10 * get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                              get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  target.sm_count = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  target.l2_bytes = get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  target.shared_bytes_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  target.shared_bytes_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  target.registers_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  target.max_threads_per_sm = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  target.sm_clock_mhz = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1e3;  // reported in kHz
  // Double data rate: two transfers a clock on each of the bus's wires.
  target.memory_bytes_per_s = 2.0 * 1e3 * get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) *
                              get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
  GEMMSMITH_CHECK(check(driver, get.status(), "asking for the device's attributes"));
  return target;
}

}  // namespace

Result<DeviceInfo> query_device(const Driver& driver, int ordinal) {
  GEMMSMITH_TRY(const int count, device_count(driver));
  if (ordinal < 0 || ordinal >= count)
    return fail(ErrorCode::kEnvironment, "no device cuda:{}: this machine has {} GPU{}, cuda:0{}",
                ordinal, count, count == 1 ? "" : "s",
                count == 1 ? "" : fmt::format(" to cuda:{}", count - 1));
  CUdevice device = 0;
  GEMMSMITH_CHECK(check(driver, driver.DeviceGet(&device, ordinal), "opening the device"));
  DeviceInfo info;
  GEMMSMITH_TRY(info.target, query_target(driver, device));
  CUuuid uuid = {};
  GEMMSMITH_CHECK(
      check(driver, driver.DeviceGetUuid_v2(&uuid, device), "asking for the device's uuid"));
  info.uuid = uuid_text(uuid);
  GEMMSMITH_CHECK(
      check(driver, driver.DriverGetVersion(&info.cuda_version), "asking for the CUDA version"));
  info.driver_version = driver_version_text(info.cuda_version);
  return info;
}

Result<DeviceBuffer> DeviceBuffer::allocate(const Driver& driver, std::size_t bytes) {
  DeviceBuffer buffer;
  if (bytes == 0) return buffer;
  CUdeviceptr address = 0;
  if (const CUresult result = driver.MemAlloc_v2(&address, bytes); result != CUDA_SUCCESS) {
    std::size_t free = 0;
    std::size_t total = 0;
    driver.MemGetInfo_v2(&free, &total);
    return fail(ErrorCode::kDevice, "cannot allocate {} bytes of device memory ({} free): {}",
                bytes, free, describe(driver, result));
  }
  buffer.memory_ = {driver, address};
  buffer.size_ = bytes;
  return buffer;
}

Result<PinnedBuffer> PinnedBuffer::allocate(const Driver& driver, std::size_t bytes) {
  PinnedBuffer buffer;
  if (bytes == 0) return buffer;
  void* memory = nullptr;
  GEMMSMITH_CHECK(
      check(driver, driver.MemAllocHost_v2(&memory, bytes), "allocating page-locked memory"));
  buffer.memory_ = {driver, memory};
  buffer.size_ = bytes;
  return buffer;
}

Result<Stream> Stream::create(const Driver& driver) {
  CUstream raw = nullptr;
  GEMMSMITH_CHECK(
      check(driver, driver.StreamCreate(&raw, CU_STREAM_NON_BLOCKING), "creating a stream"));
  Stream stream;
  stream.stream_ = {driver, raw};
  return stream;
}

Result<void> Stream::synchronize() const {
  return check(stream_.driver(), stream_.driver().StreamSynchronize(stream_.get()),
               "waiting for a stream");
}

Result<Event> Event::create(const Driver& driver) {
  CUevent raw = nullptr;
  GEMMSMITH_CHECK(check(driver, driver.EventCreate(&raw, CU_EVENT_DEFAULT), "creating an event"));
  Event event;
  event.event_ = {driver, raw};
  return event;
}

Result<void> Event::record(CUstream stream) const {
  return check(event_.driver(), event_.driver().EventRecord(event_.get(), stream),
               "recording an event");
}

Result<void> Event::synchronize() const {
  return check(event_.driver(), event_.driver().EventSynchronize(event_.get()),
               "waiting for an event");
}

Result<double> elapsed_us(const Event& start, const Event& stop) {
  const Driver& driver = start.event_.driver();
  float milliseconds = 0;
  GEMMSMITH_CHECK(check(driver, driver.EventElapsedTime(&milliseconds, start.get(), stop.get()),
                        "reading the time between two events"));
  return 1e3 * static_cast<double>(milliseconds);
}

Result<Module> Module::load(const Driver& driver, std::string_view cubin, const std::string& what) {
  const RelaxedCapture relaxed(driver);
  CUmodule raw = nullptr;
  if (const CUresult result = driver.ModuleLoadData(&raw, cubin.data()); result != CUDA_SUCCESS)
    return fail(ErrorCode::kDevice, "cannot load the {}-byte cubin of {}: {}", cubin.size(), what,
                describe(driver, result));
  Module module;
  module.module_ = {driver, raw};
  module.what_ = what;
  return module;
}

Result<CUfunction> Module::function(const char* name) const {
  CUfunction function = nullptr;
  const Driver& driver = module_.driver();
  if (const CUresult result = driver.ModuleGetFunction(&function, module_.get(), name);
      result != CUDA_SUCCESS)
    return fail(ErrorCode::kDevice, "{} has no kernel '{}': {}", what_, name,
                describe(driver, result));
  return function;
}

Result<GraphExec> GraphExec::capture(const Driver& driver, CUstream stream,
                                     const std::function<Result<void>(CUstream)>& enqueue) {
  GEMMSMITH_CHECK(check(driver,
                        driver.StreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                        "beginning a capture"));
  const Result<void> enqueued = enqueue(stream);
  // The capture must end whatever happened in it, or the stream stays unusable.
  CUgraph raw_graph = nullptr;
  const CUresult ended = driver.StreamEndCapture(stream, &raw_graph);
  const OwnedHandle<CUgraph, &Driver::GraphDestroy> graph(driver, raw_graph);
  GEMMSMITH_CHECK(enqueued);
  GEMMSMITH_CHECK(check(driver, ended, "ending a capture"));
  CUgraphExec raw = nullptr;
  GEMMSMITH_CHECK(check(driver, driver.GraphInstantiateWithFlags(&raw, graph.get(), 0),
                        "instantiating a graph"));
  GraphExec exec;
  exec.exec_ = {driver, raw};
  return exec;
}

Result<void> GraphExec::upload(CUstream stream) const {
  return check(exec_.driver(), exec_.driver().GraphUpload(exec_.get(), stream),
               "uploading a graph");
}

Result<void> GraphExec::launch(CUstream stream) const {
  return check(exec_.driver(), exec_.driver().GraphLaunch(exec_.get(), stream),
               "launching a graph");
}

Result<void> copy_to_device(const Driver& driver, CUdeviceptr destination, const void* source,
                            std::size_t bytes, CUstream stream) {
  GEMMSMITH_CHECK(check(driver, driver.MemcpyHtoDAsync_v2(destination, source, bytes, stream),
                        "copying to the device"));
  return check(driver, driver.StreamSynchronize(stream), "copying to the device");
}

Result<void> copy_to_host(const Driver& driver, void* destination, CUdeviceptr source,
                          std::size_t bytes, CUstream stream) {
  GEMMSMITH_CHECK(check(driver, driver.MemcpyDtoHAsync_v2(destination, source, bytes, stream),
                        "copying to the host"));
  return check(driver, driver.StreamSynchronize(stream), "copying to the host");
}

}  // namespace gemmsmith
