#include "export/exported_library.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <tuple>

#include "export/library_name.h"
#include "plan/launch_plan.h"
#include "plan/plan_table_writer.h"

namespace gemmsmith::exporting {
namespace {

using gemmsmith_kernels::GemmArgs;

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string with_name(std::string text, const std::string& name) {
  for (const auto& [token, value] :
       {std::pair<std::string, std::string>{"@NAME_UPPER@", upper(name)},
        {"@NAME@", name},
        {"@INCLUDE@", "#include"}})
    for (std::size_t at = text.find(token); at != std::string::npos;
         at = text.find(token, at + value.size()))
      text.replace(at, token.size(), value);
  return text;
}

// One exported problem and what serves it.
struct Chosen {
  Problem problem;
  const plan::PlanEntry* entry = nullptr;
  plan::LaunchPlan launch;
};

auto order_of(const Chosen& chosen) {
  const Problem& p = chosen.problem;
  return std::tuple(chosen.entry->key, p.lda, p.ldb, p.ldc, p.ldd);
}

Result<Chosen> choose(const plan::PlanTable& table, const Problem& problem) {
  if (problem.has_epilogue())
    return fail(ErrorCode::kUnsupported, "an exported library has no epilogues");
  if (problem.is_batched() || problem.grouped)
    return fail(ErrorCode::kUnsupported, "an exported library has no batches and no groups");
  const plan::PlanEntry* entry = table.find(plan::key_of(problem));
  if (entry == nullptr) return fail(ErrorCode::kUnsupported, "the plan table has no plan for it");
  if (entry->source == plan::PlanSource::kVendor)
    return fail(ErrorCode::kUnsupported, "its plan is a configuration of cuBLASLt");
  if (problem.accumulator == DataType::kF16 && problem.type != DataType::kF16)
    return fail(ErrorCode::kUnsupported, "no such pair of types");
  GEMMSMITH_TRY(const plan::LaunchPlan launch, plan::make_launch_plan(entry->recipe, problem));
  if (launch.packing.is_needed())
    return fail(ErrorCode::kUnsupported,
                "its plan packs operands into a workspace, which an exported library has not");
  return Chosen{problem, entry, launch};
}

// Bytes as decimal numbers, which are shorter than hexadecimal ones.
std::string byte_list(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 4 + bytes.size() / 24);
  std::size_t column = 0;
  for (const char c : bytes) {
    const std::string number = std::to_string(static_cast<unsigned>(static_cast<unsigned char>(c)));
    if (column + number.size() + 1 > 98) {
      text += '\n';
      column = 0;
    }
    text += number;
    text += ',';
    column += number.size() + 1;
  }
  return text;
}

std::string map_text(const plan::TensorMapShape& map) {
  return fmt::format("{{{}, {}, {}, {}, {}}}", map.rows, map.columns, map.ld, map.box_rows,
                     map.box_columns);
}

// The arguments with pointers left null; padding is 0 as everything else that is not set.
std::string args_bytes(const plan::LaunchPlan& launch) {
  GemmArgs args = launch.args;
  args.a = args.b = args.c = nullptr;
  args.d = nullptr;
  args.alpha = args.beta = 0;
  std::string bytes(sizeof args, '\0');
  std::memcpy(bytes.data(), &args, sizeof args);
  return bytes;
}

std::string plan_text(const Chosen& chosen, std::size_t kernel, std::string_view config) {
  const Problem& p = chosen.problem;
  const plan::LaunchPlan& launch = chosen.launch;
  // Ours is row-major: the caller's A is our B.
  const bool transa = b_is_k_contiguous(p.layout);
  const bool transb = !a_is_k_contiguous(p.layout);
  const bool has_c = p.beta != 0;
  std::string text = fmt::format("    {{/* {} {} */\n", describe(p), config);
  text += fmt::format(
      "     {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n",
      static_cast<int>(transa), static_cast<int>(transb), p.type == DataType::kBf16 ? 14 : 2,
      p.accumulator == DataType::kF16 ? 64 : 68, p.n, p.m, p.k, p.ldb, p.lda, has_c ? p.ldc : p.ldd,
      p.ldd, static_cast<int>(has_c), launch.workspace_bytes, static_cast<int>(p.f32_output));
  text += fmt::format("     {}, {}u, {}u, {}u, {}u, {}u, {}u, {}, {}, {}, {}, {},\n", kernel,
                      launch.grid, launch.splits, launch.block, launch.cluster, launch.shared_bytes,
                      launch.counters, static_cast<int>(launch.programmatic),
                      static_cast<int>(launch.persistent), static_cast<int>(launch.has_tensor_maps),
                      static_cast<int>(launch.stores_by_tma), static_cast<int>(launch.transposed));
  text += fmt::format("     {}u, {}u, {}u, {}u,\n", launch.needs.a, launch.needs.b, launch.needs.c,
                      launch.needs.d);
  text += fmt::format("     {}, {}, {},\n", map_text(launch.map_a), map_text(launch.map_b),
                      map_text(launch.map_d));
  text += fmt::format("     {{{}}}}},\n", byte_list(args_bytes(launch)));
  return text;
}

std::string data_header(const std::string& name) {
  std::string text = R"c(/* @NAME@_data.h -- the plans' numbers; exported by gemmsmith. */
#ifndef @NAME_UPPER@_DATA_H_
#define @NAME_UPPER@_DATA_H_

@INCLUDE@ "@NAME@.h"

/* A kernel's argument block, and where in it a call's values go. */
)c";
  const std::pair<const char*, std::size_t> offsets[] = {
      {"BYTES", sizeof(GemmArgs)},
      {"A", offsetof(GemmArgs, a)},
      {"B", offsetof(GemmArgs, b)},
      {"C", offsetof(GemmArgs, c)},
      {"D", offsetof(GemmArgs, d)},
      {"ALPHA", offsetof(GemmArgs, alpha)},
      {"BETA", offsetof(GemmArgs, beta)},
      {"WORKSPACE", offsetof(GemmArgs, workspace)},
      {"COUNTERS", offsetof(GemmArgs, counters)}};
  for (const auto& [field, value] : offsets)
    text += fmt::format("#define @NAME_UPPER@_ARGS_{} {}\n", field, value);
  text += R"c(
/* A row-major matrix seen in boxes of box_rows x box_columns elements. */
typedef struct {
  int64_t rows, columns, ld;
  unsigned box_rows, box_columns;
} @NAME@_map;

typedef struct {
  @NAME@_problem problem;
  int kernel;
  unsigned grid, splits, block, cluster, shared_bytes, counters;
  int programmatic, persistent, has_maps, has_map_d;
  int transposed; /* the kernel's A is the caller's A, else the caller's B */
  unsigned align_a, align_b, align_c, align_d; /* of the caller's B and A, of C and D, in bytes */
  @NAME@_map map_a, map_b, map_d;
  unsigned char args[@NAME_UPPER@_ARGS_BYTES];
} @NAME@_plan;

typedef struct {
  const unsigned char* cubin;
  const char* function;
} @NAME@_kernel;

extern const char @NAME@_data_device[];
extern const int @NAME@_data_compute_capability;
extern const int @NAME@_data_sm_count;
extern const int @NAME@_data_plan_count;
extern const @NAME@_plan @NAME@_data_plans[];
extern const int @NAME@_data_kernel_count;
extern const @NAME@_kernel @NAME@_data_kernels[];

#endif /* @NAME_UPPER@_DATA_H_ */
)c";
  return with_name(std::move(text), name);
}

