// table_maker.h -- plan tables whose kernels the fake driver can run.
#pragma once

#include <array>
#include <string>

#include "plan/plan_table_writer.h"
#include "runtime/fixture.h"
#include "runtime/translate.h"
#include "space/kernel_problem.h"

namespace gemmsmith::runtime {

inline constexpr const char* kWithMaps = "sm90_ws:s2";
inline constexpr const char* kPlain = "sm80_mma:s2";
inline constexpr const char* kPlainSmall = "sm80_mma:m16.n32.wm1.wn1.s2";
inline constexpr const char* kVendor = "cublaslt:a66.t20.s35.g3";

// What the fake device's policy is: the one that ships.
inline const std::string kShippedPolicy =
    std::string(GEMMSMITH_SOURCE_DIR) + "/data/policy/h200_f16_f32_tn.policy";

inline Target h200() {
  auto target = known_target("h200");
  target->name = "NVIDIA H200";
  return *target;
}

struct TableOptions {
  std::string device_name = "NVIDIA H200";
  int compute_capability = 90;
  int sm_count = 132;
  std::string cublas_version = "13.1.0";
};

enum class WithEpilogues { kNo, kYes };

class TableMaker {
 public:
  explicit TableMaker(const TableOptions& options = {})
      : writer_({options.device_name, options.compute_capability, options.sm_count,
                 options.cublas_version, "nvrtc 13.0"}) {}

  using Role = plan::PlanTableWriter::Role;

  // A kernel that the fake driver can run.
  TableMaker& kernel(const Product& product, const std::string& config, float alpha = 1,
                     float beta = 0, WithEpilogues epilogues = WithEpilogues::kNo,
                     Role role = Role::kPlan) {
    const auto parsed = parse_config(config, kernel_families());
    EXPECT_TRUE(parsed) << parsed.error().what;
    const Problem problem = problem_of(product, alpha, beta);
    const bool has_maps = parsed->family == &sm90_ws_family();
    const auto cubin = [&](const char* more) {
      return fmt::format("FAKE gemm {} {}{}{}{}{}", name(kernel_problem(problem, *parsed).layout),
                         has_maps ? "maps " : "", is_transposed(*parsed) ? "transposed " : "", more,
                         problem.f32_output ? "out=f32 " : "", name(problem.type)) +
             '\0';  // the fake driver reads a C string
    };
    const std::string fused = epilogues == WithEpilogues::kYes ? cubin("fused ") : "";
    const std::string pack_cubin("FAKE pack\0", 10);
    const auto added = writer_.add_kernel_plan(problem, *parsed, h200(),
                                               {cubin(""), "gemm", 128, 0, pack_cubin, fused},
                                               {5, chained_, foreign_}, role);
    EXPECT_TRUE(added) << added.error().what;
    return *this;
  }

  // What the plans added from here on gained over lt_tuned.
  TableMaker& gained(double chained, double foreign) {
    chained_ = chained;
    foreign_ = foreign;
    return *this;
  }

  // Plans for the eight products with these m and n, and these k.
  using Two = std::array<std::int64_t, 2>;
  TableMaker& neighbours(const std::string& config, Two sides = {64, 128}, Two depths = {64, 128}) {
    for (const std::int64_t m : sides)
      for (const std::int64_t n : sides)
        for (const std::int64_t k : depths) {
          ProductOptions options;
          options.m = m;
          options.n = n;
          options.k = k;
          kernel(Product(options), config);
        }
    return *this;
  }

  TableMaker& follower(const Product& product, const std::string& config) {
    return kernel(product, config, 1, 0, WithEpilogues::kNo, Role::kFollower);
  }

  TableMaker& vendor(const Product& product, const std::string& config,
                     std::int64_t workspace_bytes = 0, float beta = 0) {
    const auto added = writer_.add_vendor_plan(problem_of(product, 1, beta), config,
                                               workspace_bytes, {5, 1.5, 1.4});
    EXPECT_TRUE(added) << added.error().what;
    return *this;
  }

  std::string bytes() const {
    const auto bytes = writer_.bytes();
    EXPECT_TRUE(bytes) << bytes.error().what;
    return *bytes;
  }

 private:
  static Problem problem_of(const Product& product, float alpha, float beta) {
    Problem problem = to_row_major(product.problem);
    problem.alpha = alpha;
    problem.beta = beta;
    return problem;
  }
  plan::PlanTableWriter writer_;
  double chained_ = 1.25;
  double foreign_ = 1.1;
};

}  // namespace gemmsmith::runtime
