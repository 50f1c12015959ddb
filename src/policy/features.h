// features.h -- what the policy sees: a config for a problem on a target, as numbers. Everything
// follows from the three values alone, so a recording and a live GPU give the same row, and a
// target is its figures, never its name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "space/family.h"

namespace gemmsmith::policy {

struct FeatureName {
  std::string_view name;   // "tail_waste"
  std::string_view words;  // for explanations: "SM time lost in the last wave"
};

// In the order of a row.
std::span<const FeatureName> feature_names();
std::size_t feature_count();
// The first this many say what the problem is; the same for all its configs.
std::size_t problem_feature_count();

// Identity of the list: names, order and the version of what they mean. A policy is trained for
// one and refused by any other.
std::uint64_t feature_set();

// Rows for one problem: what does not depend on the config is computed once.
class FeatureRows {
 public:
  FeatureRows(const Problem& problem, const Target& target) : problem_(problem), target_(target) {}

  // Fills `row`, which has feature_count() elements. Every value is finite for a config of ours or
  // of the vendor's family, legal or not.
  void fill(const Config& config, std::span<float> row) const;

 private:
  Problem problem_;
  Target target_;
};

}  // namespace gemmsmith::policy
