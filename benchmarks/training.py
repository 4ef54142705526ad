"""Time training steps beside the real Fluid 1.8.5, one maths thread each, in turns.

    python benchmarks/training.py [--real /path/to/fluid185] [--seconds 3] [--rounds 3] [CASE ...]

On a busy machine compare the times of the processor, in parentheses.
`--real` is a Python with paddlepaddle 1.8.5 (or FLUIDIO_REAL_FLUID); without it only our own times are printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "training_cases.py"
LIMITS = {"mlp": 0.6, "lenet": 1.5, "lstm": 0.8, "text_conv": 1.0}
LEGACY = ["ner_crf", "tagspace", "word2vec", "ssd", "bert", "decoder", "ctc", "startup"]
"""Cases after real legacy programs; none may be slower than Fluid 1.8.5, with 5 % for noise."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CPU_NUM": "1"}


def run(python: list[str], case: str, seconds: float, which: str) -> tuple[float, float]:
    """Return milliseconds of a step in one fresh process: by the clock and of the processor."""
    env = {**os.environ, **ONE_THREAD, "FLUID_UNDER_TEST": which, "GLOG_minloglevel": "1"}
    if which != "paddle":
        env["PYTHONPATH"] = str(HERE.parent)
    done = subprocess.run(
        [*python, str(SCRIPT), case, str(seconds)], env=env, capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        raise SystemExit(f"{case} ({which}) failed:\n{done.stderr[-2000:]}")
    clock, busy = done.stdout.split()[-2:]
    return float(clock), float(busy)


def main() -> None:
    """Measure each case in turns and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[*LIMITS, *LEGACY])
    parser.add_argument("--real", default=os.environ.get("FLUIDIO_REAL_FLUID"))
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for case in options.cases:
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(run([sys.executable], case, options.seconds, "fluidio"))
            if options.real:
                theirs.append(run([options.real], case, options.seconds, "paddle"))
        clock, busy = (statistics.median(part) for part in zip(*ours))
        line = f"{case:10s} fluidio {clock:8.3f} ms ({busy:.3f} of the processor)"
        if theirs:
            their_clock, their_busy = (statistics.median(part) for part in zip(*theirs))
            line += f"   Fluid 1.8.5 {their_clock:8.3f} ms ({their_busy:.3f})"
            line += f"   ratio {clock / their_clock:.2f} ({busy / their_busy:.2f}), at most {LIMITS.get(case, 1.05)}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
