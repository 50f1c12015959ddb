"""On a machine with a GPU: PyTorch with and without gemmsmith, as it is, under LD_PRELOAD, and routed.

    torch_check.py --preload libgemmsmith_blas.so --package FOLDER --plans FILE [--out FOLDER]

FOLDER holds the package gemmsmith with its lib/. Each variant runs in a process of its own and writes
its results and times to a file; the first, torch alone, is what the others are compared with:
torch.linalg and convolutions bit for bit, a transformer block within its bound and its times beside it.
Exit 0: nothing differs; 1: something does; 3: no GPU.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import torch

# (tokens, hidden, vocabulary): one of even sizes, one of odd ones.
CASES = {"even": (1024, 4096, 8192), "odd": (197, 768, 32005)}
REPEATS = 30


class Block(torch.nn.Module):
    """Attention and an MLP, then logits: the products of a transformer, with few other costs."""

    def __init__(self, hidden, vocabulary):
        super().__init__()
        self.heads = hidden // 64
        self.norm = torch.nn.LayerNorm(hidden)
        self.qkv = torch.nn.Linear(hidden, 3 * hidden, bias=False)
        self.out = torch.nn.Linear(hidden, hidden, bias=False)
        self.up = torch.nn.Linear(hidden, 4 * hidden)
        self.down = torch.nn.Linear(4 * hidden, hidden, bias=False)
        self.logits = torch.nn.Linear(hidden, vocabulary, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        split = (1, x.shape[0], self.heads, 64)
        q, k, v = (t.reshape(split).transpose(1, 2) for t in (q, k, v))
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        x = x + self.down(torch.relu(self.up(x)))
        return self.logits(x)


def make(name, device):
    tokens, hidden, vocabulary = CASES[name]
    torch.manual_seed(7)
    block = Block(hidden, vocabulary).to(device=device, dtype=torch.float16)
    x = torch.randn(tokens, hidden, device=device, dtype=torch.float16) / 8
    return block, x


def timed(function, device):
    function()
    if device == "cuda":
        torch.cuda.synchronize()
    times = []
    for _ in range(REPEATS if device == "cuda" else 1):
        if device == "cuda":
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            function()
            stop.record()
            stop.synchronize()
            times.append(start.elapsed_time(stop))
        else:
            begin = time.perf_counter()
            function()
            times.append((time.perf_counter() - begin) * 1000)
    return sorted(times)[len(times) // 2]


def run_case(name, device, results, times):
    block, x = make(name, device)

    def forward_backward():
        block.zero_grad(set_to_none=True)
        y = block(x)
        y.float().square().mean().backward()
        return y

    y = forward_backward()
    results[f"{name}/logits"] = y.detach().cpu()
    results[f"{name}/grad_up"] = block.up.weight.grad.cpu()
    results[f"{name}/grad_qkv"] = block.qkv.weight.grad.cpu()
    times[f"{name}/eager forward"] = timed(lambda: block(x), device)
    times[f"{name}/eager forward+backward"] = timed(forward_backward, device)
    if device != "cuda":
        return
    with torch.no_grad():
        compiled = torch.compile(block, fullgraph=True)
        results[f"{name}/compiled"] = compiled(x).cpu()
        times[f"{name}/compiled forward"] = timed(lambda: compiled(x), device)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = block(x)
        graph.replay()
        torch.cuda.synchronize()
        results[f"{name}/graph"] = captured.cpu().clone()
        times[f"{name}/graph forward"] = timed(graph.replay, device)


def run_exact(device, results):
    """What no plan may touch: the same bits with and without."""
    torch.manual_seed(11)
    a = torch.randn(96, 96, dtype=torch.float64, device=device)
    symmetric = a @ a.t() + 96 * torch.eye(96, dtype=torch.float64, device=device)
    for dtype in (torch.float32, torch.float64):
        m, s = a.to(dtype), symmetric.to(dtype)
        results[f"exact/svd {dtype}"] = torch.linalg.svd(m)[1].cpu()
        results[f"exact/qr {dtype}"] = torch.linalg.qr(m)[1].cpu()
        results[f"exact/lu {dtype}"] = torch.linalg.lu(m)[2].cpu()
        results[f"exact/eigh {dtype}"] = torch.linalg.eigh(s)[0].cpu()
        results[f"exact/inv {dtype}"] = torch.linalg.inv(s).cpu()
        results[f"exact/mm {dtype}"] = (m @ m).cpu()
    image = torch.randn(4, 32, 28, 28, device=device)
    kernel = torch.randn(64, 32, 3, 3, device=device)
    types = (torch.float32, torch.float16) if device == "cuda" else (torch.float32,)
    for dtype in types:
        results[f"exact/conv {dtype}"] = torch.nn.functional.conv2d(
            image.to(dtype), kernel.to(dtype), padding=1
        ).cpu()


def worker(path, device, routed):
    results, times = {}, {}
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    counts = None
    if routed:
        import gemmsmith.torch

        gemmsmith.torch.enable()
    run_exact(device, results)
    for name in CASES:
        run_case(name, device, results, times)
    if routed:
        counts = gemmsmith.torch.counts()
    torch.save({"results": results, "times": times, "counts": counts}, path)


# Half precision's rounding of sums of k products, of values of this size.
def is_close(ours, theirs):
    difference = (ours.double() - theirs.double()).norm()
    return bool(difference <= 2e-3 * theirs.double().norm())


def compare(variant, ours, theirs):
    wrong = 0
    for name, value in theirs["results"].items():
        other = ours["results"][name]
        same = torch.equal(value, other) if name.startswith("exact/") else is_close(other, value)
        if not same:
            print(f"{variant}: {name} differs")
            wrong += 1
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preload", default="")
    parser.add_argument("--package", default="")
    parser.add_argument("--plans", default="")
    parser.add_argument("--out", default="")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--worker", default="")
    parser.add_argument("--routed", action="store_true")
    options = parser.parse_args()
    if options.worker:
        worker(options.worker, options.device, options.routed)
        return 0
    if options.device == "cuda" and not torch.cuda.is_available():
        print("unavailable: torch sees no GPU")
        return 3
    folder = options.out or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    variants = [("torch", {}, [])]
    if options.preload:
        variants.append(("preload off", {"LD_PRELOAD": options.preload, "GEMMSMITH_BLAS": "off"}, []))
        variants.append(("preload", {"LD_PRELOAD": options.preload}, []))
        variants.append(
            ("observe", {"LD_PRELOAD": options.preload, "GEMMSMITH_BLAS": "observe"}, [])
        )
    if options.package:
        variants.append(("routed", {"PYTHONPATH": options.package}, ["--routed"]))
    answers, wrong = {}, 0
    for variant, environment, flags in variants:
        path = os.path.join(folder, variant.replace(" ", "_") + ".pt")
        command = [sys.executable, __file__, "--worker", path, "--device", options.device, *flags]
        full = {**os.environ, "GEMMSMITH_PLANS": options.plans, **environment}
        done = subprocess.run(command, env=full, capture_output=True, text=True)
        with open(path + ".log", "w") as log:
            log.write(done.stdout + done.stderr)
        if done.returncode != 0:
            print(f"{variant}: exit {done.returncode}\n{done.stderr[-2000:]}")
            wrong += 1
            continue
        answers[variant] = torch.load(path)
        if variant != "torch":
            wrong += compare(variant, answers[variant], answers["torch"])
        if answers[variant]["counts"]:
            print(f"{variant}: {answers[variant]['counts']}")
        if variant == "observe":
            print(done.stderr[-4000:])
    print("ms," + ",".join(answers))
    for name in answers["torch"]["times"]:
        print(name + "," + ",".join(f"{answers[v]['times'][name]:.4f}" for v in answers))
    print("differences:", wrong)
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