// In a C string.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string data_source(const plan::PlanTable& table, const std::vector<Chosen>& plans,
                        const std::vector<std::uint32_t>& kernels, const std::string& name) {
  std::string text =
      "/* @NAME@_data.c -- the kernels and the plans' numbers; exported by gemmsmith. */\n"
      "@INCLUDE@ \"@NAME@_data.h\"\n\n";
  text += fmt::format("const char @NAME@_data_device[] = {};\n", quoted(table.device_name()));
  text +=
      fmt::format("const int @NAME@_data_compute_capability = {};\n", table.compute_capability());
  text += fmt::format("const int @NAME@_data_sm_count = {};\n\n", table.sm_count());
  for (std::size_t i = 0; i < kernels.size(); ++i)
    // cuModuleLoadData reads words.
    text += fmt::format(
        "static const unsigned char cubin_{}[] __attribute__((aligned(16))) = {{\n{}}};\n\n", i,
        byte_list(table.kernel(kernels[i]).cubin));
  text += fmt::format("const int @NAME@_data_kernel_count = {};\n", kernels.size());
  text += "const @NAME@_kernel @NAME@_data_kernels[] = {\n";
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    std::string_view function = table.kernel(kernels[i]).function;
    text +=
        fmt::format("    {{cubin_{}, {}}},\n", i, quoted(function.substr(0, function.find('\0'))));
  }
  text += fmt::format("}};\n\nconst int @NAME@_data_plan_count = {};\n", plans.size());
  text += "const @NAME@_plan @NAME@_data_plans[] = {\n";
  for (const Chosen& chosen : plans) {
    const auto at = std::find(kernels.begin(), kernels.end(), chosen.entry->kernel);
    text += plan_text(chosen, static_cast<std::size_t>(at - kernels.begin()),
                      table.text(*chosen.entry));
  }
  return with_name(text + "};\n", name);
}

