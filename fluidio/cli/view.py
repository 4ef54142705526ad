"""`fluidio view FILE...`: make the page about some files, and open it."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import webbrowser
from pathlib import Path

from fluidio.pages.choose import page_of
from fluidio.pages.page import write

HELP = "look at records as a page in the browser"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="RecordIO files (paths, URLs or globs)")
    parser.add_argument("--output", metavar="PAGE.html", help="where the page goes (else a temporary folder)")
    parser.add_argument("--no-open", action="store_true", help="write the page, and do not open a browser")
    parser.add_argument("--verify", action="store_true", help="records: read everything, not headers and a sample")


def run(args: argparse.Namespace) -> int:
    text = page_of(args.files, verify=args.verify)
    path = args.output or os.path.join(tempfile.mkdtemp(prefix="fluidio-view-"), "page.html")
    write(path, text)
    print(path)
    if not args.no_open and not webbrowser.open(Path(path).absolute().as_uri()):
        print("fluidio view: there is no browser here to open it in", file=sys.stderr)
    return 0
