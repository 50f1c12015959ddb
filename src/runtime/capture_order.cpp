#include "runtime/capture_order.h"

namespace gemmsmith::runtime {
namespace {

struct Captured {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraphNode node = nullptr;  // that the stream waits for, if it is one
};

// Nothing where the driver cannot tell (the default stream while another one captures).
Captured look(const Driver& driver, CUstream stream) {
  Captured captured;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 0;
  if (driver.StreamGetCaptureInfo_v3(stream, &captured.status, &captured.id, nullptr, &nodes,
                                     &edges, &count) != CUDA_SUCCESS)
    return {};
  if (captured.status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1) captured.node = nodes[0];
  return captured;
}

}  // namespace

CaptureOrder::Behind CaptureOrder::behind(const Driver& driver, CUstream stream) const {
  // Most calls are in no capture, which this tells sooner than its nodes would.
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (driver.StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return Behind::kUnknown;
  const Captured now = look(driver, stream);
  if (now.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return Behind::kUnknown;
  return now.node != nullptr && now.node == node_ && now.id == capture_ ? Behind::kOurs
                                                                        : Behind::kOther;
}

void CaptureOrder::remember(const Driver& driver, CUstream stream) {
  const Captured now = look(driver, stream);
  capture_ = now.id;
  node_ = now.node;
}

}  // namespace gemmsmith::runtime
