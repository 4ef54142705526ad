"""What all commands promise: an example, their exit statuses, progress on a terminal only, nothing left by Ctrl-C."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import COMMANDS, main
from fluidio.cli.dispatch import _load
from fluidio.conversion import convert, progress
from fluidio.recordio import Writer


def _with_verbs() -> Iterator[list[str]]:
    for name in COMMANDS:
        yield [name]
        parser = argparse.ArgumentParser()
        _load(name).add_arguments(parser)
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from ([name, verb] for verb in action.choices)


@pytest.mark.parametrize("command", list(_with_verbs()), ids=" ".join)
def test_help_shows_an_example_and_the_exit_statuses(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0
    assert "example" in text.lower() and text.count("exit status:") == 1
    _, several, examples = text.partition("examples:\n")
    if several:  # each on a line of its own
        assert all(line.startswith("  ") for line in examples.split("\n\n")[0].splitlines())


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


VERBS = {
    "split": ["--shards", "2"],
    "shuffle": ["--shards", "2"],
    "filter": ["True"],
    "select": ["slot_0"],
    "sort": ["--by", "slot_0"],
    "merge": [],
}


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = str(tmp_path / "from" / "a.recordio")
    os.mkdir(tmp_path / "from")
    with Writer(path, max_num_records=100) as writer:
        writer.write_block([np.arange(1000, dtype="f4")[:, None]])
    return path


def _command(verb: str, data: str, output: Path) -> list[str]:
    options = VERBS[verb]
    first = options if verb in ("filter", "select") else []
    return ["records", verb, *first, data, "--output", str(output / "x"), *([] if first else options)]


@pytest.mark.parametrize("verb", VERBS)
def test_progress_is_shown_on_a_terminal_only(
    verb: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_command(verb, data, tmp_path / "quiet")) == 0
    assert capsys.readouterr().err == ""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(_command(verb, data, tmp_path / "shown")) == 0
    assert "1000/1000 records" in terminal.getvalue()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="platform: no named pipes")
@pytest.mark.parametrize("verb", [*VERBS, "diff"])
def test_pipes_are_read_once_also_on_a_terminal(
    verb: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    feeder = threading.Thread(target=Path(pipe).write_bytes, args=(Path(data).read_bytes(),))  # once
    monkeypatch.setattr(sys, "stderr", _Terminal())
    feeder.start()
    if verb == "diff":
        assert main(["records", "diff", pipe, data]) == 0
    else:
        assert main(_command(verb, pipe, tmp_path / "out")) == 0
        capsys.readouterr()
        assert main(["records", "count", str(tmp_path / "out" / "x-*"), "--json"]) == 0
        assert sum(json.loads(line)["records"] for line in capsys.readouterr().out.splitlines()) == 1000
    feeder.join()


@pytest.mark.parametrize("words", [["check"], ["inspect", "--verify"], ["records", "stats"], ["records", "count"]])
def test_long_looks_show_progress_too(
    words: list[str], data: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, data]) == 0
    alone = capsys.readouterr()
    assert alone.err == ""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert main([*words, data]) == 0
    assert "[####################]" in terminal.getvalue() and capsys.readouterr().out == alone.out


@pytest.mark.parametrize("verb", VERBS)
def test_an_interrupt_leaves_nothing_behind(
    verb: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(self: Writer, *_: Any) -> None:
        raise KeyboardInterrupt

    os.mkdir(tmp_path / "to")
    monkeypatch.setattr(Writer, "flush", interrupt)
    assert main(_command(verb, data, tmp_path / "to")) == 130
    assert "interrupted" in capsys.readouterr().err
    assert os.listdir(tmp_path / "to") == []


def test_an_interrupted_conversion_leaves_the_old_set(tmp_path: Path) -> None:
    convert(str(tmp_path), lambda: iter(range(10)), 2, "x")

    def reader() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    with pytest.raises(KeyboardInterrupt):
        convert(str(tmp_path), reader, 3, "x")
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before
