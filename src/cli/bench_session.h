// bench_session.h -- what tune, bench and verify need before they can measure: the store, the bench
// on the chosen device, and kernels compiled ahead.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "cli/verb.h"
#include "compile/compiler.h"
#include "measure/bench.h"
#include "search/tuner.h"
#include "store/store.h"

namespace gemmsmith::cli {

// "recorded:FILE": answered from a recording, without a GPU.
bool is_recorded(const std::string& device);

// The store named by the settings, else $XDG_DATA_HOME/gemmsmith/winners.db.
Result<std::filesystem::path> store_path(const Session& session);

Result<BenchSettings> bench_settings(const Session& session);

// Compiling threads: the setting, else one a core and at most 8.
Result<int> compile_threads(const Session& session);

// Compiles what tuning may ask for, with progress. Returns the identity of each kernel by
// kernel_name(). A kernel that does not compile is no error here: measuring it says so.
Result<std::map<std::string, std::string>> compile_ahead(const Session& session,
                                                         std::span<const KernelRequest> requests,
                                                         const std::string& architecture);

// A config that the user named, ours or cublaslt:...; kBadInput where it is not legal for the
// problem.
Result<Config> named_config(const std::string& text, const Problem& problem, const Target& target);

// TunerOptions::kernel_hash: from what was compiled ahead and, for other kernels (a winner of a
// larger budget), from the kernel's text as it is today.
std::function<std::string(const Config&, const Problem&)> kernel_identities(
    std::map<std::string, std::string> compiled, std::string architecture);

}  // namespace gemmsmith::cli
