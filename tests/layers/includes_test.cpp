// includes_test.cpp -- the layers of docs/architecture.md hold: src/ has no include that goes up or
// sideways. Planted files show that the check would see one.
#include <gtest/gtest.h>

#include <fstream>

#include "layers/include_rules.h"
#include "support/scratch.h"

namespace gemmsmith::layers {
namespace {

TEST(Layers, EveryIncludeGoesDown) {
  const std::filesystem::path source = std::string(GEMMSMITH_SOURCE_DIR) + "/src";
  EXPECT_GT(count_includes(source), 200) << "the includes were not found";
  for (const Violation& violation : find_violations(source))
    ADD_FAILURE() << "src/" << violation.file << ":" << violation.line << ": " << violation.reason;
}

struct PlantedCase {
  const char* label;
  const char* file;
  const char* text;
  const char* reason;  // empty: allowed
};

class PlantedInclude : public ::testing::TestWithParam<PlantedCase> {};

TEST_P(PlantedInclude, IsJudged) {
  const testing::ScratchFolder folder;
  const std::filesystem::path file = folder / GetParam().file;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "// a comment\n" << GetParam().text << "\n";
  const auto violations = find_violations(folder.path());
  if (*GetParam().reason == '\0') {
    EXPECT_TRUE(violations.empty()) << violations.front().reason;
    return;
  }
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].file, GetParam().file);
  EXPECT_EQ(violations[0].line, 2);
  EXPECT_EQ(violations[0].reason, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, PlantedInclude,
    ::testing::Values(
        PlantedCase{"own_folder", "space/a.cpp", "#include \"space/b.h\"", ""},
        PlantedCase{"lower_folder", "space/a.h", "#include \"base/result.h\"", ""},
        PlantedCase{"standard_header", "base/a.h", "#include <vector>", ""},
        PlantedCase{"kernel_arguments", "plan/a.h", "#include \"kernels/parts/args.cuh\"", ""},
        PlantedCase{"public_header", "runtime/a.cpp", "#include \"gemmsmith/gemmsmith.h\"", ""},
        PlantedCase{"upwards", "space/a.h", "#include \"compile/compiler.h\"",
                    "space (rank 2) may not include compile (rank 3)"},
        PlantedCase{"sideways", "device/a.cpp", "  #  include  \"compile/compiler.h\"",
                    "device (rank 3) may not include compile (rank 3)"},
        PlantedCase{"runtime_and_store", "runtime/a.cpp", "#include \"store/store.h\"",
                    "runtime (rank 5) may not include store (rank 5)"},
        PlantedCase{"unknown_folder", "base/a.cpp", "#include \"helpers/x.h\"",
                    "\"helpers/x.h\" starts with no folder of src/"},
        PlantedCase{"bare_name", "base/a.cpp", "#include \"result.h\"",
                    "\"result.h\" starts with no folder of src/"},
        PlantedCase{"kernel_arguments_below_plan", "space/a.cpp",
                    "#include \"kernels/parts/args.cuh\"",
                    "space is below plan and may not know kernel arguments"},
        PlantedCase{"public_header_below_runtime", "plan/a.cpp",
                    "#include \"gemmsmith/gemmsmith.h\"",
                    "plan is below runtime and may not know the C API"},
        PlantedCase{"cli11", "search/a.cpp", "#include <CLI/CLI.hpp>",
                    "search includes <CLI/CLI.hpp>, which belongs in cli/ alone"},
        PlantedCase{"sqlite", "search/a.cpp", "#include <SQLiteCpp/SQLiteCpp.h>",
                    "search includes <SQLiteCpp/SQLiteCpp.h>, which belongs in store/ alone"},
        PlantedCase{"spdlog", "cli/a.cpp", "#include <spdlog/spdlog.h>",
                    "cli includes <spdlog/spdlog.h>, which belongs in base/ alone"},
        PlantedCase{"toml", "cli/a.cpp", "#include <toml++/toml.h>",
                    "cli includes <toml++/toml.h>, which belongs in base/ alone"}),
    [](const auto& test) { return std::string(test.param.label); });

TEST(Layers, AFolderWithoutARankIsSeen) {
  const testing::ScratchFolder folder;
  std::filesystem::create_directories(folder / "helpers");
  std::ofstream(folder / "helpers" / "a.cpp") << "int x;\n";
  const auto violations = find_violations(folder.path());
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].reason, "folder helpers has no rank");
}

}  // namespace
}  // namespace gemmsmith::layers
