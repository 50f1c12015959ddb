"""What the scripts that read a scoreboard share: the table of gemmsmith report --csv, and the
regimes it is looked at by."""

import csv
import math
from typing import NamedTuple

# By tuned cuBLASLt's time, as in gemmsmith report: the name of a regime, and the microseconds below
# which it ends.
REGIMES = (("< 3 µs", 3), ("3–5 µs", 5), ("5–10 µs", 10), ("10–30 µs", 30), ("30–100 µs", 100),
           ("100–1000 µs", 1000), ("> 1000 µs", math.inf))


def read_board(path):
    """A row a shape, figures as numbers, what is missing as ""."""
    with open(path, newline="") as file:
        return [{name: number_or_text(value) for name, value in row.items()}
                for row in csv.DictReader(file)]


def with_ours(rows):
    """Without the shapes on which no kernel of ours was in a final."""
    return [row for row in rows if row["raw"] != ""]


def number_or_text(value):
    try:
        return float(value)
    except ValueError:
        return value


class Regime(NamedTuple):
    name: str
    low: float
    high: float
    rows: list


def by_regime(rows):
    """Each regime that has any of the rows."""
    low = 0
    for name, high in REGIMES:
        inside = [row for row in rows if low <= row["lt_tuned_us"] < high]
        if inside:
            yield Regime(name, low, high, inside)
        low = high


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def subject(rows):
    """What was measured, in words: "1000 shapes, f16 in and out, f32 accumulation, layout TN"."""
    kinds = sorted({(row["type"], row["acc"], row["layout"].upper()) for row in rows})
    return f"{len(rows)} shapes, " + "; ".join(
        f"{type_} in and out, {acc} accumulation, layout {layout}" for type_, acc, layout in kinds)
