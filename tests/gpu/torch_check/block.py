"""A transformer block, forward and backward, eager, compiled and in a CUDA graph: by torch alone and
routed, in turns in one process; or one way alone, where the process was started with LD_PRELOAD.

Right means: as near to the same block in FP64 as torch's own f16 is.
"""

import contextlib
import copy
import importlib.util
import pathlib

import torch

import pairs

# (tokens, hidden, vocabulary, is trained)
CASES = {
    "train 1024x4096": (1024, 4096, 8192, True),
    "odd 197x768, vocabulary 32005": (197, 768, 32005, True),
    "decode 64x4096": (64, 4096, 8192, False),
}


def load_model(name):
    path = pathlib.Path(__file__).with_name("model.py")
    spec = importlib.util.spec_from_file_location(f"model_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Block


def make(case, device):
    """The same weights in two classes that torch.compile keeps apart, and the input."""
    tokens, hidden, vocabulary, _ = CASES[case]
    torch.manual_seed(7)
    plain = load_model("plain")(hidden, vocabulary).to(device=device, dtype=torch.float16)
    ours = load_model("ours")(hidden, vocabulary).to(device=device, dtype=torch.float16)
    ours.load_state_dict(plain.state_dict())
    x = torch.randn(tokens, hidden, device=device, dtype=torch.float16) / 8
    return plain, ours, x


# A sum, not a mean: the gradients of a mean are too small for f16.
def loss_of(y):
    return y.float().square().sum() if y.dtype == torch.float16 else y.square().sum()


class Way:
    """One way to run the block: the functions that are timed, and what they computed."""

    def __init__(self, block, x, enter):
        self.block, self.x, self.enter = block, x, enter
        self.compiled = torch.compile(block, fullgraph=True, dynamic=False)

    def step(self, function):
        self.block.zero_grad(set_to_none=True)
        y = function(self.x)
        loss_of(y).backward()
        return y.detach()

    def forward(self, function):
        with torch.no_grad():
            return function(self.x)

    def grads(self):
        return {
            f"grad {name}": getattr(self.block, name).weight.grad.clone()
            for name in ("qkv", "up", "logits")
        }

    def captured(self, function):
        """The function in a CUDA graph; what it returned is where each replay leaves it."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                function()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = function()
        return graph, result


def error_of(value, reference):
    return float((value.double() - reference).norm() / reference.norm())


def reference_of(block, x, is_trained):
    exact = copy.deepcopy(block).double()
    y = exact(x.double())
    answers = {"logits": y.detach()}
    if is_trained:
        loss_of(y).backward()
        for name in ("qkv", "up", "logits"):
            answers[f"grad {name}"] = getattr(exact, name).weight.grad
    return answers


def modes_of(case):
    _, _, _, is_trained = CASES[case]
    for kind in ("eager", "compiled", "graph"):
        yield kind, False
        if is_trained:
            yield kind, True


def prepare(way, kind, is_step):
    """The function to time, which returns the logits. It is run inside way.enter()."""
    inner = way.compiled if kind == "compiled" else way.block
    run = (lambda: way.step(inner)) if is_step else (lambda: way.forward(inner))
    if kind != "graph":
        return run
    graph, result = way.captured(run)

    def replay():
        graph.replay()
        return result

    return replay


def answers_of(way, function, is_step):
    answers = {"logits": function().clone()}
    if is_step:
        answers.update(way.grads())
    torch.cuda.synchronize()
    return answers


# Of each turn: what the first calls after entering cost is not the function's.
WARM_UPS, CALLS = 3, 5


def time_ways(ways, functions):
    def measure(named, calls):
        name, function = named
        with ways[name].enter():
            for _ in range(WARM_UPS):
                function()
            return pairs.elapsed_us(function, calls)

    if "ours" not in ways:
        return pairs.alone(functions["plain"], calls=CALLS)
    return pairs.compare(
        ("plain", functions["plain"]), ("ours", functions["ours"]), calls=CALLS, measure=measure
    )


def run_mode(ways, kind, is_step, reference):
    functions, errors = {}, {}
    for name, way in ways.items():
        with way.enter():
            functions[name] = prepare(way, kind, is_step)
            answers = answers_of(way, functions[name], is_step)
        if reference is not None:
            errors[name] = {key: error_of(value, reference[key]) for key, value in answers.items()}
    if reference is None:
        return None
    row = {"errors": errors, **time_ways(ways, functions)}
    if "ours" in ways:
        row["is right"] = all(
            errors["ours"][key] <= 1.25 * errors["plain"][key] + 1e-6 for key in errors["plain"]
        )
    return row


def run_case(case, enters, only_compile):
    """enters: the name of each way and what it is entered by; "plain" comes first."""
    plain_block, ours_block, x = make(case, "cuda")
    blocks = {"plain": plain_block, "ours": ours_block}
    ways = {name: Way(blocks[name], x, enter) for name, enter in enters.items()}
    reference = None if only_compile else reference_of(plain_block, x, CASES[case][3])
    rows, unavailable = {}, {}
    for kind, is_step in modes_of(case):
        if only_compile and kind != "compiled":
            continue
        label = f"{kind} {'forward+backward' if is_step else 'forward'}"
        try:
            rows[label] = run_mode(ways, kind, is_step, reference)
        except Exception as error:  # a machine without a compiler for Triton still runs the rest
            if kind != "compiled":
                raise
            unavailable[label] = f"{type(error).__name__}: {error}"[:600]
    return {"rows": rows, "unavailable": unavailable}


def worker(options):
    torch.backends.cudnn.deterministic = True
    enters = {"plain": contextlib.nullcontext}
    counts = None
    if options.routed:
        import gemmsmith.torch

        enters["ours"] = gemmsmith.torch.enable
        before = gemmsmith.torch.counts()
    report = {}
    for case in [options.case] if options.case else CASES:
        report[case] = run_case(case, enters, options.only_compile)
        torch.cuda.empty_cache()
    if options.routed:
        counts = {k: v - before[k] for k, v in gemmsmith.torch.counts().items()}
    return {"cases": report, "counts": counts}
