#include "device/driver_version.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "device/nvml.h"

namespace gemmsmith {
namespace {

bool is_version(std::string_view word) {
  const auto dots = std::count(word.begin(), word.end(), '.');
  return dots >= 1 && word.front() != '.' && word.back() != '.' &&
         std::all_of(word.begin(), word.end(),
                     [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

}  // namespace

std::string parse_kernel_module_version(std::string_view text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Thu ...", or "... UNIX Open Kernel
  // Module for x86_64  580.65.06  Release Build ...": the first word that is a dotted number. The
  // next line is about GCC.
  text = text.substr(0, text.find('\n'));
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    if (const std::string_view word = text.substr(0, end); !word.empty() && is_version(word))
      return std::string(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

std::string driver_version_text(int cuda_version) {
  if (const auto text = read_file("/proc/driver/nvidia/version"); text) {
    if (std::string version = parse_kernel_module_version(*text); !version.empty()) return version;
  }
  if (std::string version = nvml_driver_version(); !version.empty()) return version;
  return fmt::format("{}.{}", cuda_version / 1000, cuda_version % 1000 / 10);
}

}  // namespace gemmsmith
