#!/usr/bin/env python3
"""compare.py -- every searcher on the same recorded, held-out problems; writes results/*.csv.

  python3 bench/search/compare.py --build build/release \\
      --recording data/recordings/h200/grid1000_f16_f32_tn.csv.zst

Needs numpy, lightgbm, optuna, kernel_tuner and nvidia-matmul-heuristics (PyPI), the targets
search_export_space and search_replay and, for the policies, gemmsmith and gemmsmith_learner. One
split: --split random:0/5. A subset, the others' rows staying as they are: --only policy,knn.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import tempfile
import time
import zlib

import numpy as np

import kernel_tuner_peers
import nvmmh_peer
import peers
import space

HERE = pathlib.Path(__file__).parent
SPLITS = ["random:0/5", "m=512", "n=4096", "k=1024", "skinny", "long_k"]
BUDGET = 64
PEERS = {**peers.PEERS, **kernel_tuner_peers.PEERS, "nvmmh": nvmmh_peer.nvmmh}
SETTINGS = {**peers.SETTINGS, **kernel_tuner_peers.SETTINGS, "nvmmh": [{}]}
DETERMINISTIC = peers.DETERMINISTIC | {"nvmmh"}
SEEDS = {"tpe": 1}  # searches of a problem; the others get --search-seeds
ONLY_FIRST_SPLIT = {"tpe"}  # half a second a search
TARGETS = (0.95, 0.98)
# Problems and searches of each by which settings are chosen, less for those that take long.
TUNING = {"tpe": (10, 1), **{name: (25, 1) for name in kernel_tuner_peers.PEERS}}
TUNING_OF_OTHERS = (40, 3)
REPLICATES = 1000


def rng_of(*words):
    """The same numbers on every machine, whatever else was drawn before."""
    return np.random.default_rng([zlib.crc32(str(word).encode()) for word in words])


def searches(name, context, shapes, seeds, settings):
    """Curves (found, picked), seeds x shapes x 2 x BUDGET."""
    peer = PEERS[name]
    curves = np.empty((seeds, len(shapes), 2, BUDGET), np.float32)
    for s, shape in enumerate(shapes):
        fixed = None
        for seed in range(seeds):
            rng = rng_of(name, shape.name, seed)
            seen = shape.drawn(rng)
            if name in DETERMINISTIC:
                if fixed is None:
                    fixed = peer(context, shape, seen, rng, BUDGET, **settings)
                choices = fixed
            else:
                choices = peer(context, shape, seen, rng, BUDGET, **settings)
            curves[seed, s] = space.curve(shape, choices, seen, BUDGET)
    return curves


def tuned_settings(name, training, names):
    """The settings that do best on training problems kept from the peer's own learning: mean
    fraction over the first 32 measurements."""
    choices = SETTINGS[name]
    if len(choices) == 1:
        return choices[0]
    inner = [shape for shape in training if shape.split_hash // 1000 % 5 != 0]
    outer = [shape for shape in training if shape.split_hash // 1000 % 5 == 0]
    problems, seeds = TUNING.get(name, TUNING_OF_OTHERS)
    context = peers.Context(inner, names)
    scores = [searches(name, context, outer[:problems], seeds, settings)[:, :, 1, :32].mean()
              for settings in choices]
    return choices[int(np.argmax(scores))]


def replayed(build, recording, split, shapes, arguments, seeds):
    """Curves of one of the product's own strategies."""
    text = subprocess.run(
        [build / "bench/search/search_replay", "--recording", recording, "--hold-out", split,
         "--budget", str(BUDGET), "--seeds", str(seeds), *arguments],
        check=True, capture_output=True, text=True).stdout
    by_name = {shape.name: i for i, shape in enumerate(shapes)}
    curves = np.empty((seeds, len(shapes), 2, BUDGET), np.float32)
    for row in csv.DictReader(text.splitlines()):
        shape = shapes[by_name[row["shape"]]]
        seed = int(row["seed"]) - 1
        choices = [int(x) for x in row["choices"].split(";")]
        seen = np.zeros(len(shape))
        seen[choices] = [float(x) for x in row["seen"].split(";")]
        curves[seed, by_name[row["shape"]]] = space.curve(shape, choices, seen, BUDGET)
    return curves


