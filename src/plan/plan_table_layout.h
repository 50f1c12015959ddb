// plan_table_layout.h -- the parts of a plan table's file as they lie in it; see
// docs/format_plan_table.md. Reader and writer share nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "plan/plan_table.h"

namespace gemmsmith::plan {

constexpr std::array<char, 8> kPlanMagic = {'g', 'e', 'm', 'm', 'p', 'l', 'a', 'n'};
constexpr std::uint32_t kPlanByteOrder = 0x01020304;  // reads as 0x04030201 in the other order
constexpr std::uint32_t kPlanVersion = 8;  // no bit away from an older one
// A table of version 6 is one of version 8 without transposed kernels, of version 5 also without
// followers and f32 results.
constexpr std::uint32_t kOldestPlanVersion = 5;
constexpr std::size_t kPlanAlignment = 16;  // of the strings' end and of each cubin

struct PlanFileHeader {
  std::array<char, 8> magic;
  std::uint32_t byte_order;
  std::uint32_t version;
  std::uint64_t file_bytes;
  std::uint64_t checksum;  // of everything behind this field
  std::uint32_t entry_count;
  std::uint32_t kernel_count;
  std::uint64_t string_bytes;  // a multiple of kPlanAlignment
  std::uint64_t cubin_bytes;
  std::int32_t compute_capability;
  std::int32_t sm_count;
  std::uint32_t device_name;  // offsets into the strings
  std::uint32_t cublas_version;
  std::uint32_t compiler_version;
  std::uint32_t reserved;
};

// The checksum starts behind itself.
constexpr std::size_t kPlanChecksumEnd = offsetof(PlanFileHeader, entry_count);

struct PlanFileKernel {
  std::uint64_t cubin;  // offset into the cubins
  std::uint64_t cubin_bytes;
  std::uint64_t checksum;  // of the cubin
  std::uint32_t function;  // offset into the strings
  std::int32_t registers;
  std::int32_t static_shared_bytes;
  std::uint32_t reserved;
};

// No padding: every byte of the file is written on purpose.
static_assert(sizeof(PlanFileHeader) == 80 && std::is_trivially_copyable_v<PlanFileHeader>);
static_assert(sizeof(PlanFileKernel) == 40 && std::is_trivially_copyable_v<PlanFileKernel>);
static_assert(sizeof(PlanKey) == 24 && std::has_unique_object_representations_v<PlanKey>);
static_assert(sizeof(LaunchRecipe) == 80 && std::has_unique_object_representations_v<LaunchRecipe>);
static_assert(sizeof(PlanEntry) == 144 && std::is_trivially_copyable_v<PlanEntry>);
static_assert(sizeof(PlanFileHeader) % alignof(PlanEntry) == 0 &&
              sizeof(PlanEntry) % alignof(PlanFileKernel) == 0);

}  // namespace gemmsmith::plan
