// Names that an exported library may not have, and why.
#include "export/library_name.h"

#include <gtest/gtest.h>

#include <string>

namespace gemmsmith::exporting {
namespace {

std::string refusal(const std::string& name) {
  const auto checked = check_library_name(name);
  if (checked) return "";
  EXPECT_EQ(checked.error().code, ErrorCode::kBadInput);
  return checked.error().what;
}

TEST(LibraryName, IsAnIdentifierOfAtMost64Characters) {
  for (const std::string name :
       {"gemms", "my_gemms", "mine", "G2", "alls", "testing", "cuda_gemms", "x"})
    EXPECT_EQ(refusal(name), "");
  for (const std::string name : {"", "2gemms", "my-gemms", "a b", "\"; drop", "é"})
    EXPECT_EQ(refusal(name), "--name " + name +
                                 ": expected a C identifier of at most 64 characters, such as "
                                 "my_gemms");
  EXPECT_NE(refusal(std::string(65, 'a')), "");
  EXPECT_EQ(refusal(std::string(64, 'a')), "");
}

struct Taken {
  const char* name;
  const char* why;
};

// BUG: `--name all` made a CMake file that CMake refused, `--name cuda` a cuda.h that included
// itself, `--name exit` a second EXIT_SUCCESS.
TEST(LibraryName, IsNoneThatIsTakenSomewhere) {
  constexpr const char* kTarget = "CMake has a target of this name";
  constexpr const char* kKeyword = "a keyword of C or C++";
  constexpr const char* kHeader = "its header would hide the system's or CUDA's";
  constexpr const char* kLibrary = "a library of this name is there already";
  constexpr const char* kPrefix = "its functions or macros would have names that the C library has";
  for (const Taken& taken :
       {Taken{"all", kTarget},
        Taken{"help", kTarget},
        Taken{"test", kTarget},
        Taken{"install", kTarget},
        Taken{"clean", kTarget},
        Taken{"ALL_BUILD", kTarget},
        Taken{"zero_check", kTarget},
        Taken{"list_install_components", kTarget},
        Taken{"int", kKeyword},
        Taken{"class", kKeyword},
        Taken{"while", kKeyword},
        Taken{"cuda", kHeader},
        Taken{"stdlib", kHeader},
        Taken{"Stdint", kHeader},
        Taken{"dlfcn", kHeader},
        Taken{"mma", kHeader},
        Taken{"m", kLibrary},
        Taken{"dl", kLibrary},
        Taken{"gemmsmith", kLibrary},
        Taken{"cublas", kLibrary},
        Taken{"exit", kPrefix},
        Taken{"shm", kPrefix},
        Taken{"sem", kPrefix},
        Taken{"_gemms", "names that begin with an underscore are reserved by C"},
        Taken{"__gemms", "names that begin with an underscore are reserved by C"}})
    EXPECT_EQ(refusal(taken.name), std::string("--name ") + taken.name + ": " + taken.why +
                                       "; choose another, such as my_gemms");
}

}  // namespace
}  // namespace gemmsmith::exporting
