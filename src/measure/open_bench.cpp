#include <algorithm>

#include "base/numbers.h"
#include "measure/model_bench.h"
#include "measure/recorded_bench.h"
#include "measure/worker_bench.h"

namespace gemmsmith {
namespace {

constexpr std::string_view kCuda = "cuda:";
constexpr std::string_view kRecorded = "recorded:";
constexpr std::string_view kModel = "model:";
constexpr const char* kForms = "cuda:N, recorded:FILE or model:a100|h100|h200";

}  // namespace

Result<int> cuda_ordinal(std::string_view device) {
  if (!device.starts_with(kCuda))
    return fail(ErrorCode::kBadInput, "unknown device '{}': expected {}", device, kForms);
  const auto ordinal = parse_int64(device.substr(kCuda.size()));
  constexpr std::int64_t kMostDevices = 1024;
  if (!ordinal || *ordinal < 0 || *ordinal >= kMostDevices)
    return fail(ErrorCode::kBadInput, "device '{}': expected cuda:N, N a GPU's number", device);
  return static_cast<int>(*ordinal);
}

bool is_gpu(std::string_view device) {
  return !device.starts_with(kRecorded) && !device.starts_with(kModel);
}

Result<Target> modelled_target(std::string_view device) {
  const auto target = known_target(device.substr(std::min(kModel.size(), device.size())));
  if (!device.starts_with(kModel) || !target)
    return fail(ErrorCode::kBadInput, "unknown device '{}': expected {}", device, kForms);
  return *target;
}

Result<std::unique_ptr<Bench>> open_bench(const std::string& device,
                                          const BenchSettings& settings) {
  if (device.starts_with(kRecorded)) {
    GEMMSMITH_TRY(RecordedDevice recorded, RecordedDevice::open(device.substr(kRecorded.size())));
    return std::unique_ptr<Bench>(std::make_unique<RecordedBench>(std::move(recorded), settings));
  }
  if (device.starts_with(kModel)) {
    GEMMSMITH_TRY(const Target target, modelled_target(device));
    return std::unique_ptr<Bench>(std::make_unique<ModelBench>(target));
  }
  GEMMSMITH_TRY(const int ordinal, cuda_ordinal(device));
  GEMMSMITH_TRY(std::unique_ptr<NvrtcKernels> kernels, NvrtcKernels::open());
  GEMMSMITH_TRY(std::unique_ptr<WorkerBench> bench,
                WorkerBench::open(ordinal, settings, std::move(kernels)));
  return std::unique_ptr<Bench>(std::move(bench));
}

}  // namespace gemmsmith
