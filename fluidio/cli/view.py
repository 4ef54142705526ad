"""`fluidio view FILE...`: create the page about some files, and open it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
import webbrowser
from pathlib import Path

from fluidio.errors import ModelError
from fluidio.pages.page import write
from fluidio.recordio.format.dialects import MAGIC

HELP = "look at records, a program or runs as a page in the browser"
_EPILOG = """examples:
  fluidio view 'train-*-of-*'             records: files, columns, samples
  fluidio view train.py --args='--gpu 0'  the program of a script, run up to its first exe.run
  fluidio view a.json b.json              two runs side by side: what fluidio run --record wrote
  fluidio view model/ --profile profile   a saved model, with the times that fluid.profiler wrote"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog, parser.formatter_class = _EPILOG, argparse.RawDescriptionHelpFormatter
    parser.add_argument("--output", metavar="PAGE.html", help="where the page goes (else a temporary folder)")
    parser.add_argument("--no-open", action="store_true", help="write the page, and do not open a browser")
    parser.add_argument("--verify", action="store_true", help="records: read everything, not headers and a sample")
    parser.add_argument("--profile", metavar="TRACE", help="programs: the file that fluid.profiler has written")
    parser.add_argument("--fluid", metavar="VERSION", help="scripts: follow this version (else inferred)")
    parser.add_argument("--args", default="", metavar="TEXT", help="scripts: their arguments, in one text")
    parser.add_argument("files", nargs="+", metavar="FILE", help="RecordIO files, a saved model, a script or traces")


def run(args: argparse.Namespace) -> int:
    text = _page(args)
    path = args.output or os.path.join(tempfile.mkdtemp(prefix="fluidio-view-"), "page.html")
    write(path, text)
    print(path)
    if not args.no_open and not webbrowser.open(Path(path).absolute().as_uri()):
        print("fluidio view: found no browser to open it in", file=sys.stderr)
    return 0


def _page(args: argparse.Namespace) -> str:
    first = args.files[0]
    if first.endswith(".py"):
        return _script(args)
    if first.endswith(".json"):
        return _runs(args.files)
    if os.path.isdir(first) or _is_program(first):
        return _model(args)
    from fluidio.pages.records import records_page
    from fluidio.recordio.files.paths import expand

    return records_page(expand(args.files), verify=args.verify)


def _runs(files: list[str]) -> str:
    from fluidio.pages.compares import compare_page
    from fluidio.pages.runs import run_page
    from fluidio.pages.traces import load_trace

    if len(files) > 1:
        return compare_page(files)
    trace = load_trace(files[0])
    if "measured" not in trace:
        raise ModelError(f"{files[0]} is a file of plain numbers: name a second trace to compare it with")
    return run_page(trace)


def _is_program(path: str) -> bool:
    """Return whether a file is a saved program: ProgramDesc bytes begin with its first block."""
    if not os.path.isfile(path):
        return any(os.path.isfile(path + suffix) for suffix in (".pdmodel", ".pdparams"))
    with open(path, "rb") as file:
        start = file.read(4)
    return path.endswith(".pdmodel") or (start[:1] == b"\x0a" and start != MAGIC)


def _model(args: argparse.Namespace) -> str:
    from fluidio.pages.programs import costs_of_trace, program_page, programs_of_model

    (path,) = _one(args.files)
    costs = costs_of_trace(args.profile) if args.profile else None
    return program_page(programs_of_model(path), title=path, costs=costs)


def _script(args: argparse.Namespace) -> str:
    from fluidio.cli.run import follow
    from fluidio.era import nearest
    from fluidio.pages.programs import costs_of_trace, program_page, programs_of_script

    costs = costs_of_trace(args.profile) if args.profile else None
    (script,) = _one(args.files)
    follow(script, fluid=nearest(args.fluid) if args.fluid else None)
    programs = programs_of_script(script, shlex.split(args.args))
    return program_page(programs, title=os.path.basename(script), costs=costs)


def _one(files: list[str]) -> list[str]:
    if len(files) > 1:
        raise ModelError(f"view shows one program at a time, got {', '.join(files)}")
    return files
