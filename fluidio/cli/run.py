"""`fluidio run`: legacy scripts, unmodified."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from fluidio.era import ERAS, nearest, set_era
from fluidio.paddle.child import environment, install
from fluidio.paddle.infer_era import Guess, guess_era, local_sources

__all__ = ["HELP", "add_arguments", "run"]

HELP = "run a script that says `import paddle.fluid`, unmodified"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "fluidio run [options] SCRIPT [ARGS...]  |  -m MODULE [ARGS...]  |  -- COMMAND [ARGS...]"
    parser.add_argument("--fluid", metavar="VERSION", help=f"follow this version: {', '.join(ERAS)} (else inferred)")
    parser.add_argument("--device", metavar="cpu|gpu:0", help="cpu: every CUDA place means the CPU")
    parser.add_argument("--stats", action="store_true", help="end with steps, epochs, records/s and waiting time")
    parser.add_argument("--fake-data", action="store_true", help="paddle.dataset makes data up where files are missing")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module instead of a file")
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="SCRIPT [ARGS...]")


def run(args: argparse.Namespace) -> int:
    words = list(args.script)
    command = bool(words) and words[0] == "--"
    if command:
        words = words[1:]
    if not words and not args.module:
        print("fluidio run: which script? usage: fluidio run SCRIPT [ARGS...]", file=sys.stderr)
        return 2
    fluid = nearest(args.fluid) if args.fluid else None
    if args.device and not (args.device == "cpu" or args.device.partition(":")[0] in ("gpu", "cuda")):
        print(f"fluidio run: --device takes cpu or gpu:N, got {args.device!r}", file=sys.stderr)
        return 2
    if args.fake_data:
        os.environ["FLUIDIO_FAKE_DATA"] = "1"
    if command:
        return _run_command(words, environment(fluid=fluid, device=args.device))
    if fluid is None and not os.environ.get("FLUIDIO_FLUID"):
        guess = _guess(words[0] if not args.module else None)
        fluid = guess.era
        if guess.sign:
            print(f"fluidio run: following Fluid {guess.era} ({guess.sign}; --fluid VERSION chooses)", file=sys.stderr)
    os.environ.update(environment(fluid=fluid, device=args.device))
    install()
    if fluid:
        set_era(fluid)
    if args.device == "cpu":
        print("fluidio run: CUDA places mean the CPU (--device cpu)", file=sys.stderr)
    return _run_python(args, words)


def _run_python(args: argparse.Namespace, words: list[str]) -> int:
    from fluidio.paddle.runner import run_module, run_script

    if not args.stats:
        return run_module(args.module, words) if args.module else run_script(words[0], words[1:])
    from fluidio.executor.run_stats import collect

    with collect() as stats:
        status = run_module(args.module, words) if args.module else run_script(words[0], words[1:])
    print(stats.summary(), file=sys.stderr)
    return status


def _guess(script: str | None) -> Guess:
    if script is None:
        return guess_era([])
    return guess_era(path.read_text(errors="replace") for path in local_sources(Path(script)))


def _run_command(words: list[str], variables: dict[str, str]) -> int:
    try:
        return subprocess.run(words, env={**os.environ, **variables}, check=False).returncode
    except FileNotFoundError:
        print(f"fluidio run: {words[0]}: command not found", file=sys.stderr)
        return 127
