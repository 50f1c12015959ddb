#include "train/dataset.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "policy/features.h"
#include "vendor/all_families.h"

namespace gemmsmith::train {
namespace {

constexpr std::int64_t kSkinnySide = 128;
constexpr std::int64_t kSkinnyOther = 2048;
constexpr std::int64_t kLongK = 4096;
constexpr std::int64_t kLongKOverSides = 4;

Result<Shape> make_shape(const RecordedDevice& device, const Problem& problem, int& failures) {
  Shape shape;
  shape.problem = problem;
  for (const Kind kind : {Kind::kKernel, Kind::kVendor})
    for (const std::string_view text :
         device.configs(problem, kind, Stage::kScreen, Setting::kChained)) {
      const Measurement* const row =
          device.find(problem, kind, text, Stage::kScreen, Setting::kChained);
      if (row == nullptr || row->status != Status::kOk || !(row->ratio > 0)) {
        ++failures;
        continue;
      }
      MeasuredConfig measured;
      GEMMSMITH_TRY(measured.config, parse_config(text, all_families()));
      measured.value = static_cast<float>(std::log(row->ratio));
      for (const double repeat : row->repeats_us)
        if (repeat > 0)
          measured.repeats.push_back(static_cast<float>(std::log(row->median_us / repeat)));
      shape.configs.push_back(std::move(measured));
    }
  if (shape.configs.empty()) return shape;
  const std::size_t width = policy::feature_count();
  const policy::FeatureRows rows(problem, device.info().target);
  shape.features.resize(shape.size() * width);
  for (std::size_t i = 0; i < shape.size(); ++i)
    rows.fill(shape.configs[i].config, std::span(shape.features).subspan(i * width, width));
  shape.best = std::max_element(shape.configs.begin(), shape.configs.end(),
                                [](const MeasuredConfig& a, const MeasuredConfig& b) {
                                  return a.value < b.value;
                                })
                   ->value;
  return shape;
}

// splitmix64, by Sebastiano Vigna (public domain): one multiply-shift chain a number.
std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Result<Dataset> make_dataset(const RecordedDevice& device) {
  Dataset dataset;
  dataset.target = device.info().target;
  for (const Problem& problem : device.problems()) {
    GEMMSMITH_CHECK(go_on("reading what was measured"));
    GEMMSMITH_TRY(Shape shape, make_shape(device, problem, dataset.failures));
    if (!shape.configs.empty()) dataset.shapes.push_back(std::move(shape));
  }
  if (dataset.shapes.empty())
    return fail(ErrorCode::kBadInput,
                "the recording has no problem with a screened config that ran: there is nothing to "
                "learn from; record one with gemmsmith tune and gemmsmith store export");
  return dataset;
}

float drawn_value(const MeasuredConfig& config, std::uint64_t& random) {
  if (config.repeats.empty()) return config.value;
  std::array<float, 32> drawn{};
  const std::size_t count = std::min(config.repeats.size(), drawn.size());
  for (std::size_t i = 0; i < count; ++i)
    drawn[i] = config.repeats[next(random) % config.repeats.size()];
  std::sort(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(count));
  return config.value + (drawn[(count - 1) / 2] + drawn[count / 2]) / 2;
}

std::uint64_t split_hash(const Problem& problem) { return hash64(shape_name(problem)); }

Result<HoldOut> HoldOut::parse(std::string_view text) {
  HoldOut split;
  split.text_ = text;
  const auto number = [&](std::string_view digits) { return parse_int64(digits); };
  const auto bad = [&] {
    return fail(ErrorCode::kBadInput,
                "hold-out '{}': expected none, random:I/N, m=V, n=V, k=V, skinny or long_k", text);
  };
  if (text == "none") return split;
  if (text == "skinny") {
    split.rule_ = Rule::kSkinny;
    return split;
  }
  if (text == "long_k") {
    split.rule_ = Rule::kLongK;
    return split;
  }
  if (text.size() > 2 && text[1] == '=' && (text[0] == 'm' || text[0] == 'n' || text[0] == 'k')) {
    const auto value = number(text.substr(2));
    if (!value) return bad();
    split.rule_ = text[0] == 'm' ? Rule::kM : text[0] == 'n' ? Rule::kN : Rule::kK;
    split.value_ = *value;
    return split;
  }
  constexpr std::string_view kRandom = "random:";
  const std::size_t slash = text.find('/');
  if (text.substr(0, kRandom.size()) != kRandom || slash == text.npos) return bad();
  const auto part = number(text.substr(kRandom.size(), slash - kRandom.size()));
  const auto parts = number(text.substr(slash + 1));
  if (!part || !parts || *parts < 2 || *part < 0 || *part >= *parts) return bad();
  split.rule_ = Rule::kRandom;
  split.value_ = *part;
  split.modulus_ = *parts;
  return split;
}

bool HoldOut::holds(const Problem& problem) const {
  const auto [small, large] = std::minmax(problem.m, problem.n);
  switch (rule_) {
    case Rule::kNone:
      return false;
    case Rule::kRandom:
      return split_hash(problem) % static_cast<std::uint64_t>(modulus_) ==
             static_cast<std::uint64_t>(value_);
    case Rule::kM:
      return problem.m == value_;
    case Rule::kN:
      return problem.n == value_;
    case Rule::kK:
      return problem.k == value_;
    case Rule::kSkinny:
      return small <= kSkinnySide && large >= kSkinnyOther;
    case Rule::kLongK:
      return problem.k >= kLongK && problem.k >= kLongKOverSides * large;
  }
  return false;
}

}  // namespace gemmsmith::train
