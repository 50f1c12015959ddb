// kernel_source.h -- everything that decides a cubin: the family's text, the parts it includes, the
// generated config.cuh, the architecture and the compiler's options.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "problem/problem.h"
#include "problem/target.h"
#include "space/config.h"

namespace gemmsmith::compile {

struct KernelSource {
  std::string name;  // "sm90_ws:m128.n256.k64 f16/f32 tn sm_90a": for people and logs
  std::string file;  // "sm90_ws.cu"
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;  // include name -> text
  std::string architecture;                                  // "sm_90a"
  std::vector<std::string> options;
};

// The source of a config's kernel. Two configs that differ in launch-time parameters only give the
// same source. Errors: kUnsupported for a family that has no text (the vendor's).
Result<KernelSource> kernel_source(const Config& config, const Signature& signature,
                                   const std::string& architecture);

// The source of a text that takes no config ("harness.cu", "reference.cu", "faulty/wrong.cu").
Result<KernelSource> utility_source(const std::string& file, const std::string& architecture);

// The generated text that gives the kernel its compile-time constants.
std::string config_header(const Config& config, const Signature& signature,
                          const std::string& architecture);

}  // namespace gemmsmith::compile
