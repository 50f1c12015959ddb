"""On a machine with a GPU: PyTorch by itself, under LD_PRELOAD, and routed.

    python tests/gpu/torch_check --preload libgemmsmith_blas.so --package FOLDER --plans FILE --out FOLDER

FOLDER of --package holds the package gemmsmith with its lib/. Lanes, each in processes of its own with
a time limit, so that none stops another:

    exact     what no plan may touch has the same bits; the rest is as near to FP64 as torch's
    threads   eight threads and streams, captures among their calls, exact
    block     a transformer block, forward and backward: eager, compiled, in a CUDA graph; timed in turns
    products  each product of the block by itself, and what a call costs the host
    preloaded the block under LD_PRELOAD, off and on, one process after the other

--out gets report.json and a log of each process. Exit 0: nothing is wrong; 1: something is; 3: no GPU.
"""

import argparse
import importlib
import json
import os
import signal
import subprocess
import sys
import time

import torch

LANES = ("exact", "threads", "block", "products", "preloaded")


class Job:
    """One process of a lane."""

    running = []

    def __init__(self, options, lane, variant, flags=(), limit_s=100):
        self.name = f"{lane} {variant}"
        self.path = os.path.join(options.out, self.name.replace(" ", "_").replace(",", ""))
        self.limit_s = limit_s
        environment = {**os.environ, "GEMMSMITH_PLANS": options.plans, "PYTHONUNBUFFERED": "1"}
        flags = [*flags]
        if variant.startswith("preload"):
            environment["LD_PRELOAD"] = os.path.abspath(options.preload)
            environment["GEMMSMITH_BLAS"] = variant.split()[1]
        if variant.startswith("routed"):
            search = [os.path.abspath(options.package), environment.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, search))
            flags.append("--routed")
        self.log = open(self.path + ".log", "w")
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, os.path.dirname(__file__), "--worker", lane, "--result", self.path, *flags],
            env=environment,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        Job.running.append(self)

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # a compiler's workers may be left
        except ProcessLookupError:
            pass
        self.process.wait()

    def finish(self):
        """What the worker answered; none where it failed, which is told."""
        try:
            code = self.process.wait(max(0.1, self.limit_s - (time.monotonic() - self.started)))
        except subprocess.TimeoutExpired:
            code = None
        self.kill()
        Job.running.remove(self)
        self.log.close()
        spent = time.monotonic() - self.started
        if code == 0:
            print(f"{self.name}: done in {spent:.0f} s", flush=True)
            return torch.load(self.path, map_location="cpu")
        why = "took too long" if code is None else f"exit {code}"
        with open(self.path + ".log") as log:
            end = log.read()[-700:]
        print(f"{self.name}: FAILED, {why} ({spent:.0f} s)\n{end}", flush=True)
        return None


def is_given(options, variant):
    if variant.startswith("preload"):
        return bool(options.preload)
    return bool(options.package) if variant.startswith("routed") else True


def differing(name, ours, theirs):
    """Names of results that have other bits; NaNs are equal to themselves."""
    return [
        f"{name}: {key} differs"
        for key, value in theirs["results"].items()
        if not torch.equal(torch.nan_to_num(ours["results"][key]), torch.nan_to_num(value))
    ]


# Launches of plans' kernels that the profiler must see, or must not.
_HAS_PLANS = {"torch": False, "preload off": False, "preload observe": False}


def judge_exact(answers):
    wrong = []
    torchs = answers.get("torch")
    for variant, answer in answers.items():
        if torchs is not None and variant != "torch":
            wrong += differing(f"exact {variant}", answer, torchs)
            for shape, error in answer["errors"].items():
                if error > 1.25 * torchs["errors"][shape] + 1e-6:
                    wrong.append(f"exact {variant}: {shape} is off by {error:.2g} of its norm")
        launches = answer["kernels"].get("gemm")
        if launches is not None and (launches > 0) != _HAS_PLANS.get(variant, True):
            wrong.append(f"exact {variant}: {launches} launches of plans' kernels")
    return wrong


def judge_rows(lane, rows):
    return [f"{lane}: {name} is off: {row['errors']}" for name, row in rows if not row["is right"]]


def show_figure(name, row):
    speedup = row["speedup"]
    print(
        f"  {name}: {row['plain_us']['median']:.2f} -> {row['ours_us']['median']:.2f} us, "
        f"{speedup['median']:.3f} [{speedup['low']:.3f}, {speedup['high']:.3f}]"
        + ("" if row.get("served", True) else " (no plan)")
    )


