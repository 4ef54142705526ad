"""The `fluidio` command finds its subcommands and reports errors in one line."""

from __future__ import annotations

import argparse
import subprocess
import sys
import types
from collections.abc import Callable

import pytest

from fluidio.cli import dispatch, main
from fluidio.errors import RecordIOError
from fluidio.version import __version__


def _install(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]) -> None:
    """Make `check` a command that does `run`."""
    command = types.SimpleNamespace(HELP="look at files", add_arguments=_add_path, run=run)
    monkeypatch.setattr(dispatch, "available", lambda: ["check"])
    monkeypatch.setattr(dispatch, "_load", lambda name: command)


def _add_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path")


def test_version_is_printed() -> None:
    done = subprocess.run([sys.executable, "-m", "fluidio", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"fluidio {__version__}\n"


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, lambda args: 0)
    assert main([]) == 0
    assert "  check  look at files" in capsys.readouterr().out


def test_only_commands_that_exist_are_listed() -> None:
    assert set(dispatch.available()) <= set(dispatch.COMMANDS)
    for name in dispatch.available():
        command = dispatch._load(name)
        assert command.HELP and "\n" not in command.HELP
        command.add_arguments(argparse.ArgumentParser())


def test_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["frobnicate"])
    assert stop.value.code == 2
    assert "unknown command 'frobnicate'" in capsys.readouterr().err


def test_unknown_option_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--frobnicate"])
    assert stop.value.code == 2
    assert "--frobnicate" in capsys.readouterr().err


def test_the_command_gets_its_arguments_and_gives_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, lambda args: len(args.path))
    assert main(["check", "abc"]) == 3


@pytest.mark.parametrize(
    "error", [RecordIOError("bad magic", path="a.recordio", offset=0), FileNotFoundError(2, "no", "a")]
)
def test_an_expected_error_is_one_line(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(args: argparse.Namespace) -> int:
        raise error

    _install(monkeypatch, run)
    assert main(["check", "a"]) == 1
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("fluidio check: ")
    assert written.err.count("\n") == 1
    with pytest.raises(type(error)):
        main(["--debug", "check", "a"])


@pytest.mark.parametrize(
    ("given", "debug", "left"),
    [
        ("--debug run a.py", True, "run a.py"),
        ("run --debug a.py", True, "run a.py"),
        ("run a.py --debug", False, "run a.py --debug"),
        ("run -- a.py --debug", False, "run -- a.py --debug"),
        ("check a --debug", True, "check a"),
    ],
)
def test_debug_stands_before_a_script(given: str, debug: bool, left: str) -> None:
    args = given.split()
    assert dispatch._take_debug(args) is debug
    assert args == left.split()


def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(args: argparse.Namespace) -> int:
        raise ZeroDivisionError

    _install(monkeypatch, run)
    with pytest.raises(ZeroDivisionError):
        main(["check", "a"])


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(args: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    _install(monkeypatch, run)
    assert main(["check", "a"]) == 130
    assert capsys.readouterr().err == "fluidio check: interrupted\n"
    monkeypatch.setattr(dispatch, "available", lambda: ["convert"])
    assert main(["convert", "a"]) == 130
    assert capsys.readouterr().err == "fluidio convert: interrupted; the same command again goes on from here\n"


def test_output_that_nobody_reads_is_no_traceback() -> None:
    code = (
        "import sys; from fluidio.cli import dispatch; from types import SimpleNamespace as N\n"
        "dispatch.available = lambda: ['check']\n"
        "dispatch._load = lambda name: N(HELP='', add_arguments=id, run=lambda args: print('x' * 100) or 0)\n"
        "input(); sys.exit(dispatch.main(['check']))"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout and process.stdin and process.stderr
        process.stdout.close()
        process.stdin.write("go\n")
        process.stdin.close()
        assert (process.stderr.read(), process.wait()) == ("", 1)


@pytest.mark.parametrize("command", [["inspect", "gone"], ["check", "gone"], ["view", "gone", "--no-open"]])
def test_a_missing_file_is_named_without_numbers_of_the_system(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 1
    assert capsys.readouterr().err == f"fluidio {command[0]}: gone: No such file or directory\n"


@pytest.mark.parametrize("words", [["demo", "--epochs", "x"], ["demo", "--shards", "0"], ["doctor", "--device", "-1"]])
def test_a_wrong_number_says_what_is_expected(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(words)
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"argument {words[1]}: expected" in said
    assert repr(words[2]) in said or "expected one argument" in said


def test_a_script_that_does_not_exist_is_all_that_run_speaks_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gone.py"]) == 2
    assert capsys.readouterr().err == "fluidio run: can't open file 'gone.py': no such file\n"


def test_too_little_memory_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def run(args: argparse.Namespace) -> int:
        raise MemoryError("Unable to allocate 2 TiB")

    _install(monkeypatch, run)
    assert main(["check", "x"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("fluidio check: out of memory (Unable to allocate 2 TiB): ") and err.count("\n") == 1


def test_closed_streams_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(args: argparse.Namespace) -> int:
        print("result")
        print("warning", file=sys.stderr)
        return sys.stdin.readline() != ""

    _install(monkeypatch, run)
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert main(["check", "x"]) == 0
    for name in ("stdin", "stdout", "stderr"):
        getattr(sys, name).close()