std::string cmake_text(const std::string& name) {
  return std::string(kCmakeBegin) +
         with_name(
             R"c( CUDA is needed for its header only; the driver is found at run time.
cmake_minimum_required(VERSION 3.16)
project(@NAME@ LANGUAGES C)
find_path(@NAME_UPPER@_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include REQUIRED)
add_library(@NAME@ @NAME@.c @NAME@_data.c)
set_target_properties(@NAME@ PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)
target_include_directories(@NAME@ PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>)
target_include_directories(@NAME@ SYSTEM PRIVATE ${@NAME_UPPER@_CUDA_INCLUDE_DIR})
target_link_libraries(@NAME@ PRIVATE ${CMAKE_DL_LIBS})
)c",
             name);
}

// The same plans for gemmsmithLoadPlanTable; problems that share a key have one plan.
Result<std::string> table_bytes(const plan::PlanTable& table, const std::vector<Chosen>& plans) {
  plan::PlanTableWriter writer({std::string(table.device_name()), table.compute_capability(),
                                table.sm_count(), std::string(table.cublas_version()),
                                std::string(table.compiler_version())});
  const plan::PlanEntry* last = nullptr;
  for (const Chosen& chosen : plans)
    if (chosen.entry != last) {
      GEMMSMITH_CHECK(writer.add_copy(table, *chosen.entry));
      last = chosen.entry;
    }
  return writer.bytes();
}

}  // namespace

Result<ExportedLibrary> export_library(const plan::PlanTable& table,
                                       std::span<const Problem> problems, const std::string& name) {
  GEMMSMITH_CHECK(check_library_name(name));
  ExportedLibrary library;
  std::vector<Chosen> plans;
  for (const Problem& problem : problems) {
    auto chosen = choose(table, problem);
    if (chosen)
      plans.push_back(*std::move(chosen));
    else
      library.left_out.push_back({problem, chosen.error().what});
  }
  if (plans.empty())
    return fail(ErrorCode::kBadInput,
                "nothing to export: no kernel of the plan table serves any of "
                "the {} problems{}",
                problems.size(),
                library.left_out.empty()
                    ? std::string()
                    : fmt::format("; {}: {}", describe(library.left_out[0].problem),
                                  library.left_out[0].reason));
  std::sort(plans.begin(), plans.end(),
            [](const Chosen& a, const Chosen& b) { return order_of(a) < order_of(b); });
  plans.erase(
      std::unique(plans.begin(), plans.end(),
                  [](const Chosen& a, const Chosen& b) { return order_of(a) == order_of(b); }),
      plans.end());
  std::vector<std::uint32_t> kernels;
  for (const Chosen& chosen : plans) kernels.push_back(chosen.entry->kernel);
  std::sort(kernels.begin(), kernels.end());
  kernels.erase(std::unique(kernels.begin(), kernels.end()), kernels.end());

  GEMMSMITH_TRY(library.files[name + ".plans"], table_bytes(table, plans));
  library.files[name + ".h"] = with_name(library_header_text(), name);
  library.files[name + ".c"] = with_name(library_source_text(), name);
  library.files[name + "_data.h"] = data_header(name);
  library.files[name + "_data.c"] = data_source(table, plans, kernels, name);
  library.files["CMakeLists.txt"] = cmake_text(name);
  library.plans = static_cast<int>(plans.size());
  return library;
}

}  // namespace gemmsmith::exporting
