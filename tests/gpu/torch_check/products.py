"""Each product of the block by itself, routed and by torch alone, in turns: GPU time of a graph of many,
with operands that take turns too, and what enqueueing one from Python costs the host."""

import time

import torch

import block
import pairs

LAUNCHES = 24


def products_of(case):
    """Rows, columns, sum and layout of D = A B: forward, then both gradients. `t` is stored
    transposed, as x @ weight.t() has its weight."""
    tokens, hidden, vocabulary, is_trained = block.CASES[case]
    sides = [(3 * hidden, hidden), (hidden, hidden), (hidden, 4 * hidden), (vocabulary, hidden)]
    for out, inner in sides:
        yield tokens, out, inner, "x @ w.t()"
        if is_trained:
            yield tokens, inner, out, "dy @ w"
            yield out, inner, tokens, "dy.t() @ x"


def operands(m, n, k, layout):
    def random(rows, columns):
        return torch.randn(rows, columns, device="cuda", dtype=torch.float16)

    if layout == "x @ w.t()":
        return random(m, k), random(n, k).t()
    if layout == "dy.t() @ x":
        return random(k, m).t(), random(k, n)
    return random(m, k), random(k, n)


def graph_of(sets):
    results = []
    torch.mm(*sets[0])
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(LAUNCHES):
            results.append(torch.mm(*sets[i % len(sets)]))
            if len(results) > 4:
                results.pop(0)
    return graph


def row_of(m, n, k, layout, enter, counts):
    bytes_of_set = 2 * (m * k + k * n)
    # Twice the 60 MB of L2, at most a set for each launch.
    count = max(2, min(LAUNCHES, -(-(120 << 20) // bytes_of_set)))
    sets = [operands(m, n, k, layout) for _ in range(count)]
    plain = graph_of(sets)
    expected = torch.mm(*sets[0])
    with enter():
        before = counts()["served"]
        result = torch.mm(*sets[0])
        is_served = counts()["served"] > before
        ours = graph_of(sets)
    row = pairs.compare(plain.replay, ours.replay, pairs=20)
    for key in ("plain_us", "ours_us"):
        row[key] = {name: value / LAUNCHES for name, value in row[key].items()}
    row["served"] = is_served
    reference = sets[0][0].double() @ sets[0][1].double()
    row["errors"] = {
        "plain": block.error_of(expected, reference),
        "ours": block.error_of(result, reference),
    }
    row["is right"] = row["errors"]["ours"] <= 1.25 * row["errors"]["plain"] + 1e-6
    return row


def host_us(function):
    function()
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(200):  # below the depth of the launch queue
        function()
    spent = time.perf_counter_ns() - start
    torch.cuda.synchronize()
    return spent / 200 / 1000


def host_costs(enter):
    """Products that a plan serves, that cuBLASLt does without one, and of a type that stays torch's."""
    f16 = operands(64, 64, 64, "x @ w.t()")
    f32 = tuple(t.float() for t in f16)
    odd = operands(48, 48, 48, "x @ w.t()")
    bias = torch.randn(64, device="cuda", dtype=torch.float16)
    batch = torch.randn(4, 64, 64, device="cuda", dtype=torch.float16)
    calls = {
        "mm, planned": lambda: torch.mm(*f16),
        "mm, no plan": lambda: torch.mm(*odd),
        "mm, f32": lambda: torch.mm(*f32),
        "addmm, bias": lambda: torch.addmm(bias, *f16),
        "bmm, batch of 4": lambda: torch.bmm(batch, batch),
    }

    def measure(named, _calls):
        way, call = named
        if way == "plain":
            return host_us(call)
        with enter():
            return host_us(call)

    return {
        name: pairs.compare(("plain", call), ("ours", call), pairs=12, measure=measure)
        for name, call in calls.items()
    }


def worker(_options):
    import gemmsmith.torch

    report = {"products": {}}
    for case in block.CASES:
        for m, n, k, layout in products_of(case):
            name = f"{case}: {m}x{n}x{k} {layout}"
            report["products"][name] = row_of(
                m, n, k, layout, gemmsmith.torch.enable, gemmsmith.torch.counts
            )
            torch.cuda.empty_cache()
    report["host"] = host_costs(gemmsmith.torch.enable)
    return report
