#include "space/space.h"

#include <algorithm>
#include <set>
#include <utility>

#include "problem/transposed.h"
#include "space/kernel_problem.h"

namespace gemmsmith {
namespace {

// Depth-first walk over the parameters' values. constraints_at[i] are the rules whose last
// parameter is i, so each rule is tested exactly once on a path, as early as it can be.
class Walk {
 public:
  Walk(const Family& family, const SpaceContext& context,
       const std::function<bool(const Config&)>& visit)
      : plain_(context),
        transposed_problem_(transposed(context.problem)),
        transposed_{transposed_problem_, context.target},
        visit_(visit),
        config_(default_config(family)) {
    const std::size_t count = family.parameters.size();
    choices_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Parameter& parameter = family.parameters[i];
      choices_[i] =
          parameter.finalists_only ? std::vector<int>{parameter.default_value} : parameter.values;
    }
    leaves_below_.assign(count + 1, 1);
    for (std::size_t i = count; i-- > 0;)
      leaves_below_[i] = leaves_below_[i + 1] * static_cast<std::int64_t>(choices_[i].size());
    constraints_at_.resize(count);
    for (const Constraint& constraint : family.constraints) {
      int last = std::max(0, family.index_of("transpose"));  // what all are judged by
      for (const std::string_view name : constraint.reads)
        last = std::max(last, family.index_of(name));
      constraints_at_[static_cast<std::size_t>(last)].push_back(&constraint);
    }
    report_.considered = leaves_below_[0];
  }

  EnumerationReport run() {
    descend(0);
    return report_;
  }

 private:
  bool descend(std::size_t depth) {
    if (depth == choices_.size()) {
      ++report_.legal;
      return visit_(config_);
    }
    for (const int value : choices_[depth]) {
      config_.values[depth] = value;
      if (const Constraint* broken = broken_at(depth)) {
        report_.removed_by[std::string(broken->id)] += leaves_below_[depth + 1];
        continue;
      }
      if (!descend(depth + 1)) return false;
    }
    return true;
  }

  const Constraint* broken_at(std::size_t depth) const {
    const SpaceContext& context = is_transposed(config_) ? transposed_ : plain_;
    for (const Constraint* constraint : constraints_at_[depth])
      if (!constraint->holds(context, config_)) return constraint;
    return nullptr;
  }

  const SpaceContext& plain_;
  const Problem transposed_problem_;
  const SpaceContext transposed_;
  const std::function<bool(const Config&)>& visit_;
  Config config_;
  std::vector<std::vector<int>> choices_;
  std::vector<std::int64_t> leaves_below_;  // leaves under one node at each depth
  std::vector<std::vector<const Constraint*>> constraints_at_;
  EnumerationReport report_;
};

}  // namespace

EnumerationReport enumerate(const Family& family, const SpaceContext& context,
                            const std::function<bool(const Config&)>& visit) {
  return Walk(family, context, visit).run();
}

std::vector<Config> kernels_of(const Family& family, const SpaceContext& context) {
  std::vector<Config> kernels;
  std::set<std::vector<int>> seen;
  enumerate(family, context, [&](const Config& config) {
    std::vector<int> compiled;
    for (std::size_t i = 0; i < config.values.size(); ++i)
      if (family.parameters[i].binding == Binding::kCompile) compiled.push_back(config.values[i]);
    if (seen.insert(std::move(compiled)).second) kernels.push_back(config);
    return true;
  });
  return kernels;
}

std::vector<Problem> roomy_problems(const Signature& signature) {
  const auto make = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t ld) {
    Problem problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.lda = problem.ldb = problem.ldc = problem.ldd = ld;
    problem.type = signature.type;
    problem.accumulator = signature.accumulator;
    problem.layout = signature.layout;
    problem.f32_output = signature.f32_output;
    problem.batch = signature.batched || signature.grouped ? 2 : 1;
    problem.grouped = signature.grouped;
    problem.has_bias = signature.fused;
    problem.stride_a = default_stride_a(problem);
    problem.stride_b = default_stride_b(problem);
    problem.stride_d = default_stride_d(problem);
    problem.stride_c = default_stride_c(problem);
    return problem;
  };
  // The last one's operands allow no wide loads.
  return {make(1 << 14, 1 << 15, 1 << 14, 1 << 15), make(1 << 8, 1 << 9, 1 << 17, 1 << 17),
          make(1 << 12, 1 << 12, 1 << 12, (1 << 12) + 1)};
}

}  // namespace gemmsmith
