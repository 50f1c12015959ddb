#!/usr/bin/env bash
# demo.sh -- tunes a few shapes and prints the result: real kernels on this machine's GPU, or where
# there is none a slice of the recorded H200 space. The store is kept, so a second run is short.
set -euo pipefail
cd "$(dirname "$0")/.."

gemmsmith=${GEMMSMITH:-build/release/gemmsmith}
store=build/demo.db
shapes=data/shapes/demo.csv

if [ -e /dev/nvidia0 ] || { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }; then
  device=cuda:0
else
  device=recorded:data/recordings/h200/grid1000_f16_f32_tn.csv.zst
  echo "demo: no GPU here; replaying the recorded H200 ($device)" >&2
fi

"$gemmsmith" tune --device "$device" --shapes "$shapes" --store "$store"
