// dynamic_library_test.cpp -- libraries are found by the first name that loads, and a missing one
// is reported with everything that was tried.
#include "base/dynamic_library.h"

#include <gtest/gtest.h>

#include <array>

namespace gemmsmith {
namespace {

TEST(DynamicLibrary, OpensTheFirstNameThatLoads) {
  const std::array<std::string, 2> names = {"libnothing.so.99", "libm.so.6"};
  const auto library = DynamicLibrary::open(names, "the maths library", "install it");
  ASSERT_TRUE(library);
  EXPECT_EQ(library->path(), "libm.so.6");
  double (*cosine)(double) = nullptr;
  ASSERT_TRUE(library->load("cos", cosine));
  EXPECT_EQ(cosine(0), 1);
}

TEST(DynamicLibrary, AMissingOneListsWhatWasTried) {
  const std::array<std::string, 2> names = {"libnothing.so.99", "/nowhere/libnothing.so"};
  const auto library = DynamicLibrary::open(names, "the driver", "install the driver");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kEnvironment);
  EXPECT_EQ(library.error().what,
            "cannot load the driver: looked for libnothing.so.99, /nowhere/libnothing.so; install "
            "the driver");
}

TEST(DynamicLibrary, AMissingSymbolIsNamed) {
  const std::array<std::string, 1> names = {"libm.so.6"};
  const auto library = DynamicLibrary::open(names, "the maths library", "install a newer one");
  ASSERT_TRUE(library);
  EXPECT_EQ(library->find("no_such_function"), nullptr);
  void (*function)() = nullptr;
  const auto loaded = library->load("no_such_function", function);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().what,
            "libm.so.6 has no no_such_function: it is too old; install a newer one");
}

TEST(DynamicLibrary, MovingHandsTheLibraryOver) {
  const std::array<std::string, 1> names = {"libm.so.6"};
  auto first = DynamicLibrary::open(names, "the maths library", "");
  ASSERT_TRUE(first);
  DynamicLibrary second = std::move(*first);
  first = tl::unexpected<Error>(Error{});  // destroys the moved-from one
  EXPECT_NE(second.find("cos"), nullptr);
}

}  // namespace
}  // namespace gemmsmith
