// The scaling kernel's PTX is accepted by the assembler, where one is installed, for every
// architecture that is supported.
#include "runtime/scale_kernel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace gemmsmith::runtime {
namespace {

TEST(ScaleKernel, PtxAssembles) {
  const char* home = std::getenv("CUDA_HOME");
  const std::string ptxas = std::string(home != nullptr ? home : "/usr/local/cuda") + "/bin/ptxas";
  if (!std::filesystem::exists(ptxas)) GTEST_SKIP() << "unavailable: no " << ptxas;
  const auto path = std::filesystem::temp_directory_path() / "gemmsmith_scale_test.ptx";
  std::ofstream(path) << scale_kernel_ptx();
  for (const std::string architecture : {"sm_80", "sm_90", "sm_90a"}) {
    const std::string command =
        ptxas + " -arch=" + architecture + " -Werror -o /dev/null " + path.string();
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace gemmsmith::runtime
