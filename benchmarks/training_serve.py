"""The child process of `training.py`, for Python 3.7 and later: train on command, and report how long steps took.

Lines in: "run SECONDS" or "end". Lines out: "ready", "ms MEDIAN", and at the end "peak MEGABYTES" beyond the imports.
"""

import resource
import sys
import time


def resident():
    """Return the megabytes that this process holds now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def serve(make):
    """Get a function that trains one step from `make`, then follow the parent's commands."""
    imported = resident()
    step = make()
    step()
    step()
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "end":
            break
        print("ms %.4f" % median(step, float(words[1])), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print("peak %.1f" % (peak - imported), flush=True)


def median(step, seconds):
    """Train for about this long, at least one step; return the median time of a step in milliseconds."""
    times = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2] * 1e3
