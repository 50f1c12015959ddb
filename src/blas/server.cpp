#include "blas/server.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/log.h"
#include "base/paths.h"
#include "runtime/choice.h"
#include "runtime/device_state.h"
#include "runtime/miss_list.h"
#include "runtime/watched_shape.h"

namespace gemmsmith::blas {
namespace {

runtime::MatmulArguments arguments_of(const GemmCall& call) {
  return {call.alpha,
          call.a,
          call.b,
          call.beta,
          call.c,
          call.d,
          call.workspace,
          call.workspace_bytes,
          reinterpret_cast<gemmsmithStream_t>(call.stream)};
}

}  // namespace

void tell(const std::string& text) {
  const char* level = std::getenv("GEMMSMITH_LOG_LEVEL");
  if (level != nullptr && (std::strcmp(level, "off") == 0 || std::strcmp(level, "error") == 0))
    return;
  talk("gemmsmith_blas: {}\n", text);
}

Server* Server::of_process(cudaStream_t stream) {
  enum State { kNone, kMaking, kReady };
  static std::atomic<int> state{kNone};
  static std::atomic<Server*> server{nullptr};
  if (state.load(std::memory_order_acquire) == kReady)
    return server.load(std::memory_order_relaxed);
  const auto driver = load_driver();
  // Without a driver there is no work either; with a capture the first call after it will do.
  if (!driver || runtime::is_capturing(**driver, reinterpret_cast<CUstream>(stream)))
    return nullptr;
  int none = kNone;
  if (!state.compare_exchange_strong(none, kMaking)) return nullptr;
  // Never destroyed: at the end of the process the driver may be gone before us.
  try {
    server.store(new Server);
  } catch (const std::exception& exception) {
    tell(exception.what());
  }
  state.store(kReady, std::memory_order_release);
  return server.load();
}

Server::Server() {
  const auto driver = load_driver();
  if (!driver) return;
  driver_ = *driver;
  handle_ = std::make_unique<runtime::Handle>();
  if (!runtime::why_not_watched().empty()) tell(runtime::why_not_watched());
  load_table();
}

// The first table that fits the device. One that is damaged or for another device is told of.
void Server::load_table() {
  const std::vector<std::string> files = plan_files();
  std::string refused;
  for (const std::string& file : files) {
    auto table = runtime::Table::open(file.c_str());
    std::string why;
    if (!table) {
      why = table.error().what;
    } else {
      const std::size_t plans = (*table)->plans().entries().size();
      const auto misfit = handle_->load_table(*std::move(table));
      if (misfit && misfit->empty()) {
        has_table_ = true;
        tell(fmt::format("{} plans of {} are in use", plans, file));
        set_policy();
        return;
      }
      why = misfit ? *misfit : misfit.error().what;
    }
    refused += fmt::format("\n  {}", why);
  }
  if (files.empty())
    tell(
        "no plan table: cuBLAS serves everything; name one in GEMMSMITH_PLANS, or put it into the "
        "folder gemmsmith/plans of XDG_DATA_HOME");
  else
    tell("no plan table fits this device: cuBLAS serves everything" + refused);
}

// One that cannot be used is told of; plans serve without it.
void Server::set_policy() {
  const char* const path = std::getenv("GEMMSMITH_POLICY");
  if (path == nullptr || *path == '\0') return;
  auto policy = runtime::LoadedPolicy::open(path);
  if (!policy) {
    tell(policy.error().what);
    return;
  }
  const auto misfit = handle_->set_policy(*std::move(policy));
  const std::string why = misfit ? *misfit : misfit.error().what;
  tell(why.empty() ? fmt::format("the policy {} chooses for problems without a plan", path) : why);
}

bool Server::serve(GemmCall& call) {
  call.reason = Reason::kNoPlan;
  if (handle_ == nullptr) return false;
  // Without a table there is nothing to find, but something to record where that is asked for.
  if (!has_table_ && !runtime::MissList::is_recorded_by_process()) return false;
  const auto allowed = call.allows_vendor_plans ? runtime::Handle::Allowed::kKernelsAndVendor
                                                : runtime::Handle::Allowed::kKernels;
  const auto served = handle_->run_if_planned(call.problem, arguments_of(call), allowed);
  // An error before anything was enqueued: the real library judges the same arguments.
  if (!served) {
    call.reason = Reason::kArguments;
    return false;
  }
  if (*served) call.reason = Reason::kNone;
  return *served;
}

Server::ServedBy Server::serve_or_library(const GemmCall& call,
                                          vendor::WorkspaceSource& workspaces) {
  if (handle_ == nullptr) return ServedBy::kNothing;
  const auto served =
      handle_->run_by_kernel_or_library(call.problem, arguments_of(call), workspaces);
  return served ? *served : ServedBy::kNothing;
}

Server::Forecast Server::forecast(const GemmCall& call, float beta) {
  Forecast forecast;
  if (handle_ == nullptr) return forecast;
  const auto plan = handle_->plan_of(&call.problem, beta);
  if (!plan) {
    forecast.reason = plan.error().what;
    return forecast;
  }
  forecast.reason = runtime::reason_text(plan->choice.rejection);
  if (plan->choice.source == runtime::Source::kCublasLt ||
      (plan->choice.source == runtime::Source::kVendor && !call.allows_vendor_plans))
    return forecast;
  forecast.config = plan->config;
  forecast.us = plan->expected_us;
  forecast.speedup = plan->expected_speedup;
  return forecast;
}

}  // namespace gemmsmith::blas
