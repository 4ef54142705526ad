"""`fluidio convert SOURCE --output PREFIX`: parallel generation of RecordIO shards, from a template or a data set."""

from __future__ import annotations

import argparse
import glob
import sys
from collections.abc import Sequence
from typing import Any

from fluidio.cli.terminal import bytes_text, one_line, several
from fluidio.conversion import storage, templates
from fluidio.conversion.new_set import named_prefix
from fluidio.conversion.templates import NAMES
from fluidio.errors import ConversionError
from fluidio.recordio.files.notes import MANIFEST
from fluidio.recordio.files.paths import expand

HELP = "make RecordIO shards in parallel, from a template, a paddle.dataset reader or tables"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "fluidio convert SOURCE --output PREFIX [options] [-- TEMPLATE ARGS]  |  --init NAME DIR"
    parser.epilog = (
        "example: fluidio convert imagenet.py --output out/train --partitions 8 -- --image_dir train\n\n"
        "`fluidio convert FILE --output PREFIX -- --help` lists the options for tables or JSON lines: nulls, text, "
        "delimiters"
    )
    sources = "a template (script, folder or module), dataset:mnist.train, or files: Parquet, Arrow, CSV, JSON lines"
    parser.add_argument("source", nargs="*", help=sources)
    _add_options(parser)
    parse = parser.parse_args

    def parse_args(args: Sequence[str], namespace: Any = None) -> argparse.Namespace:
        """Leave everything after `--` to the template."""
        words = list(args)
        cut = words.index("--") if "--" in words else len(words)
        if "--mindrecord_script" in words[:cut]:
            return _as_mindrecord(words[:cut], words[cut + 1 :])
        found: argparse.Namespace = parse(words[:cut], namespace)
        found.template_args = words[cut + 1 :]
        found.source = _source(parser, found)
        return found

    parser.parse_args = parse_args  # type: ignore[assignment,method-assign]


def _source(parser: argparse.ArgumentParser, found: argparse.Namespace) -> str | None:
    """Return the template to use; data files become arguments of the template that reads them."""
    files = found.source = [path for source in found.source for path in _matches(source)]
    if files and (template := templates.for_file(files[0])) is not None:
        if any(templates.for_file(path) != template for path in files):
            parser.error("files of one kind are expected: JSON lines, or tables")
        found.name, found.inputs = files[0], files
        found.template_args = ["--files", *files, *found.template_args]
        return template
    if len(files) > 1:
        parser.error(f"one template is expected, not {' '.join(files)}")
    return files[0] if files else None


def _matches(source: str) -> list[str]:
    """Return the files that a glob stands for; other words stand for themselves."""
    return [str(path) for path in expand(source)] if glob.has_magic(source) else [source]


def _add_options(parser: argparse.ArgumentParser) -> None:
    mindrecord = "--mindrecord_"  # MindRecord's spellings
    parser.add_argument(f"{mindrecord}script", dest="script", help=argparse.SUPPRESS)
    add = parser.add_argument
    add("--output", f"{mindrecord}file", metavar="PREFIX", help="path or URL that the names of the shards begin with")
    add(
        "--partitions",
        "--shards",
        f"{mindrecord}partitions",
        type=int,
        default=1,
        metavar="N",
        help="number of shards (default: 1)",
    )
    add("--workers", f"{mindrecord}workers", type=int, metavar="M", help="number of processes (default: one per core)")
    add("--executor", metavar="MODULE:FACTORY", help="where to run the tasks, e.g. Dask or MPI")
    add("--compressor", choices=["snappy", "none", "zstd"], default="snappy", help="default: %(default)s")
    add("--restart", action="store_true", help="discard earlier work for this output")
    add("--quiet", action="store_true", help="no progress line")
    add("--init", nargs=2, metavar=("NAME", "DIR"), help=f"copy a template: {', '.join(NAMES)}")


def _as_mindrecord(words: list[str], more: list[str]) -> argparse.Namespace:
    """Parse a command of MindRecord's writer, where the template's arguments are mixed with its own."""
    parser = argparse.ArgumentParser(prog="fluidio convert", allow_abbrev=False)
    _add_options(parser)
    found, rest = parser.parse_known_args(words)
    found.source, found.template_args = templates.path_of(found.script), rest + more
    return found


def run(args: argparse.Namespace) -> int:
    if args.init:
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
    except RuntimeError as error:  # files of the data set are unavailable; the text says what to do
        raise ConversionError(f"{args.source}: {error}") from error
    print(f"{paths[0]}: first of {several(len(paths), 'shard')}")
    print(f"read them with paddle.reader.creator.recordio({output + '-*-of-*'!r})")
    return 0


def _template(args: argparse.Namespace) -> int:
    from fluidio.conversion.generate import generate
    from fluidio.conversion.progress import terminal

    output = named_prefix(args.output, getattr(args, "name", args.source))
    before = _manifest_of(output)
    manifest = generate(
        args.source,
        output,
        args.partitions,
        workers=args.workers,
        args=args.template_args,
        inputs=getattr(args, "inputs", ()),
        executor=args.executor,
        compressor=args.compressor,
        restart=args.restart,
        progress=terminal(quiet=args.quiet),
    )
    size = sum(shard["bytes"] for shard in manifest["shards"])
    names = ", ".join(slot["name"] for slot in manifest["slots"])
    made = f"{several(manifest['records'], 'record')} ({names}), {bytes_text(size)}"
    print(one_line(f"{made} in {several(len(manifest['shards']), 'shard')}"))
    print(f"manifest: {output}{MANIFEST}")
    if before is not None and before == _manifest_of(output) and not args.restart:
        print("Everything was already there from an earlier run; --restart makes it again.")
    return 0


def _manifest_of(output: str) -> list[str | int] | None:
    """Return what changes with the manifest of an output; None if there is none."""
    path = output + MANIFEST
    return storage.identity(path) if storage.exists(path) else None
