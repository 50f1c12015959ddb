// An exported library is built with its own CMake file by whatever compiler builds this, linked
// into a C99 program, and run on the fake driver.
#include "export/exported_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "export/library_name.h"
#include "runtime/table_maker.h"
#include "support/scratch.h"

namespace gemmsmith::exporting {
namespace {

namespace fs = std::filesystem;
using runtime::Product;
using runtime::ProductOptions;
using runtime::TableMaker;

Product product_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  ProductOptions options;
  options.m = m;
  options.n = n;
  options.k = k;
  return Product(options);
}

Problem problem_of(const Product& product, float beta = 0) {
  Problem problem = runtime::to_row_major(product.problem);
  problem.beta = beta;
  return problem;
}

struct Fixture {
  Product first = product_of(64, 64, 64);
  Product second = product_of(72, 64, 128);
  Product split = product_of(64, 64, 256);
  Product transposed = product_of(96, 64, 128);
  Product vendor = product_of(128, 128, 64);
  plan::PlanTable table =
      *plan::PlanTable::from_bytes(TableMaker()
                                       .kernel(first, runtime::kWithMaps)
                                       .kernel(second, runtime::kPlain, 1, 1)
                                       .kernel(split, "sm90_ws:e1.s2.sp2.sk2")
                                       .kernel(transposed, "sm90_ws:t1.w2.m128.n64.s2")
                                       .vendor(vendor, "cublaslt:a66.t20.s35.g3")
                                       .bytes(),
                                   "test");
};

TEST(ExportedLibrary, TheSameInputGivesTheSameBytesInAnyOrder) {
  const Fixture f;
  const Problem problems[] = {problem_of(f.first), problem_of(f.second, 1)};
  const Problem turned[] = {problem_of(f.second, 1), problem_of(f.first), problem_of(f.first)};
  const auto library = export_library(f.table, problems, "gemms");
  const auto again = export_library(f.table, turned, "gemms");
  ASSERT_TRUE(library && again);
  EXPECT_EQ(library->files, again->files);
  EXPECT_EQ(library->plans, 2);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : library->files) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"CMakeLists.txt", "gemms.c", "gemms.h", "gemms.plans",
                                             "gemms_data.c", "gemms_data.h"}));
}

TEST(ExportedLibrary, NamesWhatItLeavesOut) {
  const Fixture f;
  Problem odd = problem_of(f.first);
  odd.lda = 72;  // another leading dimension: the same plan
  Problem unknown = problem_of(f.first);
  unknown.k = 32;
  unknown.lda = unknown.ldb = 32;
  const Problem problems[] = {problem_of(f.first), odd, problem_of(f.vendor), unknown};
  const auto library = export_library(f.table, problems, "gemms");
  ASSERT_TRUE(library);
  EXPECT_EQ(library->plans, 2);
  ASSERT_EQ(library->left_out.size(), 2U);
  EXPECT_EQ(library->left_out[0].reason, "its plan is a configuration of cuBLASLt");
  EXPECT_EQ(library->left_out[1].reason, "the plan table has no plan for it");
}

// BUG: they were exported with a null workspace, which their kernels would have written to.
TEST(ExportedLibrary, LeavesOutPlansThatPack) {
  Product plain = product_of(64, 64, 64);
  Product splits = product_of(64, 64, 256);
  Product packs = product_of(64, 64, 65);
  const auto table = plan::PlanTable::from_bytes(TableMaker()
                                                     .kernel(plain, runtime::kWithMaps)
                                                     .kernel(splits, "sm90_ws:e1.s2.sp2.sk2")
                                                     .kernel(packs, "sm90_ws:e1.s2.pk3")
                                                     .bytes(),
                                                 "test");
  ASSERT_TRUE(table) << table.error().what;
  const Problem problems[] = {problem_of(plain), problem_of(splits), problem_of(packs)};
  const auto library = export_library(*table, problems, "gemms");
  ASSERT_TRUE(library) << library.error().what;
  EXPECT_EQ(library->plans, 2);
  ASSERT_EQ(library->left_out.size(), 1U);
  EXPECT_EQ(library->left_out[0].reason,
            "its plan packs operands into a workspace, which an exported library has not");
}

