// Greedy cover: each round adds the kernel whose gains over what is served so far add up to most.
#include "report/kernel_front.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "vendor/all_families.h"

namespace gemmsmith::report {
namespace {

struct Gain {
  int shape = 0;
  double log_ratio = 0;
};

struct Kernel {
  std::string text;
  std::vector<Gain> gains;  // at most one a shape
};

// A text that names no config of ours is a kernel of its own.
std::string kernel_of(const std::string& config, std::map<std::string, std::string>& known) {
  const auto found = known.find(config);
  if (found != known.end()) return found->second;
  const auto parsed = parse_config(config, all_families());
  return known.emplace(config, parsed ? kernel_text(*parsed) : config).first->second;
}

double added_gain(const std::vector<Gain>& gains, const std::vector<double>& served) {
  double sum = 0;
  for (const Gain& gain : gains)
    sum += std::max(0.0, gain.log_ratio - served[static_cast<std::size_t>(gain.shape)]);
  return sum;
}

}  // namespace

std::vector<FrontPoint> kernel_front(std::span<const Measurement> rows, int most) {
  std::map<std::string, int> shapes;
  std::map<std::string, std::string> known;
  std::map<std::string, std::map<int, double>> best;  // by kernel, then by shape
  for (const Measurement& row : rows) {
    const int shape =
        shapes.try_emplace(describe(row.problem), static_cast<int>(shapes.size())).first->second;
    if (row.kind != Kind::kKernel || row.status != Status::kOk ||
        row.setting != Setting::kChained || row.ratio <= 1)
      continue;
    double& gain = best[kernel_of(row.config, known)][shape];
    gain = std::max(gain, std::log(row.ratio));
  }
  std::vector<Kernel> kernels;
  for (const auto& [text, gains] : best) {
    kernels.push_back({text, {}});
    for (const auto& [shape, log_ratio] : gains) kernels.back().gains.push_back({shape, log_ratio});
  }
  std::vector<FrontPoint> front = {{}};
  std::vector<double> served(shapes.size(), 0);
  double total = 0;
  // Below this a further kernel is noise: a thousandth of a percent of the mean.
  const double least = 1e-5 * static_cast<double>(shapes.size());
  for (int count = 1; count <= most; ++count) {
    const Kernel* added = nullptr;
    double most_gained = least;
    for (const Kernel& kernel : kernels) {
      const double gained = added_gain(kernel.gains, served);
      if (gained <= most_gained) continue;
      most_gained = gained;
      added = &kernel;
    }
    if (added == nullptr) break;
    for (const Gain& gain : added->gains) {
      double& now = served[static_cast<std::size_t>(gain.shape)];
      now = std::max(now, gain.log_ratio);
    }
    total += most_gained;
    front.push_back({count, std::exp(total / static_cast<double>(shapes.size())), added->text});
  }
  return front;
}

}  // namespace gemmsmith::report
