"""torch's own tests of matrix products, by torch alone and routed, compared test by test.

    python tests/python/upstream SOURCE --package FOLDER [--ops LIBRARY] [--out FOLDER] [-- pytest's flags]

SOURCE is torch's source tree, or its test/ folder, of about the installed torch's version: its files are
run from there and nothing of them is kept; they need the packages expecttest and hypothesis. FOLDER holds the package gemmsmith with its lib/. With --ops,
the operators compiled for the CPU, it runs without a GPU (tests/python/CMakeLists.txt has the variables
that the fake driver needs). A test that fails both ways, with the same words, is torch's own affair.
Exit 0: every test ends the same way; 1: one does not.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

FILES = ("test_linalg.py", "test_matmul_cuda.py", "test_ops.py")
# What differs from run to run of the same test.
_FLEETING = re.compile(r"0x[0-9a-f]+|\d+\.\d+(?:e[+-]?\d+)?|/\S+|in \d+ms")


def run(options, tests, name, route):
    report = options.out / f"{name}.xml"
    environment = {**os.environ, "GEMMSMITH_ROUTE": route, "PYTHONDONTWRITEBYTECODE": "1"}
    search = [pathlib.Path(__file__).parent, tests, environment.get("PYTHONPATH", "")]
    if route:
        search.insert(0, options.package.resolve())
    environment["PYTHONPATH"] = os.pathsep.join(str(path) for path in search if str(path))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "routed", "-p", "no:cacheprovider"]
    command += [f"--junitxml={report}", *options.flags]
    command += [str(tests / file) for file in FILES if (tests / file).exists()]
    with open(options.out / f"{name}.log", "w") as log:
        subprocess.run(command, env=environment, cwd=options.out, stdout=log, stderr=subprocess.STDOUT)
    if not report.exists():
        sys.exit(f"{name}: pytest wrote no report, see {options.out / name}.log")
    return outcomes(report)


def outcomes(report):
    """Of each test: passed, skipped, failed or error; and its first words where it did not pass."""
    answers = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        key = f"{case.get('classname')}.{case.get('name')}"
        answers[key] = ("passed", "")
        for ending in case:
            if ending.tag in ("failure", "error", "skipped"):
                words = (ending.get("message") or "").splitlines()[:1]
                answers[key] = (ending.tag, _FLEETING.sub("*", " ".join(words)))
    return answers


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--package", type=pathlib.Path, required=True)
    parser.add_argument("--ops", default="")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("torch_tests_out"))
    own, flags = sys.argv[1:], []
    if "--" in own:
        own, flags = own[: own.index("--")], own[own.index("--") + 1 :]
    options = parser.parse_args(own)
    options.flags = flags
    tests = options.source / "test" if (options.source / "test").is_dir() else options.source
    if not (tests / FILES[0]).exists():
        sys.exit(f"{tests} has no {FILES[0]}: expected torch's source tree")
    options.out.mkdir(parents=True, exist_ok=True)
    options.out = options.out.resolve()
    plain = run(options, tests.resolve(), "plain", "")
    routed = run(options, tests.resolve(), "routed", options.ops or "gpu")
    differing = [key for key in sorted(plain.keys() | routed.keys()) if plain.get(key) != routed.get(key)]
    for key in differing:
        print(f"{key}\n  plain:  {plain.get(key)}\n  routed: {routed.get(key)}")
    counts = {}
    for ending, _ in plain.values():
        counts[ending] = counts.get(ending, 0) + 1
    print(f"{len(plain)} tests, by torch alone: {counts}; routed, ending differently: {len(differing)}")
    return 1 if differing or not plain else 0


if __name__ == "__main__":
    sys.exit(main())
