// kernel_source.cpp -- gathers a kernel's text with exactly the headers it includes, so that a
// change of one part renews only the kernels that use it.
#include "compile/kernel_source.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "compile/embedded_kernels.h"
#include "compile/wgmma_text.h"
#include "space/family.h"
#include "space/kernel_problem.h"

namespace gemmsmith::compile {
namespace {

constexpr std::string_view kConfigHeader = "config.cuh";
constexpr std::string_view kWgmmaHeader = "wgmma_config.cuh";

std::optional<std::string_view> embedded_text(std::string_view name) {
  for (const KernelText& text : embedded_kernels())
    if (text.name == name) return text.text;
  return std::nullopt;
}

// "tile_m" -> "kTileM".
std::string constant_name(std::string_view parameter) {
  std::string result = "k";
  bool starts_word = true;
  for (const char c : parameter) {
    if (c == '_') {
      starts_word = true;
      continue;
    }
    result += starts_word ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    starts_word = false;
  }
  return result;
}

std::string constant(std::string_view name, int value) {
  return fmt::format("constexpr int {} = {};\n", name, value);
}

// The numbers that parts/types.cuh names.
int element_number(DataType type) {
  return type == DataType::kF32 ? 2 : type == DataType::kBf16 ? 1 : 0;
}
int accumulator_number(DataType accumulator) { return accumulator == DataType::kF16 ? 1 : 0; }

std::string signature_constants(const Signature& signature, const std::string& architecture) {
  const int arch = architecture.find("80") != std::string::npos ? 80 : 90;
  return constant("kElementType", element_number(signature.type)) +
         constant("kOutputType", element_number(signature.output_type())) +
         constant("kAccumulatorType", accumulator_number(signature.accumulator)) +
         constant("kAlongKA", a_is_k_contiguous(signature.layout) ? 1 : 0) +
         constant("kAlongKB", b_is_k_contiguous(signature.layout) ? 1 : 0) +
         constant("kBatched", signature.batched ? 1 : 0) +
         constant("kGrouped", signature.grouped ? 1 : 0) +
         constant("kFused", signature.fused ? 1 : 0) + constant("kArch", arch);
}

std::string wgmma_header(const Config& config, const Signature& asked) {
  const Signature signature = kernel_signature(asked, config);
  const int n = wgmma_n(config.at("tile_m"), config.at("tile_n"), config.at("consumers"),
                        config.at("schedule"));
  return wgmma_text(n, static_cast<WgmmaElement>(element_number(signature.type)),
                    static_cast<WgmmaAccumulator>(accumulator_number(signature.accumulator)),
                    !a_is_k_contiguous(signature.layout), !b_is_k_contiguous(signature.layout));
}

// The quoted names that a text includes.
std::vector<std::string> included_names(std::string_view text) {
  constexpr std::string_view kDirective = "#include \"";
  std::vector<std::string> names;
  for (std::size_t at = text.find(kDirective); at != std::string_view::npos;
       at = text.find(kDirective, at)) {
    at += kDirective.size();
    const std::size_t end = text.find('"', at);
    if (end == std::string_view::npos) break;
    names.emplace_back(text.substr(at, end - at));
  }
  return names;
}

// Every header that `text` reaches, in the order it is first reached. `generated` holds the texts
// that no file has.
Result<std::vector<std::pair<std::string, std::string>>> reached_headers(
    std::string_view text, const std::map<std::string, std::string>& generated) {
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> pending = included_names(text);
  for (std::size_t i = 0; i < pending.size(); ++i) {
    const std::string name = pending[i];
    const bool known = std::any_of(headers.begin(), headers.end(),
                                   [&](const auto& header) { return header.first == name; });
    if (known) continue;
    if (const auto found = generated.find(name); found != generated.end()) {
      headers.emplace_back(name, found->second);
    } else if (const auto part = embedded_text(name)) {
      headers.emplace_back(name, *part);
    } else {
      return fail(ErrorCode::kInternal, "kernel text includes '{}', which no kernel text is called",
                  name);
    }
    for (std::string& next : included_names(headers.back().second))
      pending.push_back(std::move(next));
  }
  return headers;
}

// The compiler knobs of finalists; at their default they leave no option, so that the plain
// kernel keeps its identity.
Result<void> add_knobs(std::vector<std::string>& options, const Config& config) {
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const Parameter& parameter = config.family->parameters[i];
    const int value = config.values[i];
    if (!parameter.finalists_only || value == parameter.default_value) continue;
    if (parameter.name == "register_usage_level") {
      options.push_back(fmt::format("--ptxas-options=--register-usage-level={}", value));
    } else if (parameter.name == "maxrregcount") {
      options.push_back(fmt::format("--maxrregcount={}", value));
    } else {
      return fail(ErrorCode::kInternal, "parameter {} of {} is no compiler option known here",
                  parameter.name, config.family->name);
    }
  }
  return {};
}

Result<KernelSource> gather(std::string name, const std::string& file,
                            const std::string& architecture,
                            const std::map<std::string, std::string>& generated) {
  const auto text = embedded_text(file);
  if (!text)
    return fail(ErrorCode::kUnsupported,
                "no kernel text '{}' is built in; the texts are in kernels/", file);
  KernelSource source;
  source.name = std::move(name);
  source.file = file;
  source.text = *text;
  GEMMSMITH_TRY(source.headers, reached_headers(*text, generated));
  source.architecture = architecture;
  // -default-device: helpers need no __device__ mark. -v: registers and spills go into the log.
  source.options = {"--gpu-architecture=" + architecture, "--std=c++17", "-default-device",
                    "--ptxas-options=-v"};
  return source;
}

}  // namespace

std::string config_header(const Config& config, const Signature& signature,
                          const std::string& architecture) {
  std::string text = "#pragma once\n";
  for (std::size_t i = 0; i < config.values.size(); ++i) {
    const Parameter& parameter = config.family->parameters[i];
    if (parameter.binding == Binding::kCompile && !parameter.finalists_only)
      text += constant(constant_name(parameter.name), config.values[i]);
  }
  return text + signature_constants(kernel_signature(signature, config), architecture);
}

Result<KernelSource> kernel_source(const Config& config, const Signature& signature,
                                   const std::string& architecture) {
  if (config.family->source.empty())
    return fail(ErrorCode::kUnsupported, "config '{}': {} has no kernel text to compile",
                to_text(config), config.family->name);
  std::map<std::string, std::string> generated = {
      {std::string(kConfigHeader), config_header(config, signature, architecture)}};
  if (config.family->index_of("consumers") >= 0)
    generated.emplace(kWgmmaHeader, wgmma_header(config, signature));
  GEMMSMITH_TRY(KernelSource source,
                gather(kernel_name(config, signature) + " " + architecture,
                       std::string(config.family->source), architecture, generated));
  GEMMSMITH_CHECK(add_knobs(source.options, config));
  return source;
}

Result<KernelSource> utility_source(const std::string& file, const std::string& architecture) {
  const std::map<std::string, std::string> generated = {
      {std::string(kConfigHeader),
       "#pragma once\n" + signature_constants(Signature{}, architecture)}};
  return gather(fmt::format("{} {}", file, architecture), file, architecture, generated);
}

}  // namespace gemmsmith::compile
