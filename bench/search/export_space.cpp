// export_space.cpp -- a recording as a table for tools outside: one line a problem and config, with
// what it gained over tuned cuBLASLt and the features that the policy sees. The peers of
// bench/search read this, and so can any other tuner.
#include <cstdio>
#include <iostream>

#include "policy/features.h"
#include "train/dataset.h"

namespace gemmsmith {
namespace {

std::string joined(const std::vector<float>& numbers) {
  std::string text;
  for (const float number : numbers)
    text += fmt::format("{}{:.5g}", text.empty() ? "" : ";", number);
  return text;
}

Result<int> run(const std::string& path) {
  GEMMSMITH_TRY(const RecordedDevice device, RecordedDevice::open(path));
  GEMMSMITH_TRY(const train::Dataset dataset, train::make_dataset(device));
  fmt::print("m,n,k,split_hash,config,value,repeats");
  for (const policy::FeatureName& feature : policy::feature_names())
    fmt::print(",{}", feature.name);
  fmt::print("\n");
  const std::size_t width = policy::feature_count();
  for (const train::Shape& shape : dataset.shapes)
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const train::MeasuredConfig& config = shape.configs[i];
      fmt::print("{},{},{},{},{},{:.6g},{}", shape.problem.m, shape.problem.n, shape.problem.k,
                 train::split_hash(shape.problem), to_text(config.config), config.value,
                 joined(config.repeats));
      for (const float value : std::span(shape.features).subspan(i * width, width))
        fmt::print(",{:.5g}", value);
      fmt::print("\n");
    }
  return 0;
}

}  // namespace
}  // namespace gemmsmith

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: search_export_space RECORDING > space.csv\n";
    return 2;
  }
  const auto result = gemmsmith::run(arguments[1]);
  if (!result) std::cerr << result.error().what << "\n";
  return result ? *result : gemmsmith::exit_code(result.error().code);
}