def trained(build, recording, split, shapes, train_seeds, each, config):
    """Curves of the policy, of the same network without reinforcement learning, and of the
    shuffled-label control (one seed, the first split): train seeds x searches of each."""
    curves = {name: [] for name in ("policy", "listwise", "shuffled")}
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for seed in range(1, train_seeds + 1):
            for shuffled in (False, True):
                if shuffled and (seed > 1 or split != SPLITS[0]):
                    continue
                settings = dict(config, seed=seed, hold_out=split, shuffled_labels=shuffled)
                if shuffled:
                    settings["ppo_iterations"] = 0
                (folder / "train.json").write_text(json.dumps(settings))
                started = time.time()
                subprocess.run(
                    [build / "gemmsmith", "train", "--recording", recording, "--config",
                     folder / "train.json", "--out", folder / "rl", "--listwise-out",
                     folder / "list", "--quiet"], check=True, stdout=subprocess.DEVNULL)
                if not shuffled:
                    seconds.append(time.time() - started)
                kinds = (("shuffled", "list"),) if shuffled else (("policy", "rl"),
                                                                  ("listwise", "list"))
                for name, file in kinds:
                    curves[name].append(replayed(build, recording, split, shapes,
                                                 ["--policy", folder / file], each))
    print(f"  training took {np.mean(seconds):.1f} s, at most {max(seconds):.1f} s", flush=True)
    return {name: np.concatenate(found) for name, found in curves.items() if found}


def random_baseline(shape):
    """Expected best time after n draws without replacement, exactly."""
    times = np.sort(np.exp(-shape.values))
    count = len(times)
    expected = np.empty(count)
    for n in range(1, count + 1):
        # P(best is the i-th) = C(count-1-i, n-1) / C(count, n), by recursion over n.
        if n == 1:
            chance = np.full(count, 1 / count)
        else:
            chance = chance * np.maximum(count - np.arange(count) - (n - 1), 0) * n / (
                (n - 1) * (count - n + 1))
        expected[n - 1] = (chance * times).sum()
    return times, expected


def kernel_tuner_scores(curves, shapes):
    """P of Kernel Tuner's methodology (Willemsen et al. 2024), by measurements: the share of what
    random search leaves that the searcher takes, over the measurements that random search needs to
    come within 5 % of the way from the median to the optimum. One number a problem."""
    scores = []
    for s, shape in enumerate(shapes):
        times, base = random_baseline(shape)
        goal = np.median(times) - 0.95 * (np.median(times) - times[0])
        until = min(int(np.argmax(base <= goal)) + 1, BUDGET)
        mine = (times[0] / curves[:, s, :until]).mean(axis=0)
        room = base[:until] - times[0]
        keep = room > 1e-9
        scores.append(((base[:until] - mine)[keep] / room[keep]).mean() if keep.any() else 1.0)
    return np.array(scores)


def first_reaching(curves, target):
    """Measurements until the fraction is reached; one more than the budget where it never is."""
    reached = curves >= target
    return np.where(reached.any(axis=2), reached.argmax(axis=2) + 1, BUDGET + 1)


def interquartile_mean(values):
    values = np.sort(values, axis=None)
    cut = len(values) // 4
    return values[cut:len(values) - cut].mean()


