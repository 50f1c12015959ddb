#!/usr/bin/env python3
"""figures.py -- draws docs/images/agent_*.svg from bench/search/results/*.csv and the learning
curve, with 95 % bootstrap intervals. Needs matplotlib (PyPI).

  python3 bench/search/figures.py
"""

import csv
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)

HERE = pathlib.Path(__file__).parent
IMAGES = HERE / "../../docs/images"
BUDGETS = (1, 2, 4, 8, 16, 32, 64)
NAMES = {
    "policy": "policy (PPO)", "listwise": "policy without RL", "boosted": "gradient-boosted ranker",
    "boosted_refit": "boosted, corrected by results", "knn": "nearest shapes",
    "global_top": "global top list", "analytic": "analytic ranker", "evolutionary": "evolutionary",
    "genetic": "genetic", "annealing": "annealing", "local": "local search", "tpe": "TPE (Optuna)",
    "random": "random", "shuffled": "policy, shuffled labels",
}
COLOURS = dict(zip(NAMES, plt.get_cmap("tab20").colors))


def read_results():
    table = {}
    for path in sorted((HERE / "results").glob("*.csv")):
        if path.stem == "learning_curve":
            continue
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                table[row["split"], row["searcher"], row["measure"]] = tuple(
                    float(row[x]) for x in ("value", "low", "high"))
    return table


def save(figure, name):
    figure.tight_layout()
    # No dates or random ids: the same data give the same bytes.
    figure.savefig(IMAGES / f"agent_{name}.svg", metadata={"Date": None})
    plt.close(figure)


def draw_curves(table, split):
    figure, axes = plt.subplots(figsize=(7.5, 4.8))
    for name, label in NAMES.items():
        points = [table.get((split, name, f"found@{n}")) for n in BUDGETS]
        if None in points:
            continue
        # The gap on a logarithmic axis: everything good lies within a hair of 1.
        gap = [[max(1 - x, 1e-5) for x in column] for column in zip(*points)]
        style = dict(color=COLOURS[name], lw=2 if name in ("policy", "listwise") else 1)
        axes.plot(BUDGETS, gap[0], label=label, **style)
        axes.fill_between(BUDGETS, gap[1], gap[2], color=COLOURS[name], alpha=0.12, lw=0)
    axes.set(xscale="log", yscale="log", xlabel="configurations measured",
             ylabel="gap to the recorded best (geometric mean)", ylim=(1e-5, 0.3),
             title=f"Unseen problems, split {split}")
    axes.set_xticks(BUDGETS, [str(n) for n in BUDGETS])
    axes.minorticks_off()
    axes.legend(fontsize=7, ncol=2)
    axes.grid(alpha=0.3)
    save(figure, "curves")


def draw_bars(table, measure, splits, names, label, file_name, bar=None):
    figure, axes = plt.subplots(figsize=(7.5, 3.6))
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        found = [(s, table.get((split, name, measure))) for s, split in enumerate(splits)]
        found = [(s, v) for s, v in found if v]
        axes.bar([s + i * width for s, _ in found], [v[0] for _, v in found], width,
                 yerr=[[v[0] - v[1] for _, v in found], [v[2] - v[0] for _, v in found]],
                 color=COLOURS[name], label=NAMES[name], error_kw=dict(lw=0.7))
    if bar is not None:
        axes.axhline(bar, color="black", lw=0.8, ls="--")
    axes.set_xticks([s + 0.4 - width / 2 for s in range(len(splits))], splits)
    axes.set(ylabel=label)
    axes.legend(fontsize=7, ncol=3)
    return figure, axes, file_name


def main():
    plt.rcParams["svg.hashsalt"] = "gemmsmith"
    table = read_results()
    splits = sorted({split for split, _, _ in table}, key=lambda s: (not s.startswith("random"), s))
    draw_curves(table, splits[0])
    figure, axes, name = draw_bars(
        table, "found@1", splits, ["policy", "boosted", "knn", "analytic", "random"],
        "no measurement: share of the recorded best", "zero", bar=0.97)
    axes.set_ylim(0.7, 1)
    save(figure, name)
    figure, axes, name = draw_bars(
        table, "measurements_to_0.98", splits,
        ["policy", "listwise", "boosted", "boosted_refit", "knn", "analytic", "random"],
        "mean measurements to 0.98", "measurements")
    save(figure, name)


if __name__ == "__main__":
    main()
