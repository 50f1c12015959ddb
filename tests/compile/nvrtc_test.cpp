// nvrtc_test.cpp -- NVRTC is found, or the user learns what was looked for and what to do.
#include "compile/nvrtc.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/scratch.h"

namespace gemmsmith::compile {
namespace {

using testing::ScopedVariable;

constexpr const char* kAdvice =
    "install the CUDA toolkit or the PyPI package nvidia-cuda-nvrtc, or set GEMMSMITH_NVRTC to the "
    "library's path";

TEST(Nvrtc, OpensTheOneOfThisMachine) {
  const auto nvrtc = Nvrtc::open();
  ASSERT_TRUE(nvrtc) << nvrtc.error().what;
  EXPECT_EQ(nvrtc->version().rfind("nvrtc 1", 0), 0u) << nvrtc->version();
}

TEST(Nvrtc, MissingLibraryIsNamedWithAdvice) {
  const ScopedVariable variable("GEMMSMITH_NVRTC", "/nonexistent");
  const auto nvrtc = Nvrtc::open();
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(nvrtc.error().what,
            std::string("cannot load NVRTC: looked for /nonexistent; ") + kAdvice);
}

TEST(Nvrtc, AnotherLibraryIsRefused) {
  const ScopedVariable variable("GEMMSMITH_NVRTC", "libm.so.6");
  const auto nvrtc = Nvrtc::open();
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().what,
            std::string("libm.so.6 has no nvrtcVersion: it is too old; ") + kAdvice);
}

TEST(Nvrtc, AnOldVersionIsRefused) {
  const ScopedVariable variable("GEMMSMITH_NVRTC", GEMMSMITH_FAKE_OLD_NVRTC);
  const auto nvrtc = Nvrtc::open();
  ASSERT_FALSE(nvrtc);
  EXPECT_EQ(nvrtc.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(nvrtc.error().what,
            fmt::format("NVRTC 12.2 at {} is too old: expected 12.3 or newer; {}",
                        GEMMSMITH_FAKE_OLD_NVRTC, kAdvice));
}

TEST(Nvrtc, LooksInCudaHomeBeforeTheUsualFolder) {
  const ScopedVariable home("CUDA_HOME", "/opt/some-cuda");
  const auto names = nvrtc_names();
  const auto at = [&](const char* name) { return std::find(names.begin(), names.end(), name); };
  ASSERT_NE(at("/opt/some-cuda/lib64/libnvrtc.so.13"), names.end());
  ASSERT_NE(at("/usr/local/cuda/lib64/libnvrtc.so.12"), names.end());
  EXPECT_LT(at("libnvrtc.so.13"), at("/opt/some-cuda/lib64/libnvrtc.so.13"));
  EXPECT_LT(at("/opt/some-cuda/lib64/libnvrtc.so.12"), at("/usr/local/cuda/lib64/libnvrtc.so.13"));
}

}  // namespace
}  // namespace gemmsmith::compile
