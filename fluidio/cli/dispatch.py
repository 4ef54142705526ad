"""The `fluidio` command: find the subcommand, run it, and turn errors into one clear line.

Each command is a module of this package with `HELP` (one line), `add_arguments(parser)` and `run(args) -> int`; it is
imported only when needed, so `fluidio --version` stays fast.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

from fluidio.cli.terminal import one_line, readable_output
from fluidio.errors import FluidioError
from fluidio.version import __version__

__all__ = ["COMMANDS", "Command", "available", "main"]

COMMANDS = (
    "run",
    "port",
    "view",
    "trace",
    "inspect",
    "check",
    "convert",
    "export",
    "records",
    "cp",
    "model",
    "apis",
    "doctor",
    "demo",
)
_STATUSES = "exit status: 0 success; 1 an error, damage or differences; 2 wrong usage; 130 interrupted"
_GO_ON = ("convert",)  # finished tasks are kept
_RUN_SCRIPTS = ("run", "view", "convert", "demo")  # which may colour their own output


class Command(Protocol):
    """The interface of a command module."""

    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run `fluidio ARGV...` and return the exit status: 0, 1 for an error, 2 for wrong usage, 130 when interrupted."""
    _open_closed_streams()
    args = sys.argv[1:] if argv is None else list(argv)
    debug = _take_debug(args)
    if debug:
        os.environ["FLUIDIO_DEBUG"] = "1"  # for the watchdog, here and in processes that a script starts
    name = args[0] if args and not args[0].startswith("-") else ""
    if name not in available():
        return _top_level(args)
    try:
        with _plain_warnings(name), contextlib.nullcontext() if name in _RUN_SCRIPTS else readable_output():
            status = _run(name, args[1:])
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of our output (head, less) has exited: there is nothing more to print, nor to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (FluidioError, OSError) as error:
        if debug:
            raise
        print(f"fluidio {name}: {_one_line(error)}", file=sys.stderr)
        return 1
    except MemoryError as error:
        if debug or name == "run":
            raise
        what = f" ({_one_line(error)})" if str(error) else ""
        print(f"fluidio {name}: out of memory{what}: free some, raise `ulimit -v`, use fewer workers", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if debug:
            raise
        hint = "; the same command again goes on from here" if name in _GO_ON else ""
        print(f"fluidio {name}: interrupted{hint}", file=sys.stderr)
        return 130


def _open_closed_streams() -> None:
    """Open what the caller has closed (`>&-`): a file of data must not become the process's standard output."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


@contextlib.contextmanager
def _plain_warnings(name: str) -> Iterator[None]:
    """Let warnings of a command be one line, without the place in its code; those of a user's script have theirs."""
    usual = warnings.formatwarning

    def line(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> str:
        if category is not UserWarning:
            return usual(message, category, *place, **more)
        return f"fluidio {name}: warning: {one_line(str(message))}\n"

    if name != "run":
        warnings.formatwarning = line
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _run(name: str, args: Sequence[str]) -> int:
    command = _load(name)
    parser = argparse.ArgumentParser(prog=f"fluidio {name}", description=command.HELP)
    command.add_arguments(parser)
    _tell_statuses(parser)
    return command.run(parser.parse_args(args))


def _tell_statuses(parser: argparse.ArgumentParser) -> None:
    """Add the meaning of exit statuses to the help of a parser and its verbs, unless it is there already."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                _tell_statuses(verb)
    if "exit status:" not in (parser.epilog or ""):
        parser.epilog = f"{parser.epilog}\n\n{_STATUSES}" if parser.epilog else _STATUSES
    parser.formatter_class = _Help


class _Help(argparse.HelpFormatter):
    """Wraps paragraphs one by one; those of several lines (lists of examples) are kept as written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            part if "\n" in part else super(_Help, self)._fill_text(part, width, indent) for part in text.split("\n\n")
        )


def available() -> list[str]:
    """Return the commands whose module exists."""
    return [name for name in COMMANDS if importlib.util.find_spec(f"{__package__}.{name}") is not None]


def _load(name: str) -> Command:
    return cast(Command, importlib.import_module(f"{__package__}.{name}"))


def _take_debug(args: list[str]) -> bool:
    """Remove `--debug`, before or just after the command's name; what follows `run` or `--` belongs to a script."""
    stop = next((i for i, word in enumerate(args) if word in ("--", "run")), len(args))
    stop += 2 * (args[stop : stop + 2] == ["run", "--debug"])
    found = "--debug" in args[:stop]
    if found:
        args.remove("--debug")
    return found


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str) and error.filename2 is None:
        return one_line(f"{error.filename}: {error.strerror}")
    return one_line(" ".join(str(error).split())) or type(error).__name__


def _top_level(args: list[str]) -> int:
    width = max((len(name) for name in available()), default=0)
    listing = [f"  {name:<{width}}  {_load(name).HELP}" for name in available()]
    parser = argparse.ArgumentParser(
        prog="fluidio",
        usage="fluidio [--debug] [--version] COMMAND ...",
        description="PaddlePaddle Fluid programs and RecordIO data, alive on today's Python.",
        epilog="\n".join(["commands:", *listing, "", "`fluidio COMMAND --help` describes a command."]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fluidio {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the full traceback of an error")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parsed, _ = parser.parse_known_args(args)
    if parsed.command is not None:
        parser.error(f"unknown command {parsed.command!r}: choose one of {', '.join(available())}")
    if args:
        parser.error(f"unknown arguments {' '.join(args)}")
    parser.print_help()
    return 0
