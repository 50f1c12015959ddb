#!/usr/bin/env python3
"""Draw a scoreboard: speed over tuned cuBLASLt, shape by shape.

    gemmsmith report --recording data/recordings/h200/NAME.csv.zst --csv > board.csv
    scripts/plot_scoreboard.py board.csv docs/images/scoreboard.svg

Needs matplotlib (PyPI). Each point is a shape: across, tuned cuBLASLt's time; up, how many times
faster ours is (final stage, back to back). Above the line: faster than tuned cuBLASLt.
"""

import math
import re
import sys

import matplotlib
import matplotlib.ticker

matplotlib.use("svg")
import matplotlib.pyplot as plt

from board import by_regime, geometric_mean, read_board, subject, with_ours

# Told apart by colour-blind readers too; the marks differ as well.
OURS = {"color": "#1f77b4", "marker": "o"}
OTHER = {"color": "#d95f02", "marker": "^"}
STRIP_TOP = 1.22  # in heights of the axes
STRIP_LINE = 0.05


def points(axes, rows, side, look, label):
    axes.plot([row["lt_tuned_us"] for row in rows], [side(row) for row in rows], look["marker"],
              color=look["color"], markersize=3, alpha=0.5, markeredgewidth=0, label=label)


def time_axis(axes, rows):
    """Across: tuned cuBLASLt's time."""
    times = [row["lt_tuned_us"] for row in rows]
    axes.set_xscale("log")
    axes.set_xticks([2, 3, 5, 10, 30, 100, 300, 1000, 3000, 10000])
    axes.set_xlim(min(times) * 0.93, max(times) * 1.07)
    axes.xaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:g}"))
    axes.minorticks_off()
    axes.set_xlabel("tuned cuBLASLt, microseconds a launch")
    axes.grid(True, which="major", alpha=0.25)


def spans(axes, rows):
    """(regime, left, right) within the axes."""
    left_end, right_end = axes.get_xlim()
    return [(regime, max(regime.low, left_end), min(regime.high, right_end))
            for regime in by_regime(rows)]


def steps(axes, rows, of, **look):
    """A line over each regime, at a figure of its rows."""
    for regime, left, right in spans(axes, rows):
        axes.plot([left, right], [of(regime.rows)] * 2, solid_capstyle="butt", **look)


def strip(axes, rows, title, lines):
    """Above the points, each regime's name, number of shapes and figures, where they cover nothing.
    A line is a title, a colour and the text of a regime's rows."""
    lines = [("", "0.2", None), ("shapes", "0.2", lambda inside: str(len(inside)))] + lines
    heights = [STRIP_TOP - STRIP_LINE * (line + 0.4) for line in range(len(lines))]
    for (words, color, _), height in zip(lines, heights):
        axes.text(-0.012, height, words, color=color, fontsize=8, ha="right", va="center",
                  transform=axes.transAxes)
    for regime, left, right in spans(axes, rows):
        if left == regime.low:
            axes.axvline(left, ymax=STRIP_TOP, color="0.8", linewidth=0.8, zorder=0, clip_on=False)
        for (_, color, text), height in zip(lines, heights):
            axes.text(math.sqrt(left * right), height, text(regime.rows) if text else regime.name,
                      color=color, fontsize=8, ha="center", va="center",
                      weight="normal" if color == "0.2" else "bold",
                      transform=axes.get_xaxis_transform())
    axes.set_title(title, fontsize=10, y=STRIP_TOP)


def save(figure, path):
    """The same bytes for the same figures: no date, no random names; and no digits nobody sees."""
    matplotlib.rcParams["svg.hashsalt"] = "gemmsmith"
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r'( [xy]="\d+\.\d\d)\d+', r"\1", text))


def main(board_path, picture_path):
    rows = with_ours(read_board(board_path))
    figure, axes = plt.subplots(figsize=(9, 5))
    time_axis(axes, rows)
    axes.axhline(1, color="0.3", linewidth=1)
    lines = []
    for column, look, label in (("served", OTHER, "served (selected plan, else tuned cuBLASLt)"),
                                ("raw", OURS, "our kernels alone (raw)")):
        mean = lambda inside, column=column: geometric_mean([row[column] for row in inside])
        points(axes, rows, lambda row: row[column], look, label)
        steps(axes, rows, mean, color=look["color"], linewidth=2.5)
        lines.insert(0, (column, look["color"], lambda inside, mean=mean: f"{mean(inside):.2f}"))
    axes.set_ylabel("times faster than tuned cuBLASLt")
    axes.set_ylim(min(0.7, min(row["raw"] for row in rows) - 0.02),
                  max(2.0, max(max(row["raw"], row["served"]) for row in rows) + 0.05))
    axes.legend(fontsize=8, loc="upper right")
    strip(axes, rows, f"Speed over tuned cuBLASLt: {subject(rows)}\n"
          "lines and figures: geometric means of each regime", lines)
    save(figure, picture_path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