def run_exact(options, report):
    variants = ["torch", "preload off", "preload observe", "preload on", "routed"]
    jobs = {v: Job(options, "exact", v) for v in variants if is_given(options, v)}
    answers = {v: answer for v, job in jobs.items() if (answer := job.finish()) is not None}
    wrong = judge_exact(answers) + [f"exact {v}: no answer" for v in jobs if v not in answers]
    report["exact"] = {
        v: {k: a[k] for k in ("errors", "counts", "kernels")} for v, a in answers.items()
    }
    for variant, answer in answers.items():
        print(f"  {variant}: launches {answer['kernels']}, products {answer['counts']}")
    return wrong


def run_threads(options, report):
    variants = ["torch", "preload on", "routed"]
    jobs = {v: Job(options, "threads", v) for v in variants if is_given(options, v)}
    wrong = []
    report["threads"] = {}
    for variant, job in jobs.items():
        answer = job.finish()
        report["threads"][variant] = answer
        if answer is None or answer["failures"]:
            wrong.append(f"threads {variant}: {answer and answer['failures']}")
        else:
            print(f"  {variant}: {answer['calls']} calls exact, products {answer['counts']}")
    return wrong


def rows_of(answer):
    return [
        (f"{case}, {mode}", row)
        for case, modes in answer["cases"].items()
        for mode, row in modes["rows"].items()
    ]


def run_block(options, report):
    if not options.package:
        return []
    answer = Job(options, "block", "routed").finish()
    report["block"] = answer
    if answer is None:
        return ["block: no answer"]
    print(f"  products {answer['counts']}")
    for name, row in rows_of(answer):
        show_figure(name, row)
    for case, modes in answer["cases"].items():
        for mode, why in modes["unavailable"].items():
            print(f"  {case}, {mode}: unavailable: {why}")
    return judge_rows("block", rows_of(answer))


def run_preloaded(options, report):
    if not options.preload:
        return []
    off, on = (Job(options, "block", f"preload {mode}").finish() for mode in ("off", "on"))
    report["preloaded"] = {"off": off, "on": on}
    if off is None or on is None:
        return ["preloaded: no answer"]
    wrong = []
    others = dict(rows_of(on))
    for name, row in rows_of(off):
        if name not in others:
            wrong.append(f"preloaded {name}: missing")
            continue
        a, b = (r["plain_us"]["median"] for r in (row, others[name]))
        print(f"  preloaded {name}: {a:.1f} -> {b:.1f} us, {a / b:.3f} (two processes)")
        for key, error in others[name]["errors"]["plain"].items():
            if error > 1.25 * row["errors"]["plain"][key] + 1e-6:
                wrong.append(f"preloaded {name}: {key} is off by {error:.2g} of its norm")
    return wrong


def run_products(options, report):
    if not options.package:
        return []
    answer = Job(options, "products", "routed", limit_s=60).finish()
    report["products"] = answer
    if answer is None:
        return ["products: no answer"]
    for name, row in answer["products"].items():
        show_figure(name, row)
    for name, row in answer["host"].items():
        show_figure(f"host cost of {name}", row)
    return judge_rows("products", answer["products"].items())


def compile_ahead(options):
    """Compiled code goes into torch's cache while lanes run that time nothing."""
    import block

    return [
        Job(options, "block", f"routed ahead {i}", ("--only-compile", "--case", case))
        for i, case in enumerate(block.CASES)
    ]


def lead(options):
    if not torch.cuda.is_available():
        print("unavailable: torch sees no GPU")
        return 3
    os.makedirs(options.out, exist_ok=True)
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(options.out, "inductor"))
    lanes = options.lanes.split(",")
    report = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    wrong = []
    ahead = compile_ahead(options) if "block" in lanes and options.package else []
    run = {
        "exact": run_exact,
        "threads": run_threads,
        "block": run_block,
        "products": run_products,
        "preloaded": run_preloaded,
    }
    for lane in LANES:
        if lane not in lanes:
            continue
        if lane == "block":
            for job in ahead:
                job.finish()
        wrong += run[lane](options, report)
        report["wrong"] = wrong
        with open(os.path.join(options.out, "report.json"), "w") as file:
            json.dump(report, file, indent=1)
    print(f"wrong: {len(wrong)}")
    for line in wrong:
        print("  " + line)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preload", default="")
    parser.add_argument("--package", default="")
    parser.add_argument("--plans", default="")
    parser.add_argument("--out", default="torch_check_out")
    parser.add_argument("--lanes", default=",".join(LANES))
    parser.add_argument("--worker", default="", choices=["", *LANES])
    parser.add_argument("--result", default="")
    parser.add_argument("--routed", action="store_true")
    parser.add_argument("--only-compile", action="store_true")
    parser.add_argument("--case", default="")
    options = parser.parse_args()
    if not options.worker:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
        try:
            return lead(options)
        finally:
            for job in [*Job.running]:
                job.kill()
    answer = importlib.import_module(options.worker).worker(options)
    torch.save(answer, options.result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
