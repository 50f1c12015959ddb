// c_api.cpp -- the edge: statuses for errors, and no exception beyond it.
#include <gemmsmith/gemmsmith.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string_view>

#include "plan/plan_table_layout.h"
#include "runtime/handle.h"
#include "runtime/last_error.h"
#include "runtime/log_sink.h"
#include "runtime/prepared_plan.h"

struct gemmsmithContext {
  gemmsmith::runtime::Handle handle;
};

struct gemmsmithPlan {
  std::unique_ptr<gemmsmith::runtime::PreparedPlan> plan;
};

namespace gemmsmith::runtime {
namespace {

Result<void> check_handle(gemmsmithHandle_t handle) {
  if (handle == nullptr)
    return fail(ErrorCode::kEnvironment, "handle is NULL: create one with gemmsmithCreate");
  return {};
}

// Runs `body`, a function that returns a status.
template <class Body>
gemmsmithStatus_t guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    set_last_error("out of host memory");
    return GEMMSMITH_STATUS_ALLOC_FAILED;
  } catch (const std::exception& exception) {
    set_last_error(exception.what());
  } catch (...) {
    set_last_error("an exception of unknown type");
  }
  return GEMMSMITH_STATUS_INTERNAL_ERROR;
}

gemmsmithStatus_t use_table(gemmsmithHandle_t handle, Result<std::unique_ptr<const Table>> table) {
  if (!table) return report(table.error());
  const auto misfit = handle->handle.load_table(*std::move(table));
  if (!misfit) return report(misfit.error());
  if (misfit->empty()) return GEMMSMITH_STATUS_SUCCESS;
  set_last_error(*misfit);
  return GEMMSMITH_STATUS_ARCH_MISMATCH;
}

template <std::size_t kSize>
void copy_text(char (&destination)[kSize], std::string_view text) {
  const std::size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(destination, text.data(), length);
  destination[length] = '\0';
}

gemmsmithPlanInfo_t info_of(const Handle::Plan& plan) {
  gemmsmithPlanInfo_t info = {};
  switch (plan.choice.source) {
    case Source::kCublasLt:
      info.source = GEMMSMITH_SOURCE_CUBLASLT;
      break;
    case Source::kKernel:
      info.source = GEMMSMITH_SOURCE_KERNEL;
      break;
    case Source::kVendor:
      info.source = GEMMSMITH_SOURCE_VENDOR;
      break;
  }
  info.match =
      plan.choice.is_of_policy                  ? GEMMSMITH_MATCH_CHOSEN
      : plan.choice.source != Source::kCublasLt ? GEMMSMITH_MATCH_EXACT
      : plan.choice.rejection == Rejection::kNoTable || plan.choice.rejection == Rejection::kNoPlan
          ? GEMMSMITH_MATCH_NONE
          : GEMMSMITH_MATCH_REJECTED;
  info.expected_speedup = plan.expected_speedup;
  info.workspace_bytes = static_cast<std::uint64_t>(plan.workspace_bytes);
  copy_text(info.config, plan.config);
  copy_text(info.reason,
            plan.choice.is_of_policy ? plan.why_chosen : reason_text(plan.choice.rejection));
  return info;
}

Result<void> check_info(const gemmsmithPlanInfo_t* info) {
  if (info == nullptr)
    return fail(ErrorCode::kBadInput, "info is NULL: pass a gemmsmithPlanInfo_t");
  if (info->size < sizeof *info)
    return fail(ErrorCode::kBadInput,
                "info->size = {}: must be sizeof(gemmsmithPlanInfo_t), which is {}", info->size,
                sizeof *info);
  return {};
}

Result<void> check_plan(gemmsmithPlan_t plan) {
  if (plan == nullptr)
    return fail(ErrorCode::kEnvironment, "plan is NULL: create one with gemmsmithPlanCreate");
  return {};
}

gemmsmithStatus_t fill_info(const Handle::Plan& plan, gemmsmithPlanInfo_t* info) {
  gemmsmithPlanInfo_t filled = info_of(plan);
  filled.size = info->size;
  std::memcpy(info, &filled, sizeof filled);
  return GEMMSMITH_STATUS_SUCCESS;
}

Result<std::int64_t> capability(gemmsmithCapability_t asked) {
  switch (asked) {
    case GEMMSMITH_CAPABILITY_MAX_BATCH:
      return std::numeric_limits<std::int32_t>::max();
    case GEMMSMITH_CAPABILITY_EPILOGUES:
      return kServedEpilogues;
    case GEMMSMITH_CAPABILITY_FUSED_EPILOGUES:
      return kFusedEpilogues;
    case GEMMSMITH_CAPABILITY_F32_OUTPUT:
      return 1;
    case GEMMSMITH_CAPABILITY_PLAN_VERSION:
      return plan::kPlanVersion;
    case GEMMSMITH_CAPABILITY_OLDEST_ARCH:
      return 80;
  }
  return fail(ErrorCode::kUnsupported,
              "capability = {}: this library (version {}) does not know it",
              static_cast<int>(asked), GEMMSMITH_VERSION);
}

}  // namespace
}  // namespace gemmsmith::runtime

