// compiler.cpp -- identity, cache and verdict around one NVRTC call, and the pool of threads that
// makes many.
#include "compile/compiler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/interrupt.h"
#include "compile/compiler_log.h"
#include "compile/cubin_cache.h"
#include "compile/nvrtc.h"

namespace gemmsmith::compile {

const char* name(KernelStatus status) {
  switch (status) {
    case KernelStatus::kOk:
      return "ok";
    case KernelStatus::kCompileError:
      return "compile";
    case KernelStatus::kSpill:
      return "spill";
    case KernelStatus::kSerialised:
      return "serialised";
  }
  return "compile";
}

struct Compiler::State {
  Nvrtc nvrtc;
  std::shared_ptr<CubinCache> cache;
};

namespace {

// Each piece is preceded by its length, so that no two different sources give the same bytes.
void append(std::string& bytes, std::string_view piece) {
  bytes += fmt::format("{}:", piece.size());
  bytes += piece;
}

std::string identity(const KernelSource& source, const std::string& version) {
  std::string bytes;
  append(bytes, version);
  append(bytes, source.architecture);
  for (const std::string& option : source.options) append(bytes, option);
  append(bytes, source.file);
  append(bytes, source.text);
  for (const auto& [header_name, text] : source.headers) {
    append(bytes, header_name);
    append(bytes, text);
  }
  return hash128_hex(bytes);
}

KernelStatus verdict(nvrtcResult result, const LogFigures& figures) {
  if (result != NVRTC_SUCCESS) return KernelStatus::kCompileError;
  if (figures.serialised) return KernelStatus::kSerialised;
  if (figures.spill_bytes > 0) return KernelStatus::kSpill;
  return KernelStatus::kOk;
}

}  // namespace

Result<Compiler> Compiler::open(std::shared_ptr<CubinCache> cache) {
  GEMMSMITH_TRY(Nvrtc nvrtc, Nvrtc::open());
  Compiler compiler;
  compiler.state_ = std::make_shared<State>(State{std::move(nvrtc), std::move(cache)});
  return compiler;
}

const std::string& Compiler::version() const { return state_->nvrtc.version(); }

std::string Compiler::hash_of(const KernelSource& source) const {
  return identity(source, version());
}

Result<CompiledKernel> Compiler::compile(const KernelSource& source) const {
  const std::string hash = hash_of(source);
  if (state_->cache != nullptr) {
    if (auto found = state_->cache->find(hash)) return std::move(*found);
  }
  const auto start = std::chrono::steady_clock::now();
  GEMMSMITH_TRY(Nvrtc::Output output, state_->nvrtc.compile(source));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;

  const LogFigures figures = read_log(output.log);
  CompiledKernel kernel;
  kernel.hash = hash;
  kernel.cubin = std::move(output.cubin);
  kernel.status = verdict(output.result, figures);
  kernel.registers = figures.registers;
  kernel.static_shared_bytes = figures.static_shared_bytes;
  kernel.spill_bytes = figures.spill_bytes;
  kernel.stack_bytes = figures.stack_bytes;
  kernel.log = std::move(output.log);
  kernel.compile_s = took.count();
  // An internal error of the compiler may not come again; only its verdicts on the text are kept.
  const bool lasting = output.result == NVRTC_SUCCESS || output.result == NVRTC_ERROR_COMPILATION;
  if (state_->cache != nullptr && lasting) state_->cache->put(kernel);
  return kernel;
}

Result<std::vector<CompiledKernel>> Compiler::compile_all(
    const std::vector<KernelSource>& sources, int threads,
    const std::function<void(std::size_t, const CompiledKernel&)>& done) const {
  // Configs that differ in launch-time parameters share a kernel: compile each kernel once.
  std::vector<std::vector<std::size_t>> groups;
  std::unordered_map<std::string, std::size_t> group_of;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto [place, is_new] = group_of.emplace(hash_of(sources[i]), groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(i);
  }

  std::vector<CompiledKernel> kernels(sources.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;  // guards kernels, error and the calls of done
  std::optional<Error> error;
  const auto work = [&] {
    while (!stop && !interrupted()) {
      const std::size_t group = next.fetch_add(1);
      if (group >= groups.size()) return;
      auto kernel = compile(sources[groups[group].front()]);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!kernel) {
        if (!error) error = kernel.error();
        stop = true;
        return;
      }
      for (const std::size_t index : groups[group]) {
        kernels[index] = *kernel;
        if (done) done(index, kernels[index]);
      }
    }
  };
  std::vector<std::thread> pool;
  const auto wanted = static_cast<std::size_t>(std::max(1, threads));
  for (std::size_t i = 1; i < std::min(wanted, groups.size()); ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();

  if (error) return tl::unexpected<Error>(std::move(*error));
  if (next < groups.size())
    return fail(ErrorCode::kInterrupted,
                "compiling stopped after {} of {} kernels; they are cached",
                std::min(next.load(), groups.size()), groups.size());
  return kernels;
}

}  // namespace gemmsmith::compile
