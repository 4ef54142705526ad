"""`fluidio check FILE...`: verify every byte; `--repair IN OUT` saves the good chunks of a damaged file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from fluidio.cli.terminal import one_line, several
from fluidio.conversion import storage
from fluidio.conversion.progress import BYTES, note, say, showing
from fluidio.recordio.files.notes import shard_noted
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.pipes import piped
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
    paths = expand(args.files, compare=False)
    with showing(lambda: sum(map(storage.size, paths)), BYTES):
        damaged = [path for path in paths if _check(path)]
    return int(bool(damaged))


def _check(path: Any) -> bool:
    """Print one line (and one for each problem) about a file; return True if damaged or contrary to its manifest."""
    found = survey(path, verify=True, preview=0, report=note)
    noted = shard_noted(path) if isinstance(path, str) and not found.damage else {}
    changes = list(_changes(path, found.records, noted))
    verdict = "DAMAGED" if found.damage else "CHANGED" if changes else "ok"
    counted = f"{several(found.records, 'good record')} in {several(found.chunks, 'chunk')}"
    say(one_line(f"{piped(found.path) or found.path}: {verdict}: {counted}"))
    for each in found.notes:
        say(f"  note: {each}")
    for damage in found.damage:
        where = "" if damage.chunk is None else f"chunk {damage.chunk} at byte {damage.offset}: "
        say(f"  {where}{damage.problem}")
    if changes:  # a file that was cut between two chunks is sound in itself
        say(f"  its manifest says {changes[0]}: the file was cut, continued or replaced since")
    return bool(found.damage or changes)


def _changes(path: str, records: int, noted: dict[str, object]) -> Iterator[str]:
    """Yield what the manifest of a sound file says and the file does not."""
    if not noted:
        return
    wanted, size, digest = noted.get("records"), noted.get("bytes"), noted.get("sha256")
    if isinstance(wanted, int) and wanted != records:
        yield f"{wanted} records"
    there = storage.size(path)
    if isinstance(size, int) and size != there:
        yield f"{size} bytes, and there are {there}"
    elif isinstance(digest, str) and storage.digest(path)[1] != digest:
        yield f"SHA-256 {digest[:16]}..., and it is another one"


def _repair(damaged: str, target: str) -> int:
    storage.make_folder(storage.parent(target))
    with storage.naming(target):
        saved = repair(damaged, target)
    for error in saved.damage:
        print(f"left out: {error}")
    print(
        f"{target}: {several(saved.records, 'record')} in {several(saved.chunks, 'chunk')} saved, "
        f"{saved.bytes_lost} of {saved.bytes_kept + saved.bytes_lost} bytes dropped"
    )
    return 0
