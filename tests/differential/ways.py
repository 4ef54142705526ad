"""Run drawn cases in fluidio alone, in two ways that must agree, and report where they differ.

python -m tests.differential.ways --seed 7 --count 2000 [--way passes] [--op conv2d] [--mutate]

    passes   plans that went through the passes which keep every bit, and plans that went through none
    fused    all passes, and none: to rounding
    threads  kernels that share their work among three threads, and one
    python   without the C, and with it: to rounding

Whatever is done for large arrays alone is done for small ones, too, so that drawn cases reach it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.differential.cases import draw_cases
from tests.differential.compare import Difference, compare
from tests.differential.sides import Side
from tests.differential.steadiness import judge

__all__ = ["WAYS", "differences", "prepare", "side"]

Case = dict[str, Any]


class Way(NamedTuple):
    """Two settings of fluidio, and whether they must give the same bits."""

    plain: str
    other: str
    exact: bool


_EXACT = "passes=unwanted,constants,shapes,chains,in_place"
WAYS = {
    "passes": Way("passes=none", _EXACT, True),
    "fused": Way("passes=none", "passes=all", False),
    "threads": Way("threads=1", "threads=3", True),
    "python": Way("threads=1", "compiled=no", False),
}
_THRESHOLDS = {
    "executor.passes.chains": {"_LARGE": 1},
    "executor.passes.in_place": {"_LARGE": 1},
    "ops.compiled.channels": {"_WORTH_A_THREAD": 1, "_WORTH_A_THREAD_TO_NORMALISE": 1},
    "ops.compiled.curves": {"_WORTH_A_THREAD": 1},
    "ops.compiled.elements": {"LARGE": 1, "_COLUMNS": 1, "_WORTH_A_THREAD": 1},
    "ops.compiled.layer_norm": {"_WORTH_A_THREAD": 1},
    "ops.compiled.products": {
        "_FEW_ROWS": 0,
        "_NARROW": 0,
        "_NARROW_IN_BATCHES": 0,
        "_PIECE": 3,
        "_SMALL": 0,
        "_WORTH_A_THREAD": 1,
    },
    "ops.compiled.segments": {"_WORTH_A_THREAD": 1},
    "ops.compiled.softmax": {"_LARGE": 1, "_NARROW": 1, "_WORTH_A_THREAD": 1},
    "ops.compiled.turned": {"_LARGE": 1, "_WORTH_A_THREAD": 1},
    "ops.compiled.updates": {"_ROWS_WORTH_A_THREAD": 1, "_WORTH_A_THREAD": 1},
    "ops.random.dropout": {"_WORTH_A_THREAD": 1},
    "ops.reductions": {"_WORTH_A_THREAD": 1},
    "ops.row_blocks": {"_BLOCK": 16, "_WORTH_A_SHARE": 1, "_WORTH_A_THREAD": 1},
    "ops.vision.fast_conv": {"_WORTH_A_COPY": 1, "_WORTH_A_THREAD": 1},
    "ops.vision.pool": {"_WORTH_A_THREAD": 1},
    "ops.vision.roi": {"_WORTH_A_THREAD": 1},
}


def prepare(setting: str) -> None:
    """Set this process up to run cases in one way."""
    name, _, value = setting.partition("=")
    if name == "passes":
        os.environ["FLUIDIO_PASSES"] = value
    for module, constants in _THRESHOLDS.items():
        found = importlib.import_module(f"fluidio.{module}")
        for constant, small in constants.items():
            assert hasattr(found, constant), f"{module} has no {constant}"
            setattr(found, constant, small)
    # The BLAS has read its own number of threads by now.
    os.environ["OPENBLAS_NUM_THREADS"] = value if name == "threads" else "1"
    if name == "compiled":
        for module, found in list(sys.modules.items()):
            for part in ("compiled", "others", "aligned"):
                file = getattr(getattr(found, part, None), "__file__", None) or ".py"
                if module.startswith("fluidio.") and not file.endswith(".py"):
                    vars(found)[part] = None


def side(setting: str) -> Side:
    """Return a process that runs cases with a setting."""
    return Side([sys.executable, str(Path(__file__).with_name("server.py")), f"ours:{setting}"])


def differences(way: Way, case: Case, plain: Case, other: Case) -> list[Difference]:
    """Return in what the two results of a case differ."""
    if "error" in plain and "error" in other:
        same = plain["error"]["type"] == other["error"]["type"]
        return [] if same else [Difference("error", "type", f"{plain['error']} / {other['error']}")]
    if not way.exact or not ("values" in plain and "values" in other):
        found = compare(plain, other)
        if not found and "error" in plain:
            found = [Difference("error", "not raised", str(plain["error"]))]
        return found
    keys = sorted({*plain["values"], *other["values"]})
    unlike = [key for key in keys if plain["values"].get(key) != other["values"].get(key)]
    shown = {one.where: one.how for one in compare(plain, other)}
    return [Difference("bits", key, shown.get(key, "within rounding")) for key in unlike]


def _answer(one: Side, case: Case) -> Case:
    """Run a case; once more where it did not end, as the machine may have been busy."""
    result = one.run(case)
    return one.run(case) if "crash" in result else result


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.differential.ways", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="number of cases")
    parser.add_argument("--op", action="append", default=[], help="only this op or program (repeat for several)")
    parser.add_argument("--way", choices=WAYS, action="append", help="only this way (repeat for several)")
    parser.add_argument("--mutate", action="store_true", help="change the drawn ops by their protos; no programs")
    options = parser.parse_args()
    failed = 0
    for name in options.way or WAYS:
        counts = _compare_all(name, options)
        print(f"{name}: {dict(counts)}", flush=True)
        failed += counts["different"]
    return 1 if failed else 0


def _compare_all(name: str, options: argparse.Namespace) -> Counter[str]:
    way, counts = WAYS[name], Counter[str]()
    sides = side(way.plain), side(way.other)
    with ThreadPoolExecutor(2) as pool:
        try:
            for case in draw_cases(options.seed, options.count, options.op, options.mutate):
                plain, other = (one.result() for one in [pool.submit(_answer, each, case) for each in sides])
                found = differences(way, case, plain, other)
                if found and not way.exact and judge((sides[0].run, sides[1].run), case, plain, other, found):
                    counts["rounding decides"] += 1
                elif found:
                    counts["different"] += 1
                    print(
                        f"-- {name} {case['id']}", *(f"    {' '.join(one)}" for one in found[:5]), sep="\n", flush=True
                    )
                else:
                    counts["refused" if "error" in plain else "the same"] += 1
        finally:
            for one in sides:
                one.close()
    return counts


if __name__ == "__main__":
    raise SystemExit(main())
