#!/usr/bin/env python3
"""Holds the counters of `gemmsmith profile` against ncu's, on the same kernels.

    ncu_compare.py PROGRAM PROFILES.csv NCU_LOG [SHAPES]

PROFILES.csv is what `gemmsmith profile --full --csv` printed. The kernels of a few of its shapes (those
named, else six spread over the list) are launched again by `gemmsmith profile --bare` under ncu, with
clocks and caches left alone: for each of its passes ncu runs the program again, which empties L2 before
each launch as it does before those that it counts itself. (ncu's own way, saving and restoring memory
between passes with the caches invalidated, leaves L2 in another state.) Each is launched four times with an
empty kernel before it, and what the empty one shows is taken off, as `profile` does. Prints a CSV: each
figure by both, ncu's least and most of the four, the difference, and whether ours is within 2 points (of
percentages) or 2 % (of everything else) of ncu's mean, or between its least and most. Exit 1 where one is
neither.
Times are not compared: each profiler opens its window as early as it likes. Shares of a peak are of the time in
which the SM that had work for longest had it, by both.
"""

import csv
import io
import os
import subprocess
import sys
import tempfile

TOLERANCE = 2.0
ELAPSED_PER_SM = "sm__cycles_elapsed.avg"
LAUNCHES = 4  # of each config; ProblemBench's kCountedLaunches

# Of the profile's columns: ncu's metric, and how a launch's kernels are merged (gemmsmith's
# device/counters.cpp has the same table).
SUM, BY_TIME, BY_ACTIVE = "sum", "time", "active"
METRICS = {
    "gpu_time_ns": ("gpu__time_duration.sum", SUM),
    "sm_active_cycles": ("sm__cycles_active.sum", SUM),
    "sm_elapsed_cycles": ("sm__cycles_elapsed.sum", SUM),
    "sm_span_cycles": ("sm__cycles_active.max", SUM),
    "ctas": ("sm__ctas_launched.sum", SUM),
    "tensor_pct": ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", BY_TIME),
    "issue_pct": ("sm__inst_issued.avg.pct_of_peak_sustained_elapsed", BY_TIME),
    "shared_pipe_pct": ("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", BY_TIME),
    "sm_throughput_pct": ("sm__throughput.avg.pct_of_peak_sustained_elapsed", BY_TIME),
    "shared_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", SUM),
    "shared_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", SUM),
    "l2_pct": ("lts__t_sectors.avg.pct_of_peak_sustained_elapsed", BY_TIME),
    "l2_read_sectors": ("lts__t_sectors_op_read.sum", SUM),
    "l2_read_hits": ("lts__t_sectors_op_read_lookup_hit.sum", SUM),
    "l2_write_sectors": ("lts__t_sectors_op_write.sum", SUM),
    "l2_write_hits": ("lts__t_sectors_op_write_lookup_hit.sum", SUM),
    "dram_pct": ("dram__throughput.avg.pct_of_peak_sustained_elapsed", BY_TIME),
    "dram_read_bytes": ("dram__bytes_read.sum", SUM),
    "dram_write_bytes": ("dram__bytes_write.sum", SUM),
    "occupancy_pct": ("sm__warps_active.avg.pct_of_peak_sustained_active", BY_ACTIVE),
    "ipc": ("sm__inst_executed.avg.per_cycle_active", BY_ACTIVE),
    "wgmma_instructions": ("sm__inst_executed_pipe_tensor_op_gmma.sum", SUM),
}


def share(part, whole):
    return 100 * part / whole if whole else 0.0


# What is compared: name, unit ("points" or "%"), and the figure from a dictionary of columns.
FIGURES = [
    ("SM throughput", "points", lambda v: v["sm_throughput_pct"]),
    ("bank conflicts", "points", lambda v: share(v["shared_conflicts"], v["shared_wavefronts"])),
    ("L2 hits", "points", lambda v: share(v["l2_read_hits"] + v["l2_write_hits"],
                                          v["l2_read_sectors"] + v["l2_write_sectors"])),
    ("DRAM throughput", "points", lambda v: v["dram_pct"]),
    ("occupancy", "points", lambda v: v["occupancy_pct"]),
    ("IPC, of 4", "points", lambda v: share(v["ipc"], 4)),
    ("tensor pipe", "points", lambda v: v["tensor_pct"]),
    ("shared-memory pipe", "points", lambda v: v["shared_pipe_pct"]),
    ("L2 read hits", "points", lambda v: share(v["l2_read_hits"], v["l2_read_sectors"])),
    ("SMs with work", "points", lambda v: share(v["sm_active_cycles"], v["sm_elapsed_cycles"])),
    ("L2 read sectors", "%", lambda v: v["l2_read_sectors"]),
    ("DRAM bytes read", "%", lambda v: v["dram_read_bytes"]),
    ("DRAM bytes written", "%", lambda v: v["dram_write_bytes"]),
    ("CTAs", "%", lambda v: v["ctas"]),
    ("wgmma instructions", "%", lambda v: v["wgmma_instructions"]),
]


def say(text):
    print(text, file=sys.stderr)


