// launch_server.h -- a launch as one who serves requests: each request goes to the next operand set
// and is done when the event behind it is. Enqueueing, the host's share of a request, is part of
// it.
#pragma once

#include <cstdint>
#include <vector>

#include "device/cuda.h"
#include "measure/launch.h"
#include "measure/operands.h"
#include "measure/server.h"

namespace gemmsmith {

class LaunchServer : public ServeProvider {
 public:
  // `depth`: at most so many requests are in flight at once. Launch and operands must outlive it.
  static Result<LaunchServer> create(const Driver& driver, CUstream stream, Launch& launch,
                                     void* operands, const OperandLayout& layout, int depth);

  // A few requests that nobody counts: what a first launch costs is not what serving costs.
  Result<void> warm_up();

  Result<void> send() override;
  Result<std::int64_t> finished() override;
  Result<void> drain() override;

 private:
  LaunchServer(const Driver& driver, CUstream stream, Launch& launch, void* operands,
               const OperandLayout& layout)
      : driver_(&driver), stream_(stream), launch_(&launch), operands_(operands), layout_(layout) {}

  const Driver* driver_;
  CUstream stream_;
  Launch* launch_;
  void* operands_;
  OperandLayout layout_;
  Event origin_;               // recorded once, long done
  std::vector<Event> events_;  // request i's is events_[i mod depth]
  std::int64_t sent_ = 0;
  std::int64_t finished_ = 0;
  std::int64_t next_set_ = 0;
};

}  // namespace gemmsmith
