// fake_old_nvrtc.cpp -- has every function of NVRTC that is looked up, and the version 12.2.
#define FAKE(name) \
  extern "C" __attribute__((visibility("default"))) int name() { return 1; }

FAKE(nvrtcCreateProgram)
FAKE(nvrtcDestroyProgram)
FAKE(nvrtcCompileProgram)
FAKE(nvrtcGetProgramLogSize)
FAKE(nvrtcGetProgramLog)
FAKE(nvrtcGetCUBINSize)
FAKE(nvrtcGetCUBIN)
FAKE(nvrtcGetErrorString)

extern "C" __attribute__((visibility("default"))) int nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 2;
  return 0;
}
