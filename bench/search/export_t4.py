#!/usr/bin/env python3
"""export_t4.py -- a recording in the files of Kernel Tuner and its relatives, three for each problem:

  M_N_K.t1.json      the search space (T1): parameters, their values, which combinations exist
  M_N_K.t4.json      the results (T4): each recorded config with its times
  M_N_K.cache.json   the same as Kernel Tuner's cache, which its simulation mode replays

  python3 bench/search/export_t4.py --build build/release --out build/t4 \\
      --recording data/recordings/h200/grid1000_f16_f32_tn.csv.zst

Needs numpy (PyPI), zstd and the target search_export_space. What the parameters are: parameters.py. Times are single screenings, back to back, with
their repeats; `config` is the config's text, which gemmsmith reads. One problem: --problem 64_64_64. With --validate
they are held against the schemas that kernel_tuner (PyPI) ships.
"""

import argparse
import csv
import datetime
import json
import pathlib
import subprocess
import tempfile

import numpy as np

import parameters
import space

SCHEMA_VERSION = "1.0.0"  # of T4, as Kernel Tuner 1.5 ships it
OBJECTIVE = "time"
US_PER_MS, MS_PER_S = 1000, 1000


def read_screenings(lines):
    """(problem, config) -> its row of the recording that the searchers judge it by."""
    return {("_".join((row["m"], row["n"], row["k"])), row["config"]): row
            for row in csv.DictReader(lines)
            if row["kind"] in ("kernel", "vendor") and row["stage"] == "screen"
            and row["setting"] == "chained"}


def timestamp(run):
    """A run's name opens with when it began: 20261201T225540.210Z-..."""
    began = datetime.datetime.strptime(run.split("-")[0], "%Y%m%dT%H%M%S.%fZ")
    return began.replace(tzinfo=datetime.timezone.utc).isoformat()


def ms(microseconds):
    """To the picosecond: more than is recorded, and no digits that only division made."""
    return round(float(microseconds) / US_PER_MS, 9)


def runtimes_ms(row):
    return [ms(x) for x in row["repeats_us"].split(";") if x]


def t1(shape, points, type_name):
    names = list(points.values)
    listed = ", ".join(str(point) for point in points.points)
    return {
        "General": {"FormatVersion": 1, "TimeUnit": "Milliseconds", "OutputFormat": "JSON",
                    "OutputFile": f"{shape.name}.t4.json"},
        "ConfigurationSpace": {
            "TuningParameters": [{"Name": name, "Type": "int", "Values": str(values)}
                                 for name, values in points.values.items()],
            # Only what was recorded can be asked for: a set of points, not a rule.
            "Conditions": [{"Parameters": names,
                            "Expression": f"({', '.join(names)},) in ({listed},)"}]},
        "KernelSpecification": {
            "Language": "CUDA", "KernelName": f"gemm_{type_name}", "KernelFile": "kernels/sm90_ws.cu",
            "SimulationInput": f"{shape.name}.cache.json",
            # Nothing is launched from here: families differ in their grids.
            "GlobalSize": {"X": "1"}, "LocalSize": {"X": "1"}}}


def t4(points, texts, rows):
    results = []
    for point, text, row in zip(points.points, texts, rows):
        results.append({
            "timestamp": timestamp(row["run"]),
            "configuration": dict(zip(points.values, point)),
            "times": {"compilation_time": float(row["compile_s"]) * MS_PER_S,
                      "runtimes": runtimes_ms(row)},
            "invalidity": "correct", "correctness": 1,
            "measurements": [
                {"name": OBJECTIVE, "value": ms(row["median_us"]), "unit": "ms"},
                {"name": "speedup_over_tuned_cublaslt", "value": float(row["ratio"]), "unit": ""},
                {"name": "config", "value": text, "unit": ""}],
            "objectives": [OBJECTIVE]})
    return {"schema_version": SCHEMA_VERSION, "metadata": {"timeunit": "milliseconds"},
            "results": results}


def cache(shape, points, texts, rows, type_name, device):
    entries = {}
    for point, text, row in zip(points.points, texts, rows):
        entries[",".join(map(str, point))] = {
            **dict(zip(points.values, point)), OBJECTIVE: ms(row["median_us"]),
            "times": runtimes_ms(row), "compile_time": float(row["compile_s"]) * MS_PER_S,
            "config": text, "timestamp": timestamp(row["run"])}
    return {"device_name": device, "kernel_name": f"gemm_{type_name}",
            "problem_size": list(shape.size), "tune_params_keys": list(points.values),
            "tune_params": points.values, "objective": OBJECTIVE, "cache": entries}


def combinations(points):
    """How many there would be if every combination of values were a config."""
    return np.prod([float(len(values)) for values in points.values.values()])


def share_with_neighbour(points):
    """Of the configs, those with another that differs in one parameter."""
    table = np.array(points.points)
    apart = (table[:, None] != table[None]).sum(axis=2)
    return (apart == 1).any(axis=1).mean()


def validate(files):
    """Raises what jsonschema raises, which names the place."""
    import jsonschema
    from kernel_tuner import file_utils

    jsonschema.validate(files["t1"], file_utils.input_file_schema()[1])
    jsonschema.validate(files["t4"], file_utils.output_file_schema("results")[1])


def export(shape, names, screenings, type_name, device, folder, validated=False):
    points = parameters.Points(shape, names)
    rows = [screenings[shape.name, text] for text in shape.configs]
    files = {"t1": t1(shape, points, type_name), "t4": t4(points, shape.configs, rows),
             "cache": cache(shape, points, shape.configs, rows, type_name, device)}
    if validated:
        validate(files)
    for kind, content in files.items():
        # Kernel Tuner tells a finished cache by how it ends: two closing brackets, a line each.
        text = json.dumps(content, indent=0) if kind == "cache" else json.dumps(content)
        (folder / f"{shape.name}.{kind}.json").write_text(text)
    return points


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--recording", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--problem", help="all of them without")
    parser.add_argument("--validate", action="store_true")
    arguments = parser.parse_args()
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        subprocess.run([arguments.build / "bench/search/search_export_space", arguments.recording],
                       check=True, stdout=table)
        shapes, names = space.read_space(table.name)
    text = subprocess.run(["zstd", "-dc", arguments.recording], check=True, capture_output=True,
                          text=True).stdout
    screenings = read_screenings(text.splitlines())
    about = arguments.recording.with_suffix("").with_suffix(".json")
    device = json.loads(about.read_text())["device"]["name"]
    first = next(iter(screenings.values()))
    type_name = f"{first['type']}_{first['acc']}_{first['layout']}"
    arguments.out.mkdir(parents=True, exist_ok=True)
    wanted = [shape for shape in shapes if arguments.problem in (None, shape.name)]
    if not wanted:
        parser.error(f"{arguments.recording} has no problem {arguments.problem}")
    written = [export(shape, names, screenings, type_name, device, arguments.out,
                      arguments.validate)
               for shape in wanted]
    print(f"{len(wanted)} problems, {sum(map(len, wanted))} results in {arguments.out}; "
          f"{np.median([combinations(points) for points in written]):.1e} combinations in the median, "
          f"{np.mean([share_with_neighbour(points) for points in written]):.1%} of configs with a "
          "neighbour")


if __name__ == "__main__":
    main()
