#!/usr/bin/env bash
# live.sh -- the policy on a GPU, on 50 problems that no recording holds: its pick after 16
# measurements against the best of a much longer search. Everything is resumable.
#
#   bench/search/live.sh [PROGRAM] [POLICY] [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${1:-build/release/gemmsmith}
policy=${2:-data/policy/h200_f16_f32_tn.policy}
folder=${3:-build/live}
shapes=data/shapes/unseen50.csv
mkdir -p "$folder"
"$program" tune --shapes "$shapes" --store "$folder/policy.db" --policy "$policy" \
  --budget 10 --vendor-budget 6 --no-retest --scoreboard --quiet >"$folder/policy.txt"
"$program" tune --shapes "$shapes" --store "$folder/long.db" --strategy evolutionary \
  --budget 120 --vendor-budget 64 --no-retest --scoreboard --quiet >"$folder/long.txt"
for store in policy long; do
  "$program" store show --store "$folder/$store.db" --csv >"$folder/$store.csv"
done
python3 - "$folder/policy.csv" "$folder/long.csv" <<'EOF'
import csv, math, sys

def speeds(path):
    with open(path, newline="") as file:
        # A problem whose winner is tuned cuBLASLt is at 1 by definition.
        return {row["shape"]: float(row["ratio"]) if row["source"] != "lt_tuned" else 1.0
                for row in csv.DictReader(file)}

policy, long = (speeds(path) for path in sys.argv[1:])
shares = sorted(min(1.0, policy[shape] / max(best, policy[shape]))
                for shape, best in long.items() if shape in policy)
mean = math.exp(sum(map(math.log, shares)) / len(shares))
print(f"{len(shares)} problems: the policy's pick after 16 reaches {mean:.4f} of the best found "
      f"(worst {shares[0]:.3f}, 5th percentile {shares[len(shares) // 20]:.3f})")
EOF
