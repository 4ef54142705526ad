"""`fluidio records VERB`: show, split, shuffle, copy and compare records; see also record_verbs."""

from __future__ import annotations

import argparse
import sys

from fluidio.cli import cp
from fluidio.cli.record_verbs import VERBS, add_verbs, natural, run_verb, shards_made, show_progress
from fluidio.recordio.files.paths import expand

HELP = "head, cat, count, stats, sample, filter, select, map, merge, sort, diff, split, shuffle, recompress, cp"
_COMPRESSORS = ("snappy", "none", "gzip", "zstd")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: fluidio records head 'train-*-of-*' -n 3; `fluidio records VERB --help` has one for each"
    actions = parser.add_subparsers(dest="action", required=True, metavar="VERB")
    add_verbs(actions)
    split = actions.add_parser(
        "split",
        help="split into shards of equal size, in order",
        description="split into shards of equal size, in order",
        epilog="example: fluidio records split a.recordio --shards 8 --output out/a",
    )
    shuffle = actions.add_parser(
        "shuffle",
        help="shuffle all records, in bounded memory",
        description="shuffle all records, in bounded memory",
        epilog="example: fluidio records shuffle 'out/a-*' --shards 8 --output mixed/a --seed 1",
    )
    for action in (split, shuffle):
        action.add_argument("files", nargs="+", metavar="FILE", help="paths, URLs, globs or - (standard input)")
        action.add_argument("--output", required=True, metavar="PREFIX", help="PREFIX-00000-of-... are written")
        action.add_argument("--shards", type=int, required=True, metavar="N", help="how many")
        action.add_argument("--compressor", choices=_COMPRESSORS, default="snappy", help="default: %(default)s")
    shuffle.add_argument("--seed", type=natural, default=0, help="another number gives another order (default: 0)")
    shuffle.add_argument("--memory", type=int, default=256, metavar="MB", help="memory to use (default: 256)")
    recompress = actions.add_parser(
        "recompress",
        help="write the same records with another compressor or dialect",
        description="write the same records with another compressor or dialect, file by file",
        epilog="example: fluidio records recompress 'mixed/a-*' --compressor none --output plain/",
    )
    recompress.add_argument("files", nargs="+", metavar="FILE", help="paths, URLs or globs; each file becomes one file")
    recompress.add_argument("--output", required=True, metavar="DIR", help="the folder for the new files")
    recompress.add_argument("--compressor", choices=_COMPRESSORS, required=True)
    recompress.add_argument("--dialect", choices=["fluid", "go", "elasticdl"], help="default: that of each file")
    copy = actions.add_parser("cp", help=cp.HELP, description=cp.HELP, epilog=cp.EXAMPLE)
    cp.add_arguments(copy)


def run(args: argparse.Namespace) -> int:
    if args.action == "cp":
        return cp.run(args)
    if args.action in VERBS:
        return run_verb(args)
    if args.action == "recompress":
        return _recompress(args)
    from fluidio.conversion import reshard

    if args.shards < 1:
        print("fluidio records: --shards is at least 1", file=sys.stderr)
        return 2
    files = expand(args.files)
    with show_progress(files):
        if args.action == "split":
            paths = reshard.split(files, args.output, args.shards, compressor=args.compressor)
        else:
            paths = reshard.shuffle(
                files,
                args.output,
                args.shards,
                seed=args.seed,
                memory=max(1, args.memory) << 20,
                compressor=args.compressor,
            )
    print(shards_made(paths))
    return 0


def _recompress(args: argparse.Namespace) -> int:
    from fluidio.conversion import storage
    from fluidio.conversion.reshard import recompress_all

    paths = expand(args.files)
    targets = [storage.join(args.output, storage.name_of(path)) for path in paths]
    for target in targets:
        if storage.exists(target):
            print(f"fluidio records: {target} exists: choose another folder", file=sys.stderr)
            return 1
    with show_progress(paths):
        sizes = recompress_all(paths, targets, args.compressor, dialect=args.dialect)
    for target, (before, after) in zip(targets, sizes):
        print(f"{target}: {before} -> {after} bytes")
    return 0
