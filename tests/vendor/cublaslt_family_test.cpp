#include "vendor/cublaslt_family.h"

#include <rapidcheck.h>

#include "fake_fixture.h"

namespace gemmsmith::vendor {
namespace {

const Family* const kFamilies[] = {&cublaslt_family()};

Config config_of(std::string_view text) {
  auto config = parse_config(text, kFamilies);
  if (!config) ADD_FAILURE() << config.error().what;
  return *config;
}

TEST(CublasLtFamily, TextNamesTheLibrarysNumbers) {
  const Config config = config_of("cublaslt:a66.t20.s35.c2.g3");
  EXPECT_EQ(config.at("algo"), 66);
  EXPECT_EQ(config.at("tile"), CUBLASLT_MATMUL_TILE_128x128);
  EXPECT_EQ(config.at("stages"), CUBLASLT_MATMUL_STAGES_64xAUTO);
  EXPECT_EQ(config.at("custom"), 2);
  EXPECT_EQ(config.at("cluster"), CUBLASLT_CLUSTER_SHAPE_2x1x1);
  EXPECT_EQ(config.at("split_k"), 1);
  EXPECT_EQ(to_text(config), "cublaslt:a66.t20.s35.c2.g3");
}

std::string broken(std::string_view text, const char* target = "h200") {
  const Problem problem = problem_of(64, 64, 128);
  const Target card = *known_target(target);
  const Constraint* rule = broken_rule({problem, card}, config_of(text));
  return rule == nullptr ? "" : std::string(rule->id);
}

TEST(CublasLtFamily, ConstraintsNameWhatTheLibraryNeedNotBeAsked) {
  EXPECT_EQ(broken("cublaslt:a66.t20.s35.g3"), "");
  EXPECT_EQ(broken("cublaslt:a66.t20.s35.k4.r2.g2"), "");
  EXPECT_EQ(broken("cublaslt:a66.t20.s35.k4.g2"), "split_needs_reduction");
  EXPECT_EQ(broken("cublaslt:a66.t20.k0"), "split_has_work");
  EXPECT_EQ(broken("cublaslt:a66.t20.k129.r2"), "split_has_work");
  EXPECT_EQ(broken("cublaslt:a66.t20.k4.r3"), "reduction_is_one_scheme");
  EXPECT_EQ(broken("cublaslt:a24.t20.g3", "a100"), "cluster_needs_hopper");
  EXPECT_EQ(broken("cublaslt:a24.t20.s16", "a100"), "");
}

class CublasLtFamilyFake : public FakeLibraryTest {
 protected:
  LtMatmul matmul() {
    auto created = LtMatmul::create(handle(), problem_of(64, 64, 128), 64 << 20);
    if (!created) ADD_FAILURE() << created.error().what;
    return std::move(*created);
  }
};

TEST_F(CublasLtFamilyFake, AlgorithmTextAndConfigAreOne) {
  const LtMatmul lt = matmul();
  const bool held = rc::check("config -> text -> config -> algorithm -> config", [&] {
    Config config = config_of("cublaslt:a66.s35");
    config.set("tile", *rc::gen::inRange(0, 640));
    config.set("custom", *rc::gen::inRange(0, 70000));
    config.set("swizzle", *rc::gen::inRange(0, 2));
    config.set("inner_shape", *rc::gen::inRange(0, 5));
    config.set("cluster", *rc::gen::inRange(0, 52));
    if (*rc::gen::arbitrary<bool>()) {
      config.set("split_k", *rc::gen::inRange(2, 33));
      config.set("reduction", *rc::gen::element(1, 2, 4));
    }
    const auto read = parse_config(to_text(config), kFamilies);
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == config);
    const auto algo = to_algo(*read, lt);
    RC_ASSERT(algo.has_value());
    const auto back = to_config(lt.handle().lt(), algo->algo);
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == config);
  });
  EXPECT_TRUE(held);
}

TEST_F(CublasLtFamilyFake, HeuristicsAlgorithmHasATextThatBuildsItAgain) {
  const LtMatmul lt = matmul();
  const auto algos = lt.heuristics(8);
  ASSERT_TRUE(algos) << algos.error().what;
  for (const LtAlgo& algo : *algos) {
    const auto config = to_config(lt.handle().lt(), algo.algo);
    ASSERT_TRUE(config) << config.error().what;
    const auto again = to_algo(config_of(to_text(*config)), lt);
    ASSERT_TRUE(again) << again.error().what;
    EXPECT_TRUE(std::equal(std::begin(algo.algo.data), std::end(algo.algo.data),
                           std::begin(again->algo.data)));
  }
}

TEST_F(CublasLtFamilyFake, UnknownAlgorithmIsNamed) {
  const auto algo = to_algo(config_of("cublaslt:a67.t20"), matmul());
  ASSERT_FALSE(algo);
  EXPECT_EQ(algo.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(algo.error().what,
            "cuBLASLt 13.1.0 has no algorithm 67 for f16/f32: CUBLAS_STATUS_INVALID_VALUE (7)");
}

TEST_F(CublasLtFamilyFake, RefusedConfigIsNamedWithTheProblem) {
  const auto algo = to_algo(config_of("cublaslt:a66.t20.s15"), matmul());
  ASSERT_FALSE(algo);
  EXPECT_EQ(algo.error().what,
            "cublaslt:a66.t20.s15: cuBLASLt refuses this algorithm for 64_64_128 f16/f32 tn: "
            "CUBLAS_STATUS_NOT_SUPPORTED (15)");
}

}  // namespace
}  // namespace gemmsmith::vendor