using namespace gemmsmith;
using namespace gemmsmith::runtime;

int gemmsmithGetVersion(void) { return GEMMSMITH_VERSION; }

const char* gemmsmithGetStatusName(gemmsmithStatus_t status) {
  switch (status) {
    case GEMMSMITH_STATUS_SUCCESS:
      return "GEMMSMITH_STATUS_SUCCESS";
    case GEMMSMITH_STATUS_NOT_INITIALIZED:
      return "GEMMSMITH_STATUS_NOT_INITIALIZED";
    case GEMMSMITH_STATUS_ALLOC_FAILED:
      return "GEMMSMITH_STATUS_ALLOC_FAILED";
    case GEMMSMITH_STATUS_INVALID_VALUE:
      return "GEMMSMITH_STATUS_INVALID_VALUE";
    case GEMMSMITH_STATUS_ARCH_MISMATCH:
      return "GEMMSMITH_STATUS_ARCH_MISMATCH";
    case GEMMSMITH_STATUS_MAPPING_ERROR:
      return "GEMMSMITH_STATUS_MAPPING_ERROR";
    case GEMMSMITH_STATUS_EXECUTION_FAILED:
      return "GEMMSMITH_STATUS_EXECUTION_FAILED";
    case GEMMSMITH_STATUS_INTERNAL_ERROR:
      return "GEMMSMITH_STATUS_INTERNAL_ERROR";
    case GEMMSMITH_STATUS_NOT_SUPPORTED:
      return "GEMMSMITH_STATUS_NOT_SUPPORTED";
    case GEMMSMITH_STATUS_LICENSE_ERROR:
      return "GEMMSMITH_STATUS_LICENSE_ERROR";
  }
  return "unknown status";
}

const char* gemmsmithGetLastErrorString(void) { return last_error(); }

gemmsmithStatus_t gemmsmithCreate(gemmsmithHandle_t* handle) {
  return guarded([&] {
    if (handle == nullptr)
      return report({ErrorCode::kBadInput, "handle is NULL: pass the address of a handle"});
    *handle = nullptr;
    *handle = new gemmsmithContext;
    return GEMMSMITH_STATUS_SUCCESS;
  });
}

gemmsmithStatus_t gemmsmithDestroy(gemmsmithHandle_t handle) {
  return guarded([&] {
    delete handle;
    return GEMMSMITH_STATUS_SUCCESS;
  });
}

gemmsmithStatus_t gemmsmithLoadPlanTable(gemmsmithHandle_t handle, const char* path) {
  return guarded([&] {
    if (auto checked = check_handle(handle); !checked) return report(checked.error());
    if (path == nullptr)
      return report({ErrorCode::kBadInput, "path is NULL: pass a plan table's file name"});
    return use_table(handle, Table::open(path));
  });
}

gemmsmithStatus_t gemmsmithLoadPlanTableFromMemory(gemmsmithHandle_t handle, const void* data,
                                                   size_t bytes) {
  return guarded([&] {
    if (auto checked = check_handle(handle); !checked) return report(checked.error());
    if (data == nullptr)
      return report({ErrorCode::kBadInput, "data is NULL: pass a plan table's bytes"});
    return use_table(handle, Table::copy({static_cast<const std::byte*>(data), bytes}));
  });
}

gemmsmithStatus_t gemmsmithSetPolicy(gemmsmithHandle_t handle, const char* path) {
  return guarded([&] {
    if (auto checked = check_handle(handle); !checked) return report(checked.error());
    Result<std::unique_ptr<const LoadedPolicy>> policy = nullptr;
    if (path != nullptr) policy = LoadedPolicy::open(path);
    if (!policy) return report(policy.error());
    const auto misfit = handle->handle.set_policy(*std::move(policy));
    if (!misfit) return report(misfit.error());
    if (misfit->empty()) return GEMMSMITH_STATUS_SUCCESS;
    set_last_error(*misfit);
    return GEMMSMITH_STATUS_ARCH_MISMATCH;
  });
}

gemmsmithStatus_t gemmsmithMatmul(gemmsmithHandle_t handle, const gemmsmithProblem_t* problem,
                                  const void* alpha, const void* A, const void* B, const void* beta,
                                  const void* C, void* D, void* workspace, size_t workspace_bytes,
                                  gemmsmithStream_t stream) {
  return guarded([&] {
    if (auto checked = check_handle(handle); !checked) return report(checked.error());
    const MatmulArguments arguments = {alpha, A, B, beta, C, D, workspace, workspace_bytes, stream};
    const auto done = handle->handle.matmul(problem, arguments);
    return done ? GEMMSMITH_STATUS_SUCCESS : report(done.error());
  });
}

