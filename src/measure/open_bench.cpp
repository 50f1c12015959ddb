#include "base/numbers.h"
#include "measure/recorded_bench.h"
#include "measure/worker_bench.h"

namespace gemmsmith {
namespace {

constexpr std::string_view kCuda = "cuda:";
constexpr std::string_view kRecorded = "recorded:";

}  // namespace

Result<int> cuda_ordinal(std::string_view device) {
  if (!device.starts_with(kCuda))
    return fail(ErrorCode::kBadInput, "unknown device '{}': expected cuda:N or recorded:FILE",
                device);
  const auto ordinal = parse_int64(device.substr(kCuda.size()));
  constexpr std::int64_t kMostDevices = 1024;
  if (!ordinal || *ordinal < 0 || *ordinal >= kMostDevices)
    return fail(ErrorCode::kBadInput, "device '{}': expected cuda:N, N a GPU's number", device);
  return static_cast<int>(*ordinal);
}

Result<std::unique_ptr<Bench>> open_bench(const std::string& device,
                                          const BenchSettings& settings) {
  if (device.starts_with(kRecorded)) {
    GEMMSMITH_TRY(RecordedDevice recorded, RecordedDevice::open(device.substr(kRecorded.size())));
    return std::unique_ptr<Bench>(std::make_unique<RecordedBench>(std::move(recorded), settings));
  }
  GEMMSMITH_TRY(const int ordinal, cuda_ordinal(device));
  GEMMSMITH_TRY(std::unique_ptr<NvrtcKernels> kernels, NvrtcKernels::open());
  GEMMSMITH_TRY(std::unique_ptr<WorkerBench> bench,
                WorkerBench::open(ordinal, settings, std::move(kernels)));
  return std::unique_ptr<Bench>(std::move(bench));
}

}  // namespace gemmsmith
