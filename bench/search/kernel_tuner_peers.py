"""kernel_tuner_peers.py -- Kernel Tuner's own strategies as peers, unchanged, through its simulation
mode: its search space, its runner that answers from a cache, its strategies; no GPU.

Only the space is made here and not by tune_kernel: it would go through all combinations of the
values, 10^8 and more, to find the 68 that were recorded. The cache holds what measuring would give
in this search, so noise is the peers'. A config that is asked again costs nothing, as there.

Needs kernel_tuner 1.5 (PyPI).
"""

import contextlib
import io
import random
import warnings

import numpy as np

import parameters

# Settings that each may choose from, as peers.SETTINGS: Kernel Tuner's defaults are for budgets of
# thousands (a population of 50), so ones that suit 64 measurements are offered too.
SETTINGS = {
    "kt_random_sample": [{}],
    "kt_genetic_algorithm": [dict(popsize=p, mutation_chance=m) for p in (4, 12) for m in (5, 55)],
    "kt_simulated_annealing": [dict(T=t, maxiter=i) for t in (0.02, 0.1) for i in (1, 3)],
    "kt_dual_annealing": [dict(method=m) for m in ("COBYLA", "L-BFGS-B", "Powell")],
    "kt_pso": [dict(popsize=p, c1=c) for p in (4, 12) for c in (1.5, 3.5)],
    "kt_mls": [dict(neighbor=n, restart=r) for n in ("Hamming", "adjacent")
               for r in (False, True)],
    "kt_hybrid_vndx": [dict(k=k, cand_pool=c) for k in (3, 5) for c in (8, 16)],
    "kt_bayes_opt": [dict(popsize=p) for p in (4, 10, 20)],
}
PATIENCE = 300  # configs asked again, one after the other, before a strategy counts as having ended
# These choose where they begin; the analytic ranker's favourite is measured before them.
WITHOUT_START = {"kt_bayes_opt", "kt_hybrid_vndx"}


def points_of(context, shape):
    key = ("points", shape.name)
    if key not in context.cache:
        context.cache[key] = parameters.Points(shape, context.names)
    return context.cache[key]


def key_of(point):
    """As Kernel Tuner names a configuration in its cache."""
    return ",".join(str(value) for value in point)


def recorded_space(points):
    """A Searchspace of exactly the recorded points. A new one each search: it remembers which
    neighbours it gave away."""
    from kernel_tuner.searchspace import Searchspace

    names = list(points.values)
    # Copies, since strategies shuffle lists.
    return Searchspace(None, None, None, from_cache={
        "tune_params": {name: list(values) for name, values in points.values.items()},
        "cache": {key_of(point): dict(zip(names, point)) for point in points.points}})


def patient_runner():
    """Simulation mode, but what asks only for what it knows ends; some strategies would go on for
    ten thousands of such questions where 64 of 68 configs are to be measured."""
    from kernel_tuner.interface import Options
    from kernel_tuner.runners.simulation import SimulationRunner
    from kernel_tuner.util import StopCriterionReached

    class Runner(SimulationRunner):
        repeats = 0

        def run(self, parameter_space, tuning_options):
            known = len(self.visited_results)
            results = super().run(parameter_space, tuning_options)
            self.repeats = 0 if len(self.visited_results) > known else self.repeats + len(results)
            if self.repeats > PATIENCE:
                raise StopCriterionReached("asks only for what was measured")
            return results

    return Runner(None, Options(kernel_name="recorded"), Options(quiet=True), 1, None)


def visited(strategy, points, seen, start, budget, settings):
    """The points that the strategy asks for, in order, each once."""
    from kernel_tuner.interface import Options, strategy_map
    from kernel_tuner.util import TuningBudget

    names = list(points.values)
    options = Options(max_fevals=budget, **settings)
    if start is not None:
        options["x0"] = list(points.points[start])  # some strategies copy and join it as a list
    recorded = set(points.points)
    tuning = Options(
        strategy_options=options, max_fevals=budget, budget=TuningBudget(None, budget),
        cache={key_of(point): dict(zip(names, point), time=float(np.exp(-value)))
               for point, value in zip(points.points, seen)},
        tune_params={name: list(values) for name, values in points.values.items()},
        objective=["time"], objective_higher_is_better=[False], metrics=None,
        restrictions=lambda params: tuple(params[name] for name in names) in recorded,
        verbose=False, snap=True)
    runner = patient_runner()
    # It warns of populations larger than what is left, and prints each config that was not recorded.
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        results = strategy_map[strategy].tune(recorded_space(points), runner, tuning)
    return [tuple(result[name] for name in names) for result in results
            if "__error__" not in result]


def search(name, context, shape, seen, rng, budget, **settings):
    points = points_of(context, shape)
    budget = min(budget, len(shape))
    # Kernel Tuner draws from both of these.
    random.seed(int(rng.integers(2**31)))
    np.random.seed(int(rng.integers(2**31)))
    start = int(context.analytic_order(shape)[0])
    asked = [start] if name in WITHOUT_START else []
    given = start if name not in WITHOUT_START and name != "kt_random_sample" else None
    place = {point: i for i, point in enumerate(points.points)}
    asked += [place[point] for point in visited(name.removeprefix("kt_"), points, seen, given, budget,
                                                settings)]
    asked = list(dict.fromkeys(asked))[:budget]
    # Some end before the budget does: the rest at random.
    rest = np.setdiff1d(np.arange(len(shape)), asked)
    return asked + [int(i) for i in rng.permutation(rest)[:budget - len(asked)]]


def peer(name):
    def asks(context, shape, seen, rng, budget, **settings):
        return search(name, context, shape, seen, rng, budget, **settings)
    return asks


PEERS = {name: peer(name) for name in SETTINGS}
