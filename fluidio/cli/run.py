"""`fluidio run`: run legacy scripts unmodified."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fluidio.era import ERAS, nearest, set_era
from fluidio.flow.watchdog import WATCHDOG
from fluidio.paddle.capsule.modules import python_of
from fluidio.paddle.child import environment, install
from fluidio.paddle.infer_era import guess_era, local_sources

if TYPE_CHECKING:
    from fluidio.executor.run_stats import RunStats
    from fluidio.pages.recorder import Recorder

__all__ = ["HELP", "add_arguments", "run"]

HELP = "run a legacy script (`import paddle.fluid`) as it is"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: fluidio run --device cpu train.py --epochs 3"
    parser.usage = "fluidio run [options] SCRIPT [ARGS...]  |  -m MODULE [ARGS...]  |  -- COMMAND [ARGS...]"
    parser.add_argument("--fluid", metavar="VERSION", help=f"follow this version: {', '.join(ERAS)} (else inferred)")
    parser.add_argument("--device", metavar="cpu|gpu:0", help="cpu: run everything on the CPU, CUDA places included")
    parser.add_argument(
        "--stats", action="store_true", help="print steps, epochs, records/s and waiting time at the end"
    )
    parser.add_argument("--report", metavar="PAGE.html", help="write a page about the run: losses, waits, profile")
    parser.add_argument("--record", metavar="TRACE.json", help="keep every fetched number, for `fluidio trace diff`")
    parser.add_argument(
        "--watchdog",
        type=float,
        metavar="SECONDS",
        help="after so many seconds without progress, report which thread waits for what (default: 30; 0: never)",
    )
    parser.add_argument(
        "--fake-data", action="store_true", help="let paddle.dataset generate data where its files are missing"
    )
    parser.add_argument("--explain", action="store_true", help="list what was modernised, and on which lines")
    parser.add_argument("--python", choices=("2", "3"), help="treat the script as Python 2 or 3 (default: inferred)")
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE [ARGS...]", help="run a module instead of a file"
    )
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="SCRIPT [ARGS...]")


def run(args: argparse.Namespace) -> int:
    words = list(args.script)
    if args.module:
        args.module, *words = args.module
    command = bool(words) and words[0] == "--" and not args.module
    if command:
        words = words[1:]
    if not words and not args.module:
        print("fluidio run: which script? usage: fluidio run SCRIPT [ARGS...]", file=sys.stderr)
        return 2
    fluid = nearest(args.fluid) if args.fluid else None
    if args.device and not (args.device == "cpu" or args.device.partition(":")[0] in ("gpu", "cuda")):
        print(f"fluidio run: --device takes cpu or gpu:N, got {args.device!r}", file=sys.stderr)
        return 2
    if args.watchdog is not None:
        os.environ["FLUIDIO_WATCHDOG"] = str(args.watchdog)
        WATCHDOG.limit = max(0.0, args.watchdog)
    if args.fake_data:
        os.environ["FLUIDIO_FAKE_DATA"] = "1"
    if args.explain:
        os.environ["FLUIDIO_EXPLAIN"] = "1"
    if args.python:
        os.environ["FLUIDIO_PYTHON"] = args.python
    if command:
        return _run_command(words, environment(fluid=fluid, device=args.device))
    main_file = _main_file(args.module, words)
    if not args.module and not os.path.exists(main_file):
        print(f"fluidio run: can't open file {main_file!r}: no such file", file=sys.stderr)
        return 2
    follow(main_file, fluid=fluid, device=args.device, python=args.python)
    if args.device == "cpu":
        print("fluidio run: CUDA places run on the CPU (--device cpu)", file=sys.stderr)
    return _run_python(args, words)


def follow(main_file: str, *, fluid: str | None, device: str | None = None, python: str | None = None) -> None:
    """Make `paddle` refer to fluidio, for the script's versions of Fluid and Python; print them if inferred."""
    sources = _sources(main_file)
    if not python and not os.environ.get("FLUIDIO_PROGRAM_PYTHON"):
        os.environ["FLUIDIO_PROGRAM_PYTHON"] = str(_program_python(sources))
    if fluid is None and not os.environ.get("FLUIDIO_FLUID"):
        guess = guess_era(sources)
        fluid = guess.era
        print(f"fluidio run: following Fluid {guess.era} ({guess.sign}; --fluid VERSION chooses)", file=sys.stderr)
    os.environ.update(environment(fluid=fluid, device=device))
    install()
    if fluid:
        set_era(fluid)


def _main_file(module: str | None, words: list[str]) -> str:
    """Return the file that shows which Fluid a program is for; for a launcher, the script it starts."""
    if not module:
        return words[0]
    scripts = [word for word in words if word.endswith(".py")]
    if module.startswith("paddle.distributed.") and scripts:
        return scripts[0]
    return module.replace(".", "/") + ".py"


def _run_python(args: argparse.Namespace, words: list[str]) -> int:
    from fluidio.paddle.runner import run_module, run_script

    with _counting(args.stats) as stats, _watching(args.report, args.record) as recorder:
        status = run_module(args.module, words) if args.module else run_script(words[0], words[1:])
        if recorder is not None:
            recorder.status = status
    if stats is not None:
        print(stats.summary(), file=sys.stderr)
    for path in filter(None, [args.report, args.record]):
        print(f"fluidio run: wrote {path}", file=sys.stderr)
    return status


def _counting(wanted: bool) -> contextlib.AbstractContextManager[RunStats | None]:
    from fluidio.executor.run_stats import collect

    return collect() if wanted else contextlib.nullcontext()


def _watching(page: str | None, record: str | None) -> contextlib.AbstractContextManager[Recorder | None]:
    if not page and not record:
        return contextlib.nullcontext()
    from fluidio.pages.runs import watching

    return watching(page or "", record or "", live=True)


def _sources(script: str) -> list[tuple[str, str]]:
    return [(str(path), path.read_text("utf-8", "replace")) for path in local_sources(Path(script))]


def _program_python(sources: list[tuple[str, str]]) -> int:
    """Return 2 if some module can only be Python 2 and none only Python 3; 0 if nothing is conclusive."""
    found = set()
    for path, text in sources:
        try:
            found.add(python_of(text, path)[0])
        except SyntaxError:
            continue  # running it will report the location
    return 2 if 2 in found and 3 not in found else 0


def _run_command(words: list[str], variables: dict[str, str]) -> int:
    if words[:2] == ["paddle", "cp"]:  # of PaddlePaddle Cloud
        from fluidio.cli.dispatch import main

        return main(["cp", *words[2:]])
    try:
        return subprocess.run(words, env={**os.environ, **variables}, check=False).returncode
    except FileNotFoundError:
        print(f"fluidio run: {words[0]}: command not found", file=sys.stderr)
        return 127
