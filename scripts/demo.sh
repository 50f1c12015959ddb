#!/usr/bin/env bash
# demo.sh -- tunes a few shapes and prints the result: real kernels on this machine's GPU, or where
# there is none a slice of the recorded H200 space. The store is kept, so a second run is short.
set -euo pipefail
cd "$(dirname "$0")/.."

gemmsmith=${GEMMSMITH:-build/release/gemmsmith}
device=$(scripts/default_device.sh)
"$gemmsmith" tune --device "$device" --shapes data/shapes/demo.csv --store build/demo.db
