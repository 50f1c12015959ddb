// l2_model.h -- what a kernel's reads find in L2 and what they cost in memory traffic, from its
// tile order, cluster and split: the tiles that a device runs at once walk through k in step, and
// the cache keeps what was touched last.
//
// A prediction from first principles; what it assumes is written in l2_model.cpp, how it compares
// with an H200's hardware counters in docs/l2_model.md.
#pragma once

#include "base/result.h"
#include "problem/problem.h"
#include "problem/target.h"
#include "space/config.h"

namespace gemmsmith::policy {

struct L2Organisation {
  double bytes = 0;    // of all partitions
  int partitions = 2;  // 1 or 2
};

// A100, H100 and H200: two partitions.
L2Organisation l2_organisation(const Target& target);

// Bytes of one launch, L2 empty at its start.
struct L2Traffic {
  double requested = 0;       // read by SMs; what a cluster multicasts counts once
  double near = 0;            // of these, found in the partition on the SM's side
  double far = 0;             // found in the other partition
  double memory_read = 0;     // found in neither, and C where beta is not 0
  double memory_written = 0;  // D, once
  double compulsory = 0;      // the least that memory must move: each operand, and D, once

  double hit_rate() const { return requested > 0 ? (near + far) / requested : 1; }
  double memory() const { return memory_read + memory_written; }
};

// Errors (kUnsupported): a config of the vendor's, whose tile order nobody knows, or one that a
// constraint forbids for the problem.
Result<L2Traffic> predict_l2(const Problem& problem, const Config& config, const Target& target,
                             const L2Organisation& l2);
Result<L2Traffic> predict_l2(const Problem& problem, const Config& config, const Target& target);

}  // namespace gemmsmith::policy
