// kernel_texts_test.cpp -- every kernel text compiles clean for every architecture it serves, and
// so does a sample of each family's kernels: no spill, no serialised wgmma. (`gemmsmith compile`
// does it for all of them.)
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "compile/compiler.h"
#include "compile/embedded_kernels.h"
#include "space/space.h"

namespace gemmsmith::compile {
namespace {

constexpr int kThreads = 2;

void expect_clean(const std::vector<KernelSource>& sources) {
  const auto compiler = Compiler::open(nullptr);
  ASSERT_TRUE(compiler) << compiler.error().what;
  const auto kernels = compiler->compile_all(sources, kThreads, {});
  ASSERT_TRUE(kernels) << kernels.error().what;
  for (std::size_t i = 0; i < sources.size(); ++i)
    EXPECT_EQ((*kernels)[i].status, KernelStatus::kOk)
        << sources[i].name << ": " << name((*kernels)[i].status) << "\n"
        << (*kernels)[i].log;
}

TEST(KernelTexts, UtilitiesCompileForBothArchitectures) {
  std::vector<KernelSource> sources;
  for (const KernelText& text : embedded_kernels()) {
    const bool is_kernel = text.name.size() > 3 && text.name.substr(text.name.size() - 3) == ".cu";
    const auto families = kernel_families();
    const bool is_family = std::any_of(families.begin(), families.end(),
                                       [&](const Family* f) { return f->source == text.name; });
    if (!is_kernel || is_family) continue;
    for (const char* architecture : {"sm_80", "sm_90a"}) {
      auto source = utility_source(std::string(text.name), architecture);
      ASSERT_TRUE(source) << source.error().what;
      sources.push_back(std::move(*source));
    }
  }
  ASSERT_GE(sources.size(), 4u);
  expect_clean(sources);
}

struct SampleCase {
  const Family* family;
  const char* target;
  Signature signature;
};

std::string case_name(const ::testing::TestParamInfo<SampleCase>& info) {
  const Signature& signature = info.param.signature;
  return fmt::format("{}_{}_{}_{}_{}{}{}", info.param.family->name, info.param.target,
                     name(signature.type), name(signature.accumulator), name(signature.layout),
                     signature.batched ? "_batched" : "",
                     signature.f32_output ? "_f32_output" : "");
}

// All kernels of a family that some problem of these types allows.
std::vector<Config> all_kernels(const SampleCase& sample) {
  const Target target = *known_target(sample.target);
  std::map<std::string, Config> kernels;
  for (const Problem& problem : roomy_problems(sample.signature))
    for (const Config& config : kernels_of(*sample.family, {problem, target}))
      kernels.emplace(kernel_text(config), config);
  std::vector<Config> all;
  for (const auto& [text, config] : kernels) all.push_back(config);
  return all;
}

class KernelSample : public ::testing::TestWithParam<SampleCase> {};

TEST_P(KernelSample, CompilesClean) {
  constexpr std::size_t kSampleSize = 6;
  std::vector<Config> configs = all_kernels(GetParam());
  ASSERT_GE(configs.size(), 100u);
  std::shuffle(configs.begin(), configs.end(), std::mt19937(20240611));
  configs.resize(kSampleSize);
  configs.push_back(default_config(*GetParam().family));
  const std::string architecture =
      *compile_architecture(known_target(GetParam().target)->compute_capability);
  std::vector<KernelSource> sources;
  for (const Config& config : configs)
    sources.push_back(*kernel_source(config, GetParam().signature, architecture));
  expect_clean(sources);
}

// The narrowest, the widest and the highest tiles of each number of consumers.
TEST(KernelTexts, SplitsThroughTheWorkspaceCompileClean) {
  std::vector<KernelSource> sources;
  for (const Signature& signature :
       {Signature{DataType::kF16, DataType::kF32}, Signature{DataType::kF16, DataType::kF16},
        Signature{DataType::kBf16, DataType::kF32, Layout::kNT}})
    for (const char* text : {"sm90_ws:n16.e1.sp2", "sm90_ws:n256.e1.sp2",
                             "sm90_ws:m128.n192.e1.sp2", "sm90_ws:w2.m128.n32.e1.sp2",
                             "sm90_ws:w2.m192.n256.s3.e1.sp2", "sm90_ws:w2.m256.n192.s3.e1.sp2"})
      sources.push_back(
          *kernel_source(*parse_config(text, kernel_families()), signature, "sm_90a"));
  expect_clean(sources);
}

// An f32 D by every way of storing one, at the widest tiles of each, and with an epilogue.
TEST(KernelTexts, F32OutputsCompileClean) {
  std::vector<KernelSource> sources;
  for (const bool fused : {false, true}) {
    Signature signature = {fused ? DataType::kBf16 : DataType::kF16, DataType::kF32};
    signature.f32_output = true;
    signature.fused = fused;
    for (const char* text :
         {"sm90_ws:n8.s2", "sm90_ws:n48.s2", "sm90_ws:m128.n128.s2", "sm90_ws:w2.m128.n256.s3",
          "sm90_ws:w2.m256.n128.s3", "sm90_ws:w2.m192.n96.s3", "sm90_ws:w2.pp1.m64.n256.s3",
          "sm90_ws:n24.e1.s2", "sm90_ws:w2.m128.n256.e1.s3", "sm90_ws:w2.m256.n128.e1.s3",
          "sm90_ws:w2.m64.n192.e1.s3", "sm90_ws:w2.m128.n128.e1.sp1",
          "sm90_ws:w2.m128.n256.e1.sp2.s3", "sm80_mma:s2", "sm80_mma:m128.n128.wm2.wn4.s2",
          "sm80_mma:m32.n32.k64.wk2.s2", "sm80_mma:m32.n32.wm1.wn1.s2.l1"})
      sources.push_back(
          *kernel_source(*parse_config(text, kernel_families()), signature, "sm_90a"));
  }
  expect_clean(sources);
}

// Every shape of a consumer's share, with the widest tiles that do not spill.
TEST(KernelTexts, WalksOverGroupsCompileClean) {
  std::vector<KernelSource> sources;
  for (const Signature& signature :
       {Signature{DataType::kBf16, DataType::kF32, Layout::kTN, false, true},
        Signature{DataType::kF16, DataType::kF32, Layout::kTT, false, true}})
    for (const char* text : {"sm90_ws:n16.e1", "sm90_ws:n256.e1", "sm90_ws:m128.n192.e1",
                             "sm90_ws:w2.n256.e1", "sm90_ws:w2.m128.n256.e1",
                             "sm90_ws:w2.pp1.m128.n128.s3.e1", "sm90_ws:w2.m256.n192.s3.e1"})
      sources.push_back(
          *kernel_source(*parse_config(text, kernel_families()), signature, "sm_90a"));
  expect_clean(sources);
}

INSTANTIATE_TEST_SUITE_P(
    Families, KernelSample,
    ::testing::Values(
        SampleCase{&sm90_ws_family(), "h200", {DataType::kF16, DataType::kF32}},
        SampleCase{&sm90_ws_family(), "h200", {DataType::kBf16, DataType::kF32}},
        SampleCase{&sm90_ws_family(), "h200", {DataType::kF16, DataType::kF16}},
        SampleCase{&sm90_ws_family(), "h200", {DataType::kF16, DataType::kF32, Layout::kNN}},
        SampleCase{&sm90_ws_family(), "h200", {DataType::kBf16, DataType::kF32, Layout::kNT}},
        SampleCase{&sm90_ws_family(), "h200", {DataType::kF16, DataType::kF16, Layout::kTT}},
        SampleCase{&sm90_ws_family(), "h200", {DataType::kBf16, DataType::kF32, Layout::kTN, true}},
        SampleCase{&sm90_ws_family(), "h200", {DataType::kF16, DataType::kF32, Layout::kNT, true}},
        SampleCase{
            &sm80_mma_family(), "h200", {DataType::kBf16, DataType::kF32, Layout::kTN, true}},
        SampleCase{&sm90_ws_family(),
                   "h200",
                   {DataType::kF16, DataType::kF32, Layout::kTN, false, false, false, true}},
        SampleCase{&sm90_ws_family(),
                   "h200",
                   {DataType::kBf16, DataType::kF32, Layout::kNT, true, false, false, true}},
        SampleCase{&sm80_mma_family(),
                   "a100",
                   {DataType::kBf16, DataType::kF32, Layout::kTN, false, false, false, true}},
        SampleCase{&sm80_mma_family(), "h200", {DataType::kF16, DataType::kF32}},
        SampleCase{&sm80_mma_family(), "a100", {DataType::kF16, DataType::kF32}},
        SampleCase{&sm80_mma_family(), "a100", {DataType::kBf16, DataType::kF32}},
        SampleCase{&sm80_mma_family(), "a100", {DataType::kF16, DataType::kF16}}),
    case_name);

}  // namespace
}  // namespace gemmsmith::compile
