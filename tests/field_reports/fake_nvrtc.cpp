// fake_nvrtc.cpp -- an NVRTC that compiles nothing: every text becomes a cubin that the fake GPU of
// tests/runtime runs. It counts its compiles in a file, a byte each (FAKE_NVRTC_COUNT), and refuses
// every text where FAKE_NVRTC_ERROR holds the words to say. With FAKE_NVRTC_EMPTY it succeeds
// without code, as NVRTC does for an architecture that it only knows by name.
#include <fcntl.h>
#include <nvrtc.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr char kCubin[] = "FAKE gemm tn";

const char* refusal() { return std::getenv("FAKE_NVRTC_ERROR"); }

std::string log_text() {
  if (refusal() != nullptr) return refusal();
  return "ptxas info    : Used 32 registers, used 1 barriers";
}

}  // namespace

#define VISIBLE extern "C" __attribute__((visibility("default")))

VISIBLE const char* nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_SUCCESS ? "NVRTC_SUCCESS" : "NVRTC_ERROR_COMPILATION";
}
VISIBLE nvrtcResult nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
VISIBLE nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char*, const char*, int,
                                       const char* const*, const char* const*) {
  *program = reinterpret_cast<nvrtcProgram>(std::malloc(1));
  return NVRTC_SUCCESS;
}
VISIBLE nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  std::free(*program);
  *program = nullptr;
  return NVRTC_SUCCESS;
}
VISIBLE nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*) {
  if (const char* path = std::getenv("FAKE_NVRTC_COUNT")) {
    const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    const bool counted = ::write(file, "c", 1) == 1;
    ::close(file);
    if (!counted) return NVRTC_ERROR_INTERNAL_ERROR;
  }
  return refusal() == nullptr ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}
VISIBLE nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram, std::size_t* size) {
  *size = log_text().size() + 1;
  return NVRTC_SUCCESS;
}
VISIBLE nvrtcResult nvrtcGetProgramLog(nvrtcProgram, char* log) {
  std::strcpy(log, log_text().c_str());
  return NVRTC_SUCCESS;
}
VISIBLE nvrtcResult nvrtcGetCUBINSize(nvrtcProgram, std::size_t* size) {
  *size = std::getenv("FAKE_NVRTC_EMPTY") != nullptr ? 0 : sizeof kCubin;
  return NVRTC_SUCCESS;
}
VISIBLE nvrtcResult nvrtcGetCUBIN(nvrtcProgram, char* cubin) {
  if (std::getenv("FAKE_NVRTC_EMPTY") == nullptr) std::memcpy(cubin, kCubin, sizeof kCubin);
  return NVRTC_SUCCESS;
}
