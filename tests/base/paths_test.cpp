// paths_test.cpp -- the XDG rules: our variable, then XDG's, then the home directory.
#include "base/paths.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/scratch.h"

namespace gemmsmith {
namespace {

using testing::ScopedVariable;

class Paths : public ::testing::Test {
 protected:
  ScopedVariable home_{"HOME", "/home/someone"};
  ScopedVariable cache_{"XDG_CACHE_HOME", nullptr};
  ScopedVariable data_{"XDG_DATA_HOME", nullptr};
  ScopedVariable config_{"XDG_CONFIG_HOME", nullptr};
  ScopedVariable own_cache_{"GEMMSMITH_CACHE_DIR", nullptr};
  ScopedVariable own_data_{"GEMMSMITH_DATA_DIR", nullptr};
};

TEST_F(Paths, AreBelowHomeByDefault) {
  EXPECT_EQ(*cache_directory(), "/home/someone/.cache/gemmsmith");
  EXPECT_EQ(*data_directory(), "/home/someone/.local/share/gemmsmith");
  EXPECT_EQ(*config_directory(), "/home/someone/.config/gemmsmith");
}

TEST_F(Paths, FollowXdg) {
  const ScopedVariable cache("XDG_CACHE_HOME", "/c");
  const ScopedVariable data("XDG_DATA_HOME", "/d");
  const ScopedVariable config("XDG_CONFIG_HOME", "/e");
  EXPECT_EQ(*cache_directory(), "/c/gemmsmith");
  EXPECT_EQ(*data_directory(), "/d/gemmsmith");
  EXPECT_EQ(*config_directory(), "/e/gemmsmith");
}

TEST_F(Paths, OurOwnVariablesWin) {
  const ScopedVariable xdg("XDG_CACHE_HOME", "/c");
  const ScopedVariable cache("GEMMSMITH_CACHE_DIR", "/own/cache");
  const ScopedVariable data("GEMMSMITH_DATA_DIR", "/own/data");
  EXPECT_EQ(*cache_directory(), "/own/cache");
  EXPECT_EQ(*data_directory(), "/own/data");
}

TEST_F(Paths, RelativeXdgValuesAreIgnored) {
  const ScopedVariable cache("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(*cache_directory(), "/home/someone/.cache/gemmsmith");
}

class PlanFiles : public Paths {
 protected:
  std::string touch(const std::string& path) {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << "x";
    return file.string();
  }
  using Files = std::vector<std::string>;
  testing::ScratchFolder folder_;
  ScopedVariable plans_{"GEMMSMITH_PLANS", nullptr};
};

TEST_F(PlanFiles, OfAnInstallationLieInTheNearestShareAboveTheLibrary) {
  const std::string b = touch("usr/share/gemmsmith/plans/b.plans");
  const std::string a = touch("usr/share/gemmsmith/plans/a.plans");
  touch("usr/share/gemmsmith/plans/readme.txt");
  for (const char* library : {"usr/lib/libx.so", "usr/lib/multi-arch/libx.so", "usr/bin/program"})
    EXPECT_EQ(installed_plan_files(folder_ / library), (Files{a, b})) << library;
  const std::string own = touch("usr/lib/python/gemmsmith/share/gemmsmith/plans/c.plans");
  EXPECT_EQ(installed_plan_files(folder_ / "usr/lib/python/gemmsmith/lib/libx.so"), Files{own});
  EXPECT_EQ(installed_plan_files(folder_ / "usr/lib/a/b/c/libx.so"), Files{});
  EXPECT_EQ(installed_plan_files(""), Files{});
}

TEST_F(PlanFiles, OfTheUserComeFirstAndNamedOnesAlone) {
  const std::string mine = touch("data/plans/mine.plans");
  const ScopedVariable data("GEMMSMITH_DATA_DIR", (folder_ / "data").c_str());
  ASSERT_FALSE(plan_files().empty());
  EXPECT_EQ(plan_files().front(), mine);
  const ScopedVariable named("GEMMSMITH_PLANS", "/a.plans::/b.plans");
  EXPECT_EQ(plan_files(), (Files{"/a.plans", "/b.plans"}));
}

TEST_F(Paths, WithoutAHomeThereIsNone) {
  const ScopedVariable home("HOME", nullptr);
  EXPECT_FALSE(cache_directory());
  EXPECT_FALSE(data_directory());
  EXPECT_FALSE(config_directory());
}

}  // namespace
}  // namespace gemmsmith
