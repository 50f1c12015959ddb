// kernel_provider.h -- where a worker's kernels come from: compiled here, in the tuner's process,
// before the worker measures, so that no compiler runs beside a measurement.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/measurement.h"
#include "space/config.h"

namespace gemmsmith {

// What is known of a kernel without its bytes.
struct KernelInfo {
  std::string hash;
  Status status = Status::kOk;  // kOk, kCompile, kSpill or kSerialised
  std::string detail;
  double compile_s = 0;
};

class KernelProvider {
 public:
  virtual ~KernelProvider() = default;
  // The compiler's, for DeviceInfo.
  virtual std::string version() const = 0;
  // One for each config, in order; compiles what is missing.
  virtual Result<std::vector<KernelInfo>> prepare(std::span<const Config> configs,
                                                  const Problem& problem,
                                                  const std::string& architecture) = 0;
  virtual Result<std::string> cubin(const Config& config, const Problem& problem,
                                    const std::string& architecture) = 0;
  // "harness.cu", "reference.cu", "pack.cu".
  virtual Result<std::string> utility_cubin(const std::string& file,
                                            const std::string& architecture) = 0;
};

// NVRTC behind the cubin cache, on as many threads as the machine has.
class NvrtcKernels : public KernelProvider {
 public:
  static Result<std::unique_ptr<NvrtcKernels>> open();

  std::string version() const override { return compiler_.version(); }
  Result<std::vector<KernelInfo>> prepare(std::span<const Config> configs, const Problem& problem,
                                          const std::string& architecture) override;
  Result<std::string> cubin(const Config& config, const Problem& problem,
                            const std::string& architecture) override;
  Result<std::string> utility_cubin(const std::string& file,
                                    const std::string& architecture) override;

 private:
  explicit NvrtcKernels(compile::Compiler compiler) : compiler_(std::move(compiler)) {}

  compile::Compiler compiler_;
  // By kernel text, types and architecture: rendering and hashing a source costs more than the
  // lookup, and a run asks for the same few hundred kernels for every shape.
  std::map<std::string, KernelInfo> known_;
};

}  // namespace gemmsmith
