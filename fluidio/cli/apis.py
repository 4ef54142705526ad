"""`fluidio apis`: which names of Fluid work, differ or raise."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from fluidio.cli.api_table import PHASES, Api, judge, table
from fluidio.cli.json_output import json_text
from fluidio.cli.op_table import golden_cases, markdown

__all__ = ["HELP", "add_arguments", "run"]

HELP = "list which of Fluid's names work, differ or raise"

_STATUSES = ("works", "differs", "raises")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: fluidio apis --status raises"
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these names, e.g. fluid.layers.fc")
    parser.add_argument("--json", action="store_true", help="print a list of {name, phase, keywords, status, note}")
    parser.add_argument("--status", choices=_STATUSES, help="only names with this verdict")
    parser.add_argument("--ops", action="store_true", help="print the table of ops as Markdown instead (docs/ops.md)")
    parser.add_argument(
        "--onnx", action="store_true", help="list the ops of inference programs that cannot be exported to ONNX"
    )
    parser.add_argument("--golden", type=Path, metavar="DIR", help="with --ops: a folder of golden programs to name")


def run(args: argparse.Namespace) -> int:
    if args.ops:
        print(markdown(golden_cases(args.golden) if args.golden else {}), end="")
        return 0
    if args.onnx:
        return _tell_of_onnx(args.json)
    apis = [judge(Api(name, "-")) for name in args.names] if args.names else table()
    shown = [api for api in apis if args.status in (None, api.status)]
    if args.json:
        print(json_text([api.as_dict() for api in shown], indent=1))
        return 0
    width = max((len(api.name) for api in shown), default=0)
    for api in shown:
        print(f"{api.phase}  {api.status:<7}  {api.name:<{width}}  {api.note}".rstrip())
    if not args.names:
        print(_summary(apis))
    return 0


def _tell_of_onnx(as_json: bool) -> int:
    from fluidio.models.onnx.coverage import mapped, unmapped

    has, missing = mapped(), unmapped()
    if as_json:
        print(json_text({"mapped": has, "unmapped": missing}, indent=1))
        return 0
    for name, reason in missing.items():
        print(f"{name:<32} {reason}")
    print(f"\n{len(has)} ops have a form in ONNX, {len(missing)} have none")
    return 0


def _summary(apis: list[Api]) -> str:
    lines = [""]
    for phase, what in PHASES.items():
        counts = Counter(api.status for api in apis if api.phase == phase)
        total = sum(counts.values())
        parts = ", ".join(f"{counts[status]} {status}" for status in _STATUSES)
        lines.append(f"phase {phase} ({what}): {total} names: {parts}")
    return "\n".join(lines)
