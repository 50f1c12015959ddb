"""space.py -- the recorded spaces as arrays, and how a search is judged: by the recorded
median of what it found, and of what it would pick by the noisy results that it saw.
"""

import csv

import numpy as np

PROBLEM_FEATURES = ("log_m", "log_n", "log_k")


class Shape:
    """One problem: `values` is ln(gain over tuned cuBLASLt) of each config, `features` its row."""

    def __init__(self, name, split_hash):
        self.name = name
        self.size = tuple(int(x) for x in name.split("_"))
        self.split_hash = split_hash
        self.configs, self.values, self.repeats, self.features = [], [], [], []

    def finish(self):
        self.values = np.array(self.values)
        self.features = np.array(self.features, dtype=np.float32)
        # Rows without repeats have no noise; shorter ones draw from those they have.
        self.counts = np.array([max(len(r), 1) for r in self.repeats])
        padded = np.zeros((len(self), self.counts.max()))
        for i, repeats in enumerate(self.repeats):
            padded[i, :len(repeats)] = repeats
        self.repeats = padded
        self.best = self.values.max()
        return self

    def __len__(self):
        return len(self.configs)

    def drawn(self, rng):
        """The values as if each config were measured again: medians of redrawn repeats."""
        draws = (rng.random(self.repeats.shape) * self.counts[:, None]).astype(int)
        return self.values + np.median(np.take_along_axis(self.repeats, draws, axis=1), axis=1)


def read_space(path):
    """Reads search_export_space's table; returns shapes in file order and the features' names."""
    shapes = {}
    with open(path, newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        for row in rows:
            name = "_".join(row[:3])
            shape = shapes.get(name)
            if shape is None:
                shape = shapes[name] = Shape(name, int(row[3]))
            shape.configs.append(row[4])
            shape.values.append(float(row[5]))
            shape.repeats.append(np.array([float(x) for x in row[6].split(";") if x]))
            shape.features.append([float(x) for x in row[7:]])
    return [shape.finish() for shape in shapes.values()], header[7:]


def is_held_out(rule, shape):
    """The hold-out rules of `gemmsmith train`, restated."""
    m, n, k = shape.size
    if rule.startswith("random:"):
        part, parts = rule[len("random:"):].split("/")
        return shape.split_hash % int(parts) == int(part)
    if rule[1:2] == "=":
        return {"m": m, "n": n, "k": k}[rule[0]] == int(rule[2:])
    if rule == "skinny":
        return min(m, n) <= 128 and max(m, n) >= 2048
    if rule == "long_k":
        return k >= 4096 and k >= 4 * max(m, n)
    raise ValueError(f"unknown hold-out {rule!r}")


def curve(shape, choices, seen, budget):
    """Two curves over 1 .. budget measurements (the last value goes on), as fractions of the
    recorded best: the best config found so far, and the one that would be picked, which is the best
    by what was seen. The difference is what noise costs where nothing is measured again."""
    choices = np.asarray(choices[:budget], dtype=int)
    found = np.maximum.accumulate(shape.values[choices])
    best_seen = np.maximum.accumulate(seen[choices])
    is_new = np.concatenate(([True], best_seen[1:] > best_seen[:-1]))
    holder = choices[np.maximum.accumulate(np.where(is_new, np.arange(len(choices)), 0))]
    both = np.exp(np.stack((found, shape.values[holder])) - shape.best)
    missing = budget - len(choices)
    return np.concatenate((both, np.repeat(both[:, -1:], missing, axis=1)), axis=1)
