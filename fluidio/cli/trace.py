"""`fluidio trace VERB`: compare the numbers of two runs."""

from __future__ import annotations

import argparse
import dataclasses
import importlib.resources
import sys

from fluidio.cli.json_output import json_text
from fluidio.pages.traces import Parting, compare, load_trace

HELP = "find where the losses of two runs diverge"
_EXAMPLES = """examples:
  fluidio run --record ours.json train.py
  fluidio trace recorder > fluidio_record.py              a recorder for the original Fluid
  python fluidio_record.py original.json train.py         run where the original is installed
  fluidio trace diff original.json ours.json
  fluidio view original.json ours.json                    the same as a page

exit status: 0 all agree; 1 they differ, or an error; 2 wrong usage; 130 interrupted"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog, parser.formatter_class = _EXAMPLES, argparse.RawDescriptionHelpFormatter
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    diff = verbs.add_parser("diff", help="compare fetched numbers step by step", description="compare fetched numbers")
    diff.add_argument("one", metavar="ONE.json", help="what `fluidio run --record` or the recorder wrote")
    diff.add_argument("other", metavar="OTHER.json")
    diff.add_argument("--rtol", type=float, default=1e-4, help="relative difference that is accepted (1e-4)")
    diff.add_argument("--atol", type=float, default=1e-7, help="absolute difference that is accepted (1e-7)")
    diff.add_argument("--json", action="store_true", help="print one JSON list")
    diff.epilog = "example: fluidio trace diff original.json ours.json"
    recorder = verbs.add_parser("recorder", help="print a script that records a run of the original Fluid")
    recorder.epilog = "example: fluidio trace recorder > fluidio_record.py"


def run(args: argparse.Namespace) -> int:
    if args.verb == "recorder":
        source = importlib.resources.files("fluidio.pages").joinpath("assets", "record_original.txt")
        print(source.read_text("utf-8"), end="")
        return 0
    found = compare(load_trace(args.one), load_trace(args.other), rtol=args.rtol, atol=args.atol)
    if not found:
        print("fluidio trace: the two have no fetched variable to compare", file=sys.stderr)
        return 1
    if args.json:
        print(json_text([dataclasses.asdict(each) for each in found], indent=2))
    else:
        print("\n".join(map(_line, found)))
    return int(any(each.step is not None or each.counts[0] != each.counts[1] for each in found))


def _line(found: Parting) -> str:
    name = found.name if found.name == found.other_name else f"{found.name} / {found.other_name}"
    count = min(found.counts)
    more = (
        "" if found.counts[0] == found.counts[1] else f"; one has {found.counts[0]} values, the other {found.counts[1]}"
    )
    if found.step is None or found.values is None:
        return f"{name}: {count} values agree, the largest difference is {found.largest:.2g}{more}"
    a, b = found.values
    most = f"the largest difference is {found.largest:.2g} at step {found.largest_step}"
    return f"{name}: diverges at step {found.step}: {a!r} and {b!r}; {most}{more}"
