// The runtime's own kernels' PTX is accepted by the assembler, where one is installed, for every
// architecture that is supported.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/finish_kernel.h"
#include "runtime/scale_kernel.h"

namespace gemmsmith::runtime {
namespace {

TEST(OwnKernels, PtxAssembles) {
  const char* home = std::getenv("CUDA_HOME");
  const std::string ptxas = std::string(home != nullptr ? home : "/usr/local/cuda") + "/bin/ptxas";
  if (!std::filesystem::exists(ptxas)) GTEST_SKIP() << "unavailable: no " << ptxas;
  const auto path = std::filesystem::temp_directory_path() / "gemmsmith_own_kernels_test.ptx";
  for (const char* ptx : {scale_kernel_ptx(), finish_kernel_ptx()}) {
    std::ofstream(path) << ptx;
    for (const std::string architecture : {"sm_80", "sm_90", "sm_90a"}) {
      const std::string command =
          ptxas + " -arch=" + architecture + " -Werror -o /dev/null " + path.string();
      EXPECT_EQ(std::system(command.c_str()), 0) << command;
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace gemmsmith::runtime
