#!/usr/bin/env python3
"""figures.py -- draws docs/images/agent_*.svg from bench/search/results/*.csv, with 95 % bootstrap intervals. Needs matplotlib (PyPI).

  python3 bench/search/figures.py             # the pictures
  python3 bench/search/figures.py --tables    # docs/agent.md's tables on stdout, no matplotlib
"""

import csv
import pathlib
import sys

if "--tables" not in sys.argv:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)

HERE = pathlib.Path(__file__).parent
IMAGES = HERE / "../../docs/images"
COUNTERPARTS = "nvmmh_counterparts.csv"
BUDGETS = (1, 2, 4, 8, 16, 32, 64)
NAMES = {
    "policy": "policy (PPO)", "listwise": "policy without RL", "boosted": "gradient-boosted ranker",
    "boosted_refit": "boosted, corrected by results", "knn": "nearest shapes",
    "global_top": "global top list", "analytic": "analytic ranker", "evolutionary": "evolutionary",
    "genetic": "genetic", "annealing": "annealing", "local": "local search", "tpe": "TPE (Optuna)",
    "kt_hybrid_vndx": "Kernel Tuner: hybrid VNDX", "kt_dual_annealing": "Kernel Tuner: dual annealing",
    "kt_bayes_opt": "Kernel Tuner: Bayesian", "kt_genetic_algorithm": "Kernel Tuner: genetic",
    "kt_pso": "Kernel Tuner: particle swarm", "kt_mls": "Kernel Tuner: local search",
    "kt_simulated_annealing": "Kernel Tuner: annealing",
    "kt_random_sample": "Kernel Tuner: random", "nvmmh": "nvMatmulHeuristics",
    "random": "random", "shuffled": "policy, shuffled labels",
}
# More than these on one plot cannot be told apart; the tables have all.
CURVES = ("policy", "listwise", "boosted", "boosted_refit", "knn", "global_top", "analytic",
          "evolutionary", "genetic", "annealing", "local", "tpe", "kt_hybrid_vndx",
          "kt_dual_annealing", "kt_bayes_opt", "nvmmh", "random", "shuffled")

COLUMNS = {
    "found@1": "1", "p5_found@1": "1, 5th percentile", "found@4": "4", "found@16": "16",
    "found@64": "64", "picked@16": "16, as picked", "measurements_to_0.98": "measurements to 0.98",
    "kt_score": "KT score",
}


def print_tables(table, splits):
    """Values, with 95 % intervals where they fit."""
    for split in splits:
        print(f"\n**{split}**\n")
        print("| searcher | " + " | ".join(COLUMNS.values()) + " |")
        print("|---" * (len(COLUMNS) + 1) + "|")
        for name, label in NAMES.items():
            if (split, name, "found@1") not in table:
                continue
            cells = []
            for measure in COLUMNS:
                value, low, high = table[split, name, measure]
                digits = 1 if "measurements" in measure else 2 if "kt" in measure else 4
                cells.append(f"{value:.{digits}f}" + (f" ({low:.{digits}f}–{high:.{digits}f})"
                                                      if digits < 4 else ""))
            print(f"| {label} | " + " | ".join(cells) + " |")
    print("\n**The policy against each, paired by problem**\n")
    print("| split | against | measurements to 0.98, theirs over the policy's | "
          "KT score, policy's minus theirs | share of their gap at 16 that the policy closes |")
    print("|---|---|---|---|---|")
    for split in splits:
        for name in ("random", "analytic", "knn", "boosted", "boosted_refit", "listwise"):
            cells = []
            for measure in ("this_over_policy_to_0.98", "policy_kt_minus_this",
                            "policy_share_of_gap@16"):
                value, low, high = table[split, name, measure]
                # Where a bootstrap sample has no gap left, a share of it means nothing.
                cells.append(f"{value:.2f} ({low:.2f} to {high:.2f})" if low > -20 else "no gap left")
            print(f"| {split} | {NAMES[name]} | " + " | ".join(cells) + " |")


