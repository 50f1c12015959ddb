// kernel_pool.h -- which kernels the device tests use: few, spread over each family's space, so
// that they can be compiled beforehand (`gpu_tests precompile`) on a machine without a GPU.
#pragma once

#include <string_view>
#include <vector>

#include "problem/problem.h"
#include "problem/target.h"
#include "space/config.h"

namespace gemmsmith::gpu {

Problem shape(std::int64_t m, std::int64_t n, std::int64_t k);

// At most `count` configs of the family that are legal for the problem, kernels from the pool first
// and spread over it; every other one with its launch-time switches turned, where that is legal.
std::vector<Config> pool_configs(const Family& family, const Problem& problem, const Target& target,
                                 std::size_t count);

// The problems of the exactness test and of the bench test.
std::vector<Problem> exactness_problems();
std::vector<Problem> bench_problems();
// What the bench test screens of ours.
std::vector<Config> bench_configs(const Problem& problem, const Target& target);
// 50 shapes of the grid, for the same kernel on both sides of the protocol; its kernel is the first
// of bench_configs. Empty where the grid cannot be read.
std::vector<Problem> same_kernel_problems();
// The problems that are launched directly, under compute-sanitizer too.
std::vector<Problem> direct_problems();

// Kernels that add up through the workspace, those that are legal for the problem: both numbers of
// consumers, every way of reading back (few ranks to many) and a tile that is shared unevenly.
std::vector<Config> workspace_configs(const Problem& problem, const Target& target);
// Ragged problems with a long k: tails of k, D of any alignment, alpha and beta, types, layouts.
// What transposed kernels can be held against: all of the problems here that are single products of
// 16-bit results, batches, and sizes around their tiles.
std::vector<Config> transposed_configs(const Problem& problem, const Target& target);
std::vector<Problem> transposed_problems();

std::vector<Problem> split_problems();

constexpr std::size_t kExactnessConfigs = 8;
constexpr std::size_t kDirectConfigs = 4;

// Batches: sizes 1..70 drawn at random, 1..300 products, every layout, operands that are shared,
// padded or interleaved, C in place of nothing; then split k, many products and a large one.
std::vector<Problem> batch_problems();
// Batches whose matrices lie more than 2^31 elements apart, all but `which` of the operands dense.
std::vector<Problem> far_batch_problems();
// Kernels for one: a few of the pool of each family, and every way of splitting k that is legal.
std::vector<Config> batch_configs(const Problem& problem, const Target& target);

// Groups of rows: the problem, and where each group ends.
struct GroupedCase {
  Problem problem;
  std::vector<std::int32_t> ends;
};
// 1 to 300 groups, sizes around tiles and around 32 groups (what a warp looks at), empty ones, rows
// that follow Zipf's law, and rows behind the last end.
std::vector<GroupedCase> grouped_cases();
// Every kind of kernel that walks groups, those that are legal for the problem.
std::vector<Config> grouped_configs(const Problem& problem, const Target& target);

// Sizes around tiles, D of any alignment, alpha and beta, both types and accumulators; each of them
// with every activation, with a bias and without; and kernels that are legal with an epilogue: some
// of the pool and every way of splitting k.
std::vector<Problem> epilogue_problems();
std::vector<Problem> with_epilogues(const Problem& plain);
std::vector<Config> epilogue_configs(const Problem& plain, const Target& target);

// The problems of the field reports on accumulation, for one type, the longest k last; those whose
// sums overflow, for each m around the tiles' heights; and the kernels they are held against: some
// of the pool and every way of splitting k.
std::vector<Problem> field_report_problems(DataType type);
std::vector<Problem> overflow_problems(DataType type);
std::vector<Config> field_report_configs(const Problem& problem, const Target& target);

// An sm80_mma config that launches like kernels/parts/naive_gemm.cuh: what the faulty kernels are
// made of. `group` and `raster` are ignored by them and tell them apart.
Config naive_stand_in(int group, int raster);

// The problems of the exactness test and those that split a long k, with D in f32; and kernels for
// one.
std::vector<Problem> f32_problems();
std::vector<Config> f32_configs(const Problem& problem, const Target& target);

// Compiles everything above for the H200 into the cubin cache; of "batches" what batch_test.cpp
// needs only, of "epilogues" what epilogue_test.cpp does, of "f32" what Exactness.F32Results does.
// The exit code.
int precompile(std::string_view what);

}  // namespace gemmsmith::gpu
