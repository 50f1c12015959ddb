#include "export/library_name.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace gemmsmith::exporting {
namespace {

constexpr std::size_t kMostCharacters = 64;

// Lists of words in lower case, each between two spaces.

// CMake's policy CMP0037, and the targets that its generators make.
constexpr std::string_view kTargets =
    " all all_build clean depend edit_cache help install list_install_components package "
    "package_source preinstall rebuild_cache run_tests test zero_check ";

// C23 and C++20.
constexpr std::string_view kKeywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
    "char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export "
    "extern false float for friend goto if inline int long mutable namespace new noexcept not "
    "not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed sizeof static static_assert static_cast struct switch template "
    "this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned "
    "using virtual void volatile wchar_t while xor xor_eq ";

// NAME.h lies in a folder that is searched before the system's: C, POSIX and the GNU library. Then
// the driver's and the runtime's.
constexpr std::string_view kHeaders =
    " aio aliases alloca ar argp argz assert byteswap complex cpio crypt ctype dirent dlfcn elf "
    "endian envz err errno error execinfo fcntl features fenv float fmtmsg fnmatch fstab fts ftw "
    "getopt glob grp iconv ifaddrs inttypes iso646 langinfo libgen libintl limits link locale "
    "malloc math mcheck memory mntent monetary mqueue ndbm netdb nl_types nss obstack paths poll "
    "printf pthread pty pwd regex resolv sched search semaphore setjmp shadow signal spawn "
    "stdalign "
    "stdarg stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string "
    "strings stropts syscall sysexits syslog tar termios tgmath threads time trace uchar ucontext "
    "ulimit unistd utime utmp utmpx values varargs wait wchar wctype wordexp "
    "cuda cuda_bf16 cuda_fp16 cuda_fp8 cuda_runtime cuda_runtime_api cudart_platform cudaprofiler "
    "cudatypedefs device_functions device_types driver_functions driver_types host_config "
    "library_types math_functions mma nvrtc nvml vector_functions vector_types ";

// libNAME.a, and the target that a `target_link_libraries(... NAME)` would find first.
constexpr std::string_view kLibraries =
    " anl bfd c cublas cublaslt cublas_api cudart cudnn cufft cupti curand cusolver cusparse dl "
    "gcc gcc_s gemmsmith gemmsmith_blas gomp m nsl nvjitlink rt stdc stdcxx util z ";

// iconv_open, mq_close, shm_open, EXIT_SUCCESS and so on.
constexpr std::string_view kPrefixes = " dbm exit iconv mq netdb res sem shm pidfd ";

bool holds(std::string_view words, const std::string& word) {
  return words.find(" " + word + " ") != std::string_view::npos;
}

bool is_identifier(const std::string& name) {
  const auto is_word = [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  return !name.empty() && name.size() <= kMostCharacters &&
         std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), is_word);
}

}  // namespace

Result<void> check_library_name(const std::string& name) {
  if (!is_identifier(name))
    return fail(ErrorCode::kBadInput,
                "--name {}: expected a C identifier of at most {} characters, such as my_gemms",
                name, kMostCharacters);
  const auto taken = [&](std::string_view why) {
    return fail(ErrorCode::kBadInput, "--name {}: {}; choose another, such as my_gemms", name, why);
  };
  if (name[0] == '_') return taken("names that begin with an underscore are reserved by C");
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (holds(kTargets, lower)) return taken("CMake has a target of this name");
  if (holds(kKeywords, lower)) return taken("a keyword of C or C++");
  if (holds(kHeaders, lower)) return taken("its header would hide the system's or CUDA's");
  if (holds(kLibraries, lower)) return taken("a library of this name is there already");
  if (holds(kPrefixes, lower))
    return taken("its functions or macros would have names that the C library has");
  return {};
}

}  // namespace gemmsmith::exporting
