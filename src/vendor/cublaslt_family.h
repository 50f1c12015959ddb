// cublaslt_family.h -- cuBLASLt's own configuration space as a family: an algorithm has a text like
// "cublaslt:a66.t20.s35.c2.g3", is searched, stored and served like a kernel of ours.
//
// The numbers are the library's enumerators (cublasLtMatmulTile_t, cublasLtMatmulStages_t,
// cublasLtClusterShape_t, cublasLtReductionScheme_t ...), so a text means the same algorithm only
// for one version of the library; plans name the version beside it.
#pragma once

#include "space/family.h"
#include "vendor/lt_matmul.h"

namespace gemmsmith::vendor {

// Parameters algo(a) tile(t) stages(s) split_k(k) reduction(r) swizzle(w) custom(c) inner_shape(i)
// cluster(g). Its constraints are what is known without the library; the rest is AlgoCheck's.
const Family& cublaslt_family();

// Is this one of the library's own configurations, rather than a kernel of ours?
inline bool is_vendor(const Config& config) { return config.family == &cublaslt_family(); }

// The most workspace that a config, by its text, takes of `limit` bytes: its split-K algorithms
// reduce through all they get, the others need none. (AlgoCheck knows how much exactly, where the
// library is.)
std::int64_t workspace_bound(const std::string& config, std::int64_t limit);

// The config of an algorithm that the library returned. kDevice where it cannot be read.
Result<Config> to_config(const LtFunctions& lt, const cublasLtMatmulAlgo_t& algo);

// Builds and checks the algorithm: AlgoInit, ConfigSetAttribute, AlgoCheck. kUnsupported names the
// step, the config and the problem.
Result<LtAlgo> to_algo(const Config& config, const LtMatmul& matmul);

}  // namespace gemmsmith::vendor