def read_profiles(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return [row for row in rows if row["config"] and row["status"] == "ok" and row["kernels"] != "0"]


def spread(shapes, count):
    if len(shapes) <= count:
        return shapes
    return [shapes[round(i * (len(shapes) - 1) / (count - 1))] for i in range(count)]


def run_ncu(program, rows, log):
    """ncu's rows, one a kernel, in the order of launches."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as choices:
        choices.write("shape,config\n")
        choices.writelines(f"{row['shape']},{row['config']}\n" for row in rows)
        choices.flush()
        shapes = list(dict.fromkeys(row["shape"] for row in rows))
        command = [os.environ.get("NCU", "ncu"), "--profile-from-start", "off", "--target-processes",
                   "all", "--clock-control", "none", "--cache-control", "none", "--replay-mode", "application",
                   "--app-replay-match", "grid", "--csv", "--page",
                   "raw", "--print-units", "base",
                   "--metrics", ",".join([metric for metric, _ in METRICS.values()] + [ELAPSED_PER_SM]),
                   program, "profile", "--bare", "--choices", choices.name, "--csv", "--quiet"]
        for shape in shapes:
            command += ["--mnk", shape]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    with open(log, "w") as file:
        file.write(" ".join(command) + "\n" + done.stdout + done.stderr)
    if done.returncode != 0:
        raise SystemExit(f"ncu ended with {done.returncode}: {done.stderr.strip()[-500:]} (see {log})")
    lines = done.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise SystemExit(f"ncu printed no table of kernels (see {log})")
    table = [line for line in lines[start:] if line.startswith('"')]
    kernels = list(csv.DictReader(io.StringIO("\n".join(table))))
    return [kernel for kernel in kernels if kernel["ID"].strip()]  # the second line holds units


def number(text):
    return float(text.replace(",", "")) if text not in ("", None) else 0.0


def without_launch(kernel, empty, sms):
    """As gemmsmith's function of this name (src/device/counters.h)."""
    left = dict(kernel)
    if not kernel["sm_span_cycles"] or not kernel["sm_elapsed_cycles"]:
        return left
    share_left = min(1.0, kernel["sm_span_cycles"] * sms / kernel["sm_elapsed_cycles"])
    left["sm_elapsed_cycles"] *= share_left
    left["gpu_time_ns"] *= share_left
    for column, (_, merge) in METRICS.items():
        if merge == BY_TIME:
            left[column] /= share_left
        elif column.startswith("l2_") or column.startswith("dram_"):
            left[column] = max(0.0, kernel[column] - empty[column])
    return left


def merged(table):
    """Of one launch: the empty kernel's row of ncu's, then the others'."""
    rows = [{column: number(k[metric]) for column, (metric, _) in METRICS.items()} for k in table]
    sms = round(number(table[0]["sm__cycles_elapsed.sum"]) / number(table[0][ELAPSED_PER_SM]))
    kernels = [without_launch(kernel, rows[0], sms) for kernel in rows[1:]]
    times = [k["gpu_time_ns"] for k in kernels]
    active = [k["sm_active_cycles"] for k in kernels]
    values = {}
    for column, (_, merge) in METRICS.items():
        figures = [k[column] for k in kernels]
        weights = {SUM: None, BY_TIME: times, BY_ACTIVE: active}[merge]
        if weights is None:
            values[column] = sum(figures)
        else:
            total = sum(weights)
            values[column] = sum(f * w for f, w in zip(figures, weights)) / total if total else 0.0
    return values


def main():
    if len(sys.argv) < 4:
        say(__doc__)
        return 2
    program, profiles, log = sys.argv[1:4]
    rows = read_profiles(profiles)
    wanted = sys.argv[4:] or spread(list(dict.fromkeys(row["shape"] for row in rows)), 6)
    rows = [row for row in rows if row["shape"] in wanted]
    if not rows:
        raise SystemExit(f"{profiles}: no counted kernel of the shapes wanted")
    kernels = run_ncu(program, rows, log)
    expected = LAUNCHES * sum(1 + int(row["kernels"]) for row in rows)
    if len(kernels) != expected:
        raise SystemExit(f"ncu saw {len(kernels)} kernels, not {expected} (see {log})")

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["shape", "who", "config", "kernels", "figure", "gemmsmith", "ncu", "ncu_least",
                     "ncu_most", "difference", "unit", "within"])
    apart, compared = 0, 0
    for row in rows:
        count = 1 + int(row["kernels"])
        launches = []
        for _ in range(LAUNCHES):
            launches.append(merged(kernels[:count]))
            kernels = kernels[count:]
        ours = {column: number(row[column]) for column in METRICS}
        for name, unit, figure in FIGURES:
            mine, theirs = figure(ours), [figure(launch) for launch in launches]
            ncu = sum(theirs) / len(theirs)
            if unit == "points":
                difference = mine - ncu
            else:
                difference = 100 * (mine / ncu - 1) if ncu else (0.0 if mine == ncu else float("inf"))
            within = abs(difference) <= TOLERANCE or min(theirs) <= mine <= max(theirs)
            compared += 1
            apart += not within
            writer.writerow([row["shape"], row["who"], row["config"], row["kernels"], name,
                             f"{mine:.6g}", f"{ncu:.6g}", f"{min(theirs):.6g}", f"{max(theirs):.6g}",
                             f"{difference:.3f}", unit, "yes" if within else "no"])
    say(f"{compared - apart} of {compared} figures of {len(rows)} kernels are within "
        f"{TOLERANCE:g} points or {TOLERANCE:g} % of ncu's, or within its launches' spread")
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
