"""`fluidio port`: what a script needs, and the script rewritten for today's Python."""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from fluidio.cli.api_table import Api, judge
from fluidio.paddle.calls import Use, find_uses
from fluidio.paddle.capsule.cookies import read_source, without_cookie
from fluidio.paddle.capsule.modules import Renewed, renew
from fluidio.paddle.verdicts import nearest

__all__ = ["HELP", "add_arguments", "run"]

HELP = "report what a legacy script needs; rewrite it for today's Python and NumPy"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: fluidio port train.py -o new_train.py"
    parser.add_argument("paths", nargs="+", metavar="SCRIPT|FOLDER", help="scripts, or folders of scripts")
    parser.add_argument("-o", "--output", metavar="OUT", help="write the modernised script here (- for stdout)")
    parser.add_argument(
        "--check", action="store_true", help="print a table for each file; exit with 1 if anything would raise"
    )
    parser.add_argument("--all", action="store_true", help="also list the calls that work")


def run(args: argparse.Namespace) -> int:
    scripts = list(_scripts(args.paths))
    if not scripts:
        print(f"fluidio port: no Python file in {', '.join(args.paths)}", file=sys.stderr)
        return 2
    if args.output and len(scripts) > 1:
        print("fluidio port: -o takes one script", file=sys.stderr)
        return 2
    raising = 0
    for script in scripts:
        raising += _report(script, args)
    if args.check:
        print(f"{len(scripts)} files, {raising} calls that raise")
    return 1 if args.check and raising else 0


def _scripts(paths: Iterable[str]) -> Iterable[Path]:
    for name in paths:
        path = Path(name)
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*.py") if "site-packages" not in p.parts)
        elif path.is_file():
            yield path
        else:
            raise FileNotFoundError(f"{name}: there is no such file")


def _report(script: Path, args: argparse.Namespace) -> int:
    text = read_source(script.read_bytes())
    try:
        renewed = renew(text, str(script))
    except SyntaxError as error:
        print(f"{script}:{error.lineno}: not Python: {error.msg}", file=sys.stderr)
        return 1
    text = without_cookie(renewed.with_imports())
    verdicts = [(use, verdict_on(use)) for use in find_uses(ast.parse(renewed.text))]
    counts = Counter(verdict.status for _, verdict in verdicts)
    if args.output == "-":
        print(text, end="")
        return counts["raises"]
    _print(script, verdicts, renewed, counts, args)
    if args.output:
        Path(args.output).write_text(text, encoding="utf-8")
        print(f"written to {args.output}; run it with: python -m fluidio run {args.output}")
    return counts["raises"]


def verdict_on(use: Use) -> Api:
    """Judge one use as `fluidio apis` judges its name, with the keywords of this call."""
    verdict = judge(Api(use.api, "-", list(use.keywords)))
    if verdict.note == "not here":
        verdict.note = nearest(use.api)
    return verdict


def _print(
    script: Path, verdicts: list[tuple[Use, Api]], renewed: Renewed, counts: Counter[str], args: argparse.Namespace
) -> None:
    words = [f"{counts[status]} {status}" for status in ("works", "differs", "raises") if counts[status]]
    print(f"{script}: {', '.join(words) or 'no paddle names'}")
    if renewed.python == 2:
        print(f"  Python 2: {renewed.reason}")
    for change in renewed.changes:
        print(f"  line {change.line}: {change.old} -> {change.new} ({change.since})")
    for use, verdict in verdicts:
        if verdict.status != "works" or args.all:
            note = f": {verdict.note}" if verdict.note else ""
            print(f"  line {use.line}: {use.api} {verdict.status}{note}")
