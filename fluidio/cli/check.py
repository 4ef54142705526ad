"""`fluidio check FILE...`: verify every byte; `--repair IN OUT` saves the good chunks of a damaged file."""

from __future__ import annotations

import argparse
import sys

from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.repair import repair
from fluidio.recordio.files.survey import survey

HELP = "verify RecordIO files; --repair IN OUT copies the good chunks of a damaged one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: fluidio check --repair damaged.recordio good.recordio"
    parser.add_argument("files", nargs="*", metavar="FILE", help="a path, URL or glob to verify")
    parser.add_argument(
        "--repair", nargs=2, metavar=("IN", "OUT"), help="copy the good chunks of IN to the new file OUT"
    )


def run(args: argparse.Namespace) -> int:
    if args.repair:
        if args.files:
            print("fluidio check: --repair takes exactly IN and OUT", file=sys.stderr)
            return 2
        return _repair(*args.repair)
    if not args.files:
        print("fluidio check: name files to verify, or --repair IN OUT", file=sys.stderr)
        return 2
    damaged = [path for path in expand(args.files) if _check(path)]
    return int(bool(damaged))


def _check(path: str) -> bool:
    """Print one line (and one for each damage) about a file; True when it is damaged."""
    found = survey(path, verify=True, preview=0)
    verdict = "DAMAGED" if found.damage else "ok"
    print(f"{found.path}: {verdict}: {found.records} good records in {found.chunks} chunks")
    for note in found.notes:
        print(f"  note: {note}")
    for damage in found.damage:
        where = "" if damage.chunk is None else f"chunk {damage.chunk} at byte {damage.offset}: "
        print(f"  {where}{damage.problem}")
    return bool(found.damage)


def _repair(damaged: str, target: str) -> int:
    saved = repair(damaged, target)
    for error in saved.damage:
        print(f"left out: {error}")
    print(
        f"{target}: {saved.records} records in {saved.chunks} chunks saved, "
        f"{saved.bytes_lost} of {saved.bytes_kept + saved.bytes_lost} bytes dropped"
    )
    return 0
