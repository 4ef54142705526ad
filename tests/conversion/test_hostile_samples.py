"""Pickled samples that are small in a file and huge when they are shown; numbers that Python does not write."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from fluidio import recordio
from fluidio.cli import main
from fluidio.conversion.expansion import check_expansion
from fluidio.errors import ConversionError

LONG = 10**5000


def doubled(make: Any) -> Any:
    value = make(1, 2)
    for _ in range(45):
        value = make(value, value)
    return value


def endless(value: Any) -> Any:
    value["it" if isinstance(value, dict) else slice(0, 0)] = value if isinstance(value, dict) else [value]
    return value


SMALL = {
    "tuples": doubled(lambda a, b: (a, b)),
    "lists": doubled(lambda a, b: [a, b]),
    "dicts": doubled(lambda a, b: {"a": a, "b": b}),
    "row": {"x": doubled(lambda a, b: (a, b)), "y": 1},
    "text": ["y" * 200_000] * 300_000,
    "endless list": endless([1]),
    "endless dict": endless({}),
}
LONG_ONES = {"alone": LONG, "negative": -LONG, "in a list": [LONG], "in a dict": {"x": [1, LONG]}}
COMMANDS = [
    "check {0}",
    "inspect --verify {0}",
    "records head {0}",
    "records cat --json {0}",
    "records stats {0}",
    "records diff {0} {0}",
    "records sample {0} -n 1 --seed 1 --json",
    "export {0} --to npz --output made",
    "view {0} --no-open --output page.html",
]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)

    def written(value: object) -> str:
        with recordio.Writer("samples.recordio") as writer:
            for _ in range(2):
                writer.write(pickle.dumps(value, 4))
        return "samples.recordio"

    return written


@pytest.mark.parametrize("name", SMALL)  # not the values: pytest would show them
def test_no_command_walks_through_what_a_pickle_repeats(file: Any, name: str) -> None:
    path = file(SMALL[name])
    for line in COMMANDS:
        assert main(line.format(path).split()) in (0, 1)


@pytest.mark.parametrize("name", LONG_ONES)
def test_numbers_of_thousands_of_digits_are_shown(file: Any, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(LONG_ONES[name])
    for line in COMMANDS:
        assert main(line.format(path).split()) in (0, 1)
    capsys.readouterr()
    main(["records", "cat", "--json", path])
    assert f"0x{LONG:x}" in json.dumps([json.loads(line) for line in capsys.readouterr().out.splitlines()])


def test_parts_that_are_shared_as_usual_are_no_expansion() -> None:
    word = "x" * 1000
    shared = [1, 2, 3]
    check_expansion(([word] * 1000, [shared] * 1000, {"a": shared, "b": shared}))
    check_expansion([list(range(100)) for _ in range(100)])
    with pytest.raises(ConversionError, match="holds itself"):
        check_expansion(endless([1]))
    with pytest.raises(ConversionError, match="repeats the same"):
        check_expansion(SMALL["tuples"])