TEST(ExportedLibrary, ItsTableHoldsTheSamePlans) {
  const Fixture f;
  const Problem problems[] = {problem_of(f.first)};
  const auto library = export_library(f.table, problems, "gemms");
  ASSERT_TRUE(library);
  const auto table = plan::PlanTable::from_bytes(library->files.at("gemms.plans"), "exported");
  ASSERT_TRUE(table) << table.error().what;
  ASSERT_EQ(table->entries().size(), 1U);
  const plan::PlanEntry& entry = table->entries()[0];
  const plan::PlanEntry& original = *f.table.find(entry.key);
  EXPECT_EQ(entry.recipe, original.recipe);
  EXPECT_EQ(entry.ratio_foreign, original.ratio_foreign);
  EXPECT_EQ(table->text(entry), f.table.text(original));
  EXPECT_EQ(table->kernel(entry.kernel).cubin, f.table.kernel(original.kernel).cubin);
  EXPECT_EQ(table->device_name(), f.table.device_name());
  EXPECT_EQ(table->cublas_version(), f.table.cublas_version());
}

TEST(ExportedLibrary, RefusesWhatIsNoName) {
  const Fixture f;
  const Problem problems[] = {problem_of(f.first)};
  for (const std::string name : {"", "stdlib"}) {
    const auto library = export_library(f.table, problems, name);
    ASSERT_FALSE(library) << name;
    EXPECT_EQ(library.error().what, check_library_name(name).error().what);
  }
}

TEST(ExportedLibrary, RefusesToExportNothing) {
  const Fixture f;
  const Problem problems[] = {problem_of(f.vendor)};
  const auto library = export_library(f.table, problems, "gemms");
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().what,
            "nothing to export: no kernel of the plan table serves any of the 1 problems; "
            "128_128_64 f16/f32 tn: its plan is a configuration of cuBLASLt");
}

class Built : public ::testing::Test {
 protected:
  // Configures, builds and links the user's program; an error text or "".
  std::string build(const plan::PlanTable& table, std::span<const Problem> problems) {
    const auto library = export_library(table, problems, "gemms");
    if (!library) return library.error().what;
    for (const auto& [name, bytes] : library->files)
      if (auto written = write_file_atomic(folder_ / name, bytes); !written)
        return written.error().what;
    const std::string strict = "-Wall -Wextra -Wpedantic -Wshadow -Werror";
    if (shell("cmake -S '" + folder_.path().string() + "' -B '" + (folder_ / "build").string() +
              "' -DCMAKE_C_COMPILER='" GEMMSMITH_C_COMPILER "' -DCMAKE_C_FLAGS='" + strict +
              "' -DGEMMS_CUDA_INCLUDE_DIR='" GEMMSMITH_CUDA_INCLUDE "' && cmake --build '" +
              (folder_ / "build").string() + "'") != 0 ||
        shell("'" GEMMSMITH_C_COMPILER "' -std=c11 -O1 " + strict +
              " '" GEMMSMITH_SOURCE_DIR "/tests/export/user.c' -I'" + folder_.path().string() +
              "' '" + (folder_ / "build/libgemms.a").string() + "' '" +
              GEMMSMITH_FAKE_GPU "' -Wl,-rpath,'" +
              fs::path(GEMMSMITH_FAKE_GPU).parent_path().string() + "' -ldl -lm -o '" +
              (folder_ / "user").string() + "'") != 0)
      return text("log");
    fs::create_directories(folder_ / "driver");
    fs::create_symlink(GEMMSMITH_FAKE_GPU, folder_ / "driver/libcuda.so.1");
    return "";
  }
  int shell(const std::string& command) {
    return std::system(("(" + command + ") >'" + (folder_ / "log").string() + "' 2>&1").c_str());
  }
  std::string run(const std::string& arguments, const std::string& driver_folder) {
    shell("env LD_LIBRARY_PATH='" + driver_folder + "' ASAN_OPTIONS=detect_leaks=0 '" +
          (folder_ / "user").string() + "' " + arguments);
    return text("log");
  }
  std::string text(const char* name) { return *read_file(folder_ / name); }
  testing::ScratchFolder folder_;
};

