// kernel_source_test.cpp -- a source holds all that decides its kernel, and nothing that does not.
#include "compile/kernel_source.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compile/compiler.h"
#include "space/family.h"

namespace gemmsmith::compile {
namespace {

constexpr DataType kF16 = DataType::kF16;
constexpr DataType kF32 = DataType::kF32;

Config config_of(const std::string& text) { return *parse_config(text, kernel_families()); }

KernelSource source_of(const std::string& text, const std::string& architecture = "sm_90a") {
  return *kernel_source(config_of(text), Signature{}, architecture);
}

std::string header(const KernelSource& source, const std::string& name) {
  for (const auto& [header_name, text] : source.headers)
    if (header_name == name) return text;
  return "";
}

bool has_option(const KernelSource& source, const std::string& option) {
  return std::find(source.options.begin(), source.options.end(), option) != source.options.end();
}

TEST(ConfigHeader, NamesEveryCompileTimeParameter) {
  const std::string text = config_header(config_of("sm80_mma:m128.n64.wk2.g4"),
                                         {DataType::kBf16, kF32, Layout::kNN}, "sm_80");
  EXPECT_EQ(text,
            "#pragma once\n"
            "constexpr int kTileM = 128;\n"
            "constexpr int kTileN = 64;\n"
            "constexpr int kWarpsM = 2;\n"
            "constexpr int kWarpsN = 2;\n"
            "constexpr int kTileK = 32;\n"
            "constexpr int kWarpsK = 2;\n"
            "constexpr int kStages = 3;\n"
            "constexpr int kLoads = 0;\n"
            "constexpr int kElementType = 1;\n"
            "constexpr int kOutputType = 1;\n"
            "constexpr int kAccumulatorType = 0;\n"
            "constexpr int kAlongKA = 0;\n"
            "constexpr int kAlongKB = 1;\n"
            "constexpr int kBatched = 0;\n"
            "constexpr int kGrouped = 0;\n"
            "constexpr int kFused = 0;\n"
            "constexpr int kArch = 80;\n");
}

TEST(ConfigHeader, TellsBatchesAndGroupsApart) {
  const auto has = [](const Signature& signature, const char* text) {
    return config_header(config_of("sm90_ws"), signature, "sm_90a").find(text) != std::string::npos;
  };
  const Signature batched = {kF16, kF32, Layout::kTN, true, false};
  const Signature grouped = {kF16, kF32, Layout::kTN, false, true};
  EXPECT_TRUE(has(batched, "kBatched = 1;"));
  EXPECT_TRUE(has(batched, "kGrouped = 0;"));
  EXPECT_TRUE(has(grouped, "kBatched = 0;"));
  EXPECT_TRUE(has(grouped, "kGrouped = 1;"));
}

TEST(ConfigHeader, TellsFusedKernelsApart) {
  Signature fused = {kF16, kF32};
  fused.fused = true;
  EXPECT_NE(config_header(config_of("sm90_ws"), fused, "sm_90a").find("kFused = 1;"),
            std::string::npos);
}

TEST(ConfigHeader, NumbersTheTypeOfD) {
  const auto has = [](const Signature& signature, const char* text) {
    return config_header(config_of("sm90_ws"), signature, "sm_90a").find(text) != std::string::npos;
  };
  EXPECT_TRUE(has({kF16, kF32}, "kOutputType = 0;"));
  EXPECT_TRUE(has({DataType::kBf16, kF32}, "kOutputType = 1;"));
  Signature wide = {DataType::kBf16, kF32};
  wide.f32_output = true;
  EXPECT_TRUE(has(wide, "kElementType = 1;"));
  EXPECT_TRUE(has(wide, "kOutputType = 2;"));
}

TEST(ConfigHeader, NumbersTypesAndArchitecture) {
  const std::string text = config_header(config_of("sm90_ws"), {kF16, kF16}, "sm_90a");
  EXPECT_NE(text.find("kElementType = 0;"), std::string::npos);
  EXPECT_NE(text.find("kAccumulatorType = 1;"), std::string::npos);
  EXPECT_NE(text.find("kArch = 90;"), std::string::npos);
}

TEST(KernelSource, IsNamedForPeople) {
  EXPECT_EQ(source_of("sm90_ws:m128.w2.g4").name, "sm90_ws:w2.m128 f16/f32 tn sm_90a");
}

TEST(KernelSource, CarriesOnlyTheHeadersItReaches) {
  const KernelSource mma = source_of("sm80_mma", "sm_80");
  EXPECT_NE(header(mma, "parts/mma_sync.cuh"), "");
  EXPECT_NE(header(mma, "config.cuh"), "");
  EXPECT_EQ(header(mma, "parts/wgmma.cuh"), "");
  EXPECT_EQ(header(mma, "wgmma_config.cuh"), "");
}

TEST(KernelSource, CarriesTheInstructionOfItsTile) {
  EXPECT_NE(header(source_of("sm90_ws:n192"), "wgmma_config.cuh").find("m64n192k16.f32.f16.f16"),
            std::string::npos);
}

TEST(KernelSource, LaunchTimeParametersLeaveItAsItIs) {
  const KernelSource plain = source_of("sm90_ws:m128.w2");
  const KernelSource other = source_of("sm90_ws:m128.w2.g32.r1.d0.ps1");
  EXPECT_EQ(plain.headers, other.headers);
  EXPECT_EQ(plain.options, other.options);
  EXPECT_EQ(plain.name, other.name);
}

TEST(KernelSource, CompilerKnobsAreOptionsAndAbsentAtTheirDefault) {
  const KernelSource plain = source_of("sm80_mma", "sm_80");
  const KernelSource tuned = source_of("sm80_mma:rul7.mr128", "sm_80");
  EXPECT_EQ(plain.options, (std::vector<std::string>{"--gpu-architecture=sm_80", "--std=c++17",
                                                     "-default-device", "--ptxas-options=-v"}));
  EXPECT_TRUE(has_option(tuned, "--ptxas-options=--register-usage-level=7"));
  EXPECT_TRUE(has_option(tuned, "--maxrregcount=128"));
  EXPECT_EQ(plain.headers, tuned.headers) << "a knob is no constant of the kernel";
}

TEST(KernelSource, AFamilyWithoutTextIsRefused) {
  const Family vendor = {"cublaslt", "", {}, {}, {}};
  const auto source = kernel_source(default_config(vendor), Signature{}, "sm_90a");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(source.error().what, "config 'cublaslt': cublaslt has no kernel text to compile");
}

TEST(UtilitySource, FindsTheHarness) {
  const auto source = utility_source("harness.cu", "sm_90a");
  ASSERT_TRUE(source);
  EXPECT_NE(header(*source, "parts/types.cuh"), "");
}

TEST(UtilitySource, AnUnknownFileIsRefused) {
  const auto source = utility_source("nothing.cu", "sm_90a");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().what,
            "no kernel text 'nothing.cu' is built in; the texts are in kernels/");
}

}  // namespace
}  // namespace gemmsmith::compile