gemmsmithStatus_t gemmsmithGroupedMatmul(gemmsmithHandle_t handle,
                                         const gemmsmithProblem_t* problem, const void* alpha,
                                         const void* A, const void* B, const void* beta,
                                         const void* C, void* D, const int32_t* column_ends,
                                         gemmsmithStream_t stream) {
  return guarded([&] {
    if (auto checked = check_handle(handle); !checked) return report(checked.error());
    const MatmulArguments arguments = {alpha, A, B, beta, C, D, nullptr, 0, stream};
    const auto done = handle->handle.grouped_matmul(problem, arguments, column_ends);
    return done ? GEMMSMITH_STATUS_SUCCESS : report(done.error());
  });
}

gemmsmithStatus_t gemmsmithGetWorkspaceSize(gemmsmithHandle_t handle,
                                            const gemmsmithProblem_t* problem, size_t* bytes) {
  return guarded([&] {
    if (auto checked = check_handle(handle); !checked) return report(checked.error());
    if (bytes == nullptr)
      return report({ErrorCode::kBadInput, "bytes is NULL: pass the address of a size_t"});
    const auto plan = handle->handle.plan_of(problem);
    if (!plan) return report(plan.error());
    *bytes = static_cast<std::size_t>(plan->workspace_bytes);
    return GEMMSMITH_STATUS_SUCCESS;
  });
}

gemmsmithStatus_t gemmsmithGetPlanInfo(gemmsmithHandle_t handle, const gemmsmithProblem_t* problem,
                                       gemmsmithPlanInfo_t* info) {
  return guarded([&] {
    if (auto checked = check_handle(handle); !checked) return report(checked.error());
    // Before anything that may need a device.
    if (auto checked = check_problem(problem); !checked) return report(checked.error());
    if (auto checked = check_info(info); !checked) return report(checked.error());
    const auto plan = handle->handle.plan_of(problem);
    if (!plan) return report(plan.error());
    return fill_info(*plan, info);
  });
}

gemmsmithStatus_t gemmsmithGetCapability(gemmsmithCapability_t asked, int64_t* value) {
  return guarded([&] {
    if (value == nullptr)
      return report({ErrorCode::kBadInput, "value is NULL: pass the address of an int64_t"});
    const auto found = capability(asked);
    if (!found) return report(found.error());
    *value = *found;
    return GEMMSMITH_STATUS_SUCCESS;
  });
}

gemmsmithStatus_t gemmsmithSetLogCallback(gemmsmithLogCallback_t callback, void* user) {
  return guarded([&] {
    set_log_sink(callback, user);
    return GEMMSMITH_STATUS_SUCCESS;
  });
}

gemmsmithStatus_t gemmsmithPlanCreate(gemmsmithHandle_t handle, const gemmsmithProblem_t* problem,
                                      gemmsmithPlan_t* plan) {
  return guarded([&] {
    if (auto checked = check_handle(handle); !checked) return report(checked.error());
    if (plan == nullptr)
      return report({ErrorCode::kBadInput, "plan is NULL: pass the address of a plan"});
    *plan = nullptr;
    auto made = PreparedPlan::create(handle->handle, problem);
    if (!made) return report(made.error());
    *plan = new gemmsmithPlan{*std::move(made)};
    return GEMMSMITH_STATUS_SUCCESS;
  });
}

gemmsmithStatus_t gemmsmithPlanGetInfo(gemmsmithPlan_t plan, gemmsmithPlanInfo_t* info) {
  return guarded([&] {
    if (auto checked = check_plan(plan); !checked) return report(checked.error());
    if (auto checked = check_info(info); !checked) return report(checked.error());
    return fill_info(plan->plan->info(), info);
  });
}

gemmsmithStatus_t gemmsmithPlanRun(gemmsmithPlan_t plan, const void* alpha, const void* A,
                                   const void* B, const void* beta, const void* C, void* D,
                                   void* workspace, size_t workspace_bytes,
                                   gemmsmithStream_t stream) {
  return guarded([&] {
    if (auto checked = check_plan(plan); !checked) return report(checked.error());
    const MatmulArguments arguments = {alpha, A, B, beta, C, D, workspace, workspace_bytes, stream};
    const auto done = plan->plan->run(arguments);
    return done ? GEMMSMITH_STATUS_SUCCESS : report(done.error());
  });
}

gemmsmithStatus_t gemmsmithPlanDestroy(gemmsmithPlan_t plan) {
  return guarded([&] {
    delete plan;
    return GEMMSMITH_STATUS_SUCCESS;
  });
}
