// open_learner.cpp -- finds the learner's library at run time, as the CUDA libraries are found, so
// that the program runs where libtorch is not installed.
#include <cstdlib>
#include <filesystem>

#include "base/dynamic_library.h"
#include "train/learner.h"

namespace gemmsmith::train {
namespace {

constexpr const char* kLibrary = "libgemmsmith_learner.so";

std::vector<std::string> places() {
  if (const char* const named = std::getenv("GEMMSMITH_LEARNER"); named != nullptr && *named != 0)
    return {named};
  std::vector<std::string> names = {kLibrary};
  // Beside the program in a build folder, below lib where it is installed.
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error)
    for (const char* const folder : {".", "../lib/gemmsmith"})
      names.push_back((program.parent_path() / folder / kLibrary).lexically_normal().string());
  return names;
}

}  // namespace

Result<std::unique_ptr<Learner>> open_learner() {
  const std::string advice =
      "training needs libtorch: install libtorch-dev (scripts/install_deps.sh --learner) and build "
      "again, or set GEMMSMITH_LEARNER to the library; using a trained policy needs neither";
  const std::vector<std::string> names = places();
  GEMMSMITH_TRY(DynamicLibrary library, DynamicLibrary::open(names, "the learner", advice));
  std::uint32_t (*version)() = nullptr;
  Learner* (*make)() = nullptr;
  GEMMSMITH_CHECK(library.load("gemmsmith_learner_version", version));
  GEMMSMITH_CHECK(library.load("gemmsmith_make_learner", make));
  if (version() != kLearnerVersion)
    return fail(ErrorCode::kEnvironment, "{} is a learner of version {}, this program needs {}; {}",
                library.path(), version(), kLearnerVersion, advice);
  library.keep_loaded();  // libtorch's threads and exit handlers outlive any handle
  return std::unique_ptr<Learner>(make());
}

}  // namespace gemmsmith::train
