#!/usr/bin/env python3
"""The table of docs/scoreboard.md by class of shape, and what share of the memory's peak thin products reach.

    gemmsmith report --recording A --recording B --csv > tn.csv    (and so on)
    scripts/by_class.py TN=tn.csv NN=nn.csv NT=nt.csv

Of each class the geometric means of raw / served and how many shapes have a kernel of ours. Thin products have m or n
of at most 16.
"""

import math
import sys

from board import read_board, with_ours

MEMORY_BYTES_PER_US = 4.8143e6  # an H200's, theoretical


def is_odd(m, n, k):
    return m % 8 != 0 or n % 8 != 0 or k % 8 != 0


def is_thin(m, n, k):
    return min(m, n) <= 16


CLASSES = {
    "all": lambda *mnk: True,
    "aligned": lambda *mnk: not is_odd(*mnk),
    "a dimension that is no multiple of 8": is_odd,
    "thin": is_thin,
    "aligned, not thin": lambda *mnk: not is_odd(*mnk) and not is_thin(*mnk),
    "m odd, not thin": lambda m, n, k: m % 8 != 0 and n % 8 == 0 and not is_thin(m, n, k),
    "n odd, not thin": lambda m, n, k: n % 8 != 0 and m % 8 == 0 and not is_thin(m, n, k),
    "m and n odd, not thin": lambda m, n, k: m % 8 != 0 and n % 8 != 0 and not is_thin(m, n, k),
}


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def read(path):
    """Of each shape that has a kernel of ours: m, n, k and its row."""
    return [((row["m"], row["n"], row["k"]), row) for row in with_ours(read_board(path))]


def cell(shapes, holds):
    rows = [row for mnk, row in shapes if holds(*mnk)]
    raw, served = (mean([row[key] for row in rows]) for key in ("raw", "served"))
    return f"{raw:.2f} / {served:.2f} ({len(rows)})"


def shares(shapes, least, most):
    """Of thin products with so many bytes: ours and tuned cuBLASLt's shares of the memory's peak, in order."""
    ours, library = [], []
    for (m, n, k), row in shapes:
        moved = 2 * (m * k + n * k + m * n)
        if is_thin(m, n, k) and least <= moved < most:
            at_peak = moved / MEMORY_BYTES_PER_US
            library.append(at_peak / row["lt_tuned_us"])
            ours.append(library[-1] * row["raw"])
    return sorted(ours), sorted(library)


def main():
    boards = dict(argument.split("=", 1) for argument in sys.argv[1:])
    if not boards:
        sys.exit(__doc__)
    boards = {name: read(path) for name, path in boards.items()}
    print("| class | " + " | ".join(boards) + " |")
    print("|" + "---|" * (len(boards) + 1))
    for name, holds in CLASSES.items():
        print(f"| {name} | " + " | ".join(cell(shapes, holds) for shapes in boards.values()) + " |")
    print()
    for name, shapes in boards.items():
        for label, least, most in (("20 to 100 MB", 20e6, 100e6), ("above 100 MB", 100e6, math.inf)):
            ours, library = shares(shapes, least, most)
            if ours:
                print(
                    f"{name}, thin, {label}: ours {ours[len(ours) // 2]:.2f} of the memory's peak in the median "
                    f"({ours[0]:.2f} to {ours[-1]:.2f}), tuned cuBLASLt {library[len(library) // 2]:.2f} "
                    f"({library[0]:.2f} to {library[-1]:.2f})"
                )


if __name__ == "__main__":
    main()
