#!/usr/bin/env bash
# fuzz.sh [SECONDS] [TARGET...] -- fuzzes each parser for SECONDS (60) with libFuzzer, ASan and UBSan.
# Starts from tests/fuzz/corpus, keeps what it finds new in build/fuzz/found/TARGET, and stops at the
# first input that breaks a promise: add it to the corpus, so that it is replayed by every test run.
# Needs Clang with its compiler-rt (Debian: clang-14 libclang-rt-14-dev).
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
if ! [[ $seconds =~ ^[0-9]+$ ]]; then
  echo "fuzz.sh: '$seconds': expected seconds for each target" >&2
  exit 2
fi
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then mapfile -t targets < <(ls tests/fuzz/corpus); fi
if ! command -v clang++-14 >/dev/null; then
  echo "fuzz.sh: unavailable: no clang++-14; install clang-14 libclang-rt-14-dev" >&2
  exit 3
fi

[ -f build/fuzz/build.ninja ] || cmake --preset fuzz >/dev/null
cmake --build build/fuzz --target "${targets[@]/#/fuzz_}"
# Parsers that read files do so in memory where that is possible.
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
for target in "${targets[@]}"; do
  found=build/fuzz/found/$target
  mkdir -p "$found"
  echo "== $target: $seconds s"
  log=build/fuzz/found/$target.log
  status=0
  "build/fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=8192 -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="build/fuzz/found/$target-" \
    "$found" "tests/fuzz/corpus/$target" >"$log" 2>&1 || status=$?
  grep -aE '^(stat::number_of_executed|stat::peak_rss|broken promise|==[0-9]+==ERROR|SUMMARY)|runtime error|Assertion|Test unit written' "$log" || true
  if [ "$status" -ne 0 ]; then
    echo "fuzz.sh: $target: a promise is broken; see $log" >&2
    exit 1
  fi
done
