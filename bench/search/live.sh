#!/usr/bin/env bash
# live.sh -- the policy on a GPU, on 50 problems that no recording holds: its pick after 16
# measurements against the best of all 160 configs of ours and 96 of cuBLASLt's that tuning considers,
# measured afterwards. Bar: 0.98 in the geometric mean. 82 s of an H200; each part is stopped at its limit
# and goes on when it is run again. What was judged is printed with how many problems are done.
#
#   bench/search/live.sh prepare [PROGRAM] [FOLDER]          compiles every kernel; needs no GPU, minutes
#   bench/search/live.sh [run] [PROGRAM] [FOLDER] [POLICY]   on the GPU, with FOLDER carried along
#
# Exit 0: all problems are judged and the bar is met; 1: not so.
set -euo pipefail
cd "$(dirname "$0")/../.."
action=run
case "${1:-}" in prepare | run) action=$1; shift ;; esac
program=${1:-build/release/gemmsmith}
folder=${2:-build/live}
policy=${3:-data/policy/h200_f16_f32_tn.policy}
shapes=data/shapes/unseen50.csv
mkdir -p "$folder"
export GEMMSMITH_CACHE_DIR=$PWD/$folder/cache
case $folder in /*) GEMMSMITH_CACHE_DIR=$folder/cache ;; esac
if [ "$action" = prepare ]; then
  exec "$program" compile --target sm_90a --shapes "$shapes" --ranked 160 --csv >"$folder/compiled.csv"
fi

# tune NAME LIMIT_S OPTION...: every step is stored before the next begins.
tune() {
  local name=$1 limit=$2 start=$SECONDS code=0
  shift 2
  timeout --signal=INT --kill-after=10 "$limit" "$program" tune --shapes "$shapes" \
    --store "$folder/$name.db" --no-retest --scoreboard --quiet "$@" >"$folder/$name.txt" || code=$?
  echo "$name: exit $code after $((SECONDS - start)) s"
  "$program" store show --store "$folder/$name.db" --csv >"$folder/$name.csv"
}
tune policy "${POLICY_LIMIT_S:-90}" --policy "$policy" --budget 10 --vendor-budget 6
tune exhaustive "${EXHAUSTIVE_LIMIT_S:-300}" --strategy ranked --budget 160 --vendor-budget 96
python3 - "$folder/policy.csv" "$folder/exhaustive.csv" <<'PY'
import csv, math, sys

BAR, PROBLEMS = 0.98, 50

def speeds(path):
    with open(path, newline="") as file:
        # A problem whose winner is tuned cuBLASLt is at 1 by definition.
        return {row["shape"]: float(row["ratio"]) if row["source"] != "lt_tuned" else 1.0
                for row in csv.DictReader(file)}

policy, best = (speeds(path) for path in sys.argv[1:])
shares = {shape: min(1.0, policy[shape] / best[shape]) for shape in best if shape in policy}
if not shares:
    sys.exit("no problem was tuned both ways yet")
order = sorted(shares, key=shares.get)
mean = math.exp(sum(map(math.log, shares.values())) / len(shares))
print(f"{len(shares)} of {PROBLEMS} problems: the policy's pick after 16 reaches {mean:.4f} of the best "
      f"found (bar {BAR}); 5th percentile {shares[order[len(order) // 20]]:.3f}; worst: "
      + ", ".join(f"{shape} {shares[shape]:.3f}" for shape in order[:5]))
sys.exit(0 if len(shares) == PROBLEMS and mean >= BAR else 1)
PY
