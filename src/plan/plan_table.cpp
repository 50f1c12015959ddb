#include "plan/plan_table.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/numbers.h"
#include "plan/mapped_file.h"
#include "plan/plan_table_layout.h"
#include "problem/matrix_shape.h"
#include "space/packing.h"

namespace gemmsmith::plan {
namespace {

// The file's parts, in the file's own bytes.
struct View {
  PlanFileHeader header = {};
  std::span<const PlanEntry> entries;
  std::span<const PlanFileKernel> kernels;
  std::string_view strings;
  std::string_view cubins;

  bool holds_string(std::uint32_t offset) const { return offset < strings.size(); }
  std::string_view string(std::uint32_t offset) const { return strings.data() + offset; }
};

template <class... Args>
tl::unexpected<Error> unsound(fmt::format_string<Args...> reason, Args&&... args) {
  return fail(ErrorCode::kStore, reason, std::forward<Args>(args)...);
}

// What must hold before the checksum may be believed.
Result<PlanFileHeader> read_header(std::string_view bytes) {
  PlanFileHeader header = {};
  if (bytes.size() < sizeof header)
    return unsound("it has {} bytes, fewer than a header", bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kPlanMagic) return unsound("it is not a plan table");
  if (header.byte_order != kPlanByteOrder)
    return unsound("it was written on a machine of the other byte order");
  if (header.version < kOldestPlanVersion || header.version > kPlanVersion)
    return unsound("it has format version {}, this gemmsmith reads versions {} to {}",
                   header.version, kOldestPlanVersion, kPlanVersion);
  if (header.file_bytes != bytes.size())
    return unsound("it has {} bytes and should have {}: truncated or overwritten", bytes.size(),
                   header.file_bytes);
  if (header.checksum != hash64(bytes.substr(kPlanChecksumEnd)))
    return unsound("its checksum does not match: it is damaged");
  return header;
}

// Cuts the bytes into parts. Written for a header that may say anything.
Result<View> cut(std::string_view bytes, const PlanFileHeader& header) {
  const std::uint64_t size = bytes.size() - sizeof header;
  // Counts are below 2^32 and elements have at most 2^7 bytes: no overflow.
  const std::uint64_t entry_bytes = std::uint64_t{header.entry_count} * sizeof(PlanEntry);
  const std::uint64_t kernel_bytes = std::uint64_t{header.kernel_count} * sizeof(PlanFileKernel);
  if (header.string_bytes > size || header.cubin_bytes > size ||
      entry_bytes + kernel_bytes + header.string_bytes + header.cubin_bytes != size)
    return unsound("its parts do not add up to its size");
  View view;
  view.header = header;
  std::string_view rest = bytes.substr(sizeof header);
  const auto take = [&](std::uint64_t count) {
    const std::string_view part = rest.substr(0, count);
    rest.remove_prefix(count);
    return part;
  };
  view.entries = {reinterpret_cast<const PlanEntry*>(take(entry_bytes).data()), header.entry_count};
  view.kernels = {reinterpret_cast<const PlanFileKernel*>(take(kernel_bytes).data()),
                  header.kernel_count};
  view.strings = take(header.string_bytes);
  view.cubins = take(header.cubin_bytes);
  return view;
}

Result<void> check_strings(const View& view) {
  if (view.strings.empty() || view.strings.back() != '\0') return unsound("its strings do not end");
  for (const std::uint32_t offset :
       {view.header.device_name, view.header.cublas_version, view.header.compiler_version}) {
    if (!view.holds_string(offset)) return unsound("a string lies outside of the strings");
  }
  return {};
}

Result<void> check_kernels(const View& view) {
  for (std::size_t i = 0; i < view.kernels.size(); ++i) {
    const PlanFileKernel& kernel = view.kernels[i];
    if (kernel.cubin > view.cubins.size() || kernel.cubin_bytes == 0 ||
        kernel.cubin_bytes > view.cubins.size() - kernel.cubin)
      return unsound("kernel {} lies outside of the file", i);
    if (hash64(view.cubins.substr(kernel.cubin, kernel.cubin_bytes)) != kernel.checksum)
      return unsound("the checksum of kernel {} does not match: it is damaged", i);
    if (!view.holds_string(kernel.function) || view.string(kernel.function).empty())
      return unsound("kernel {} has no function name", i);
  }
  return {};
}

bool is_sound(const PlanKey& key) {
  return key.m > 0 && key.n > 0 && key.k > 0 && key.batch > 0 &&
         key.type <= static_cast<int>(DataType::kF32) &&
         key.accumulator <= static_cast<int>(DataType::kF32) &&
         key.layout <= static_cast<int>(Layout::kTT) &&
         key.epilogue <= static_cast<std::uint8_t>(Epilogue::kGeneral) && key.grouped <= 1 &&
         key.f32_output <= 1 && key.follows <= 1;
}

bool is_within(std::int32_t value, std::int32_t low, std::int32_t high) {
  return value >= low && value <= high;
}

// Over the CTAs of a cluster or through a workspace, whose parts hold 2 or 4 bytes an element.
bool is_sound_split(const LaunchRecipe& recipe) {
  if (!recipe.uses_workspace())
    return is_within(recipe.split_k, 1, 16) && recipe.partial_bytes == 0 &&
           recipe.tile_counters == 0;
  const std::int32_t elements = recipe.tile_m * recipe.tile_n;
  return is_within(recipe.split_k, 2, 32) && recipe.cluster() == 1 && recipe.resident_ctas == 0 &&
         (recipe.partial_bytes == 2 * elements || recipe.partial_bytes == 4 * elements) &&
         is_within(recipe.tile_counters, 1, 8);
}

// Limits of the hardware: what lies within can be launched or is refused by the driver.
bool is_sound(const LaunchRecipe& recipe) {
  return is_within(recipe.tile_m, 1, 1024) && is_within(recipe.tile_n, 1, 1024) &&
         is_within(recipe.cluster_m, 1, 16) && is_within(recipe.cluster_n, 1, 16) &&
         is_sound_split(recipe) && is_within(recipe.cluster(), 1, 16) &&
         is_within(recipe.group, 1, 1 << 20) && is_within(recipe.raster, 0, 1) &&
         is_within(recipe.threads, 32, 1024) && is_within(recipe.shared_bytes, 0, 227 << 10) &&
         is_within(recipe.resident_ctas, 0, 1 << 20) &&
         recipe.resident_ctas % recipe.cluster() == 0 && is_within(recipe.box_rows_a, 0, 256) &&
         is_within(recipe.box_rows_b, 0, 256) &&
         (recipe.box_rows_a > 0) == (recipe.box_rows_b > 0) &&
         is_within(recipe.box_columns_b, 0, recipe.has_tensor_maps() ? 64 : 0) &&
         (recipe.box_columns_b > 0) == (recipe.box_rows_b > 0) &&
         is_within(recipe.box_columns_d, 0, recipe.has_tensor_maps() ? 64 : 0) &&
         is_within(recipe.box_rows_d, 0, recipe.stores_by_tma() ? 256 : 0) &&
         (recipe.box_rows_d > 0) == (recipe.box_columns_d > 0) &&
         is_within(recipe.programmatic, 0, 1) && is_within(recipe.prefetch_k_tiles, 0, 64) &&
         is_within(recipe.pack, 0, kPackA | kPackB) && is_within(recipe.transposed, 0, 1) &&
         (recipe.transposed == 0 || recipe.has_tensor_maps()) &&
         is_within(recipe.element_loads, 0, recipe.has_tensor_maps() ? 0 : 1);
}

bool is_figure(float value) { return std::isfinite(value) && value >= 0; }

Result<void> check_entry(const View& view, const PlanEntry& entry, std::size_t index) {
  if (!is_sound(entry.key)) return unsound("plan {} has no legal key", index);
  if (!view.holds_string(entry.config)) return unsound("plan {} has no config", index);
  if (!is_figure(entry.expected_us) || !is_figure(entry.ratio_chained) ||
      !is_figure(entry.ratio_foreign) || entry.workspace_bytes < 0)
    return unsound("plan {} has figures that cannot be", index);
  switch (entry.source) {
    case PlanSource::kKernel:
      if (entry.kernel >= view.kernels.size()) return unsound("plan {} has no kernel", index);
      if (!is_sound(entry.recipe)) return unsound("plan {} cannot be launched", index);
      if (entry.recipe.pack != 0 ? entry.pack_kernel >= view.kernels.size()
                                 : entry.pack_kernel != PlanEntry::kNoKernel)
        return unsound("plan {} has no kernel for packing, or one too many", index);
      if (entry.fused_kernel_number > view.kernels.size() ||
          (entry.fused_kernel_number != 0 && entry.key.grouped == 1))
        return unsound("plan {} has no kernel for epilogues, or one too many", index);
      return {};
    case PlanSource::kVendor:
      if (entry.kernel != PlanEntry::kNoKernel || entry.pack_kernel != PlanEntry::kNoKernel ||
          entry.fused_kernel_number != 0 || !(entry.recipe == LaunchRecipe{}))
        return unsound("plan {} is the vendor's and has a kernel", index);
      return {};
  }
  return unsound("plan {} has an unknown source", index);
}

bool is_kernel_plan(const PlanEntry& entry) { return entry.source == PlanSource::kKernel; }

// Behind its plan, as the keys' order has it.
bool is_follower_of(const PlanEntry& follower, const PlanEntry& entry) {
  PlanKey key = entry.key;
  key.follows = 1;
  return entry.key.follows == 0 && follower.key == key;
}

Result<void> check_entries(const View& view) {
  for (std::size_t i = 0; i < view.entries.size(); ++i) {
    const PlanEntry& entry = view.entries[i];
    GEMMSMITH_CHECK(check_entry(view, entry, i));
    if (i > 0 && !(view.entries[i - 1].key < entry.key))
      return unsound("its plans are not in order");
    if (entry.key.follows == 1 &&
        (i == 0 || !is_follower_of(entry, view.entries[i - 1]) || !is_kernel_plan(entry) ||
         !is_kernel_plan(view.entries[i - 1]) || entry.key.grouped == 1))
      return unsound("plan {} follows no kernel's plan", i);
  }
  return {};
}

Result<View> read(std::string_view bytes) {
  GEMMSMITH_TRY(const PlanFileHeader header, read_header(bytes));
  GEMMSMITH_TRY(View view, cut(bytes, header));
  GEMMSMITH_CHECK(check_strings(view));
  GEMMSMITH_CHECK(check_kernels(view));
  GEMMSMITH_CHECK(check_entries(view));
  return view;
}

tl::unexpected<Error> about(const std::string& name, const Error& error) {
  return fail(error.code,
              "cannot use the plan table {}: {}; make it again with gemmsmith store plan-table",
              name, error.what);
}

// 0 for a multiple of 16 bytes, 1 of 8, 2 of 4, else 3; of both numbers at once.
unsigned alignment_class(std::int64_t pointer, std::int64_t stride) {
  const auto lowest_bit = std::countr_zero(static_cast<std::uint64_t>(pointer | stride | 16));
  return lowest_bit < 1 ? 3U : static_cast<unsigned>(4 - lowest_bit);
}

// Where a key's search begins: its bytes, mixed by multiplication (the finaliser of MurmurHash3).
std::size_t hash_of(const PlanKey& key) {
  std::array<std::uint64_t, sizeof(PlanKey) / 8> words;
  std::memcpy(words.data(), &key, sizeof key);
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
    hash ^= hash >> 33;
  }
  return static_cast<std::size_t>(hash * 0xc4ceb9fe1a85ec53ULL >> 32);
}

// Finds entries by their keys: open addressing, at most half full.
class Index {
 public:
  void build(std::span<const PlanEntry> entries) {
    entries_ = entries;
    slots_.assign(std::bit_ceil(2 * entries.size() + 2), kFree);
    for (std::size_t i = 0; i < entries.size(); ++i)
      slots_[slot_of(entries[i].key)] = static_cast<std::uint32_t>(i);
  }

