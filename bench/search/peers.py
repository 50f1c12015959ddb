"""peers.py -- what the policy is held against. Every peer searches the same recorded configs, never
asks one twice, sees the same noise and starts from the analytic ranker's favourite; those that
learn from other problems see the same training problems.

A peer is a function (context, shape, seen, rng, budget, **settings) -> indices in the order asked.
`seen[i]` is what measuring config i gives; a peer may look at it only after asking for i.
"""

import numpy as np

# Settings that each peer may choose from; compare.py tries them on training problems.
SETTINGS = {
    "random": [{}],
    "analytic": [{}],
    "genetic": [dict(population=p, mutation=m) for p in (4, 8, 16) for m in (0.1, 0.3)],
    "annealing": [dict(heat=h, cooling=c, near=n) for h in (0.03, 0.2) for c in (0.85, 0.95)
                  for n in (6, 16)],
    "local": [dict(near=n, patience=p) for n in (4, 8, 16) for p in (3, 8)],
    "tpe": [dict(startup=s, candidates=24) for s in (4, 8, 16)],
    "knn": [dict(neighbours=n) for n in (1, 2, 4, 8)],
    "global_top": [{}],
    "boosted": [dict(leaves=l, rounds=r) for l in (15, 31) for r in (300, 800)],
    "boosted_refit": [dict(weight=w) for w in (5, 20)],
}


class Context:
    """What a peer may know before it searches: training problems and the features' meaning."""

    def __init__(self, training, names):
        self.training = training
        self.names = names
        self.column = {name: i for i, name in enumerate(names)}
        # Distances between configs: what the config is, not what follows for the problem.
        first, last = self.column["is_ws"], self.column["lt_other"]
        rows = np.concatenate([shape.features[:, first:last + 1] for shape in training])
        deviation = rows.std(axis=0)
        self.config_columns = slice(first, last + 1)
        self.config_scale = np.where(deviation > 1e-6, 1 / np.maximum(deviation, 1e-6), 0)
        self.cache = {}

    def genes(self, shape):
        key = ("genes", shape.name)
        if key not in self.cache:
            self.cache[key] = shape.features[:, self.config_columns] * self.config_scale
        return self.cache[key]

    def distances(self, shape):
        key = ("distances", shape.name)
        if key not in self.cache:
            genes = self.genes(shape)
            self.cache[key] = ((genes[:, None] - genes[None]) ** 2).sum(axis=2)
        return self.cache[key]

    def analytic_order(self, shape):
        return np.argsort(shape.features[:, self.column["log_model"]], kind="stable")


def random(context, shape, seen, rng, budget):
    return rng.permutation(len(shape))[:budget]


def analytic(context, shape, seen, rng, budget):
    return context.analytic_order(shape)[:budget]


def nearest_open(distance_row, is_open):
    return int(np.argmin(np.where(is_open, distance_row, np.inf)))


def genetic(context, shape, seen, rng, budget, population=8, mutation=0.2):
    genes = context.genes(shape)
    asked = list(context.analytic_order(shape)[:1])
    is_open = np.ones(len(shape), bool)
    is_open[asked] = False
    budget = min(budget, len(shape))
    while len(asked) < budget:
        if len(asked) < population:
            choice = rng.choice(np.flatnonzero(is_open))
        else:
            parents = np.array(asked)[np.argsort(-seen[asked], kind="stable")[:population]]
            a, b = rng.choice(parents, 2)
            child = np.where(rng.random(genes.shape[1]) < 0.5, genes[a], genes[b])
            donor = genes[rng.integers(len(shape))]
            child = np.where(rng.random(genes.shape[1]) < mutation, donor, child)
            choice = nearest_open(((genes - child) ** 2).sum(axis=1), is_open)
        asked.append(int(choice))
        is_open[choice] = False
    return asked


def annealing(context, shape, seen, rng, budget, heat=0.1, cooling=0.9, near=8):
    distances = context.distances(shape)
    current = int(context.analytic_order(shape)[0])
    asked = [current]
    is_open = np.ones(len(shape), bool)
    is_open[current] = False
    budget = min(budget, len(shape))
    while len(asked) < budget:
        around = np.where(is_open, distances[current], np.inf)
        choice = int(rng.choice(np.argsort(around)[:min(near, int(is_open.sum()))]))
        asked.append(choice)
        is_open[choice] = False
        change = seen[choice] - seen[current]
        if change > 0 or rng.random() < np.exp(change / heat):
            current = choice
        heat *= cooling
    return asked


def local(context, shape, seen, rng, budget, near=8, patience=4):
    """Looks around the best of its current descent; restarts anywhere when nothing near is better."""
    distances = context.distances(shape)
    current = int(context.analytic_order(shape)[0])
    asked = [current]
    is_open = np.ones(len(shape), bool)
    is_open[current] = False
    failures = 0
    budget = min(budget, len(shape))
    while len(asked) < budget:
        if failures >= patience:
            choice = int(rng.choice(np.flatnonzero(is_open)))
            current, failures = choice, 0
        else:
            around = np.where(is_open, distances[current], np.inf)
            choice = int(rng.choice(np.argsort(around)[:min(near, int(is_open.sum()))]))
            if seen[choice] > seen[current]:
                current, failures = choice, 0
            else:
                failures += 1
        asked.append(choice)
        is_open[choice] = False
    return asked


