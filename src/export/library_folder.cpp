#include "export/library_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "base/files.h"

namespace gemmsmith::exporting {
namespace {

namespace fs = std::filesystem;

Result<void> failed(std::string_view what, const fs::path& path, const std::string& reason) {
  return fail(ErrorCode::kEnvironment, "cannot {} {}: {}", what, path.string(), reason);
}

// The names of the files of the export that this CMake file belongs to; none where it is of
// something else.
std::set<std::string> exported_names(const std::string& cmake) {
  constexpr std::string_view kProject = "\nproject(";
  const std::size_t at = cmake.find(kProject);
  if (cmake.rfind(kCmakeBegin, 0) != 0 || at == std::string::npos) return {};
  const std::size_t begin = at + kProject.size();
  const std::string name = cmake.substr(begin, cmake.find(' ', begin) - begin);
  return {"CMakeLists.txt", name + ".c",      name + ".h",
          name + ".plans",  name + "_data.c", name + "_data.h"};
}

// That nothing is lost where `folder`, which exists, is replaced.
Result<void> check_is_replaceable(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return fail(ErrorCode::kBadInput, "{}: is no folder", folder.string());
  const fs::path here = fs::current_path(error);
  if (!error &&
      std::mismatch(folder.begin(), folder.end(), here.begin(), here.end()).first == folder.end())
    return fail(ErrorCode::kBadInput,
                "{}: holds the current directory and cannot be replaced; name a folder below it",
                folder.string());
  std::set<std::string> known;
  if (const auto cmake = read_file(folder / "CMakeLists.txt"); cmake)
    known = exported_names(*cmake);
  fs::directory_iterator entries(folder, error);
  if (error) return failed("read", folder, error.message());
  for (const fs::directory_entry& entry : entries)
    if (const std::string name = entry.path().filename().string(); known.count(name) == 0)
      return fail(ErrorCode::kBadInput,
                  "{}: holds {}, which is not of an earlier export; name a new or an empty folder",
                  folder.string(), name);
  return {};
}

// A folder that goes away unless it was put in its place.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

bool rename_to(const fs::path& from, const fs::path& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

// Puts `made` in the place of `folder`; what was there, if anything, is at `made` afterwards or
// gone.
Result<void> put_in_place(const fs::path& made, const fs::path& folder) {
  // Also over an empty folder.
  if (rename_to(made, folder)) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return failed("replace", folder, std::strerror(errno));
  if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0)
    return {};
  if (errno != EINVAL && errno != ENOSYS) return failed("replace", folder, std::strerror(errno));
  // A file system that cannot exchange: for a moment there is no folder of this name.
  const Temporary old(made.string() + ".old");
  if (rename_to(folder, old.path())) {
    if (rename_to(made, folder)) return {};
    const int reason = errno;
    rename_to(old.path(), folder);
    errno = reason;
  }
  return failed("replace", folder, std::strerror(errno));
}

}  // namespace

Result<void> write_library(const fs::path& folder, const ExportedLibrary& library) {
  std::error_code error;
  // Absolute first: of a new name without a folder before it, canonical is the name alone.
  fs::path target = fs::weakly_canonical(fs::absolute(folder, error), error);
  if (error) return failed("follow", folder, error.message());
  if (!target.has_filename()) target = target.parent_path();  // "my_gemms/"
  if (fs::exists(target, error)) GEMMSMITH_CHECK(check_is_replaceable(target));
  fs::create_directories(target.parent_path(), error);
  if (error) return failed("make the folder", target.parent_path(), error.message());
  const std::string name = fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid());
  const Temporary made(target.parent_path() / name);
  if (!fs::create_directory(made.path(), error))
    return failed("make the folder", made.path(), error ? error.message() : "it exists already");
  for (const auto& [file, bytes] : library.files)
    GEMMSMITH_CHECK(write_file_atomic(made.path() / file, bytes));
  return put_in_place(made.path(), target);
}

}  // namespace gemmsmith::exporting
