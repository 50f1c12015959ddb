// A libcuda that claims CUDA 12.9 but has no function beyond the first ones: what is left when a
// distribution's stub or a broken container shadows the driver.
extern "C" int cuDriverGetVersion(int* version) {
  *version = 12090;
  return 0;
}
extern "C" int cuInit(unsigned) { return 0; }