  const PlanEntry* find(const PlanKey& key) const {
    const std::uint32_t index = slots_[slot_of(key)];
    return index == kFree ? nullptr : &entries_[index];
  }

 private:
  static constexpr std::uint32_t kFree = 0xffffffffU;

  // The key's slot, or the free one where it would be.
  std::size_t slot_of(const PlanKey& key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash_of(key) & mask;
    while (slots_[slot] != kFree && entries_[slots_[slot]].key != key) slot = (slot + 1) & mask;
    return slot;
  }

  std::span<const PlanEntry> entries_;
  std::vector<std::uint32_t> slots_;
};

}  // namespace

Epilogue epilogue_of(float alpha, float beta) {
  if (beta != 0) return Epilogue::kGeneral;
  return alpha == 1 ? Epilogue::kPlain : Epilogue::kScaled;
}

PlanKey key_of(const Problem& problem) {
  PlanKey key;
  key.m = static_cast<std::int32_t>(problem.m);
  key.n = static_cast<std::int32_t>(problem.n);
  key.k = static_cast<std::int32_t>(problem.k);
  key.batch = static_cast<std::int32_t>(problem.batch);
  key.type = static_cast<std::uint8_t>(problem.type);
  key.accumulator = static_cast<std::uint8_t>(problem.accumulator);
  key.layout = static_cast<std::uint8_t>(problem.layout);
  key.f32_output = problem.f32_output ? 1 : 0;
  const auto operand = [&](int place, int alignment, const MatrixShape& shape) {
    const std::int64_t rows_apart = shape.rows > 1 ? shape.ld : 0;
    const std::int64_t matrices_apart = shape.batch > 1 ? shape.stride : 0;
    // The lowest bit of either decides.
    const unsigned bits =
        alignment_class(alignment, (rows_apart | matrices_apart) * shape.element_bytes);
    key.alignment = static_cast<std::uint8_t>(key.alignment | bits << (2 * place));
  };
  operand(0, problem.alignment.a, stored_a(problem));
  operand(1, problem.alignment.b, stored_b(problem));
  if (problem.beta != 0) operand(2, problem.alignment.c, stored_c(problem));
  operand(3, problem.alignment.d, stored_d(problem));
  key.epilogue = static_cast<std::uint8_t>(epilogue_of(problem.alpha, problem.beta));
  if (problem.grouped) {
    key.grouped = 1;
    constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
    key.m = static_cast<std::int32_t>(
        std::min(kMost, std::bit_ceil(static_cast<std::uint32_t>(problem.m))));
  }
  return key;
}

