#include "plan/plan_likeness.h"

#include <cmath>

namespace gemmsmith::plan {

bool is_same_work(const PlanKey& a, const PlanKey& b) {
  return a.type == b.type && a.accumulator == b.accumulator && a.layout == b.layout &&
         a.f32_output == b.f32_output && a.alignment == b.alignment && a.epilogue == b.epilogue &&
         a.grouped == b.grouped && (a.batch > 1) == (b.batch > 1);
}

double doublings_between(const PlanKey& a, const PlanKey& b) {
  const auto doublings = [](std::int32_t x, std::int32_t y) {
    return std::abs(std::log2(static_cast<double>(x) / y));
  };
  return doublings(a.m, b.m) + doublings(a.n, b.n) + doublings(a.k, b.k) +
         doublings(a.batch, b.batch);
}

}  // namespace gemmsmith::plan
