#!/usr/bin/env python3
"""Does the L2 model's traffic tell which tile order is faster? No counter needed: a recording holds
many kernels that were timed in several orders (group, raster) on one shape.

    bench/l2_order.py build/release/gemmsmith data/recordings/h200/grid1000_f16_f32_tn.csv.zst

For each pair of orders of one kernel whose times differ by more than 1 %: is the one with less
predicted memory traffic the faster one? By the time of tuned cuBLASLt and by how much the predicted
traffic differs. One half would be chance. Needs the program zstd; some minutes on one core.
"""

import collections
import csv
import io
import itertools
import math
import subprocess
import sys

DEFAULT_ORDER = (8, 0)  # group, raster
TIMES_US = ((30, 100), (100, 1000), (1000, math.inf))
TRAFFIC_RATIOS = (1.02, 1.1, 1.3)
LEAST_TIME_RATIO = 1.01


def split_order(config):
    """A config's text without its tile order, and the order."""
    family, _, parameters = config.partition(":")
    group, raster = DEFAULT_ORDER
    kept = []
    for part in filter(None, parameters.split(".")):
        if part[0] == "g" and part[1:].isdigit():
            group = int(part[1:])
        elif part[0] == "r" and part[1:].isdigit():
            raster = int(part[1:])
        else:
            kept.append(part)
    return family + ":" + ".".join(kept), (group, raster)


def read_recording(path):
    """Ratios over tuned cuBLASLt by (shape, kernel) and order, and its time by shape."""
    text = subprocess.run(["zstd", "-dc", path], check=True, capture_output=True, text=True).stdout
    ratios, tuned_us = collections.defaultdict(dict), {}
    for row in csv.DictReader(io.StringIO(text)):
        shape = "_".join((row["m"], row["n"], row["k"]))
        if row["kind"] == "lt_tuned":
            tuned_us[shape] = float(row["median_us"])
        elif (row["kind"], row["status"], row["setting"], row["stage"]) == ("kernel", "ok", "chained", "screen"):
            kernel, order = split_order(row["config"])
            ratios[shape, kernel][order] = float(row["ratio"])
    return ratios, tuned_us


def predicted_traffic(program, shape, kernel):
    """MiB by order. An order that is not listed moves what the first one does."""
    own_order = kernel + "g8" if kernel.endswith(":") else kernel
    answer = subprocess.run([program, "space", "--mnk", shape, "--l2", own_order, "--csv", "--quiet"],
                            check=True, capture_output=True, text=True).stdout
    traffic = {}
    for row in csv.DictReader(io.StringIO(answer)):
        traffic[split_order(row["config"])[1]] = float(row["memory_read_mib"]) + float(row["memory_written_mib"])
    return traffic, next(iter(traffic.values()))


def main(program, recording):
    ratios, tuned_us = read_recording(recording)
    pairs = []
    for (shape, kernel), by_order in ratios.items():
        if len(by_order) < 2 or tuned_us.get(shape, 0) < TIMES_US[0][0]:
            continue
        traffic, own = predicted_traffic(program, shape, kernel)
        for one, two in itertools.combinations(by_order, 2):
            if abs(math.log(by_order[one] / by_order[two])) <= math.log(LEAST_TIME_RATIO):
                continue
            bytes_one, bytes_two = traffic.get(one, own), traffic.get(two, own)
            agrees = (bytes_one < bytes_two) == (by_order[one] > by_order[two])
            pairs.append((tuned_us[shape], max(bytes_one, bytes_two) / min(bytes_one, bytes_two), agrees))
    print("| tuned cuBLASLt | predicted traffic differs by more than | pairs | the less traffic, the faster |")
    print("|---|---|---|---|")
    for low, high in TIMES_US:
        for least in TRAFFIC_RATIOS:
            agree = [agrees for time, ratio, agrees in pairs if low <= time < high and ratio > least]
            share = f"{sum(agree) / len(agree):.2f}" if agree else "-"
            words = f"{low}–{high} µs" if high < math.inf else f"> {low} µs"
            print(f"| {words} | {100 * (least - 1):.0f} % | {len(agree)} | {share} |")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
