// capture_order.h -- what a launch follows, where that can be known. A stream that captures knows
// the nodes that its next launch will wait for; if that is one node, and the last kernel of ours,
// the launch follows it directly and may start while it ends (kernels/parts/pdl.cuh). Outside of
// captures nobody knows what other libraries have put into the stream.
#pragma once

#include "device/driver.h"

namespace gemmsmith::runtime {

class CaptureOrder {
 public:
  enum class Behind {
    kUnknown,  // the stream does not capture
    kOther,
    kOurs,
  };

  // This thread's memory of what it captured last.
  static CaptureOrder& of_thread() {
    thread_local CaptureOrder order;
    return order;
  }

  // What the stream's next launch would follow. No allocation, no lock of ours.
  Behind behind(const Driver& driver, CUstream stream) const;
  // A kernel of ours was captured just now.
  void remember(const Driver& driver, CUstream stream);

 private:
  cuuint64_t capture_ = 0;
  CUgraphNode node_ = nullptr;
};

}  // namespace gemmsmith::runtime