Problem problem_of(const PlanKey& key) {
  Problem problem;
  problem.m = key.m;
  problem.n = key.n;
  problem.k = key.k;
  problem.type = static_cast<DataType>(key.type);
  problem.accumulator = static_cast<DataType>(key.accumulator);
  problem.layout = static_cast<Layout>(key.layout);
  problem.f32_output = key.f32_output == 1;
  constexpr int kWidestBytes = 16;
  const std::int64_t unit = kWidestBytes / size_bytes(problem.type);  // as wide in an f32 D, too
  problem.lda = round_up(packed_lda(problem), unit);
  problem.ldb = round_up(packed_ldb(problem), unit);
  problem.ldc = problem.ldd = round_up(packed_ldd(problem), unit);
  problem.batch = key.batch;
  problem.grouped = key.grouped == 1;
  problem.stride_a = default_stride_a(problem);
  problem.stride_b = default_stride_b(problem);
  problem.stride_d = default_stride_d(problem);
  problem.stride_c = default_stride_c(problem);
  return problem;
}

struct PlanTable::Storage {
  MappedFile file;
  std::vector<std::uint64_t> copy;  // 8-byte units: entries hold 64-bit numbers
  View view;
  Index index;

  Result<void> take(std::string_view bytes) {
    GEMMSMITH_TRY(view, read(bytes));
    index.build(view.entries);
    return {};
  }
};