TEST_F(Built, MultipliesExactlyWithTheDriverAlone) {
  if (GEMMSMITH_IS_SANITIZED) GTEST_SKIP() << "unavailable: the fake driver needs the sanitizer";
  const Fixture f;
  ProductOptions options;
  options.m = options.n = options.k = 64;
  options.pad_a = 8;
  options.pad_d = options.pad_c = 16;
  const Product padded(options);
  const Problem problems[] = {problem_of(f.first), problem_of(f.second, 1), problem_of(padded),
                              problem_of(f.split), problem_of(f.transposed)};
  ASSERT_EQ(build(f.table, problems), "");
  const std::string driver = (folder_ / "driver").string();
  EXPECT_EQ(run("", driver),
            "device=NVIDIA H200 count=5\n"
            "open=0\n"
            "scratch=0\n"
            "64_64_64 scratch=0 status=0 exact misaligned=7 overlap=7 beta=15 bare=0\n"
            "64_64_64 scratch=0 status=0 exact misaligned=7 overlap=7 beta=15 bare=0\n"
            "64_64_256 scratch=32768 status=0 exact misaligned=7 overlap=7 beta=15 bare=7\n"
            "72_64_128 scratch=0 status=0 exact misaligned=7 overlap=7 beta=0 bare=0\n"
            "96_64_128 scratch=0 status=0 exact misaligned=7 overlap=7 beta=15 bare=0\n"
            "out_of_range=7\n");
  // No context, no driver: said by a status.
  EXPECT_EQ(run("no_context", driver), "device=NVIDIA H200 count=5\nopen=1\n");
  EXPECT_EQ(run("", "/nonexistent"), "device=NVIDIA H200 count=5\nopen=1\n");
}

TEST_F(Built, IsForTheDeviceItWasTunedOn) {
  if (GEMMSMITH_IS_SANITIZED) GTEST_SKIP() << "unavailable: the fake driver needs the sanitizer";
  const Fixture f;
  runtime::TableOptions options;
  options.sm_count = 66;
  const auto other = plan::PlanTable::from_bytes(
      TableMaker(options).kernel(f.first, runtime::kWithMaps).bytes(), "other");
  ASSERT_TRUE(other);
  const Problem problems[] = {problem_of(f.first)};
  ASSERT_EQ(build(*other, problems), "");
  EXPECT_EQ(run("", (folder_ / "driver").string()), "device=NVIDIA H200 count=1\nopen=8\n");
}

// The table that is shipped, with real kernels.
TEST_F(Built, TheShippedTableExports) {
  const auto table = plan::PlanTable::open(GEMMSMITH_SOURCE_DIR "/data/plans/h200.plans");
  ASSERT_TRUE(table) << table.error().what;
  std::vector<Problem> problems;
  for (const plan::PlanEntry& entry : table->entries()) {
    if (entry.source != plan::PlanSource::kKernel || problems.size() == 12) continue;
    Problem problem;
    problem.m = entry.key.m;
    problem.n = entry.key.n;
    problem.k = entry.key.k;
    if (auto made = make_problem(problem); made && plan::key_of(*made) == entry.key)
      problems.push_back(*made);
  }
  ASSERT_EQ(problems.size(), 12U);
  EXPECT_EQ(build(*table, problems), "");
}

}  // namespace
}  // namespace gemmsmith::exporting
