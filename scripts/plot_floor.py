#!/usr/bin/env python3
"""Draw how near to the impossible floor a scoreboard's shapes run, ours and tuned cuBLASLt's.

    gemmsmith report --recording data/recordings/h200/NAME.csv.zst --csv > board.csv
    scripts/plot_floor.py board.csv docs/images/floor.svg

Needs matplotlib (PyPI). Each shape is two points: across, tuned cuBLASLt's time; up, the impossible
floor over the time that the shape takes (back to back), so that 100 % is what nothing can beat
(docs/measuring.md). Prints the medians of each regime as a Markdown table.
"""

import statistics
import sys

from board import by_regime, read_board, subject, with_ours
from plot_scoreboard import OTHER, OURS, plt, points, save, steps, strip, time_axis


def cublaslt(row):
    return row["impossible_floor_us"] / row["lt_tuned_us"]


def ours(row):
    return cublaslt(row) * row["raw"]


def expected(row):
    """Where a kernel at the rates that the card reaches would be, power limit included."""
    return row["impossible_floor_us"] / row["expected_floor_us"]


def median_of(share):
    return lambda rows: statistics.median(map(share, rows))


def percent(share):
    return lambda rows: f"{100 * median_of(share)(rows):.0f} %"


def markdown(rows):
    text = "| lt_tuned time | shapes | ours | tuned cuBLASLt | expected floor |\n|---|---|---|---|---|\n"
    for name, inside in [(regime.name, regime.rows) for regime in by_regime(rows)] + [("all", rows)]:
        medians = [percent(share)(inside) for share in (ours, cublaslt, expected)]
        text += f"| {name} | {len(inside)} | {' | '.join(medians)} |\n"
    return text


def main(board_path, picture_path):
    rows = with_ours(read_board(board_path))
    if any(row["impossible_floor_us"] == "" for row in rows):
        sys.exit(f"{board_path} has no floors: which device measured it is not known")
    figure, axes = plt.subplots(figsize=(9, 5))
    time_axis(axes, rows)
    points(axes, rows, ours, OURS, "our kernels alone (raw)")
    points(axes, rows, cublaslt, OTHER, "tuned cuBLASLt")
    dashed = {"color": "0.2", "linewidth": 1.2, "linestyle": (0, (4, 2))}
    axes.plot([], [], label="at the rates that the card reaches (expected floor)", **dashed)
    steps(axes, rows, median_of(expected), **dashed)
    steps(axes, rows, median_of(cublaslt), color=OTHER["color"], linewidth=2.5)
    steps(axes, rows, median_of(ours), color=OURS["color"], linewidth=2.5)
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axes.set_ylabel("impossible floor / time of a launch")
    axes.legend(fontsize=8, loc="lower right")
    strip(axes, rows, f"How near to the floor: {subject(rows)}\n"
          "100 % is what nothing can beat; lines and figures: medians of each regime",
          [("ours", OURS["color"], percent(ours)), ("cuBLASLt", OTHER["color"], percent(cublaslt))])
    save(figure, picture_path)
    print(markdown(rows), end="")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
