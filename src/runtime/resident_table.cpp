#include "runtime/resident_table.h"

#include <algorithm>
#include <utility>

#include "base/numbers.h"
#include "plan/plan_likeness.h"

namespace gemmsmith::runtime {
namespace {

// What the widest load or store needs; cuBLASLt asks for no more, either.
constexpr int kWidestBytes = 16;
// Leading dimensions that one cuBLASLt plan serves; more are left to the heuristic.
constexpr int kMostVendorNodes = 16;

Choice rejected(Rejection rejection) {
  Choice choice;
  choice.rejection = rejection;
  return choice;
}

bool is_aligned(const Alignment& actual, const Alignment& needed) {
  return actual.a >= needed.a && actual.b >= needed.b && actual.c >= needed.c &&
         actual.d >= needed.d;
}

// Calls that differ in nothing a cuBLASLt descriptor depends on have equal ones.
Problem descriptor_problem(const Call& call) {
  Problem problem = call.problem;
  const bool reads_c = call.scalars.mode == vendor::ScalarMode::kDevice || call.scalars.beta != 0;
  problem.alpha = 1;
  problem.beta = reads_c ? 1.0F : 0.0F;
  for (int* bytes :
       {&problem.alignment.a, &problem.alignment.b, &problem.alignment.c, &problem.alignment.d})
    *bytes = std::min(*bytes, kWidestBytes);
  return problem;
}

// Any problem of the key: grids and clusters do not depend on leading dimensions and strides.
Problem problem_of(const plan::PlanKey& key) {
  Problem problem;
  problem.m = key.m;
  problem.n = key.n;
  problem.k = key.k;
  problem.type = static_cast<DataType>(key.type);
  problem.accumulator = static_cast<DataType>(key.accumulator);
  problem.layout = static_cast<Layout>(key.layout);
  problem.f32_output = key.f32_output == 1;
  const std::int64_t unit = kWidestBytes / size_bytes(problem.type);  // as wide in an f32 D, too
  problem.lda = ceil_div(packed_lda(problem), unit) * unit;
  problem.ldb = ceil_div(packed_ldb(problem), unit) * unit;
  problem.ldc = problem.ldd = ceil_div(packed_ldd(problem), unit) * unit;
  problem.batch = key.batch;
  problem.grouped = key.grouped == 1;
  problem.stride_a = default_stride_a(problem);
  problem.stride_b = default_stride_b(problem);
  problem.stride_d = default_stride_d(problem);
  problem.stride_c = default_stride_c(problem);
  return problem;
}

// What the nearest plan differs in, for a key that has none.
Rejection why_not_found(const plan::PlanTable& plans, plan::PlanKey key) {
  const auto own = static_cast<plan::Epilogue>(key.epilogue);
  const std::uint8_t with_c = key.alignment;
  const auto without_c = static_cast<std::uint8_t>(with_c & ~plan::kAlignmentOfC);
  key.alignment = 0;
  if (plans.find(key) != nullptr) return Rejection::kAlignment;
  for (const plan::Epilogue other :
       {plan::Epilogue::kPlain, plan::Epilogue::kScaled, plan::Epilogue::kGeneral}) {
    if (other == own) continue;
    key.epilogue = static_cast<std::uint8_t>(other);
    for (const std::uint8_t alignment : {with_c, without_c, std::uint8_t{0}}) {
      key.alignment = alignment;
      if (plans.find(key) != nullptr) return Rejection::kOtherScalars;
    }
  }
  return Rejection::kNoPlan;
}

// The same otherwise.
bool has_smaller_tile_k(const Config& config, const Config& than) {
  if (config.family != than.family || config.family->index_of("tile_k") < 0) return false;
  Config same = config;
  same.set("tile_k", than.at("tile_k"));
  return same == than && config.at("tile_k") < than.at("tile_k");
}

// Another thread's capture forbids loading for now, which says nothing about the kernel.
bool is_capture_error(CUresult result) {
  return result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

}  // namespace

Rejection why_unplanned(const plan::PlanTable& plans, const Call& call) {
  const plan::PlanKey key = plan::key_of(call.problem);
  return plans.find(key) != nullptr ? Rejection::kNone : why_not_found(plans, key);
}

ResidentTable::ResidentTable(const Table& table, DeviceState& device)
    : table_(table),
      device_(device),
      has_followers_(table.plans().has_followers()),
      slots_(table.plans().entries().size()),
      modules_(table.plans().kernel_count()) {}

ResidentTable::~ResidentTable() {
  const RelaxedCapture relaxed(device_.driver());
  modules_.clear();
  for (Slot& slot : slots_) {
    delete slot.kernel.load();
    delete slot.fused.load();
    for (VendorNode* node = slot.vendor.load(); node != nullptr;)
      delete std::exchange(node, node->next);
  }
}

ResidentTable::Slot& ResidentTable::slot_of(const plan::PlanEntry& entry) {
  return slots_[static_cast<std::size_t>(&entry - table_.plans().entries().data())];
}

Choice ResidentTable::choose(const Call& call) {
  const plan::PlanKey key = plan::key_of(call.problem);
  const plan::PlanEntry* entry = table_.plans().find(key);
  if (entry == nullptr) return rejected(why_not_found(table_.plans(), key));
  Choice choice = entry->source == plan::PlanSource::kVendor ? choose_vendor(*entry, call)
                                                             : choose_kernel(*entry, call);
  choice.entry = choice.source == Source::kCublasLt ? nullptr : entry;
  if (choice.source == Source::kKernel) {
    choice.follower = table_.plans().follower_of(*entry);
    choice.counts_as_ours = has_followers_;
  }
  return choice;
}

Choice ResidentTable::choose_alternate(const plan::PlanEntry& entry, const Call& call) {
  Choice choice = choose_kernel(entry, call);
  choice.entry = choice.source == Source::kCublasLt ? nullptr : &entry;
  return choice;
}

Choice ResidentTable::choose_for_policy(const plan::PlanEntry& entry, const Call& call) {
  Choice choice = choose_alternate(entry, call);
  if (choice.source != Source::kKernel) return choice;
  choice.is_of_policy = true;
  choice.counts_as_ours = has_followers_;
  // Its own plan may need less. Inside a capture there is only what a call before it prepared.
  if (choice.launch.workspace_bytes > 0 && !is_capturing(device_.driver(), call.stream) &&
      !has_scratch(choice.launch))
    return rejected(Rejection::kWorkspace);
  return choice;
}

std::vector<const plan::PlanEntry*> ResidentTable::alternates_of(const plan::PlanEntry& entry,
                                                                 const Problem& problem,
                                                                 std::size_t most) const {
  const plan::PlanTable& plans = table_.plans();
  const bool fused = problem.has_epilogue();
  const auto own = parse_config(plans.text(entry), kernel_families());  // none of a vendor's plan
  struct Candidate {
    double distance = 0;
    const plan::PlanEntry* entry = nullptr;
  };
  std::vector<Candidate> candidates;
  for (const plan::PlanEntry& other : plans.entries()) {
    if (other.source != plan::PlanSource::kKernel || other.key.follows == 1 ||
        !plan::is_same_work(other.key, entry.key))
      continue;
    if (entry.source == plan::PlanSource::kKernel && other.kernel == entry.kernel) continue;
    if (fused && other.fused_kernel() == plan::PlanEntry::kNoKernel) continue;
    const auto config = parse_config(plans.text(other), kernel_families());
    if (!config || broken_rule({problem, device_.info().target}, *config) != nullptr) continue;
    const double distance = own && has_smaller_tile_k(*config, *own)
                                ? -1
                                : plan::doublings_between(other.key, entry.key);
    candidates.push_back({distance, &other});
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
  std::vector<const plan::PlanEntry*> chosen;
  for (const Candidate& candidate : candidates) {
    if (chosen.size() == most) break;
    if (std::none_of(chosen.begin(), chosen.end(), [&](const plan::PlanEntry* other) {
          return other->kernel == candidate.entry->kernel;
        }))
      chosen.push_back(candidate.entry);
  }
  return chosen;
}

Choice ResidentTable::choose_kernel(const plan::PlanEntry& entry, const Call& call) {
  const bool fused = call.problem.has_epilogue();
  if (fused && entry.fused_kernel() == plan::PlanEntry::kNoKernel)
    return rejected(Rejection::kEpilogue);
  if (call.scalars.mode == vendor::ScalarMode::kDevice &&
      call.problem.accumulator == DataType::kF16)
    return rejected(Rejection::kScalars);
  auto launch = plan::make_launch_plan(entry.recipe, call.problem);
  if (!launch) return rejected(Rejection::kStrides);
  if (!is_aligned(call.problem.alignment, launch->needs)) return rejected(Rejection::kAlignment);
  const KernelPlan* kernel = kernel_plan(entry, fused, call.stream);
  if (kernel == nullptr) return rejected(Rejection::kCapturing);
  if (kernel->functions.gemm == nullptr) return rejected(Rejection::kLoadFailed);
  Choice choice;
  choice.source = Source::kKernel;
  choice.functions = kernel->functions;
  choice.launch = *launch;
  if (choice.launch.persistent)
    choice.launch.grid = std::min(choice.launch.grid, kernel->most_ctas);
  return choice;
}

Choice ResidentTable::choose_vendor(const plan::PlanEntry& entry, const Call& call) {
  // Another epilogue is another kernel of the library's, which was not measured.
  if (call.problem.has_epilogue()) return rejected(Rejection::kEpilogue);
  if (device_.lt() == nullptr || device_.info().cublas_version != table_.plans().cublas_version())
    return rejected(Rejection::kVendorVersion);
  // The table's workspace is what the plan was allowed, not what it needs: the library is asked.
  const VendorNode* node = vendor_node(entry, descriptor_problem(call), call.scalars.mode);
  if (node == nullptr) return rejected(Rejection::kStrides);
  if (node->plan == nullptr) return rejected(Rejection::kVendorCheck);
  if (node->plan->algo.workspace_bytes > call.workspace.bytes)
    return rejected(Rejection::kWorkspace);
  Choice choice;
  choice.source = Source::kVendor;
  choice.vendor = node->plan.get();
  choice.workspace_bytes = node->plan->algo.workspace_bytes;
  return choice;
}

const ResidentTable::KernelPlan* ResidentTable::kernel_plan(const plan::PlanEntry& entry,
                                                            bool fused, CUstream stream) {
  const Slot& slot = slot_of(entry);
  const KernelPlan* known = (fused ? slot.fused : slot.kernel).load(std::memory_order_acquire);
  if (known != nullptr) return known;
  if (is_capturing(device_.driver(), stream)) return nullptr;
  const std::lock_guard lock(mutex_);
  return load(entry, fused);
}

const ResidentTable::KernelPlan* ResidentTable::load(const plan::PlanEntry& entry, bool fused) {
  std::atomic<const KernelPlan*>& place = fused ? slot_of(entry).fused : slot_of(entry).kernel;
  if (const KernelPlan* known = place.load(); known != nullptr) return known;
  const RelaxedCapture relaxed(device_.driver());
  plan::Functions functions;
  const CUresult loaded = load_functions(entry, fused, functions);
  if (is_capture_error(loaded)) return nullptr;
  KernelPlan made;
  if (loaded == CUDA_SUCCESS) {
    auto launch = plan::make_launch_plan(entry.recipe, problem_of(entry.key));
    if (launch && launch->persistent)
      launch->grid = static_cast<unsigned>(entry.recipe.resident_ctas);
    if (launch && plan::prepare(device_.driver(), *launch, functions.gemm) && has_scratch(*launch))
      made = {functions, launch->grid};
  }
  const auto* published = new KernelPlan(made);
  place.store(published, std::memory_order_release);
  return published;
}

bool ResidentTable::has_scratch(const plan::LaunchPlan& launch) {
  return launch.workspace_bytes == 0 ||
         device_.scratch().prepare(launch.workspace_bytes).has_value();
}

CUresult ResidentTable::load_functions(const plan::PlanEntry& entry, bool fused,
                                       plan::Functions& functions) {
  const CUresult loaded =
      load_function(fused ? entry.fused_kernel() : entry.kernel, functions.gemm);
  if (loaded != CUDA_SUCCESS || entry.recipe.pack == 0) return loaded;
  return load_function(entry.pack_kernel, functions.pack);
}

CUresult ResidentTable::load_function(std::uint32_t index, CUfunction& function) {
  const Driver& driver = device_.driver();
  const plan::PlanKernel kernel = table_.plans().kernel(index);
  OwnedModule& module = modules_[index];
  if (module.is_empty()) {
    CUmodule raw = nullptr;
    const CUresult loaded = driver.ModuleLoadData(&raw, kernel.cubin.data());
    if (loaded != CUDA_SUCCESS) return loaded;
    module = OwnedModule(driver, raw);
  }
  return driver.ModuleGetFunction(&function, module.get(), kernel.function.data());
}

void ResidentTable::load_all() {
  const std::lock_guard lock(mutex_);
  for (const plan::PlanEntry& entry : table_.plans().entries()) {
    if (entry.source != plan::PlanSource::kKernel) continue;
    load(entry, false);
    if (entry.fused_kernel() != plan::PlanEntry::kNoKernel) load(entry, true);
  }
}

const ResidentTable::VendorNode* ResidentTable::vendor_node(const plan::PlanEntry& entry,
                                                            const Problem& problem,
                                                            vendor::ScalarMode mode) {
  std::atomic<VendorNode*>& head = slot_of(entry).vendor;
  const auto find = [&](int& count) -> const VendorNode* {
    count = 0;
    for (const VendorNode* node = head.load(std::memory_order_acquire); node != nullptr;
         node = node->next, ++count)
      if (node->problem == problem && node->mode == mode) return node;
    return nullptr;
  };
  int count = 0;
  if (const VendorNode* node = find(count); node != nullptr) return node;
  const std::lock_guard lock(mutex_);
  if (const VendorNode* node = find(count); node != nullptr) return node;
  if (count == kMostVendorNodes) return nullptr;
  auto node = std::make_unique<VendorNode>();
  node->problem = problem;
  node->mode = mode;
  const RelaxedCapture relaxed(device_.driver());  // the library may load what it is asked about
  if (auto made = VendorPlan::make(device_.lt(), table_.plans().text(entry), problem, mode); made)
    node->plan = *std::move(made);
  node->next = head.load();
  head.store(node.get(), std::memory_order_release);
  return node.release();  // owned by the list
}

}  // namespace gemmsmith::runtime
