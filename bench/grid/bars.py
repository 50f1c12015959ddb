#!/usr/bin/env python3
"""Hold a scoreboard (gemmsmith report --csv) against bars.csv: geometric means over tuned cuBLASLt,
back to back. The bars are those of the grid on an H200, f16 with f32 accumulation; elsewhere they say
how it compares."""

import csv
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "scripts"))

from board import geometric_mean, read_board

SIDES = {
    "raw": lambda row: row["raw"],
    "ours_and_vendor": lambda row: max(row["raw"] or 0, row["vendor"] or 0),
    "served": lambda row: row["served"],
}


def main(board_path):
    rows = read_board(board_path)
    with open(HERE / "bars.csv", newline="") as file:
        for bar in csv.DictReader(file):
            below = float(bar["lt_tuned_below_us"] or math.inf)
            inside = list(filter(None, (SIDES[bar["figure"]](row) for row in rows
                                        if row["lt_tuned_us"] < below)))
            if not inside:
                continue
            mean = geometric_mean(inside)
            at_least = float(bar["at_least"])
            where = "all" if math.isinf(below) else f"below {below:g} us"
            print(f"{bar['figure'].replace('_', ' ')}, {where}: {mean:.3f} of {len(inside)} shapes, "
                  f"bar {at_least:.2f}: {'met' if mean >= at_least else 'missed'}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