def print_counterparts(splits):
    """nvMatmulHeuristics' answers that were recorded just so (nvmmh_peer.py)."""
    found = {}
    with open(HERE / "results" / COUNTERPARTS, newline="") as file:
        for row in csv.DictReader(file):
            found[row["split"], row["measure"]] = float(row["value"])
    print("\n**nvMatmulHeuristics' answers with an exact counterpart**\n")
    print("| split | problems | without any counterpart | answers a problem | of them with one | "
          "best of the first, where there is one | of 4 | of 16 |")
    print("|---" * 8 + "|")
    for split in splits:
        if (split, "problems") not in found:
            continue  # the library was not asked there
        counts = [f"{found[split, name]:.0f}" for name in ("problems", "problems_without")]
        means = [f"{found[split, name]:.1f}" for name in ("answers", "counterparts")]
        shares = [f"{found[split, f'found@{n}']:.4f}" for n in (1, 4, 16)]
        print(f"| {split} | " + " | ".join(counts + means + shares) + " |")


def read_results():
    table = {}
    for path in sorted((HERE / "results").glob("*.csv")):
        with open(path, newline="") as file:
            rows = csv.DictReader(file)
            if "low" not in rows.fieldnames:  # of another kind: live runs, counterparts
                continue
            for row in rows:
                table[row["split"], row["searcher"], row["measure"]] = tuple(
                    float(row[x]) for x in ("value", "low", "high"))
    return table


def colour(name):
    return plt.get_cmap("tab20").colors[CURVES.index(name)]


def save(figure, name):
    figure.tight_layout()
    # No dates or random ids: the same data give the same bytes.
    figure.savefig(IMAGES / f"agent_{name}.svg", metadata={"Date": None})
    plt.close(figure)


def draw_curves(table, split):
    figure, axes = plt.subplots(figsize=(7.5, 4.8))
    for name in CURVES:
        points = [table.get((split, name, f"found@{n}")) for n in BUDGETS]
        if None in points:
            continue
        # The gap on a logarithmic axis: everything good lies within a hair of 1.
        gap = [[max(1 - x, 1e-5) for x in column] for column in zip(*points)]
        style = dict(color=colour(name), lw=2 if name in ("policy", "listwise") else 1)
        axes.plot(BUDGETS, gap[0], label=NAMES[name], **style)
        axes.fill_between(BUDGETS, gap[1], gap[2], color=colour(name), alpha=0.12, lw=0)
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
                 color=colour(name), label=NAMES[name], error_kw=dict(lw=0.7))
    if bar is not None:
        axes.axhline(bar, color="black", lw=0.8, ls="--")
    axes.set_xticks([s + 0.4 - width / 2 for s in range(len(splits))], splits)
    axes.set(ylabel=label)
    # Above the bars, some of which reach the top.
    axes.legend(fontsize=7, ncol=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure, axes, file_name


def main():
    table = read_results()
    splits = sorted({split for split, _, _ in table}, key=lambda s: (not s.startswith("random"), s))
    if "--tables" in sys.argv:
        print_tables(table, splits)
        print_counterparts(splits)
        return
    plt.rcParams["svg.hashsalt"] = "gemmsmith"
    draw_curves(table, splits[0])
    figure, axes, name = draw_bars(
        table, "found@1", splits, ["policy", "boosted", "knn", "analytic", "random", "nvmmh"],
        "no measurement: share of the recorded best", "zero", bar=0.97)
    axes.set_ylim(0.5, 1)
    save(figure, name)
    figure, axes, name = draw_bars(
        table, "measurements_to_0.98", splits,
        ["policy", "listwise", "boosted", "boosted_refit", "knn", "analytic", "kt_hybrid_vndx", "random"],
        "mean measurements to 0.98", "measurements")
    save(figure, name)


if __name__ == "__main__":
    main()
