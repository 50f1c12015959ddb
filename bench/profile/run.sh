#!/usr/bin/env bash
# run.sh PROGRAM OUT -- on a machine with a GPU: profiles of 20 shapes across the regimes, ours beside
# lt_tuned; the same kernels under ncu, compared figure by figure; and the L2 model against the
# counters. About four minutes on an H200. A part that fails is named and the rest goes on. Exit 0: all
# parts ran and agreed; 1: not so.
#
#   ncu_compare.csv  each figure by both, and whether they are within 2 points
#   profiles.csv     one row a kernel; profiles.txt is what a person reads
#   l2.csv           one row a shape and config; l2.log ends with the errors
set -u
program=${1:?usage: bench/profile/run.sh PROGRAM OUT}
out=${2:?usage: bench/profile/run.sh PROGRAM OUT}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
summary=$out/summary.txt
: >"$summary"
failed=0
note() { echo "$1" | tee -a "$summary"; }

# part NAME LIMIT_S COMMAND...: stdout to OUT/NAME.csv, talk to OUT/NAME.log.
part() {
  local name=$1 limit=$2 start=$SECONDS code
  shift 2
  timeout --signal=INT --kill-after=10 "$limit" "$@" >"$out/$name.csv" 2>"$out/$name.log"
  code=$?
  if [ "$code" -eq 0 ]; then
    note "$name: ok ($((SECONDS - start)) s, $(wc -l <"$out/$name.csv") lines)"
  else
    note "$name: FAILED, exit $code ($((SECONDS - start)) s): $(tail -n 1 "$out/$name.log")"
    failed=1
  fi
}

# Toolkits that keep CUPTI where nothing looks for it.
if [ -z "${GEMMSMITH_CUPTI:-}" ] && [ ! -e /usr/local/cuda/lib64/libcupti.so.13 ] &&
  [ ! -e /usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13 ]; then
  found=$(find / -name 'libcupti.so.1[23]' -not -path '/proc/*' 2>/dev/null | sort -r | head -n 1)
  if [ -n "$found" ]; then export GEMMSMITH_CUPTI=$found; fi
  note "cupti: ${found:-not found}"
fi
nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv,noheader >"$out/gpu.txt" 2>&1

choices=(--shapes "$here/shapes.csv" --choices "$here/choices.csv")
part profiles 150 "$program" profile "${choices[@]}" --full --csv --seconds 0.25
part ncu_compare 240 python3 "$here/ncu_compare.py" "$program" "$out/profiles.csv" "$out/ncu.log"
part l2 150 "$program" profile --l2 --shapes "$here/l2_shapes.csv" --ranked 9 --csv
tail -n 2 "$out/l2.log" | tee -a "$summary"
tail -n 3 "$out/ncu_compare.log" | tee -a "$summary"
part profiles_text 25 "$program" profile --mnk 64_64_64 --mnk 4096_4096_4096 --choices "$here/choices.csv" --seconds 0.1
cat "$out/profiles_text.csv"
exit "$failed"
