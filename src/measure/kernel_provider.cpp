#include "measure/kernel_provider.h"

#include <algorithm>
#include <thread>

#include "compile/cubin_cache.h"
#include "compile/kernel_source.h"

namespace gemmsmith {
namespace {

std::string identity(const Config& config, const Problem& problem,
                     const std::string& architecture) {
  return kernel_name(config, signature_of(problem)) + " " + architecture;
}

Status to_status(compile::KernelStatus status) {
  switch (status) {
    case compile::KernelStatus::kOk:
      return Status::kOk;
    case compile::KernelStatus::kCompileError:
      return Status::kCompile;
    case compile::KernelStatus::kSpill:
      return Status::kSpill;
    case compile::KernelStatus::kSerialised:
      return Status::kSerialised;
  }
  return Status::kCompile;
}

KernelInfo info_of(const compile::CompiledKernel& kernel) {
  KernelInfo info = {kernel.hash, to_status(kernel.status), "", kernel.compile_s};
  if (info.status != Status::kOk) info.detail = kernel.log;
  return info;
}

}  // namespace

Result<std::unique_ptr<NvrtcKernels>> NvrtcKernels::open() {
  GEMMSMITH_TRY(compile::Compiler compiler,
                compile::Compiler::open(compile::CubinCache::open_default()));
  return std::unique_ptr<NvrtcKernels>(new NvrtcKernels(std::move(compiler)));
}

Result<std::vector<KernelInfo>> NvrtcKernels::prepare(std::span<const Config> configs,
                                                      const Problem& problem,
                                                      const std::string& architecture) {
  std::vector<std::string> missing;
  std::vector<compile::KernelSource> sources;
  std::vector<std::string> identities;
  for (const Config& config : configs) {
    const std::string id = identity(config, problem, architecture);
    identities.push_back(id);
    if (known_.contains(id) || std::find(missing.begin(), missing.end(), id) != missing.end())
      continue;
    GEMMSMITH_TRY(compile::KernelSource source,
                  compile::kernel_source(config, signature_of(problem), architecture));
    missing.push_back(id);
    sources.push_back(std::move(source));
  }
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  GEMMSMITH_TRY(const std::vector<compile::CompiledKernel> compiled,
                compiler_.compile_all(sources, threads, {}));
  for (std::size_t i = 0; i < missing.size(); ++i) known_[missing[i]] = info_of(compiled[i]);
  std::vector<KernelInfo> infos;
  for (const std::string& id : identities) infos.push_back(known_[id]);
  return infos;
}

Result<std::string> NvrtcKernels::cubin(const Config& config, const Problem& problem,
                                        const std::string& architecture) {
  GEMMSMITH_TRY(const compile::KernelSource source,
                compile::kernel_source(config, signature_of(problem), architecture));
  GEMMSMITH_TRY(compile::CompiledKernel kernel, compiler_.compile(source));
  if (kernel.status == compile::KernelStatus::kCompileError)
    return fail(ErrorCode::kCompile, "{} does not compile: {}", source.name, kernel.log);
  return std::move(kernel.cubin);
}

Result<std::string> NvrtcKernels::utility_cubin(const std::string& file,
                                                const std::string& architecture) {
  GEMMSMITH_TRY(const compile::KernelSource source, compile::utility_source(file, architecture));
  GEMMSMITH_TRY(compile::CompiledKernel kernel, compiler_.compile(source));
  if (kernel.status == compile::KernelStatus::kCompileError)
    return fail(ErrorCode::kCompile, "{} does not compile: {}", file, kernel.log);
  return std::move(kernel.cubin);
}

}  // namespace gemmsmith
