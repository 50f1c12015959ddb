#!/usr/bin/env bash
# default_device.sh [NAME] -- where to measure when nobody says so: this machine's GPU, or where there is
# none the recorded H200, by the recording NAME where there is one and else by the grid's.
set -eu
if [ -e /dev/nvidia0 ] || { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }; then
  echo cuda:0
  exit
fi
recordings=$(cd "$(dirname "$0")/.." && pwd)/data/recordings/h200
recording=$recordings/${1:-}.csv.zst
[ -e "$recording" ] || recording=$recordings/grid1000_f16_f32_tn.csv.zst
echo "no GPU here; replaying the recorded H200 ($recording)" >&2
echo "recorded:$recording"
