// fake_gpu.h -- a CUDA driver for tests: a shared library that stands in for libcuda.so.1, runs the
// kernels it knows on host memory, counts calls and fails on demand. Device memory is host memory.
//
// A "cubin" is text here: "FAKE gemm tn", with the words "maps" (a kernel that takes three tensor
// maps before its arguments), "fused" (one that has epilogues) and "out=f32"; "FAKE pack" copies as
// kernels/pack.cu does. Anything that holds "gemmsmith_scale" is the scaling kernel, and with
// "gemmsmith_finish" the one that finishes.
#pragma once

#include <atomic>

struct __attribute__((visibility("default"))) FakeGpu {
  static constexpr int kDevices = 2;

  std::atomic<int> launches{0};  // of any kernel
  std::atomic<int> packs{0};
  std::atomic<int> finishes{0};
  std::atomic<int> modules_loaded{0};
  std::atomic<int> modules_unloaded{0};
  std::atomic<int> maps_encoded{0};
  std::atomic<int> contexts_retained{0};
  std::atomic<unsigned> last_cluster{0};
  std::atomic<unsigned> last_grid{0};    // along x
  std::atomic<unsigned> last_splits{0};  // of the grid, along y
  std::atomic<bool> last_cooperative{false};
  std::atomic<bool> last_programmatic{false};
  // What the last kernel that splits through the workspace was given. It turns the first one over,
  // as a real one does, and writes into the workspace.
  std::atomic<void*> last_workspace{nullptr};
  std::atomic<unsigned*> last_counters{nullptr};
  std::atomic<int> dirty_counters{0};    // launches that found the lower bits not zero
  std::atomic<int> allocations{0};       // of device memory
  std::atomic<int> captures_spoiled{0};  // loads outside RELAXED mode while another thread captures

  // What the next calls do.
  std::atomic<bool> fail_context{false};  // retaining a primary one
  std::atomic<bool> fail_module_load{false};
  std::atomic<bool> fail_encode{false};
  std::atomic<bool> fail_launch{false};
  std::atomic<bool> fail_allocation{false};
  std::atomic<bool> refuse_cooperative{false};  // as a context with few SMs does
  std::atomic<bool> is_capturing{false};
  // Of the capture, and of its nodes: each kernel is one, and tests may add others'. A capture
  // waits for its newest node, or for as many as `waits_for`.
  std::atomic<unsigned> capture_id{1};
  std::atomic<int> captured_nodes{0};
  std::atomic<int> waits_for{1};
  std::atomic<bool> another_thread_captures{false};  // in global mode
  // While set, kernels are counted but not computed: for measuring the host's side.
  std::atomic<bool> skip_work{false};

  // GPU time between two events: of work with a kernel of the driver's in between, and of other.
  std::atomic<float> kernel_us{5};
  std::atomic<float> library_us{6};
  std::atomic<bool> is_busy{false};  // events have not happened yet
  std::atomic<int> events{0};        // that exist
  std::atomic<int> events_recorded{0};
  std::atomic<int> captured_events{0};  // recorded into a capture

  // The devices' numbers.
  std::atomic<int> compute_capability{90};
  std::atomic<int> sm_count{132};
  std::atomic<const char*> name{"NVIDIA H200"};

  void reset();
};

// The instance in the library.
FakeGpu& fake_gpu();
