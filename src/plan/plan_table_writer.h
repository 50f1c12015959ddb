// plan_table_writer.h -- makes a plan table. The same contents give the same bytes, in whatever
// order they were added.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "plan/plan_table.h"

namespace gemmsmith::plan {

// What the table's plans were validated on and made with.
struct PlanTableOrigin {
  std::string device_name;
  int compute_capability = 0;
  int sm_count = 0;
  std::string cublas_version;
  std::string compiler_version;
};

class PlanTableWriter {
 public:
  explicit PlanTableWriter(PlanTableOrigin origin) : origin_(std::move(origin)) {}

  struct Kernel {
    std::string cubin;
    std::string function = "gemm";
    int registers = 0;
    int static_shared_bytes = 0;
    std::string pack_cubin = {};   // of kernels/pack.cu; needed where the config packs operands
    std::string fused_cubin = {};  // the same kernel compiled for epilogues; may be left out
  };
  struct Validation {
    double expected_us = 0;
    double ratio_chained = 0;
    double ratio_foreign = 0;
  };

  // What a plan serves: its problem, or that problem right behind a kernel of ours.
  enum class Role { kPlan, kFollower };

  // Kernels are kept once however often they are added. Errors (kBadInput): a second plan for the
  // same key and role, a size that does not fit the format. The problem has no epilogue;
  // `fused_cubin` is what serves those, and is refused where a constraint forbids the config with
  // one.
  Result<void> add_kernel_plan(const Problem& problem, const Config& config, const Target& target,
                               const Kernel& kernel, const Validation& validation,
                               Role role = Role::kPlan);
  Result<void> add_vendor_plan(const Problem& problem, const std::string& config,
                               std::int64_t workspace_bytes, const Validation& validation);
  // A plan of another table, as it is there, and its follower. The tables should have one origin.
  Result<void> add_copy(const PlanTable& table, const PlanEntry& entry);

  // Errors (kBadInput): a follower whose plan is missing or the library's; more than fits.
  Result<std::string> bytes() const;
  Result<void> write(const std::filesystem::path& path) const;

 private:
  struct Plan {
    PlanEntry entry;
    std::string config;
    std::string kernel;        // key into kernels_
    std::string pack_kernel;   // the same; empty where nothing is packed
    std::string fused_kernel;  // the same; empty where epilogues are not served
  };
  Result<void> add(const Problem& problem, Plan plan, const Validation& validation,
                   Role role = Role::kPlan);
  Result<void> add_entry(const PlanTable& table, const PlanEntry& entry);
  std::string keep(Kernel kernel);  // its key

  PlanTableOrigin origin_;
  std::map<PlanKey, Plan> plans_;
  std::map<std::string, Kernel> kernels_;  // by the hash of cubin and function name
};

}  // namespace gemmsmith::plan
