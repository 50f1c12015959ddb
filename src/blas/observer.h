// observer.h -- GEMMSMITH_BLAS=observe: which products a program asks cuBLAS for, how long they
// take and what plans would gain. Calls go to cuBLAS unchanged.
//
// GPU time is that between two events around a sampled call: for a product that is shorter than its
// own launch, on an idle stream, part of the launch is in it. Nothing is sampled while the stream
// captures, and events are read without waiting, by later calls.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "blas/gemm_call.h"
#include "blas/server.h"
#include "device/cuda.h"

namespace gemmsmith::blas {

// What is counted by.
struct ShapeKey {
  std::int64_t m = 0, n = 0, k = 0, batch = 1, lda = 0, ldb = 0, ldd = 0;
  std::int32_t transa = 0, transb = 0, type = 0, compute_type = 0, output = 0;
  auto operator<=>(const ShapeKey&) const = default;
};

struct ShapeCount {
  std::int64_t calls = 0;
  std::int64_t timed = 0;
  double timed_us = 0;
  Server::Forecast forecast;
  bool has_forecast = false;
};

// The lines of the summary, the costliest shapes first. `left` holds the calls by reason.
std::string summary_text(const std::map<ShapeKey, ShapeCount>& shapes,
                         const std::array<std::int64_t, kReasons>& left);

class Observer {
 public:
  static Observer& of_process();

  // A call's time: between making and destroying it the real library is called.
  class Sample {
   public:
    Sample(Observer& observer, const GemmCall& call, Server* server);
    ~Sample();
    Sample(const Sample&) = delete;
    Sample& operator=(const Sample&) = delete;

   private:
    Observer& observer_;
    const GemmCall& call_;
    const Driver* driver_ = nullptr;  // null: not timed
    ShapeKey key_;
    Event start_;
  };

  // Reads the events that have happened, in the current context.
  void collect();

  // Prints what was seen. Touches no device: the process may be ending.
  void report();

 private:
  struct Pending {
    ShapeKey key;
    CUcontext context = nullptr;
    Event start;
    Event stop;
  };
  void collect_locked(const Driver& driver);

  std::mutex mutex_;
  std::map<ShapeKey, ShapeCount> shapes_;
  std::vector<Pending> pending_;
  std::array<std::int64_t, kReasons> left_ = {};
};

}  // namespace gemmsmith::blas
