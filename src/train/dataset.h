// dataset.h -- a recording as the learner sees it: each problem with its measured configs, their
// features and what they gained over tuned cuBLASLt; and which problems a training run must not
// see.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/recorded_device.h"
#include "space/family.h"

namespace gemmsmith::train {

struct MeasuredConfig {
  Config config;
  float value = 0;             // ln(tuned cuBLASLt's time over this one's), paired
  std::vector<float> repeats;  // ln(median over each repeat): what noise does to `value`
};

struct Shape {
  Problem problem;
  std::vector<MeasuredConfig> configs;
  std::vector<float> features;  // configs.size() x policy::feature_count()
  float best = 0;               // highest value

  std::size_t size() const { return configs.size(); }
};

struct Dataset {
  Target target;
  std::vector<Shape> shapes;
  int failures = 0;  // recorded configs that did not run; they are left out
};

// Screening rows back to back, ours and the vendor's. kBadInput where nothing can be learnt:
// no problem has a config that ran.
Result<Dataset> make_dataset(const RecordedDevice& device);

// The value as if measured again: the median of as many draws from the repeats.
float drawn_value(const MeasuredConfig& config, std::uint64_t& random);

// Which problems are kept from training. Written down before training by a rule, never a list:
//   none          nothing is held out
//   random:I/N    those whose name hashes to I modulo N
//   m=V n=V k=V   one value of one dimension
//   skinny        the smaller of m and n is at most 128, the larger at least 2048
//   long_k        k at least 4096 and at least 4 times the larger of m and n
class HoldOut {
 public:
  // Errors (kBadInput) name the text and list these forms.
  static Result<HoldOut> parse(std::string_view text);
  bool holds(const Problem& problem) const;
  const std::string& text() const { return text_; }

 private:
  enum class Rule { kNone, kRandom, kM, kN, kK, kSkinny, kLongK };
  std::string text_;
  Rule rule_ = Rule::kNone;
  std::int64_t value_ = 0;
  std::int64_t modulus_ = 1;
};

// A number from a problem's name alone; what splits are made from.
std::uint64_t split_hash(const Problem& problem);

}  // namespace gemmsmith::train