PlanTable::PlanTable(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
PlanTable::PlanTable(PlanTable&&) noexcept = default;
PlanTable& PlanTable::operator=(PlanTable&&) noexcept = default;
PlanTable::~PlanTable() = default;

Result<PlanTable> PlanTable::open(const std::filesystem::path& path) {
  auto storage = std::make_unique<Storage>();
  GEMMSMITH_TRY(storage->file, MappedFile::open(path));
  const Result<void> taken = storage->take(storage->file.bytes());
  if (!taken) return about(path.string(), taken.error());
  return PlanTable(std::move(storage));
}

Result<PlanTable> PlanTable::from_bytes(std::string_view bytes, const std::string& name) {
  auto storage = std::make_unique<Storage>();
  storage->copy.resize((bytes.size() + 7) / 8);
  if (!bytes.empty()) std::memcpy(storage->copy.data(), bytes.data(), bytes.size());
  const Result<void> taken =
      storage->take({reinterpret_cast<const char*>(storage->copy.data()), bytes.size()});
  if (!taken) return about(name, taken.error());
  return PlanTable(std::move(storage));
}

std::string_view PlanTable::device_name() const {
  return storage_->view.string(storage_->view.header.device_name);
}
int PlanTable::compute_capability() const { return storage_->view.header.compute_capability; }
int PlanTable::sm_count() const { return storage_->view.header.sm_count; }
std::string_view PlanTable::cublas_version() const {
  return storage_->view.string(storage_->view.header.cublas_version);
}
std::string_view PlanTable::compiler_version() const {
  return storage_->view.string(storage_->view.header.compiler_version);
}

std::span<const PlanEntry> PlanTable::entries() const { return storage_->view.entries; }

const PlanEntry* PlanTable::find(const PlanKey& key) const { return storage_->index.find(key); }

const PlanEntry* PlanTable::follower_of(const PlanEntry& entry) const {
  const std::span<const PlanEntry> all = entries();
  const std::size_t next = static_cast<std::size_t>(&entry - all.data()) + 1;
  return next < all.size() && is_follower_of(all[next], entry) ? &all[next] : nullptr;
}

bool PlanTable::has_followers() const {
  const std::span<const PlanEntry> all = entries();
  return std::any_of(all.begin(), all.end(),
                     [](const PlanEntry& entry) { return entry.key.follows == 1; });
}

std::size_t PlanTable::kernel_count() const { return storage_->view.kernels.size(); }

PlanKernel PlanTable::kernel(std::size_t index) const {
  const View& view = storage_->view;
  const PlanFileKernel& kernel = view.kernels[index];
  return {view.cubins.substr(kernel.cubin, kernel.cubin_bytes), view.string(kernel.function),
          kernel.registers, kernel.static_shared_bytes};
}

std::string_view PlanTable::text(const PlanEntry& entry) const {
  return storage_->view.string(entry.config);
}

}  // namespace gemmsmith::plan
