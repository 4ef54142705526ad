"""`fluidio convert SOURCE --output PREFIX`: parallel generation of RecordIO shards, from a template or a data set."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from fluidio.conversion import storage
from fluidio.conversion.new_set import named_prefix
from fluidio.conversion.templates import NAMES
from fluidio.errors import ConversionError
from fluidio.recordio.files.notes import MANIFEST

HELP = "make RecordIO shards: from a template module in parallel, or from a paddle.dataset reader"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "fluidio convert SOURCE --output PREFIX [options] [-- TEMPLATE ARGS]  |  --init NAME DIR"
    parser.add_argument("source", nargs="?", help="a template (script, folder or module), or dataset:mnist.train")
    parser.add_argument("--output", metavar="PREFIX", help="what the paths or URLs of the shards begin with")
    parser.add_argument("--partitions", "--shards", type=int, default=1, metavar="N", help="how many shards (1)")
    parser.add_argument("--workers", type=int, metavar="M", help="processes (as many as there are processors)")
    parser.add_argument("--executor", metavar="MODULE:FACTORY", help="run tasks there, e.g. on Dask or MPI")
    parser.add_argument("--compressor", choices=["snappy", "none"], default="snappy")
    parser.add_argument("--restart", action="store_true", help="throw earlier work for this output away")
    parser.add_argument("--quiet", action="store_true", help="no progress line")
    parser.add_argument("--init", nargs=2, metavar=("NAME", "DIR"), help=f"copy a template: {', '.join(NAMES)}")
    parse = parser.parse_args

    def parse_args(args: Sequence[str], namespace: Any = None) -> argparse.Namespace:
        """Leave everything behind `--` to the template."""
        words = list(args)
        cut = words.index("--") if "--" in words else len(words)
        found: argparse.Namespace = parse(words[:cut], namespace)
        found.template_args = words[cut + 1 :]
        return found

    parser.parse_args = parse_args  # type: ignore[assignment,method-assign]


def run(args: argparse.Namespace) -> int:
    if args.init:
        from fluidio.conversion import templates

        path = templates.copy(*args.init)
        print(f"{path}: edit it, then run `fluidio convert {path} --output PREFIX --partitions N`")
        return 0
    if not args.source or not args.output:
        print("fluidio convert: name a SOURCE and --output PREFIX, or --init NAME DIR", file=sys.stderr)
        return 2
    if args.partitions < 1 or (args.workers is not None and args.workers < 1):
        print("fluidio convert: --partitions and --workers are at least 1", file=sys.stderr)
        return 2
    return _dataset(args) if args.source.startswith("dataset:") else _template(args)


def _dataset(args: argparse.Namespace) -> int:
    from fluidio.conversion.datasets import find_reader
    from fluidio.conversion.shards import convert

    output = named_prefix(args.output, args.source.rpartition(".")[2])
    folder, name = storage.parent(output), storage.name_of(output)
    try:
        reader = find_reader(args.source, args.template_args)
        paths = convert(folder, reader, args.partitions, name, compressor=args.compressor)
    except RuntimeError as error:  # files of the data set cannot be had; the text says what to do
        raise ConversionError(f"{args.source}: {error}") from error
    print(f"{paths[0]}: first of {len(paths)} shards")
    print(f"read them with paddle.reader.creator.recordio({output + '-*-of-*'!r})")
    return 0


def _template(args: argparse.Namespace) -> int:
    from fluidio.conversion.generate import generate

    output = named_prefix(args.output, args.source)
    manifest = generate(
        args.source,
        output,
        args.partitions,
        workers=args.workers,
        args=args.template_args,
        executor=args.executor,
        compressor=args.compressor,
        restart=args.restart,
        progress=None if args.quiet else sys.stderr,
    )
    size = sum(shard["bytes"] for shard in manifest["shards"])
    names = ", ".join(slot["name"] for slot in manifest["slots"])
    print(f"{manifest['records']} records ({names}), {size / 1e6:.1f} MB in {len(manifest['shards'])} shards")
    print(f"manifest: {output}{MANIFEST}")
    return 0