def tpe(context, shape, seen, rng, budget, startup=8, candidates=24):
    """Optuna's TPE over the varying config features; its suggestion is taken to the nearest config
    that was not asked yet, and that config's own features are what it is told about."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    genes = context.genes(shape)
    varying = [i for i in range(genes.shape[1]) if np.ptp(genes[:, i]) > 0]
    space = {str(i): optuna.distributions.FloatDistribution(float(genes[:, i].min()),
                                                            float(genes[:, i].max()))
             for i in varying}
    sampler = optuna.samplers.TPESampler(seed=int(rng.integers(2**31)), n_startup_trials=startup,
                                         n_ei_candidates=candidates)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    asked = []
    is_open = np.ones(len(shape), bool)
    budget = min(budget, len(shape))
    choice = int(context.analytic_order(shape)[0])
    while True:
        asked.append(choice)
        is_open[choice] = False
        study.add_trial(optuna.trial.create_trial(
            params={str(i): float(genes[choice, i]) for i in varying}, distributions=space,
            value=float(seen[choice])))
        if len(asked) == budget:
            return asked
        trial = study.ask(space)
        wanted = genes[choice].copy()
        wanted[varying] = [trial.params[str(i)] for i in varying]
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        choice = nearest_open(((genes - wanted) ** 2).sum(axis=1), is_open)


def log_size(shape):
    return np.log2(np.array(shape.size, float))


def knn(context, shape, seen, rng, budget, neighbours=4):
    """Configs by what their nearest likes gained on the nearest training problems in log space."""
    distance = [np.abs(log_size(other) - log_size(shape)).sum() for other in context.training]
    score = np.zeros(len(shape))
    genes = context.genes(shape)
    for place in np.argsort(distance, kind="stable")[:neighbours]:
        other = context.training[place]
        apart = ((genes[:, None] - context.genes(other)[None]) ** 2).sum(axis=2)
        weight = np.exp(-apart)
        mean = (weight * (other.values - other.best)).sum(axis=1)
        score += (mean - 0.2 * 0.05) / (weight.sum(axis=1) + 0.05) / (1 + distance[place])
    return np.argsort(-score, kind="stable")[:budget]


def global_top(context, shape, seen, rng, budget):
    """One list for all problems: configs by their mean loss where they were measured, shrunk
    towards the mean of all."""
    if "global" not in context.cache:
        losses = {}
        for other in context.training:
            for config, value in zip(other.configs, other.values):
                losses.setdefault(config, []).append(value - other.best)
        everything = np.mean([x for list_ in losses.values() for x in list_])
        context.cache["global"] = {config: (sum(x) + 3 * everything) / (len(x) + 3)
                                   for config, x in losses.items()}
        context.cache["global mean"] = everything
    table, mean = context.cache["global"], context.cache["global mean"]
    score = np.array([table.get(config, mean) for config in shape.configs])
    return np.argsort(-score, kind="stable")[:budget]


def boosted_model(context, leaves, rounds):
    import lightgbm

    key = ("boosted", leaves, rounds)
    if key not in context.cache:
        rows = np.concatenate([shape.features for shape in context.training])
        values = np.concatenate([np.maximum(shape.values - shape.best, -0.3)
                                 for shape in context.training])
        context.cache[key] = lightgbm.train(
            dict(objective="regression", num_leaves=leaves, learning_rate=0.05,
                 min_data_in_leaf=20, feature_fraction=0.6, bagging_fraction=0.8, bagging_freq=1,
                 verbosity=-1, num_threads=1, seed=1, deterministic=True),
            lightgbm.Dataset(rows, values), rounds)
    return context.cache[key]


def boosted_scores(context, shape, leaves, rounds):
    key = ("boosted scores", leaves, rounds, shape.name)
    if key not in context.cache:
        context.cache[key] = boosted_model(context, leaves, rounds).predict(shape.features)
    return context.cache[key]


def boosted(context, shape, seen, rng, budget, leaves=31, rounds=300):
    return np.argsort(-boosted_scores(context, shape, leaves, rounds), kind="stable")[:budget]


def boosted_refit(context, shape, seen, rng, budget, weight=10):
    """The boosted ranker corrected by results: a ridge regression of its errors on the configs'
    features, `weight` against the ridge, fitted again after each result."""
    score = boosted_scores(context, shape, 31, 800)
    genes = context.genes(shape)
    kernel = np.exp(-context.distances(shape) / genes.shape[1])
    asked, is_open = [], np.ones(len(shape), bool)
    correction = np.zeros(len(shape))
    for _ in range(min(budget, len(shape))):
        choice = int(np.argmax(np.where(is_open, score + correction, -np.inf)))
        asked.append(choice)
        is_open[choice] = False
        error = seen[asked] - score[asked]
        error = error - error.mean()
        among = kernel[np.ix_(asked, asked)] + np.eye(len(asked)) / weight
        correction = kernel[:, asked] @ np.linalg.solve(among, error)
    return asked


PEERS = {name: globals()[name] for name in SETTINGS}
DETERMINISTIC = {"analytic", "knn", "global_top", "boosted"}  # the order is fixed beforehand
