// plan_table.h -- the one file that serving needs: what to launch for each tuned problem, with the
// compiled kernels. Made once for a device, then mapped into memory and only read. The layout is
// described in docs/format_plan_table.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/launch_recipe.h"
#include "problem/problem.h"

namespace gemmsmith::plan {

// What is done with A B, by which a plan's measured speed stands or falls. Values of alpha and beta
// beyond it change no kernel's time.
enum class Epilogue : std::uint32_t {
  kPlain = 0,    // D = A B
  kScaled = 1,   // D = alpha A B
  kGeneral = 2,  // D = alpha A B + beta C
};
Epilogue epilogue_of(float alpha, float beta);

// What a plan is found by. Leading dimensions and strides are not part of it: a plan for the packed
// problem serves padded ones, and shared operands, of the same alignment class as well. Nor are
// bias and activation, which cost little beside a product: PlanEntry::fused_kernel() serves them
// all.
struct PlanKey {
  std::int32_t m = 0;
  std::int32_t n = 0;
  std::int32_t k = 0;
  std::int32_t batch = 1;
  std::uint8_t type = 0;         // DataType
  std::uint8_t accumulator = 0;  // DataType
  std::uint8_t layout = 0;       // Layout
  // Two bits each for A, B, C, D from the lowest: base pointer, leading dimension and a batch's
  // stride are all multiples of 16 bytes (0), 8 (1), 4 (2), 2 (3). C's are 0 where beta is 0.
  std::uint8_t alignment = 0;
  std::uint8_t epilogue = 0;    // Epilogue
  std::uint8_t grouped = 0;     // 1: `batch` groups of at most m rows in all, m a power of two
  std::uint8_t f32_output = 0;  // 1: C and D are f32
  // 1: a follower, which serves what the same key with 0 serves, right behind a kernel of ours. The
  // last, so that it stands behind its plan.
  std::uint8_t follows = 0;

  auto operator<=>(const PlanKey&) const = default;
};

// Of PlanKey::alignment.
constexpr std::uint8_t kAlignmentOfC = 3U << 4;

// By the problem's scalars, its leading dimensions and the alignment it promises. A grouped
// problem's rows are rounded up to a power of two: one plan serves all numbers up to it.
PlanKey key_of(const Problem& problem);
// A problem of the key, with rows that are multiples of 16 bytes apart: grids and clusters do not
// depend on leading dimensions and strides.
Problem problem_of(const PlanKey& key);

enum class PlanSource : std::uint32_t { kKernel = 0, kVendor = 1 };

// As it lies in the file.
struct PlanEntry {
  PlanKey key;
  PlanSource source = PlanSource::kKernel;
  std::uint32_t config = 0;  // offset into the strings; PlanTable::text() reads it
  std::uint32_t kernel = 0;  // index, for kKernel; kNoKernel otherwise
  float expected_us = 0;
  float ratio_chained = 0;  // time of lt_tuned over this plan's, when it was validated
  float ratio_foreign = 0;
  std::int64_t workspace_bytes = 0;
  LaunchRecipe recipe;                    // for kKernel; as constructed otherwise
  std::uint32_t pack_kernel = kNoKernel;  // index, where the recipe packs operands
  // 1 + the index of the same kernel compiled for epilogues; 0 where the table has none, as in
  // tables that were written before there were any.
  std::uint32_t fused_kernel_number = 0;

  static constexpr std::uint32_t kNoKernel = 0xffffffffU;
  // Wraps around from 0 to none.
  std::uint32_t fused_kernel() const { return fused_kernel_number - 1; }
};

struct PlanKernel {
  std::string_view cubin;
  std::string_view function;  // zero-terminated
  int registers = 0;
  int static_shared_bytes = 0;
};

class PlanTable {
 public:
  // Maps the file. Errors: kBadInput for a missing or unreadable file; kStore for one that is not a
  // whole, sound plan table (damaged, truncated, of a newer version, of the other byte order).
  static Result<PlanTable> open(const std::filesystem::path& path);
  // Copies the bytes. `name` stands for the file in errors.
  static Result<PlanTable> from_bytes(std::string_view bytes, const std::string& name);

  PlanTable(PlanTable&&) noexcept;
  PlanTable& operator=(PlanTable&&) noexcept;
  ~PlanTable();

  // What the plans were validated on.
  std::string_view device_name() const;  // "NVIDIA H200"
  int compute_capability() const;
  int sm_count() const;
  // Of the library the vendor plans were configured in ("13.1.0"), and of the kernels' compiler.
  std::string_view cublas_version() const;
  std::string_view compiler_version() const;

  // Ascending by key.
  std::span<const PlanEntry> entries() const;
  // One or two probes of a hash table made while opening: no allocation, no lock. Null where there
  // is no plan.
  const PlanEntry* find(const PlanKey& key) const;
  // The follower of a plan of this table; null where it has none.
  const PlanEntry* follower_of(const PlanEntry& entry) const;
  bool has_followers() const;

  std::size_t kernel_count() const;
  PlanKernel kernel(std::size_t index) const;
  // The config's text, zero-terminated.
  std::string_view text(const PlanEntry& entry) const;

 private:
  struct Storage;
  explicit PlanTable(std::unique_ptr<Storage> storage);
  std::unique_ptr<Storage> storage_;
};

}  // namespace gemmsmith::plan
