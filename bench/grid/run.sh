#!/usr/bin/env bash
# run.sh PROGRAM OUT [SHAPES] [OPTION...] -- the tables of docs/scoreboard.md on this machine. Tunes
# every shape of SHAPES (a CSV; the grid of 1000 unless named), in slices, and writes into OUT:
#
#   NAME.csv.zst, NAME.json          the recording, named as in data/recordings/
#   scoreboard.md, scoreboard.csv    the comparison with the library, and a line a shape
#   scoreboard.svg, floor.svg        its pictures, where Python has matplotlib
#
# OPTIONs are gemmsmith tune's: --type bf16, --acc f16, --layout nn ... Take another OUT for each. Where
# there is no GPU, the recorded H200 is replayed. What was measured is kept in OUT/grid.db: stopped at
# any time, the same command goes on. Each slice is a like sample of the whole list, and its winners are
# tested again when it ends. SLICE in the environment: shapes in a slice [50].
# Exit 0: every shape has its figures; 1: some failed, and are named; 130: stopped.
set -euo pipefail
usage="usage: bench/grid/run.sh PROGRAM OUT [SHAPES] [OPTION...]"
again=$(printf '%q ' "$0" "$@")
root=$(cd "$(dirname "$0")/../.." && pwd)
program=${1:?$usage}
out=${2:?$usage}
shift 2
shapes=$root/data/shapes/grid1000.csv
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
  shapes=$1
  shift
fi
say() { echo "grid: $*" >&2; }

# option NAME DEFAULT: what the OPTIONs say of it, as "--NAME VALUE" or "--NAME=VALUE".
options=("$@")
option() {
  local value=$2 i
  for ((i = 0; i < ${#options[@]}; ++i)); do
    case ${options[i]} in
      "--$1") value=${options[i + 1]:-} ;;
      "--$1="*) value=${options[i]#*=} ;;
    esac
  done
  echo "$value"
}
name=$(basename "$shapes" .csv)_$(option type f16)_$(option acc f32)_$(option layout tn)
if [ -z "$(option device "${GEMMSMITH_DEVICE:-}")$(option gpu-device-id "")" ]; then
  options+=(--device "$("$root/scripts/default_device.sh" "$name")")
fi

stop() {
  say "stopped; what was measured is kept in $out/grid.db. To go on:"
  echo "  $again" >&2
  exit 130
}
trap stop INT

rm -rf "$out/slices"
mkdir -p "$out/slices"
total=$(awk 'END { print NR - 1 }' "$shapes")
slices=$(((total + ${SLICE:-50} - 1) / ${SLICE:-50}))
failed=0
for ((slice = 0; slice < slices; ++slice)); do
  list=$out/slices/$((slice + 1)).csv
  awk -v slice="$slice" -v slices="$slices" 'NR == 1 || (NR - 2) % slices == slice' "$shapes" >"$list"
  say "slice $((slice + 1)) of $slices: $(($(wc -l <"$list") - 1)) of $total shapes"
  begin=$SECONDS
  code=0
  "$program" tune --shapes "$list" --store "$out/grid.db" --scoreboard "${options[@]}" >"${list%.csv}.txt" || code=$?
  case $code in
    0) ;;
    1) failed=1 ;;
    130) stop ;;
    *) exit "$code" ;;
  esac
  took=$((SECONDS - begin))
  say "slice $((slice + 1)) of $slices: done in $took s; about $((took * (slices - slice - 1))) s left"
done

recording=$out/$name.csv.zst
"$program" store recording "$recording" --store "$out/grid.db"
"$program" report --recording "$recording" --markdown >"$out/scoreboard.md"
"$program" report --recording "$recording" --csv >"$out/scoreboard.csv"
if python3 -c 'import matplotlib' 2>/dev/null; then
  "$root/scripts/plot_scoreboard.py" "$out/scoreboard.csv" "$out/scoreboard.svg"
  "$root/scripts/plot_floor.py" "$out/scoreboard.csv" "$out/floor.svg" >"$out/floor.md"
else
  say "no pictures: python3 has no matplotlib; with it, run the same command again"
fi
say "$recording, $out/scoreboard.md, $out/scoreboard.csv"
"$program" report --recording "$recording" | sed -n '/^Against lt_tuned$/,/^all /p'
echo
python3 "$root/bench/grid/bars.py" "$out/scoreboard.csv"
exit "$failed"
