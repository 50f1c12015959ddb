// table_kernels.h -- a plan table's own kernels for a bench, instead of compiled ones: what is
// verified and timed is what the table ships. Only the kernels that check results are compiled.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "measure/kernel_provider.h"
#include "plan/plan_table.h"

namespace gemmsmith::testing {

class TableKernels : public KernelProvider {
 public:
  // The table must outlive it.
  static Result<std::unique_ptr<TableKernels>> open(const plan::PlanTable& table) {
    GEMMSMITH_TRY(auto compiled, NvrtcKernels::open());
    return std::unique_ptr<TableKernels>(new TableKernels(table, std::move(compiled)));
  }

  std::string version() const override { return compiled_->version(); }

  Result<std::vector<KernelInfo>> prepare(std::span<const Config> configs, const Problem& problem,
                                          const std::string& architecture) override {
    std::vector<KernelInfo> infos;
    for (const Config& config : configs) {
      GEMMSMITH_TRY(const std::string bytes, cubin(config, problem, architecture));
      infos.push_back({hash128_hex(bytes), Status::kOk, "", 0});
    }
    return infos;
  }

  Result<std::string> cubin(const Config& config, const Problem& problem,
                            const std::string&) override {
    const auto found = kernels_.find(name_of(to_text(config), plan::key_of(problem)));
    if (found == kernels_.end())
      return fail(ErrorCode::kBadInput, "the table has no kernel {} for {}", to_text(config),
                  describe(problem));
    return std::string(table_.kernel(found->second).cubin);
  }

  Result<std::string> utility_cubin(const std::string& file,
                                    const std::string& architecture) override {
    return compiled_->utility_cubin(file, architecture);
  }

 private:
  TableKernels(const plan::PlanTable& table, std::unique_ptr<NvrtcKernels> compiled)
      : table_(table), compiled_(std::move(compiled)) {
    for (const plan::PlanEntry& entry : table.entries())
      if (entry.source == plan::PlanSource::kKernel)
        kernels_[name_of(table.text(entry), entry.key)] = entry.kernel;
  }

  // A config is another kernel for other types and layouts, and for batches and groups.
  static std::string name_of(std::string_view config, const plan::PlanKey& key) {
    return fmt::format("{} {} {} {} {} {} {}", config, key.type, key.accumulator, key.layout,
                       key.f32_output, key.batch > 1, key.grouped);
  }

  const plan::PlanTable& table_;
  std::unique_ptr<NvrtcKernels> compiled_;
  std::map<std::string, std::uint32_t> kernels_;  // by name_of()
};

}  // namespace gemmsmith::testing
