// Followers: what serves a product right behind a kernel of ours, which only a capture can show.
#include <thread>

#include "runtime/table_test.h"

namespace gemmsmith::runtime {
namespace {

// The plan is launched without programmatic dependence, its follower with it.
constexpr const char* kPlan = "sm90_ws:s2.d0";
constexpr const char* kFollower = "sm90_ws:s2";

class FollowerTest : public TableTest {
 protected:
  // "plan", "follower" or what went wrong.
  std::string served_by(Product& product) {
    const int launches = gpu().launches;
    const std::string difference = product.run_and_compare(handle_);
    if (difference != "") return difference;
    if (gpu().launches != launches + 1) return "no kernel";
    return gpu().last_programmatic ? "follower" : "plan";
  }
};

TEST_F(FollowerTest, ServesBehindAKernelOfOursInACapture) {
  Product product(options_);
  load(TableMaker().kernel(product, kPlan).follower(product, kFollower));
  EXPECT_EQ(served_by(product), "plan");
  EXPECT_EQ(served_by(product), "plan") << "outside of captures nobody knows what came before";
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(product), "plan") << "the first of a capture follows nothing";
  EXPECT_EQ(served_by(product), "follower");
  EXPECT_EQ(served_by(product), "follower");
  ++gpu().captured_nodes;
  EXPECT_EQ(served_by(product), "plan") << "behind another library's kernel";
  EXPECT_EQ(served_by(product), "follower");
  gpu().waits_for = 2;
  EXPECT_EQ(served_by(product), "plan") << "where streams join";
  gpu().waits_for = 1;
  ++gpu().capture_id;
  EXPECT_EQ(served_by(product), "plan") << "another capture";
  gpu().is_capturing = false;
  EXPECT_EQ(served_by(product), "plan");
}

TEST_F(FollowerTest, EveryKernelOfTheTableIsOurs) {
  Product product(options_);
  options_.m = 128;
  Product other(options_);
  load(TableMaker().kernel(product, kPlan).follower(product, kFollower).kernel(other, kPlan));
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(other), "plan");
  EXPECT_EQ(served_by(product), "follower");
  EXPECT_EQ(served_by(other), "plan") << "it has none";
  EXPECT_EQ(served_by(product), "follower");
}

// What a plan cannot serve its follower does not, either: it is found through the plan.
TEST_F(FollowerTest, ServesOnlyWhatItsPlanServes) {
  Product product(options_);
  load(TableMaker().kernel(product, kPlan).follower(product, kFollower));
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(product), "plan");
  const int launches = gpu().launches;
  EXPECT_EQ(product.run_and_compare(handle_, 1, 1), "");
  EXPECT_EQ(gpu().launches, launches) << "C was not part of the tuning";
}

TEST_F(FollowerTest, PreparedPlansHaveThemToo) {
  Product product(options_);
  load(TableMaker().kernel(product, kPlan).follower(product, kFollower));
  gemmsmithPlan_t plan = nullptr;
  ASSERT_EQ(gemmsmithPlanCreate(handle_, &product.problem, &plan), GEMMSMITH_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  const auto run = [&] {
    EXPECT_EQ(gemmsmithPlanRun(plan, &one, product.a.data(), product.b.data(), &zero, nullptr,
                               product.d.data(), nullptr, 0, nullptr),
              GEMMSMITH_STATUS_SUCCESS);
    EXPECT_EQ(product.difference(), "");
    return gpu().last_programmatic ? "follower" : "plan";
  };
  gpu().is_capturing = true;
  EXPECT_STREQ(run(), "plan");
  EXPECT_STREQ(run(), "follower");
  EXPECT_EQ(gemmsmithPlanDestroy(plan), GEMMSMITH_STATUS_SUCCESS);
}

// Each thread knows what it captured itself.
TEST_F(FollowerTest, AnotherThreadsKernelsAreOthers) {
  Product product(options_);
  load(TableMaker().kernel(product, kPlan).follower(product, kFollower));
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(product), "plan");
  std::thread([&] {
    use_device(0);
    EXPECT_EQ(served_by(product), "plan");
    EXPECT_EQ(served_by(product), "follower");
  }).join();
  EXPECT_EQ(served_by(product), "plan");
}

TEST_F(FollowerTest, WithoutFollowersCapturesAreNotLookedAt) {
  Product product(options_);
  load(TableMaker().kernel(product, kPlan));
  gpu().is_capturing = true;
  EXPECT_EQ(served_by(product), "plan");
  EXPECT_EQ(served_by(product), "plan");
}

}  // namespace
}  // namespace gemmsmith::runtime
