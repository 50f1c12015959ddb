#!/usr/bin/env python3
"""Draw a scoreboard: speed over tuned cuBLASLt, shape by shape.

    gemmsmith report --recording data/recordings/h200/NAME.csv.zst --csv > board.csv
    scripts/plot_scoreboard.py board.csv docs/images/scoreboard.svg

Needs matplotlib (PyPI). Each point is a shape: across, tuned cuBLASLt's time; up, how many times
faster ours is (final stage, back to back). Above the line: faster than tuned cuBLASLt.
"""

import csv
import math
import sys

import matplotlib
import matplotlib.ticker

matplotlib.use("svg")
import matplotlib.pyplot as plt

BUCKETS = (3, 5, 10, 30, 100, 1000, math.inf)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main(board_path, picture_path):
    with open(board_path, newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["raw"]]
    times = [float(row["lt_tuned_us"]) for row in rows]
    raw = [float(row["raw"]) for row in rows]
    served = [float(row["served"]) for row in rows]

    figure, axes = plt.subplots(figsize=(9, 4.5))
    axes.axhline(1, color="0.3", linewidth=1)
    axes.scatter(times, raw, s=9, alpha=0.55, color="#1f77b4", label="our kernels alone (raw)")
    axes.scatter(times, served, s=9, alpha=0.55, color="#d95f02", marker="^",
                 label="served (selected plan, else tuned cuBLASLt)")
    low = 0
    for high in BUCKETS:
        inside = [i for i, time in enumerate(times) if low <= time < high]
        if inside:
            left = max(low, min(times))
            right = min(high, max(times))
            for values, color, side in ((raw, "#1f77b4", "bottom"), (served, "#d95f02", "top")):
                mean = geometric_mean([values[i] for i in inside])
                axes.plot([left, right], [mean, mean], color=color, linewidth=2)
                axes.annotate(f"{mean:.2f}", (math.sqrt(left * right), mean), color=color,
                              fontsize=8, ha="center", va=side, weight="bold")
        low = high
    axes.set_xscale("log")
    axes.set_xticks([2, 3, 5, 10, 30, 100, 300, 1000, 3000])
    axes.get_xaxis().set_major_formatter(matplotlib.ticker.ScalarFormatter())
    axes.minorticks_off()
    axes.set_xlabel("tuned cuBLASLt, microseconds a launch")
    axes.set_ylabel("times faster than tuned cuBLASLt")
    axes.set_title(f"{len(rows)} shapes, f16 in and out, f32 accumulation, NVIDIA H200\n"
                   "bars: geometric mean of each bucket", fontsize=10)
    axes.set_ylim(min(0.7, min(raw) - 0.02), max(2.0, max(served) + 0.05))
    axes.grid(True, which="major", alpha=0.25)
    axes.legend(fontsize=8, loc="upper right")
    figure.tight_layout()
    figure.savefig(picture_path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
