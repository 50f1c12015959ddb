// kernel_model.h -- a config's parameters as plain numbers, and the time model over them. The
// ranker's arithmetic without the cost of looking parameters up by name.
#pragma once

#include "space/family.h"

namespace gemmsmith::policy {

struct KernelShape {
  bool wgmma = false;  // sm90_ws, else sm80_mma
  int tile_m = 0, tile_n = 0, tile_k = 0;
  int stages = 0;
  int consumers = 1;
  bool pingpong = false;
  bool stores_by_tma = false;
  int cluster_m = 1, cluster_n = 1;
  int warps = 4, warp_tile_m = 0, warp_tile_n = 0;  // sm80_mma
  int threads = 0;
  int shared_bytes = 0;
  int registers = 0;  // a thread, estimated
  // Launch-time:
  int split_k = 1;
  bool through_workspace = false;  // how the CTAs that split k add up; else as a cluster
  bool transposed = false;  // D^T = B^T A^T
  int group = 8;
  bool along_n = false;
  bool persistent = false;
  bool pdl = true;
  int prefetch = 0;  // rounds of the ring that L2 is asked for early
  int pack = 0;           // space/packing.h
  bool elements = false;  // sm80_mma, loading element by element
};

KernelShape kernel_shape(const Config& config, DataType accumulator);

// CTAs that a target runs at the same time: as many as an SM holds, on the SMs that clusters of this
// size can use. Registers are estimated.
int ctas_at_once(const KernelShape& kernel, const Target& target);

double model_us(const Problem& problem, const KernelShape& kernel, const Target& target);

}  // namespace gemmsmith::policy
