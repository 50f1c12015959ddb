#include "vendor/lt_fallback.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace gemmsmith::vendor {
namespace {

std::size_t stripe_of_this_thread() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace

struct LtFallback::Key {
  Problem problem;  // alpha 1, beta 0 or 1: only whether C is read matters
  Extras extras;
  ScalarMode mode = ScalarMode::kHost;
  std::int64_t workspace_bytes = 0;
  bool operator==(const Key&) const = default;

  Key(const Problem& asked, const Extras& more, const Scalars& scalars, std::int64_t bytes)
      : problem(asked), extras(more), mode(scalars.mode), workspace_bytes(bytes) {
    problem.alpha = 1;
    problem.beta = mode == ScalarMode::kDevice || scalars.beta != 0 ? 1.0f : 0.0f;
  }

  // Multiply-xor over the fields; sizes of real models differ in few bits, so each step mixes all.
  std::size_t hash() const {
    const Problem& p = problem;
    const auto wide = [](auto value) { return static_cast<std::uint64_t>(value); };
    const std::uint64_t fields[] = {wide(p.m),
                                    wide(p.n),
                                    wide(p.k),
                                    wide(p.batch),
                                    wide(p.lda),
                                    wide(p.ldb),
                                    wide(p.ldc),
                                    wide(p.ldd),
                                    wide(p.type) | wide(p.accumulator) << 8 | wide(p.layout) << 16 |
                                        wide(mode) << 24 | wide(p.beta != 0) << 32,
                                    wide(p.alignment.a) | wide(p.alignment.b) << 12 |
                                        wide(p.alignment.c) << 24 | wide(p.alignment.d) << 36,
                                    wide(workspace_bytes),
                                    wide(p.activation) | wide(p.has_bias) << 8 |
                                        wide(p.f32_output) << 16 |
                                        wide(extras.exact_reductions) << 24,
                                    wide(p.stride_a),
                                    wide(p.stride_b),
                                    wide(p.stride_c),
                                    wide(p.stride_d),
                                    reinterpret_cast<std::uintptr_t>(extras.bias)};
    std::uint64_t hash = 0x9e3779b97f4a7c15u;
    for (const std::uint64_t field : fields) {
      hash = (hash ^ field) * 0xbf58476d1ce4e5b9u;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

struct LtFallback::Choice {
  LtMatmul matmul;
  LtAlgo algo;
};

// A problem and how the library computes it, or why it cannot: asked again, it would take as long
// to refuse again.
struct LtFallback::Entry {
  Key key;
  Result<Choice> choice;

  Result<void> run(const Operands& operands, const Scalars& scalars, WorkspaceSource& workspaces,
                   CUstream stream) const {
    if (!choice) return tl::unexpected<Error>(choice.error());
    const std::int64_t bytes = choice->algo.workspace_bytes;
    const Workspace workspace = bytes > 0 ? workspaces.get(bytes) : Workspace{};
    return choice->matmul.run(choice->algo, operands, scalars, workspace, stream);
  }
};

// Open addressing, twice as many slots as entries. Slots go from null to an entry once and never
// change, so readers need no lock.
struct LtFallback::Table {
  explicit Table(std::size_t capacity) : slots(std::bit_ceil(2 * capacity)) {}
  ~Table() {
    for (auto& slot : slots) delete slot.load(std::memory_order_relaxed);
  }

  const Entry* find(const Key& key, std::size_t hash) const {
    const std::size_t mask = slots.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Entry* entry = slots[i].load(std::memory_order_acquire);
      if (entry == nullptr || entry->key == key) return entry;
    }
  }

  // By one thread at a time; the table must not be full.
  const Entry* insert(std::unique_ptr<Entry> entry, std::size_t hash) {
    const std::size_t mask = slots.size() - 1;
    std::size_t i = hash & mask;
    while (slots[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & mask;
    const Entry* inserted = entry.release();
    slots[i].store(inserted, std::memory_order_release);
    ++used;
    return inserted;
  }

  std::vector<std::atomic<const Entry*>> slots;
  std::size_t used = 0;
  // After retirement: the stripes that were seen without a reader since.
  std::array<bool, kStripes> drained = {};
};

// While one lives, no table that its thread can see is freed.
class LtFallback::Reader {
 public:
  explicit Reader(LtFallback& fallback)
      : stripe_(fallback.stripes_[stripe_of_this_thread() % kStripes]) {
    // Sequentially consistent, like the table's load and the retirement's scan: either the scan
    // sees this reader, or this reader sees the new table.
    stripe_.readers.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Reader() { stripe_.readers.fetch_sub(1, std::memory_order_release); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

 private:
  Stripe& stripe_;
};

LtFallback::LtFallback(std::shared_ptr<const LtHandle> handle, std::size_t capacity)
    : handle_(std::move(handle)),
      capacity_(std::max<std::size_t>(1, capacity)),
      table_(new Table(capacity_)) {}

LtFallback::~LtFallback() { delete table_.load(); }

Result<void> LtFallback::run(const Problem& problem, const Extras& extras, const Operands& operands,
                             const Scalars& scalars, const Workspace& workspace, CUstream stream) {
  GivenWorkspace given(workspace);
  return run(problem, extras, operands, scalars, given, stream);
}

Result<void> LtFallback::run(const Problem& problem, const Extras& extras, const Operands& operands,
                             const Scalars& scalars, WorkspaceSource& workspaces, CUstream stream) {
  const Key key(problem, extras, scalars, workspaces.limit());
  const std::size_t hash = key.hash();
  {
    const Reader reader(*this);
    if (const Entry* entry = table_.load(std::memory_order_seq_cst)->find(key, hash))
      return entry->run(operands, scalars, workspaces, stream);
  }
  // Entries are freed under this lock only, so the one found or made here stays valid.
  const std::lock_guard lock(mutex_);
  GEMMSMITH_TRY(const Entry* entry, find_or_insert(key, hash));
  return entry->run(operands, scalars, workspaces, stream);
}

Result<const LtFallback::Entry*> LtFallback::find_or_insert(const Key& key, std::size_t hash) {
  free_unread_tables();
  Table* table = table_.load(std::memory_order_relaxed);
  if (const Entry* entry = table->find(key, hash)) return entry;
  Result<Choice> choice = choose(key);
  // Another failure may have been the moment's.
  if (!choice && choice.error().code != ErrorCode::kUnsupported)
    return tl::unexpected<Error>(std::move(choice.error()));
  if (table->used == capacity_) {
    retired_.emplace_back(table);
    table = new Table(capacity_);
    table_.store(table, std::memory_order_seq_cst);
  }
  return table->insert(std::unique_ptr<Entry>(new Entry{key, std::move(choice)}), hash);
}

Result<LtFallback::Choice> LtFallback::choose(const Key& key) const {
  GEMMSMITH_TRY(LtMatmul matmul,
                LtMatmul::create(handle_, key.problem, key.workspace_bytes, key.mode, key.extras));
  GEMMSMITH_TRY(const std::vector<LtAlgo> algos, matmul.heuristics(1));
  return Choice{std::move(matmul), algos.front()};
}

void LtFallback::free_unread_tables() {
  std::erase_if(retired_, [&](const std::unique_ptr<Table>& table) {
    bool unread = true;
    for (std::size_t i = 0; i < kStripes; ++i) {
      // A stripe seen empty once has no reader left from before the retirement.
      table->drained[i] =
          table->drained[i] || stripes_[i].readers.load(std::memory_order_seq_cst) == 0;
      unread = unread && table->drained[i];
    }
    return unread;
  });
}

std::size_t LtFallback::size() const {
  const std::lock_guard lock(mutex_);
  return table_.load(std::memory_order_relaxed)->used;
}

}  // namespace gemmsmith::vendor
