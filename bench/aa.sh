#!/usr/bin/env bash
# aa.sh [BUILD] -- the same kernel on both sides of the protocol: 50 shapes of the grid, one kernel
# of ours and one of cuBLASLt's, four finals each in both settings. Prints the median ratios and the
# false wins; the table goes to aa.csv in
# GEMMSMITH_GPU_RESULTS (default: the working folder).
set -eu
build=${1:-build/release}
exec "$build/tests/gpu/gpu_tests" --gtest_filter='SameKernel.*'
