#include "serving.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "base/hash.h"
#include "base/paths.h"
#include "blas/server.h"
#include "plan/plan_table.h"

namespace gemmsmith::python {

bool serve(blas::GemmCall& call) {
  blas::Server* const server = blas::Server::of_process(call.stream);
  return server != nullptr && server->serve(call);
}

namespace {

class MadeWorkspace : public vendor::WorkspaceSource {
 public:
  explicit MadeWorkspace(const Workspaces& workspaces) : workspaces_(workspaces) {}
  std::int64_t limit() const override { return workspaces_.limit; }
  vendor::Workspace get(std::int64_t bytes) override {
    void* const memory = workspaces_.make(workspaces_.maker, bytes);
    return memory != nullptr ? vendor::Workspace{memory, bytes} : vendor::Workspace{};
  }

 private:
  const Workspaces& workspaces_;
};

}  // namespace

ServedBy serve_or_library(const blas::GemmCall& call, const Workspaces& workspaces) {
  blas::Server* const server = blas::Server::of_process(call.stream);
  if (server == nullptr) return ServedBy::kNothing;
  MadeWorkspace made(workspaces);
  switch (server->serve_or_library(call, made)) {
    case blas::Server::ServedBy::kKernel:
      return ServedBy::kPlan;
    case blas::Server::ServedBy::kLibrary:
      return ServedBy::kLibrary;
    case blas::Server::ServedBy::kNothing:
      break;
  }
  return ServedBy::kNothing;
}

int forecast(const blas::GemmCall& call, float beta, double* us_and_speedup) {
  blas::Server* const server = blas::Server::of_process(call.stream);
  if (server == nullptr) return -1;
  const blas::Server::Forecast forecast = server->forecast(call, beta);
  us_and_speedup[0] = forecast.us;
  us_and_speedup[1] = forecast.speedup;
  return forecast.config.empty() ? 0 : 1;
}

std::uint64_t plans_identity() {
  std::string text;
  for (const std::string& file : plan_files()) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(file, missing);
    const auto time = std::filesystem::last_write_time(file, missing);
    text += file + "\n";
    if (!missing)
      text += std::to_string(size) + " " + std::to_string(time.time_since_epoch().count()) + "\n";
  }
  return hash64(text);
}

PlannedSums planned_sums() {
  PlannedSums planned;
  for (const std::string& file : plan_files()) {
    const auto table = plan::PlanTable::open(file);
    if (!table) continue;
    for (const plan::PlanEntry& entry : table->entries()) {
      if (entry.source != plan::PlanSource::kKernel || entry.key.grouped == 1 ||
          entry.key.f32_output == 1)
        continue;
      const auto epilogue = static_cast<plan::Epilogue>(entry.key.epilogue);
      if (entry.key.batch > 1)
        planned.baddbmm |= epilogue != plan::Epilogue::kPlain;
      else
        planned.addmm |= epilogue == plan::Epilogue::kGeneral || entry.fused_kernel_number != 0;
    }
  }
  return planned;
}

}  // namespace gemmsmith::python
