"""Two ways to do the same work, timed in turns, so that the clock's moods meet both."""

import statistics

import torch


def elapsed_us(function, calls=1):
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        function()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1000 / calls


def interval(values):
    """The median and the 95 % interval of the median, by order statistics."""
    ordered = sorted(values)
    count = len(ordered)
    reach = 0.98 * count**0.5  # 1.96 standard deviations of a binomial with p = 1/2
    low = max(0, int(count / 2 - reach))
    high = min(count - 1, int(count / 2 + reach))
    return {"median": statistics.median(ordered), "low": ordered[low], "high": ordered[high]}


def compare(plain, ours, pairs=30, calls=1, measure=elapsed_us):
    """Times of both, and plain over ours (above 1: ours is faster) of each pair, in turns ABBA."""
    for function in (plain, ours):
        for _ in range(3):
            measure(function, calls)
    times = {"plain": [], "ours": []}
    for pair in range(pairs):
        ways = [("plain", plain), ("ours", ours)]
        for name, function in ways if pair % 2 == 0 else reversed(ways):
            times[name].append(measure(function, calls))
    ratios = [a / b for a, b in zip(times["plain"], times["ours"])]
    return {
        "plain_us": interval(times["plain"]),
        "ours_us": interval(times["ours"]),
        "speedup": interval(ratios),
    }


def alone(function, repeats=30, calls=1):
    for _ in range(3):
        elapsed_us(function, calls)
    return {"plain_us": interval([elapsed_us(function, calls) for _ in range(repeats)])}
