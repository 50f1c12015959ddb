// The order of calls: initialise, ask whether the device may be profiled, learn chip and available
// counters; for each collection enable, size and clear the data image, set the schedule, then
// start, launch, stop until every pass was submitted; decode, evaluate, disable.
#include "device/range_profiler.h"

#include <utility>

#include "device/cupti.h"

namespace gemmsmith {
namespace {

// More passes than any schedule has: a profiler that never says that it is done must not hang.
constexpr int kMostPasses = 256;

const char* why_unsupported(const CUpti_Profiler_DeviceSupported_Params& answer) {
  constexpr auto kYes = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  if (answer.architecture != kYes) return "its architecture is older than compute capability 7.0";
  if (answer.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED)
    return "profiling is switched off for this virtual GPU: its host must allow it";
  if (answer.vGpu != kYes) return "it is a virtual GPU without profiling";
  if (answer.confidentialCompute != kYes) return "confidential computing is on";
  if (answer.cmp != kYes) return "it is a mining processor";
  if (answer.wsl != kYes) return "WSL does not allow it";
  if (answer.sli != kYes) return "it is in an SLI group";
  return "CUPTI does not say why";
}

}  // namespace

struct RangeProfiler::State {
  std::shared_ptr<const Cupti> cupti;
  const CudaContext* context = nullptr;
  std::string chip;
  std::vector<std::uint8_t> availability;
  bool initialised = false;

  State(std::shared_ptr<const Cupti> library, const CudaContext& of)
      : cupti(std::move(library)), context(&of) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!initialised) return;
    GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_DeInitialize_Params, params);
    cupti->ProfilerDeInitialize(&params);
  }

  Result<void> initialise() {
    GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params, params);
    GEMMSMITH_CHECK(check(*cupti, cupti->ProfilerInitialize(&params), "starting CUPTI's profiler"));
    initialised = true;
    GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_DeviceSupported_Params, support);
    support.cuDevice = context->device();
    support.api = CUPTI_PROFILER_RANGE_PROFILING;
    GEMMSMITH_CHECK(check(*cupti, cupti->ProfilerDeviceSupported(&support),
                          "asking whether the device can be profiled"));
    if (support.isSupported != CUPTI_PROFILER_CONFIGURATION_SUPPORTED)
      return fail(ErrorCode::kEnvironment, "cuda:{} shows no hardware counters: {}",
                  context->ordinal(), why_unsupported(support));
    return {};
  }

  Result<void> learn_device() {
    GEMMSMITH_CUPTI_PARAMS(CUpti_Device_GetChipName_Params, name);
    name.deviceIndex = static_cast<std::size_t>(context->ordinal());
    GEMMSMITH_CHECK(check(*cupti, cupti->DeviceGetChipName(&name), "asking for the chip's name"));
    chip = name.pChipName;
    GEMMSMITH_CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params, available);
    available.ctx = context->get();
    GEMMSMITH_CHECK(check(*cupti, cupti->ProfilerGetCounterAvailability(&available),
                          "asking which counters there are"));
    availability.resize(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = availability.data();
    GEMMSMITH_CHECK(check(*cupti, cupti->ProfilerGetCounterAvailability(&available),
                          "asking which counters there are"));
    availability.resize(available.counterAvailabilityImageSize);
    return {};
  }
};

namespace {

// One collection, from enabling to disabling: CUPTI keeps pointers to both images meanwhile. (With
// one object for several collections, the second was seen to crash.)
class Collection {
 public:
  Collection(const Cupti& cupti, const CudaContext& context, const MetricSet& set)
      : cupti_(cupti), context_(context), set_(set) {}
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;
  ~Collection() {
    if (object_ == nullptr) return;
    if (started_) static_cast<void>(stop());
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params, params);
    params.pRangeProfilerObject = object_;
    cupti_.RangeProfilerDisable(&params);
  }

