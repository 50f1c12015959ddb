#!/usr/bin/env bash
# choose.sh -- what a policy chooses from the shipped plan table for problems that the table has no
# plan for, held against recordings and against a GPU (docs/agent.md, "Selection in the product").
#
#   bench/search/choose.sh prepare [BUILD] [FOLDER]   trains a policy for each hold-out; needs libtorch,
#                                                     a quarter of an hour of a core
#   bench/search/choose.sh judge [BUILD] [FOLDER]     by recordings, seconds; needs no GPU
#   bench/search/choose.sh measure [BUILD] [FOLDER]   the trusted choices of random:*/5 on a GPU, about 180
#                                                     problems, 2 minutes; FOLDER is carried along. Writes
#                                                     FOLDER/choices.csv and a summary
set -euo pipefail
cd "$(dirname "$0")/../.."
action=${1:?usage: choose.sh prepare|judge|measure [BUILD] [FOLDER]}
build=${2:-build/release}
folder=${3:-build/choose}
table=data/plans/h200.plans
recordings=data/recordings/h200
mkdir -p "$folder"

random=() all=()
for i in 0 1 2 3 4; do random+=("random:$i/5"); done
all=("${random[@]}")
for dimension in m n k; do
  for value in 64 128 256 512 1024 2048 4096 8192 12288 16384; do all+=("$dimension=$value"); done
done
policy_of() { echo "$folder/${1//[:=\/]/_}.policy"; }
arguments_of() { local rule; for rule in "$@"; do echo "$rule@$(policy_of "$rule")"; done; }

case $action in
prepare)
  # Reinforcement learning leaves the scorer as it is, and the scorer alone chooses here.
  sed 's/"ppo_iterations": [0-9]*/"ppo_iterations": 0/' data/policy/train.json >"$folder/train.json"
  for rule in "${all[@]}"; do
    [ -s "$(policy_of "$rule")" ] || OMP_NUM_THREADS=1 "$build/gemmsmith" train -q --hold-out "$rule" \
      --recording "$recordings"/{grid1000,longk172,weak31,fast772,sixth1000,quick515,turned}_f16_f32_tn.csv.zst --config "$folder/train.json" \
      --out "$(policy_of "$rule")" >/dev/null
  done
  ;;
judge)
  mapfile -t arguments < <(arguments_of "${all[@]}")
  "$build/bench/search/search_choose" judge "$table" "${arguments[@]}" -- \
    "$recordings"/{grid1000,longk172,weak31,fast772,sixth1000,quick515,turned}_f16_f32_tn.csv.zst
  ;;
measure)
  mapfile -t arguments < <(arguments_of "${random[@]}")
  "$build/bench/search/search_choose" measure "$table" "${arguments[@]}" >"$folder/choices.csv"
  python3 - "$folder/choices.csv" <<'PYTHON'
import csv, math, sys
shapes = {}
bad = 0
for row in csv.DictReader(open(sys.argv[1])):
    if row["status"] != "ok":
        bad += 1
        print("not ok:", row)
        continue
    shapes.setdefault((row["held_out"], row["shape"]), {})[row["setting"]] = float(row["ratio"])
least = sorted(min(settings.values()) for settings in shapes.values())
mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
for setting in ("chained", "foreign"):
    print(setting, "geometric mean %.3f" % mean([s[setting] for s in shapes.values() if setting in s]))
print("choices %d, lesser of both %.3f, 5th percentile %.3f, lose > 1 %%: %.1f %%, > 3 %%: %.1f %%, not ok %d" % (
    len(least), mean(least), least[len(least) // 20],
    100 * sum(x < 0.99 for x in least) / len(least), 100 * sum(x < 0.97 for x in least) / len(least), bad))
sys.exit(1 if bad else 0)
PYTHON
  ;;
*) echo "choose.sh: unknown action $action" >&2; exit 2 ;;
esac
