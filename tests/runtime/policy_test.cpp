// What serves problems without a plan once a policy is set, and when it must not.
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "policy/policy_file.h"
#include "runtime/counted_malloc.h"
#include "runtime/handle.h"
#include "runtime/table_maker.h"
#include "support/scratch.h"

namespace gemmsmith::runtime {
namespace {

constexpr const char* kSplit = "sm90_ws:e1.s2.sp2.sk2";

std::string shipped_bytes() {
  std::ifstream file(kShippedPolicy, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class PolicyTest : public RuntimeTest {
 protected:
  PolicyTest() {
    options_.m = 96;
    options_.n = 72;
    options_.k = 80;
  }

  void load(const TableMaker& maker) {
    const std::string bytes = maker.bytes();
    ASSERT_EQ(gemmsmithLoadPlanTableFromMemory(handle_, bytes.data(), bytes.size()),
              GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
  }
  void set_policy(const std::string& path = kShippedPolicy) {
    ASSERT_EQ(gemmsmithSetPolicy(handle_, path.c_str()), GEMMSMITH_STATUS_SUCCESS)
        << gemmsmithGetLastErrorString();
  }
  // Writes a policy and returns its name.
  std::string policy(const std::string& name, const std::string& bytes) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // "kernel" or "cublaslt": what the call was served by, exactly; else what went wrong.
  std::string served_by(Product& product, float alpha = 1, float beta = 0) {
    const int launches = gpu().launches;
    const std::string difference = product.run_and_compare(handle_, alpha, beta);
    if (difference != "") return difference;
    return gpu().launches == launches ? "cublaslt" : "kernel";
  }

  testing::ScratchFolder folder_;
  ProductOptions options_;
};

TEST_F(PolicyTest, ChoosesOnlyWhileItIsSet) {
  Product product(options_);
  load(TableMaker().neighbours(kWithMaps));
  EXPECT_EQ(served_by(product), "cublaslt") << "off by default";
  set_policy();
  EXPECT_EQ(served_by(product), "kernel");
  EXPECT_EQ(served_by(product), "kernel");
  ASSERT_EQ(gemmsmithSetPolicy(handle_, nullptr), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "cublaslt") << "what was chosen is forgotten";
  set_policy();
  EXPECT_EQ(served_by(product), "kernel");
}

TEST_F(PolicyTest, MayBeSetBeforeTheTable) {
  set_policy();
  Product product(options_);
  EXPECT_EQ(served_by(product), "cublaslt");
  load(TableMaker().neighbours(kPlain));
  EXPECT_EQ(served_by(product), "kernel");
  load(TableMaker().gained(1.02, 1.02).neighbours(kPlain));
  EXPECT_EQ(served_by(product), "cublaslt") << "a choice goes with its table";
}

TEST_F(PolicyTest, InfoSaysWhatWasChosenAndWhy) {
  const Product product(options_);
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.source, GEMMSMITH_SOURCE_KERNEL);
  EXPECT_EQ(info.match, GEMMSMITH_MATCH_CHOSEN);
  EXPECT_STREQ(info.config, kWithMaps);
  EXPECT_EQ(info.expected_speedup, 0) << "nobody measured it";
  EXPECT_STREQ(info.reason,
               "the 8 nearest plans gained 10.0 % over tuned cuBLASLt in the mean, and 10.0 % less "
               "a standard deviation");
  options_.m = 64;
  options_.n = options_.k = 64;
  EXPECT_EQ(plan_info(handle_, Product(options_).problem).match, GEMMSMITH_MATCH_EXACT);
}

struct UntrustedCase {
  const char* label;
  double chained, foreign;
  std::int64_t m;
  float alpha, beta;
};

// Evidence is what plans for the same work gained, between foreign kernels, too, nearby.
TEST_F(PolicyTest, WithoutEvidenceCublasLtServes) {
  set_policy();
  for (const UntrustedCase& test :
       {UntrustedCase{"gain", 1.02, 1.02, 96, 1, 0},
        UntrustedCase{"foreign gain", 1.5, 1.0, 96, 1, 0},
        UntrustedCase{"far", 1.5, 1.5, 8192, 1, 0}, UntrustedCase{"alpha", 1.5, 1.5, 96, 2, 0},
        UntrustedCase{"beta", 1.5, 1.5, 96, 1, 1}}) {
    options_.m = test.m;
    load(TableMaker().gained(test.chained, test.foreign).neighbours(kWithMaps));
    Product product(options_);
    EXPECT_EQ(served_by(product, test.alpha, test.beta), "cublaslt") << test.label;
  }
}

TEST_F(PolicyTest, SevenPlansAreTooFew) {
  TableMaker maker;
  for (const std::int64_t m : {64, 72, 80, 88, 104, 112, 120}) {
    ProductOptions options;
    options.m = options.n = options.k = m;
    maker.kernel(Product(options), kWithMaps);
  }
  load(maker);
  set_policy();
  Product product(options_);
  EXPECT_EQ(served_by(product), "cublaslt");
  ProductOptions eighth;
  eighth.m = eighth.n = eighth.k = 128;
  load(maker.kernel(Product(eighth), kWithMaps));
  EXPECT_EQ(served_by(product), "kernel");
}

// Whatever pointers and leading dimensions come: exact, and nothing else written.
TEST_F(PolicyTest, ServesStridesAndPointersThatTheKernelTakesAndNoOthers) {
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  const auto served = [&](const ProductOptions& options) {
    Product product(options);
    const std::string first = served_by(product);
    EXPECT_EQ(served_by(product), first);
    return first;
  };
  ProductOptions padded = options_;
  padded.pad_a = padded.pad_b = padded.pad_d = 8;
  EXPECT_EQ(served(padded), "kernel");
  for (std::int64_t ProductOptions::*member :
       {&ProductOptions::pad_a, &ProductOptions::pad_b, &ProductOptions::pad_d,
        &ProductOptions::offset_a, &ProductOptions::offset_b, &ProductOptions::offset_d}) {
    ProductOptions odd = options_;
    odd.*member = 1;
    EXPECT_EQ(served(odd), "cublaslt");
  }
  ProductOptions ragged = options_;
  ragged.n = 71;  // our m
  EXPECT_EQ(served(ragged), "kernel");
  ragged.m = 95;  // our n, and so ldd
  EXPECT_EQ(served(ragged), "cublaslt");
  ProductOptions other = options_;
  other.type = GEMMSMITH_R_16BF;
  EXPECT_EQ(served(other), "cublaslt") << "the kernels were compiled for f16";
  other = options_;
  other.transa = GEMMSMITH_OP_N;
  EXPECT_EQ(served(other), "cublaslt") << "and for their layout";
  EXPECT_EQ(served(options_), "kernel");
}

TEST_F(PolicyTest, BatchesAndEpiloguesStayWithCublasLt) {
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  Product product(options_);
  product.problem.epilogue = GEMMSMITH_EPILOGUE_RELU;
  EXPECT_EQ(plan_info(handle_, product.problem).source, GEMMSMITH_SOURCE_CUBLASLT);
  product.problem.epilogue = 0;
  product.problem.batch = 4;
  product.problem.stride_a = product.problem.stride_b = product.problem.stride_d = 1 << 16;
  EXPECT_EQ(plan_info(handle_, product.problem).source, GEMMSMITH_SOURCE_CUBLASLT);
}

TEST_F(PolicyTest, NothingIsChosenInsideACapture) {
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  Product product(options_);
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(product), "cublaslt");
  EXPECT_EQ(served_by(product), "cublaslt");
  gpu().is_capturing = false;
  EXPECT_EQ(served_by(product), "kernel") << "the capture's answer was not remembered";
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(product), "kernel");
  Product elsewhere(options_);
  EXPECT_EQ(served_by(elsewhere), "kernel") << "the choice is the problem's, not the pointers'";
}

// The workspace rules are those of plans (scratch_pool_test.cpp), by what the launch needs itself.
TEST_F(PolicyTest, SplitsThroughTheWorkspaceFollowThePlansRules) {
  load(TableMaker().neighbours(kSplit, {64, 80}, {256, 512}));
  set_policy();
  options_.m = options_.n = 136;  // three tiles each way: more than any of the plans
  options_.k = 384;
  Product product(options_);
  const gemmsmithPlanInfo_t info = plan_info(handle_, product.problem);
  EXPECT_EQ(info.match, GEMMSMITH_MATCH_CHOSEN);
  EXPECT_EQ(info.workspace_bytes, 9U * 2 * 64 * 64 * 4);
  product.workspace_bytes = 0;
  EXPECT_EQ(served_by(product), "kernel") << "by a workspace of the handle's";
  EXPECT_NE(gpu().last_workspace, nullptr);
  product.workspace_storage.resize(info.workspace_bytes + 256);
  product.workspace_bytes = info.workspace_bytes;
  EXPECT_EQ(served_by(product), "kernel");
  const auto* const given = static_cast<std::byte*>(gpu().last_workspace.load());
  EXPECT_TRUE(given >= product.workspace_storage.data() &&
              given < product.workspace_storage.data() + 256);
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(product), "kernel");
  product.workspace_bytes = 0;
  EXPECT_EQ(served_by(product), "cublaslt") << "a captured call has its own workspace or none";
  gpu().is_capturing = false;
  gpu().refuse_cooperative = true;
  EXPECT_EQ(served_by(product), "cublaslt") << "a context with too few SMs";
}

TEST_F(PolicyTest, PreparedPlansKeepThePolicyTheyWereMadeWith) {
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  Product product(options_);
  gemmsmithPlan_t plan = nullptr;
  ASSERT_EQ(gemmsmithPlanCreate(handle_, &product.problem, &plan), GEMMSMITH_STATUS_SUCCESS);
  ASSERT_EQ(gemmsmithSetPolicy(handle_, nullptr), GEMMSMITH_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  const auto served = [&] {
    const int launches = gpu().launches;
    product.d.fill_nan();
    EXPECT_EQ(gemmsmithPlanRun(plan, &one, product.a.data(), product.b.data(), &zero, nullptr,
                               product.d.data(), nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS);
    EXPECT_EQ(product.difference(), "");
    return gpu().launches == launches ? "cublaslt" : "kernel";
  };
  gpu().is_capturing = true;
  EXPECT_STREQ(served(), "kernel") << "making the plan chose";
  gpu().is_capturing = false;
  EXPECT_STREQ(served(), "kernel");
  EXPECT_EQ(gemmsmithPlanDestroy(plan), GEMMSMITH_STATUS_SUCCESS);
  EXPECT_EQ(served_by(product), "cublaslt");
}

struct BadPolicy {
  std::string name;
  std::string bytes;
  std::string reason;
};

// Refused by name, and the one in use serves on.
TEST_F(PolicyTest, BadFilesLeaveTheHandleAsItWas) {
  const std::string good = shipped_bytes();
  std::string damaged = good;
  damaged[damaged.size() / 2] ^= 1;
  std::string version = good;
  version[8] = 9;
  auto file = policy::parse_policy(good, "shipped");
  ASSERT_TRUE(file);
  const std::string features = policy::format_policy(*file, policy::feature_set() + 1);
  file->origin = "{}";
  const std::string nowhere = policy::format_policy(*file);
  const std::vector<BadPolicy> cases = {
      {"short.policy", good.substr(0, 1000), "a policy cut short: 1000 of "},
      {"damaged.policy", damaged, "a damaged policy: its checksum does not match; copy it again"},
      {"version.policy", version, "a policy of version 9, this program reads 1; train it again"},
      {"features.policy", features,
       "a policy for another feature set than this program's; train it again"},
      {"nowhere.policy", nowhere,
       "a policy that does not say which device it learnt from; train it again"},
      {"text.policy", "m,n,k\n64,64,64\n64,64,64\n64,64,64\n",
       "is not a policy file (see gemmsmith train)"}};
  load(TableMaker().neighbours(kWithMaps));
  Product product(options_);
  for (const bool has_one : {false, true}) {
    if (has_one) set_policy();
    for (const BadPolicy& bad : cases) {
      const std::string path = policy(bad.name, bad.bytes);
      EXPECT_EQ(gemmsmithSetPolicy(handle_, path.c_str()), GEMMSMITH_STATUS_INVALID_VALUE);
      EXPECT_EQ(std::string(gemmsmithGetLastErrorString()).find(path + ": " + bad.reason), 0U)
          << gemmsmithGetLastErrorString();
    }
    EXPECT_EQ(gemmsmithSetPolicy(handle_, "/nowhere/a.policy"), GEMMSMITH_STATUS_INVALID_VALUE);
    EXPECT_NE(std::string(gemmsmithGetLastErrorString()).find("/nowhere/a.policy"),
              std::string::npos);
    EXPECT_EQ(served_by(product), has_one ? "kernel" : "cublaslt");
  }
  EXPECT_EQ(gemmsmithSetPolicy(nullptr, kShippedPolicy.c_str()), GEMMSMITH_STATUS_NOT_INITIALIZED);
}

TEST_F(PolicyTest, AnotherDevicesPolicyIsRefused) {
  auto file = policy::parse_policy(shipped_bytes(), "shipped");
  ASSERT_TRUE(file);
  file->origin = R"({"device":"NVIDIA H100, 114 SMs, sm_90, driver 580.1"})";
  const std::string path = policy("h100.policy", policy::format_policy(*file));
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  EXPECT_EQ(gemmsmithSetPolicy(handle_, path.c_str()), GEMMSMITH_STATUS_ARCH_MISMATCH);
  EXPECT_EQ(
      gemmsmithGetLastErrorString(),
      path +
          ": learnt from NVIDIA H100, 114 SMs, sm_90, driver 580.1, but the current device is "
          "NVIDIA H200, 132 SMs, sm_90; set a policy trained on a recording of it");
  Product product(options_);
  EXPECT_EQ(served_by(product), "kernel") << "by the one before";
  // Without a context nobody knows the device yet: then it chooses nothing there.
  use_device(-1);
  ASSERT_EQ(gemmsmithSetPolicy(handle_, path.c_str()), GEMMSMITH_STATUS_SUCCESS);
  use_device(0);
  EXPECT_EQ(served_by(product), "cublaslt");
  EXPECT_EQ(served_by(product), "cublaslt");
  set_policy();
  EXPECT_EQ(served_by(product), "kernel");
}

struct Heard {
  std::mutex mutex;
  std::vector<std::string> hints;
  static void hear(gemmsmithLogLevel_t level, const char* text, void* user) {
    auto* const heard = static_cast<Heard*>(user);
    const std::lock_guard lock(heard->mutex);
    if (level == GEMMSMITH_LOG_HINT) heard->hints.emplace_back(text);
  }
  ~Heard() { gemmsmithSetLogCallback(nullptr, nullptr); }
};

// A choice is told once, with its reason; what was chosen is still worth tuning.
TEST_F(PolicyTest, EachChoiceIsToldOnceAndIsStillAMiss) {
  Heard heard;
  options_.k = 88;  // no other test of this process misses it
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  ASSERT_EQ(gemmsmithSetLogCallback(&Heard::hear, &heard), GEMMSMITH_STATUS_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    Product product(options_);
    EXPECT_EQ(served_by(product), "kernel");
  }
  ASSERT_EQ(heard.hints.size(), 2U);
  EXPECT_EQ(heard.hints[0],
            "72_96_88 f16/f32 tn: the policy chose sm90_ws:s2, since the 8 nearest plans gained "
            "10.0 % over tuned cuBLASLt in the mean, and 10.0 % less a standard deviation");
  EXPECT_EQ(heard.hints[1],
            "no plan serves 72_96_88 f16/f32 tn: the plan table has no plan for this problem");
  load(TableMaker().gained(1.01, 1.01).neighbours(kWithMaps));
  Product product(options_);
  EXPECT_EQ(served_by(product), "cublaslt");
  EXPECT_EQ(served_by(product), "cublaslt");
  ASSERT_EQ(heard.hints.size(), 3U);
  EXPECT_EQ(heard.hints[2],
            "72_96_88 f16/f32 tn: the policy leaves it to cuBLASLt: the 8 nearest plans gained "
            "1.0 % over tuned cuBLASLt in the mean, and 1.0 % less a standard deviation: 5 % are "
            "asked for");
}

// What is remembered is bounded; a problem that was pushed out is chosen for again, and alike.
TEST_F(PolicyTest, MoreProblemsThanAreRememberedAreServedAlike) {
  load(TableMaker().neighbours(kPlain));
  set_policy();
  gpu().skip_work = true;
  constexpr std::int64_t kProblems =
      2 * static_cast<std::int64_t>(PolicyChooser::kSets * PolicyChooser::kWays);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t i = 0; i < kProblems; ++i) {
      options_.m = 8 * (1 + i % 16);
      options_.n = 1 + i / 16;
      options_.k = 64;
      const gemmsmithPlanInfo_t info = plan_info(handle_, Product(options_).problem);
      const bool is_planned = info.match == GEMMSMITH_MATCH_EXACT;
      if (is_planned) continue;
      // The farthest of the eight plans are those with 128 in the size that is smaller here.
      const bool is_near = info.match == GEMMSMITH_MATCH_CHOSEN;
      if (options_.m >= 64 && options_.n >= 64) {
        ASSERT_TRUE(is_near) << options_.m << " " << options_.n << ": " << info.reason;
      }
      ASSERT_STREQ(info.config, is_near ? kPlain : "");
    }
}

TEST_F(PolicyTest, ThreadsShareTheChoices) {
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(8);
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      use_device(0);
      for (std::int64_t i = 0; i < 40; ++i) {
        ProductOptions options;
        options.m = 72 + 8 * (i % 5);
        options.n = 65 + i;
        options.k = 72;
        Product product(options);
        const std::string difference = product.run_and_compare(handle_);
        if (difference != "") wrong[t] = difference;
        if (i == 20 && t == 0) gemmsmithSetPolicy(handle_, nullptr);
        if (i == 30 && t == 0) gemmsmithSetPolicy(handle_, kShippedPolicy.c_str());
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& difference : wrong) EXPECT_EQ(difference, "");
  Product product(options_);
  EXPECT_EQ(served_by(product), "kernel");
}

// The faces' way in: only what a plan or a choice serves.
TEST_F(PolicyTest, WhatIsChosenCountsAsPlannedForTheFaces) {
  Handle handle;
  const std::string bytes = TableMaker().neighbours(kWithMaps).bytes();
  auto table = Table::copy(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(table);
  ASSERT_EQ(handle.load_table(*std::move(table)), "");
  Product product(options_);
  const float one = 1, zero = 0;
  const MatmulArguments arguments = {&one,  product.a.data(), product.b.data(),
                                     &zero, nullptr,          product.d.data()};
  EXPECT_EQ(handle.run_if_planned(product.problem, arguments, Handle::Allowed::kKernels), false);
  auto policy = LoadedPolicy::open(kShippedPolicy.c_str());
  ASSERT_TRUE(policy);
  ASSERT_EQ(handle.set_policy(*std::move(policy)), "");
  for (int i = 0; i < 2; ++i) {
    product.d.fill_nan();
    EXPECT_EQ(handle.run_if_planned(product.problem, arguments, Handle::Allowed::kKernels), true);
    EXPECT_EQ(product.difference(), "");
  }
}

#if !GEMMSMITH_IS_SANITIZED
TEST_F(PolicyTest, AWarmChoiceAllocatesNothingAndAPlanAsksNobody) {
  load(TableMaker().neighbours(kWithMaps));
  set_policy();
  Product product(options_);
  ASSERT_EQ(served_by(product), "kernel");
  EXPECT_EQ(allocations_during([&] { product.run(handle_); }), 0);
  options_.m = options_.n = options_.k = 64;
  Product planned(options_);
  ASSERT_EQ(served_by(planned), "kernel");
  Product moved(options_);
  EXPECT_EQ(allocations_during([&] { moved.run(handle_); }), 0);
}
#endif

}  // namespace
}  // namespace gemmsmith::runtime
