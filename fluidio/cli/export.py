"""`fluidio export FILE... --to FORMAT --output DIR`: between RecordIO, Parquet, Arrow, TFRecord, WebDataset and npz."""

from __future__ import annotations

import argparse
import os
import sys

from fluidio.cli.terminal import several

FORMATS = ("arrow", "npz", "parquet", "recordio", "tfrecord", "webdataset")
HELP = "turn RecordIO into Parquet, Arrow, TFRecord, WebDataset or npz, and back; MXNet's .rec into RecordIO"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: fluidio export 'data/part-*.recordio' --to parquet --output parquet/"
    parser.add_argument("files", nargs="+", metavar="FILE", help="paths, URLs or globs; each file becomes one file")
    parser.add_argument("--to", required=True, choices=FORMATS, help="the new format")
    parser.add_argument(
        "--from", dest="source", choices=(*FORMATS, "mxnet"), help="the current format (default: by file name)"
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="the folder for the new files")
    parser.add_argument(
        "--names", metavar="A,B,...", help="names of the slots (default: the manifest's, or slot_0, ...)"
    )
    parser.add_argument(
        "--nulls",
        metavar="drop|VALUE",
        help="leave rows with nulls out, or put a value there (default: refuse)",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="M", help="default: one per core")
    parser.add_argument("--quiet", action="store_true", help="no progress line")


def run(args: argparse.Namespace) -> int:
    from fluidio.conversion.export import export
    from fluidio.conversion.progress import terminal

    if args.workers < 1:
        print("fluidio export: --workers is at least 1", file=sys.stderr)
        return 2
    paths = export(
        args.files,
        args.to,
        args.output,
        names=[name.strip() for name in args.names.split(",")] if args.names else None,
        source_format=args.source,
        nulls=args.nulls,
        workers=args.workers,
        progress=terminal(quiet=args.quiet),
    )
    print(f"{several(len(paths), 'file')} in {args.output}, the first is {paths[0]}")
    return 0
