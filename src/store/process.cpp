#include "store/process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace gemmsmith::store {
namespace {

struct Identity {
  std::string boot;
  std::string pid_namespace;
  long pid = 0;
  std::string start;  // clock ticks since boot
};

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Field 22 of /proc/PID/stat; counted after the command's closing parenthesis, since the command
// may hold spaces. Empty where there is no such process.
std::string start_time(long pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid).c_str());
  const std::size_t parenthesis = line.rfind(')');
  if (parenthesis == std::string::npos) return {};
  std::istringstream fields(line.substr(parenthesis + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return field;
}

// A process that ended but was not waited for holds nothing any more.
bool is_zombie(long pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid).c_str());
  const std::size_t parenthesis = line.rfind(')');
  return parenthesis != std::string::npos && line.substr(parenthesis + 1, 2) == " Z";
}

Identity own_identity() {
  std::error_code ignored;
  const long pid = ::getpid();
  return {first_line("/proc/sys/kernel/random/boot_id"),
          std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string(), pid,
          start_time(pid)};
}

}  // namespace

std::string process_identity() {
  const Identity own = own_identity();
  return fmt::format("{} {} {} {}", own.boot, own.pid_namespace, own.pid, own.start);
}

bool may_be_alive(const std::string& identity) {
  std::istringstream fields(identity);
  Identity other;
  if (!(fields >> other.boot >> other.pid_namespace >> other.pid >> other.start)) return true;
  const Identity own = own_identity();
  if (other.boot != own.boot || other.pid_namespace != own.pid_namespace) return true;
  return start_time(other.pid) == other.start && !is_zombie(other.pid);
}

}  // namespace gemmsmith::store
