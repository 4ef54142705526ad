"""Draw random programs, run them on the real 1.8.5 and on fluidio, and report where they differ.

FLUID185=/path/to/fluid185 python -m tests.differential --seed 7 --count 3000 [--op conv2d] [--show 2]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.differential.cases import draw_cases
from tests.differential.compare import compare, verdict
from tests.differential.coverage import coverage, covered
from tests.differential.misuse import misuse, misused
from tests.differential.mutate import mutate
from tests.differential.report import Report
from tests.differential.sides import Side, ours, real
from tests.differential.steadiness import judge
from tests.differential.stored import Store


def main() -> int:
    options = _options()
    theirs = real()
    if theirs is None:
        print("FLUID185 must name the launcher of the real 1.8.5", file=sys.stderr)
        return 2
    report = Report()
    try:
        _compare_all(options, theirs, report)
    finally:
        if options.table:
            Path(options.table).write_text(report.table() + "\n\n" + report.rare() + "\n", "utf-8")
        print(report.summary())
        if options.differing:
            _write_differing(report, Path(options.differing))
    return 1 if report.differing else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000, help="number of cases")
    parser.add_argument("--op", action="append", default=[], help="only this op or program (repeat for several)")
    parser.add_argument("--show", type=int, default=1, help="differing cases to show for each op")
    parser.add_argument("--kind", action="append", default=[], help="only these kinds of differences")
    parser.add_argument("--case", action="store_true", help="print the cases that differ")
    parser.add_argument("--refused", action="store_true", help="show why the real one refuses, for each op once")
    parser.add_argument("--store", type=int, default=0, help="keep so many agreeing cases of each op as golden data")
    parser.add_argument("--mutate", action="store_true", help="change the drawn ops by their protos; no programs")
    parser.add_argument("--misuse", action="store_true", help="change one argument of the drawn calls of layers")
    parser.add_argument("--table", metavar="FILE", help="write the counts per op and attribute")
    parser.add_argument("--differing", metavar="FILE", help="write the cases that differ, as JSON lines")
    return parser.parse_args()


def _compare_all(options: argparse.Namespace, theirs: Side, report: Report) -> None:
    change = mutate if options.mutate else misuse if options.misuse else None
    differing = misused if options.misuse else compare
    mine, store = ours(), Store(options.store, coverage() if options.store else {})
    with ThreadPoolExecutor(2) as pool:
        try:
            for case in draw_cases(options.seed, options.count, options.op, change, report):
                answers = [pool.submit(side.run, case) for side in (theirs, mine)]
                expected, found = (answer.result() for answer in answers)
                differences = [
                    one for one in differing(expected, found) if not options.kind or one.kind in options.kind
                ]
                state = verdict(expected, found)
                reason = (
                    judge((theirs.run, mine.run), case, expected, found, differences)
                    if differences and "values" in expected
                    else ""
                )
                if reason:
                    state, differences = reason, []
                report.add(case, state, differences)
                if state == "compared" and not differences:
                    store.add(case, expected, covered(case))
                if options.refused and "only ours" in state and report.verdicts[case["about"]][state] == 1:
                    _show(case, [(state, str(expected.get("error", expected.get("crash"))))], options.case)
                if differences and len(report.differing[case["about"]]) <= options.show:
                    _show(case, differences, options.case)
        finally:
            theirs.close()
            mine.close()
    store.write()


def _show(case: dict[str, Any], differences: Sequence[tuple[str, ...]], whole: bool) -> None:
    print(f"-- {case['id']}")
    for difference in differences[:6]:
        print("   ", *difference)
    if whole:
        print("   ", json.dumps(case))
    sys.stdout.flush()


def _write_differing(report: Report, path: Path) -> None:
    lines = [json.dumps(case) for found in report.differing.values() for case, _ in found]
    path.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
