// server.h -- the preloaded library's one runtime handle, its plan table (plan_files() of
// base/paths.h) and its policy (GEMMSMITH_POLICY), made at the first call
// that plans could serve, never in a constructor and never inside a capture. Nobody waits for it:
// while one thread makes it, the others' calls go to cuBLAS.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "blas/gemm_call.h"
#include "runtime/handle.h"

namespace gemmsmith::blas {

// Talk on stderr: one line with the library's name, unless GEMMSMITH_LOG_LEVEL is off or error.
void tell(const std::string& text);

class Server {
 public:
  // Null while it cannot be had.
  static Server* of_process(cudaStream_t stream);

  // Enqueues the call where a plan serves it. False: nothing was done, and the reason is set.
  bool serve(GemmCall& call);

  // Enqueues the call by a plan's kernel or by cuBLASLt, epilogues included. kNothing: nothing was
  // done.
  using ServedBy = runtime::Handle::ServedBy;
  ServedBy serve_or_library(const GemmCall& call, vendor::WorkspaceSource& workspaces);

  struct Forecast {
    std::string config;  // "" where no plan serves it
    double us = 0;       // when it was measured; 0: not known
    double speedup = 0;  // over tuned cuBLASLt, likewise
    std::string reason;  // why no plan serves
  };
  // With alpha = 1 and this beta.
  Forecast forecast(const GemmCall& call, float beta = 0);

  const Driver* driver() const { return driver_; }

 private:
  Server();
  void load_table();
  void set_policy();
  const Driver* driver_ = nullptr;
  std::unique_ptr<runtime::Handle> handle_;  // null without a driver
  bool has_table_ = false;
};

}  // namespace gemmsmith::blas
