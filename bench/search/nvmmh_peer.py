#!/usr/bin/env python3
"""nvmmh_peer.py -- NVIDIA's nvMatmulHeuristics as a peer that measures nothing before it answers: its
list for an H200, in its order, taken to recorded configs. It runs on the CPU alone.

Its answers are for CUTLASS 3: tile, cluster, split of k, stages. A recorded config (ours, or one of
the vendor's, whose tile depth and stages are guessed as everywhere here) is a counterpart if tile,
cluster and split are equal; among several, the one with the nearest number of stages, then the
analytic ranker's favourite. In the comparison each answer goes to its nearest config instead, so
that none is lost: a step is a factor of two in a size, or eight stages.

  python3 bench/search/nvmmh_peer.py SPACE.csv     # results/nvmmh_counterparts.csv

What an exact counterpart gives, by split; SPACE.csv is what search_export_space printed. Needs
nvidia-matmul-heuristics 0.1 (PyPI).
"""

import csv
import functools
import pathlib
import sys

import numpy as np

import peers
import space

HERE = pathlib.Path(__file__).parent
SIZES = ["log_tile_m", "log_tile_n", "log_tile_k", "log_cluster_m", "log_cluster_n", "log_split"]
STAGES_A_STEP = 8
LONGEST_LIST = 64
SPLITS = ["random:0/5", "m=512", "skinny", "long_k"]


@functools.cache
def heuristics():
    import nvMatmulHeuristics as nv

    # A and B with k contiguous and D with n contiguous, as recorded: row-major, B transposed.
    layout = nv.NvMatmulHeuristicsMatmulLayout.NT_ROW_MAJOR
    return layout, nv.NvMatmulHeuristicsInterfaceEx(
        backend=nv.NvMatmulHeuristicsTarget.CUTLASS3,
        flags=nv.NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        gpu=nv.NvMatmulHeuristicsNvidiaGpu.H200_SXM)


def answers(size):
    """Rows of SIZES and stages, best first. Its warp tiles are dropped: ours follow from the tile."""
    layout, library = heuristics()
    problem = library.makeNvMatmulHeuristicsProblem(*size, layout)
    rows = []
    for answer in library.get(problem, LONGEST_LIST, precision="HSH"):  # f16, f32 sums, f16
        kernel = answer["kernel"]
        sizes = np.log2([kernel.cta_tile_m, kernel.cta_tile_n, kernel.cta_tile_k, kernel.cluster_m,
                         kernel.cluster_n, kernel.split_k])
        rows.append((*sizes, kernel.stages / STAGES_A_STEP))
    return np.array(list(dict.fromkeys(rows)))


def recorded(context, shape):
    sizes = shape.features[:, [context.column[name] for name in SIZES]]
    return np.column_stack([sizes, shape.features[:, context.column["stages"]] / STAGES_A_STEP])


def choices(context, shape, exact):
    """Recorded configs in the order of the answers, each once."""
    rows = recorded(context, shape)
    ranking = context.analytic_order(shape)  # what is equally near comes in this order
    asked = []
    for answer in answers(shape.size):
        apart = (rows - answer) ** 2
        # The table holds five digits of a logarithm.
        possible = (apart[:, :-1].max(axis=1) < 1e-6) if exact else np.ones(len(shape), bool)
        possible[asked] = False
        if possible.any():
            distance = np.where(possible, apart.sum(axis=1), np.inf)[ranking]
            asked.append(int(ranking[np.argmin(distance)]))
    return asked


def nvmmh(context, shape, seen, rng, budget):
    return choices(context, shape, exact=False)[:budget]


def counterparts(context, split, shapes):
    """Rows of figures: how many answers have a counterpart, and what those give."""
    held_out = [shape for shape in shapes if space.is_held_out(split, shape)]
    exact = [choices(context, shape, exact=True) for shape in held_out]
    counts = np.array([len(answers(shape.size)) for shape in held_out])
    curves = [space.curve(shape, asked, shape.values, LONGEST_LIST)[0]
              for shape, asked in zip(held_out, exact) if asked]
    rows = [("problems", len(held_out)), ("problems_without", len(held_out) - len(curves)),
            ("answers", counts.mean()), ("counterparts", np.mean([len(x) for x in exact]))]
    rows += [(f"found@{n}", np.exp(np.log(curves)[:, n - 1].mean())) for n in (1, 4, 16)]
    return [[split, "nvmmh_exact", name, f"{value:.5f}"] for name, value in rows]


def main():
    shapes, names = space.read_space(sys.argv[1])
    context = peers.Context(shapes, names)  # nothing of the training problems is used
    with open(HERE / "results/nvmmh_counterparts.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["split", "searcher", "measure", "value"])
        for split in SPLITS:
            writer.writerows(counterparts(context, split, shapes))


if __name__ == "__main__":
    main()
