"""`fluidio cp FILE... DIR`: copy files to or from a store; the short form of `fluidio records cp`."""

from __future__ import annotations

import argparse

from fluidio.cli.terminal import several

HELP = "copy files to or from a store: parallel, verified, resumable"
EXAMPLE = "example: fluidio cp 'out/train-*-of-*' s3://bucket/train/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("files", nargs="+", metavar="FILE", help="paths, URLs or globs; manifests are copied too")
    parser.add_argument("target", metavar="DIR", help="a folder or URL")
    parser.add_argument(
        "--workers", type=int, default=4, metavar="M", help="files to copy at a time (default: %(default)s)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress line")


def run(args: argparse.Namespace) -> int:
    from fluidio.conversion.copying import copy
    from fluidio.conversion.progress import terminal

    paths = copy(args.files, args.target, workers=args.workers, progress=terminal(quiet=args.quiet))
    print(f"{several(len(paths), 'file')} in {args.target}, compared by SHA-256")
    return 0
