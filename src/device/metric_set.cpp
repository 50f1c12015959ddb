#include "device/metric_set.h"

#include <utility>

#include "device/cupti.h"

namespace gemmsmith {
namespace {

// CUPTI's object for a chip's metrics.
class Host {
 public:
  static Result<Host> create(std::shared_ptr<const Cupti> cupti, const std::string& chip,
                             std::span<const std::uint8_t> availability) {
    GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params, params);
    params.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    params.pChipName = chip.c_str();
    params.pCounterAvailabilityImage = availability.empty() ? nullptr : availability.data();
    const CUptiResult result = cupti->ProfilerHostInitialize(&params);
    if (result != CUPTI_SUCCESS)
      return fail(ErrorCode::kUnsupported,
                  "CUPTI ({}) cannot prepare counters for the chip '{}': {}; a CUPTI as new as the "
                  "GPU is needed, with libnvperf_host.so beside it",
                  cupti->path, chip, cupti_name(*cupti, result));
    return Host(std::move(cupti), params.pHostObject);
  }
  Host(Host&& other) noexcept
      : cupti_(std::move(other.cupti_)), object_(std::exchange(other.object_, nullptr)) {}
  Host& operator=(Host&& other) noexcept {
    std::swap(cupti_, other.cupti_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Host() {
    if (object_ == nullptr) return;
    GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params, params);
    params.pHostObject = object_;
    cupti_->ProfilerHostDeinitialize(&params);
  }

  CUptiResult add(std::span<const char*> metrics) const {
    GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, params);
    params.pHostObject = object_;
    params.ppMetricNames = metrics.data();
    params.numMetrics = metrics.size();
    return cupti_->ProfilerHostConfigAddMetrics(&params);
  }
  CUpti_Profiler_Host_Object* get() const { return object_; }

 private:
  Host(std::shared_ptr<const Cupti> cupti, CUpti_Profiler_Host_Object* object)
      : cupti_(std::move(cupti)), object_(object) {}
  std::shared_ptr<const Cupti> cupti_;
  CUpti_Profiler_Host_Object* object_;
};

// CUPTI says only that something in a list is wrong, and an object that has refused once is of no
// further use: each metric is tried alone.
Error unknown_metric(const std::shared_ptr<const Cupti>& cupti, const std::string& chip,
                     std::span<const std::uint8_t> availability,
                     std::span<const char* const> metrics, CUptiResult refused) {
  for (const char* metric : metrics) {
    const auto host = Host::create(cupti, chip, availability);
    if (!host) return host.error();
    const char* one[] = {metric};
    if (host->add(one) != CUPTI_SUCCESS)
      return {ErrorCode::kUnsupported, fmt::format("CUPTI ({}) has no metric '{}' for the chip {}",
                                                   cupti->path, metric, chip)};
  }
  return {ErrorCode::kDevice,
          fmt::format("CUPTI ({}) cannot schedule these metrics together on {}: {}", cupti->path,
                      chip, cupti_name(*cupti, refused))};
}

}  // namespace

struct MetricSet::State {
  std::shared_ptr<const Cupti> cupti;
  Host host;
  std::vector<std::string> metrics;
  std::vector<const char*> names;  // of metrics
  std::vector<std::uint8_t> image;
  std::size_t passes = 0;
};

MetricSet::MetricSet(std::unique_ptr<State> state) : state_(std::move(state)) {}
MetricSet::MetricSet(MetricSet&&) noexcept = default;
MetricSet& MetricSet::operator=(MetricSet&&) noexcept = default;
MetricSet::~MetricSet() = default;

const std::vector<std::string>& MetricSet::metrics() const { return state_->metrics; }
const std::vector<std::uint8_t>& MetricSet::image() const { return state_->image; }
std::size_t MetricSet::passes() const { return state_->passes; }

Result<MetricSet> MetricSet::create(const std::string& chip, std::vector<std::string> metrics,
                                    std::span<const std::uint8_t> availability) {
  GEMMSMITH_TRY(const std::shared_ptr<const Cupti> cupti, load_cupti());
  GEMMSMITH_TRY(Host host, Host::create(cupti, chip, availability));
  auto state =
      std::make_unique<State>(State{cupti, std::move(host), std::move(metrics), {}, {}, 0});
  for (const std::string& metric : state->metrics) state->names.push_back(metric.c_str());
  if (const CUptiResult added = state->host.add(state->names); added != CUPTI_SUCCESS)
    return tl::unexpected<Error>(unknown_metric(cupti, chip, availability, state->names, added));

  GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
  size.pHostObject = state->host.get();
  GEMMSMITH_CHECK(
      check(*cupti, cupti->ProfilerHostGetConfigImageSize(&size), "sizing a counter schedule"));
  state->image.resize(size.configImageSize);
  GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image);
  image.pHostObject = state->host.get();
  image.configImageSize = state->image.size();
  image.pConfigImage = state->image.data();
  GEMMSMITH_CHECK(
      check(*cupti, cupti->ProfilerHostGetConfigImage(&image), "making a counter schedule"));
  GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params, passes);
  passes.configImageSize = state->image.size();
  passes.pConfigImage = state->image.data();
  GEMMSMITH_CHECK(
      check(*cupti, cupti->ProfilerHostGetNumOfPasses(&passes), "counting a schedule's passes"));
  state->passes = passes.numOfPasses;
  return MetricSet(std::move(state));
}

Result<std::vector<double>> MetricSet::evaluate(std::span<const std::uint8_t> counter_data,
                                                std::size_t range) const {
  std::vector<double> values(state_->metrics.size());
  GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, params);
  params.pHostObject = state_->host.get();
  params.pCounterDataImage = counter_data.data();
  params.counterDataImageSize = counter_data.size();
  params.rangeIndex = range;
  params.ppMetricNames = state_->names.data();
  params.numMetrics = state_->names.size();
  params.pMetricValues = values.data();
  GEMMSMITH_CHECK(check(*state_->cupti, state_->cupti->ProfilerHostEvaluateToGpuValues(&params),
                        "evaluating counters"));
  return values;
}

}  // namespace gemmsmith
