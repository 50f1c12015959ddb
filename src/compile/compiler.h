// compiler.h -- kernel text to cubin with NVRTC (found at run time; needs no GPU), and what the
// compiler said about it. Thread-safe: several threads may compile at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "compile/kernel_source.h"

namespace gemmsmith::compile {

class CubinCache;

enum class KernelStatus { kOk, kCompileError, kSpill, kSerialised };
const char* name(KernelStatus status);  // "ok", "compile", "spill", "serialised"

struct CompiledKernel {
  std::string hash;   // identity: XXH3-128 of source, headers, options, architecture, compiler
  std::string cubin;  // empty unless status is kOk, kSpill or kSerialised
  KernelStatus status = KernelStatus::kCompileError;
  int registers = 0;
  int static_shared_bytes = 0;
  int spill_bytes = 0;  // stores plus loads
  int stack_bytes = 0;
  std::string log;  // the compiler's words, warnings included
  double compile_s = 0;
  bool from_cache = false;
};

class Compiler {
 public:
  // Loads NVRTC: GEMMSMITH_NVRTC if set, else the usual sonames and folders. kEnvironment where
  // there is none, or one older than 12.3.
  static Result<Compiler> open(std::shared_ptr<CubinCache> cache);

  // "nvrtc 13.0": part of every kernel's identity.
  const std::string& version() const;

  // The identity that compile() gives the source's kernel; costs no compiling.
  std::string hash_of(const KernelSource& source) const;

  // Never fails for bad source: the status tells. A Result error means the compiler itself is
  // unusable. Looks into the cache first and stores what it compiled.
  Result<CompiledKernel> compile(const KernelSource& source) const;

  // Compiles on `threads` threads; results in the order of `sources`. `done` (may be empty) is
  // called, one call at a time, after each. Stops early when interrupted() and then returns
  // kInterrupted; finished ones are in the cache.
  Result<std::vector<CompiledKernel>> compile_all(
      const std::vector<KernelSource>& sources, int threads,
      const std::function<void(std::size_t index, const CompiledKernel&)>& done) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gemmsmith::compile