  Result<void> open() {
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params, params);
    params.ctx = context_.get();
    GEMMSMITH_CHECK(
        check(cupti_, cupti_.RangeProfilerEnable(&params), "enabling the range profiler"));
    object_ = params.pRangeProfilerObject;
    GEMMSMITH_CHECK(clear());
    return schedule();
  }

  Result<void> start() {
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params, params);
    params.pRangeProfilerObject = object_;
    GEMMSMITH_CHECK(check(cupti_, cupti_.RangeProfilerStart(&params), "starting to count"));
    started_ = true;
    return {};
  }

  // True once every pass was submitted.
  Result<bool> stop() {
    started_ = false;
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params, params);
    params.pRangeProfilerObject = object_;
    GEMMSMITH_CHECK(check(cupti_, cupti_.RangeProfilerStop(&params), "ending to count"));
    return params.isAllPassSubmitted != 0;
  }

  // The kernels' values, in the order of the set's metrics.
  Result<std::vector<std::vector<double>>> values() {
    GEMMSMITH_CHECK(decode());
    GEMMSMITH_TRY(const std::size_t count, ranges());
    if (count == 0) return fail(ErrorCode::kDevice, "CUPTI counted no kernel of the launch");
    std::vector<std::vector<double>> kernels;
    for (std::size_t range = 0; range < count; ++range) {
      GEMMSMITH_TRY(std::vector<double> one, set_.evaluate(data_, range));
      kernels.push_back(std::move(one));
    }
    return kernels;
  }

 private:
  // The image that counter data is decoded into.
  Result<void> clear() {
    std::vector<const char*> names;
    for (const std::string& metric : set_.metrics()) names.push_back(metric.c_str());
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = RangeProfiler::kMostKernels;
    size.maxNumRangeTreeNodes = RangeProfiler::kMostKernels;
    GEMMSMITH_CHECK(check(cupti_, cupti_.RangeProfilerGetCounterDataSize(&size),
                          "sizing the counters' memory"));
    data_.resize(size.counterDataSize);
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, params);
    params.pRangeProfilerObject = object_;
    params.counterDataSize = data_.size();
    params.pCounterData = data_.data();
    return check(cupti_, cupti_.RangeProfilerCounterDataImageInitialize(&params),
                 "clearing the counters' memory");
  }

  Result<void> schedule() {
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params, params);
    params.pRangeProfilerObject = object_;
    params.configSize = set_.image().size();
    params.pConfig = set_.image().data();
    params.counterDataImageSize = data_.size();
    params.pCounterDataImage = data_.data();
    // A range a kernel. A user's range would also hold the time that the host takes to launch.
    params.range = CUPTI_AutoRange;
    // The caller launches each pass, and so decides what the caches hold.
    params.replayMode = CUPTI_UserReplay;
    params.maxRangesPerPass = RangeProfiler::kMostKernels;
    params.numNestingLevels = 1;
    params.minNestingLevel = 1;
    params.passIndex = 0;
    params.targetNestingLevel = 1;
    return check(cupti_, cupti_.RangeProfilerSetConfig(&params), "setting the counter schedule");
  }

  Result<void> decode() {
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params, params);
    params.pRangeProfilerObject = object_;
    GEMMSMITH_CHECK(check(cupti_, cupti_.RangeProfilerDecodeData(&params), "decoding counters"));
    if (params.numOfRangeDropped == 0) return {};
    return fail(ErrorCode::kUnsupported,
                "the launch has {} kernels more than the {} that can be counted together",
                params.numOfRangeDropped, RangeProfiler::kMostKernels);
  }

  Result<std::size_t> ranges() {
    GEMMSMITH_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params, params);
    params.pCounterDataImage = data_.data();
    params.counterDataImageSize = data_.size();
    GEMMSMITH_CHECK(check(cupti_, cupti_.RangeProfilerGetCounterDataInfo(&params),
                          "counting the kernels that were counted"));
    return params.numTotalRanges;
  }

  const Cupti& cupti_;
  const CudaContext& context_;
  const MetricSet& set_;
  std::vector<std::uint8_t> data_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  bool started_ = false;
};

}  // namespace

RangeProfiler::RangeProfiler(std::unique_ptr<State> state) : state_(std::move(state)) {}
RangeProfiler::RangeProfiler(RangeProfiler&&) noexcept = default;
RangeProfiler& RangeProfiler::operator=(RangeProfiler&&) noexcept = default;
RangeProfiler::~RangeProfiler() = default;

const std::string& RangeProfiler::chip() const { return state_->chip; }

Result<RangeProfiler> RangeProfiler::open(const CudaContext& context) {
  GEMMSMITH_TRY(std::shared_ptr<const Cupti> cupti, load_cupti());
  auto state = std::make_unique<State>(std::move(cupti), context);
  GEMMSMITH_CHECK(state->initialise());
  GEMMSMITH_CHECK(state->learn_device());
  return RangeProfiler(std::move(state));
}

Result<MetricSet> RangeProfiler::metric_set(std::vector<std::string> metrics) const {
  return MetricSet::create(state_->chip, std::move(metrics), state_->availability);
}

Result<std::vector<std::vector<double>>> RangeProfiler::collect(const MetricSet& set,
                                                                const Step& prepare,
                                                                const Step& launch) {
  Collection collection(*state_->cupti, *state_->context, set);
  GEMMSMITH_CHECK(collection.open());
  for (int pass = 0;; ++pass) {
    if (pass == kMostPasses)
      return fail(ErrorCode::kDevice, "CUPTI asked for more than {} passes of a schedule of {}",
                  kMostPasses, set.passes());
    GEMMSMITH_CHECK(prepare());
    GEMMSMITH_CHECK(state_->context->synchronize());
    GEMMSMITH_CHECK(collection.start());
    const Result<void> launched = launch();
    // Whatever the launch says, what was started must end.
    const Result<void> finished = state_->context->synchronize();
    const Result<bool> all = collection.stop();
    GEMMSMITH_CHECK(launched);
    GEMMSMITH_CHECK(finished);
    if (!all) return tl::unexpected<Error>(all.error());
    if (*all) break;
  }
  return collection.values();
}

}  // namespace gemmsmith