def summary(split, results, shapes):
    """Rows of figures with 95 % bootstrap intervals over problems; ratios are paired by problem."""
    picks = rng_of("bootstrap", split).integers(len(shapes), size=(REPLICATES, len(shapes)))

    def interval(per_shape, statistic=np.mean):
        draws = np.array([statistic(per_shape[pick]) for pick in picks])
        return statistic(per_shape), *np.quantile(draws, (0.025, 0.975))

    rows = []
    found = {name: curves[:, :, 0] for name, curves in results.items()}
    counts = {name: {t: first_reaching(c, t).mean(axis=0) for t in TARGETS}
              for name, c in found.items()}
    scores = {name: kernel_tuner_scores(c, shapes) for name, c in found.items()}
    logs = {name: np.log(curves).mean(axis=0) for name, curves in results.items()}
    for name, curves in results.items():
        def add(measure, figures):
            rows.append([split, name, measure] + [f"{x:.5f}" for x in figures])

        for n in (1, 2, 4, 8, 16, 32, 64):
            for kind, what in ((0, "found"), (1, "picked")):
                add(f"{what}@{n}", [np.exp(x) for x in interval(logs[name][:, kind, n - 1])])
            add(f"p5_found@{n}", interval(np.exp(logs[name][:, 0, n - 1]),
                                          lambda x: np.quantile(x, 0.05)))
            add(f"iqm_found@{n}", interval(np.arange(len(shapes)), lambda i, n=n: interquartile_mean(
                found[name][:, i, n - 1])))
        add("kt_score", interval(scores[name]))
        for t in TARGETS:
            add(f"measurements_to_{t}", interval(counts[name][t]))
        # Paired by problem: against random search, and the policy against this.
        for other, label in (("random", "random_over_this"), ("policy", "this_over_policy")):
            if other not in results:
                continue
            up, down = (other, name) if other == "random" else (name, other)
            for t in TARGETS:
                both = np.stack([counts[up][t], counts[down][t]], axis=1)
                add(f"{label}_to_{t}", interval(both, lambda x: x[:, 0].mean() / x[:, 1].mean()))
        if "policy" in results:
            add("policy_kt_minus_this", interval(scores["policy"] - scores[name]))
            for n in (1, 4, 16):
                gain = logs["policy"][:, 0, n - 1] - logs[name][:, 0, n - 1]
                add(f"policy_gain_found@{n}", interval(gain))
                add(f"policy_share_of_gap@{n}", interval(
                    np.stack([gain, -logs[name][:, 0, n - 1]], axis=1),
                    lambda x: x[:, 0].sum() / max(x[:, 1].sum(), 1e-9)))
    return rows


def write_results(split, rows, chosen):
    """A searcher that was not among these keeps the rows that it has."""
    stem = HERE / "results" / split.replace(":", "_").replace("/", "of").replace("=", "_")
    table, settings = stem.with_suffix(".csv"), stem.with_name(stem.name + "_settings.json")
    if table.exists():
        with open(table, newline="") as file:
            anew = {row[1] for row in rows}
            rows = [row for row in csv.reader(file) if row[1] not in anew | {"searcher"}] + rows
        chosen = {**json.loads(settings.read_text()), **chosen}
    with open(table, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["split", "searcher", "measure", "value", "low", "high"])
        writer.writerows(rows)
    settings.write_text(json.dumps(chosen, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--recording", type=pathlib.Path, required=True)
    parser.add_argument("--config", type=pathlib.Path, default=HERE / "../../data/policy/train.json")
    parser.add_argument("--split", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--train-seeds", type=int, default=20)
    parser.add_argument("--search-seeds", type=int, default=100, help="searches by each peer")
    parser.add_argument("--policy-searches", type=int, default=5, help="by each trained policy")
    parser.add_argument("--keep", type=pathlib.Path, help="where the curves go, as .npz")
    arguments = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        subprocess.run([arguments.build / "bench/search/search_export_space", arguments.recording],
                       check=True, stdout=table)
        shapes, names = space.read_space(table.name)
    config = json.loads(arguments.config.read_text())
    only = set(arguments.only.split(",")) - {""}
    (HERE / "results").mkdir(exist_ok=True)
    for split in arguments.split or SPLITS:
        training = [shape for shape in shapes if not space.is_held_out(split, shape)]
        held_out = [shape for shape in shapes if space.is_held_out(split, shape)]
        print(f"{split}: {len(training)} training, {len(held_out)} held out", flush=True)
        context = peers.Context(training, names)
        results, chosen = {}, {}
        seeds = arguments.search_seeds
        for name in PEERS:
            if only and name not in only:
                continue
            if name in ONLY_FIRST_SPLIT and split != SPLITS[0] and not only:
                continue
            started = time.time()
            chosen[name] = tuned_settings(name, training, names)
            results[name] = searches(name, context, held_out, SEEDS.get(name, seeds), chosen[name])
            print(f"  {name} {chosen[name]} {time.time() - started:.0f} s", flush=True)
        if not only or "evolutionary" in only:
            results["evolutionary"] = replayed(arguments.build, arguments.recording, split, held_out,
                                               ["--strategy", "evolutionary"], seeds)
        if not only or "policy" in only:
            results.update(trained(arguments.build, arguments.recording, split, held_out,
                                   arguments.train_seeds, arguments.policy_searches, config))
        if arguments.keep:
            np.savez_compressed(arguments.keep / f"{split.replace('/', 'of')}.npz", **results)
        write_results(split, summary(split, results, held_out), chosen)


if __name__ == "__main__":
    main()
