#include "plan/plan_table_writer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/numbers.h"
#include "plan/launch_plan.h"
#include "plan/plan_table_layout.h"

namespace gemmsmith::plan {
namespace {

// Zero-terminated strings, each kept once; offsets in the order of the texts.
class StringTable {
 public:
  void add(const std::string& text) { offsets_[text] = 0; }
  std::string finish() {
    std::string bytes;
    for (auto& [text, offset] : offsets_) {
      offset = static_cast<std::uint32_t>(bytes.size());
      bytes.append(text.c_str(), text.size() + 1);
    }
    bytes.resize(static_cast<std::size_t>(
        round_up(static_cast<std::int64_t>(bytes.size()), kPlanAlignment)));
    return bytes;
  }
  std::uint32_t offset(const std::string& text) const { return offsets_.at(text); }

 private:
  std::map<std::string, std::uint32_t> offsets_;
};

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

bool fits(std::int64_t value) {
  return value > 0 && value <= std::numeric_limits<std::int32_t>::max();
}

std::string key_of(const PlanTableWriter::Kernel& kernel) {
  return hash128_hex(kernel.cubin) + kernel.function;
}

PlanTableWriter::Kernel packing_kernel(const std::string& cubin) { return {cubin, "pack"}; }

// How many registers it takes the driver knows.
PlanTableWriter::Kernel fused_kernel(const PlanTableWriter::Kernel& kernel) {
  return {kernel.fused_cubin, kernel.function, 0, kernel.static_shared_bytes};
}

Result<void> check_legal(const Problem& problem, const Config& config, const Target& target) {
  if (const Constraint* rule = broken_rule({problem, target}, config); rule != nullptr)
    return fail(ErrorCode::kBadInput, "{} is not legal for {}: {} ({})", to_text(config),
                describe(problem), rule->id, rule->reason);
  return {};
}

PlanTableWriter::Kernel copy_of(const PlanKernel& kernel) {
  return {std::string(kernel.cubin), std::string(kernel.function), kernel.registers,
          kernel.static_shared_bytes};
}

}  // namespace

Result<void> PlanTableWriter::add(const Problem& problem, Plan plan, const Validation& validation,
                                  Role role) {
  for (const std::int64_t size : {problem.m, problem.n, problem.k, problem.batch}) {
    if (!fits(size))
      return fail(ErrorCode::kBadInput, "a plan table cannot hold a plan for {}",
                  describe(problem));
  }
  for (const double figure :
       {validation.expected_us, validation.ratio_chained, validation.ratio_foreign}) {
    if (!std::isfinite(figure) || figure < 0)
      return fail(ErrorCode::kBadInput, "a plan table cannot hold the figure {} for {}", figure,
                  describe(problem));
  }
  plan.entry.key = key_of(problem);
  if (role == Role::kFollower) plan.entry.key.follows = 1;
  plan.entry.expected_us = static_cast<float>(validation.expected_us);
  plan.entry.ratio_chained = static_cast<float>(validation.ratio_chained);
  plan.entry.ratio_foreign = static_cast<float>(validation.ratio_foreign);
  const PlanKey key = plan.entry.key;
  if (!plans_.emplace(key, std::move(plan)).second)
    return fail(ErrorCode::kBadInput, "a plan table holds one plan a problem; {} has two",
                describe(problem));
  return {};
}

Result<void> PlanTableWriter::add_kernel_plan(const Problem& problem, const Config& config,
                                              const Target& target, const Kernel& kernel,
                                              const Validation& validation, Role role) {
  if (problem.has_epilogue())
    return fail(
        ErrorCode::kBadInput,
        "a plan table holds plans of plain products, whose fused kernels serve epilogues; {} "
        "has one",
        describe(problem));
  GEMMSMITH_CHECK(check_legal(problem, config, target));
  if (!kernel.fused_cubin.empty()) {
    Problem fused = problem;
    fused.has_bias = true;
    GEMMSMITH_CHECK(check_legal(fused, config, target));
  }
  if (kernel.cubin.empty())
    return fail(ErrorCode::kBadInput, "{} has an empty cubin", to_text(config));
  Plan plan;
  plan.entry.source = PlanSource::kKernel;
  plan.entry.recipe = make_recipe(config, signature_of(problem), target);
  GEMMSMITH_TRY(const LaunchPlan launch, make_launch_plan(plan.entry.recipe, problem));
  plan.entry.workspace_bytes = launch.workspace_bytes;
  plan.config = to_text(config);
  const bool packs = plan.entry.recipe.pack != 0;
  if (packs && kernel.pack_cubin.empty())
    return fail(ErrorCode::kBadInput, "{} packs operands and came without the kernel for that",
                to_text(config));
  plan.kernel = key_of(kernel);
  if (packs) plan.pack_kernel = key_of(packing_kernel(kernel.pack_cubin));
  const bool is_fused = !kernel.fused_cubin.empty();
  if (is_fused) plan.fused_kernel = key_of(fused_kernel(kernel));
  GEMMSMITH_CHECK(add(problem, std::move(plan), validation, role));
  keep(kernel);
  if (packs) keep(packing_kernel(kernel.pack_cubin));
  if (is_fused) keep(fused_kernel(kernel));
  return {};
}

std::string PlanTableWriter::keep(Kernel kernel) {
  std::string key = key_of(kernel);
  kernels_.emplace(key, std::move(kernel));
  return key;
}

Result<void> PlanTableWriter::add_vendor_plan(const Problem& problem, const std::string& config,
                                              std::int64_t workspace_bytes,
                                              const Validation& validation) {
  if (workspace_bytes < 0)
    return fail(ErrorCode::kBadInput, "{} needs {} bytes of workspace", config, workspace_bytes);
  if (problem.has_epilogue())
    return fail(ErrorCode::kBadInput, "a plan table holds plans of plain products; {} is none",
                describe(problem));
  Plan plan;
  plan.entry.source = PlanSource::kVendor;
  plan.entry.kernel = PlanEntry::kNoKernel;
  plan.entry.workspace_bytes = workspace_bytes;
  plan.config = config;
  return add(problem, std::move(plan), validation);
}

Result<void> PlanTableWriter::add_copy(const PlanTable& table, const PlanEntry& entry) {
  GEMMSMITH_CHECK(add_entry(table, entry));
  const PlanEntry* const follower = table.follower_of(entry);
  return follower != nullptr ? add_entry(table, *follower) : Result<void>();
}

Result<void> PlanTableWriter::add_entry(const PlanTable& table, const PlanEntry& entry) {
  Plan plan;
  plan.entry = entry;
  plan.config = table.text(entry);
  if (entry.source == PlanSource::kKernel) {
    plan.kernel = keep(copy_of(table.kernel(entry.kernel)));
    if (entry.recipe.pack != 0) plan.pack_kernel = keep(copy_of(table.kernel(entry.pack_kernel)));
    if (entry.fused_kernel() != PlanEntry::kNoKernel)
      plan.fused_kernel = keep(copy_of(table.kernel(entry.fused_kernel())));
  }
  if (!plans_.emplace(entry.key, std::move(plan)).second)
    return fail(ErrorCode::kBadInput, "a plan table holds one plan a problem; {} is one of two",
                table.text(entry));
  return {};
}

Result<std::string> PlanTableWriter::bytes() const {
  for (const auto& [key, plan] : plans_) {
    if (key.follows == 0) continue;
    PlanKey own = key;
    own.follows = 0;
    const auto found = plans_.find(own);
    if (found == plans_.end() || found->second.entry.source != PlanSource::kKernel)
      return fail(ErrorCode::kBadInput,
                  "{} follows, and the plan that it belongs to is no kernel's", plan.config);
  }
  StringTable strings;
  for (const std::string& text :
       {origin_.device_name, origin_.cublas_version, origin_.compiler_version})
    strings.add(text);
  for (const auto& [key, plan] : plans_) strings.add(plan.config);
  for (const auto& [hash, kernel] : kernels_) strings.add(kernel.function);
  const std::string string_bytes = strings.finish();
  if (string_bytes.size() > std::numeric_limits<std::uint32_t>::max())
    return fail(ErrorCode::kBadInput, "a plan table cannot hold {} bytes of text",
                string_bytes.size());

  std::string cubins;
  std::string kernels;
  std::map<std::string, std::uint32_t> kernel_index;
  for (const auto& [hash, kernel] : kernels_) {
    kernel_index.emplace(hash, static_cast<std::uint32_t>(kernel_index.size()));
    PlanFileKernel record = {};
    record.cubin = cubins.size();
    record.cubin_bytes = kernel.cubin.size();
    record.checksum = hash64(kernel.cubin);
    record.function = strings.offset(kernel.function);
    record.registers = kernel.registers;
    record.static_shared_bytes = kernel.static_shared_bytes;
    append(kernels, record);
    cubins += kernel.cubin;
    cubins.resize(static_cast<std::size_t>(
        round_up(static_cast<std::int64_t>(cubins.size()), kPlanAlignment)));
  }

  std::string entries;
  for (const auto& [key, plan] : plans_) {
    PlanEntry entry = plan.entry;
    entry.config = strings.offset(plan.config);
    if (entry.source == PlanSource::kKernel) entry.kernel = kernel_index.at(plan.kernel);
    if (!plan.pack_kernel.empty()) entry.pack_kernel = kernel_index.at(plan.pack_kernel);
    if (!plan.fused_kernel.empty())
      entry.fused_kernel_number = 1 + kernel_index.at(plan.fused_kernel);
    append(entries, entry);
  }

  PlanFileHeader header = {};
  header.magic = kPlanMagic;
  header.byte_order = kPlanByteOrder;
  header.version = kPlanVersion;
  header.file_bytes =
      sizeof header + entries.size() + kernels.size() + string_bytes.size() + cubins.size();
  header.entry_count = static_cast<std::uint32_t>(plans_.size());
  header.kernel_count = static_cast<std::uint32_t>(kernels_.size());
  header.string_bytes = string_bytes.size();
  header.cubin_bytes = cubins.size();
  header.compute_capability = origin_.compute_capability;
  header.sm_count = origin_.sm_count;
  header.device_name = strings.offset(origin_.device_name);
  header.cublas_version = strings.offset(origin_.cublas_version);
  header.compiler_version = strings.offset(origin_.compiler_version);
  std::string bytes;
  bytes.reserve(header.file_bytes);
  append(bytes, header);
  bytes += entries;
  bytes += kernels;
  bytes += string_bytes;
  bytes += cubins;
  header.checksum = hash64(std::string_view(bytes).substr(kPlanChecksumEnd));
  bytes.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
  return bytes;
}

Result<void> PlanTableWriter::write(const std::filesystem::path& path) const {
  GEMMSMITH_TRY(const std::string whole, bytes());
  return write_file_atomic(path, whole);
}

}  // namespace gemmsmith::plan
