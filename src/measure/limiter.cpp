#include "measure/limiter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "device/nvml.h"

namespace gemmsmith {
namespace {

struct Resource {
  Limiter limiter;
  const char* words;
  Counter counter;
};

// Of two that are equally busy the first is named: it is the one a GEMM should be limited by.
constexpr std::array<Resource, 4> kResources = {{
    {Limiter::kTensorPipe, "the tensor pipe", Counter::kTensorPercent},
    {Limiter::kSharedMemory, "the shared-memory pipe", Counter::kSharedPipePercent},
    {Limiter::kL2, "L2", Counter::kL2Percent},
    {Limiter::kDram, "device memory", Counter::kDramPercent},
}};

struct Stall {
  const char* words;
  Counter counter;
};
constexpr std::array<Stall, 7> kStalls = {{
    {"memory", Counter::kStallLongScoreboard},
    {"shared memory", Counter::kStallShortScoreboard},
    {"barriers", Counter::kStallBarrier},
    {"a busy math pipe", Counter::kStallMathPipe},
    {"the shared-memory queue", Counter::kStallMio},
    {"fixed latencies", Counter::kStallWait},
    {"wgmma", Counter::kStallWgmma},
}};

const Resource* busiest(const CounterValues& counters) {
  const Resource* found = nullptr;
  for (const Resource& resource : kResources)
    if (counters[resource.counter] &&
        (found == nullptr || *counters[resource.counter] > *counters[found->counter]))
      found = &resource;
  return found;
}

// Empty where the full scope was not counted.
std::string top_stall(const CounterValues& counters) {
  const Stall* top = nullptr;
  for (const Stall& stall : kStalls)
    if (counters[stall.counter] &&
        (top == nullptr || *counters[stall.counter] > *counters[top->counter]))
      top = &stall;
  return top == nullptr ? "" : fmt::format("; warps wait most for {}", top->words);
}

bool holds_clock_down(const std::optional<LoadReport>& load) {
  return load && load->throttled_share && *load->throttled_share >= kThrottledShare;
}

std::string power_sentence(double tensor, const LoadReport& load, const Target& target) {
  std::string text = fmt::format("the tensor pipe is busy {:.0f} % of the cycles", tensor);
  if (load.sm_clock_mhz)
    text += fmt::format(", at {:.0f} of {:.0f} MHz", *load.sm_clock_mhz, target.sm_clock_mhz);
  if (load.power_w && load.power_limit_w)
    text += fmt::format(" and {:.0f} of {:.0f} W", *load.power_w, *load.power_limit_w);
  return text + fmt::format(" ({})", throttle_text(load.throttled.value_or(0)));
}

}  // namespace

const char* name(Limiter limiter) {
  switch (limiter) {
    case Limiter::kUnknown:
      return "unknown";
    case Limiter::kLaunch:
      return "launch";
    case Limiter::kPower:
      return "power";
    case Limiter::kTensorPipe:
      return "tensor_pipe";
    case Limiter::kSharedMemory:
      return "shared_memory";
    case Limiter::kL2:
      return "l2";
    case Limiter::kDram:
      return "dram";
    case Limiter::kTail:
      return "tail";
    case Limiter::kLatency:
      return "latency";
  }
  return "unknown";
}

LimiterVerdict find_limiter(const LimiterInput& input) {
  const CounterValues& counters = input.counters;
  if (input.us > 0 && 100 * input.empty_us / input.us >= kLaunchShare)
    return {Limiter::kLaunch,
            fmt::format("an empty kernel takes {:.2f} of its {:.2f} us", input.empty_us, input.us)};
  const Resource* const top = busiest(counters);
  if (top == nullptr) return {Limiter::kUnknown, "no hardware counters"};
  const double busy = *counters[top->counter];
  if (busy >= kBusyPercent) {
    if (top->limiter == Limiter::kTensorPipe && holds_clock_down(input.load))
      return {Limiter::kPower, power_sentence(busy, *input.load, input.target)};
    return {top->limiter, fmt::format("{} is at {:.0f} % of its peak", top->words, busy)};
  }
  const std::optional<double> active = active_percent(counters);
  if (active && 100 - *active >= kIdlePercent) {
    std::string text = fmt::format("SMs have no work {:.0f} % of the time", 100 - *active);
    if (counters[Counter::kCtas])
      text +=
          fmt::format(": {:.0f} CTAs on {} SMs", *counters[Counter::kCtas], input.target.sm_count);
    return {Limiter::kTail, std::move(text)};
  }
  return {Limiter::kLatency, fmt::format("nothing is busier than {} at {:.0f} % of its peak{}",
                                         top->words, busy, top_stall(counters))};
}

}  // namespace gemmsmith
