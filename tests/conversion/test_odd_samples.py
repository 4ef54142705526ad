"""Pickled samples of any form can be shown and chosen; what `--json` prints is JSON for every parser."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import fluidio
from fluidio.cli import main
from fluidio.conversion import generate, read_rows
from fluidio.recordio import File, Writer, load
from tests.conversion.templates import write

ODD: dict[str, list[Any]] = {
    "empty lists": [([], 1), ([1, 2], 2), ([], 3)],
    "dicts and None": [({"a": 1}, None), ({"b": [1, 2]}, "x")],
    "other types": [(1 + 2j, {1}, frozenset(), (1, 2), b"\xff")],
    "unequal types": [1, "a", None],
    "unequal lengths": [np.arange(5), np.arange(3)],
    "unequal sizes": [(1,), (1, 2), ()],
}


def samples(folder: Path, values: list[Any]) -> str:
    fluidio.convert(str(folder), lambda: iter(values), 1, "p")
    return str(folder / "p-*")


def no_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not JSON")


def lines(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    return [json.loads(line, parse_constant=no_constant) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("name", ODD)
def test_samples_of_any_form_are_shown(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = samples(tmp_path, ODD[name])
    for verb in ("head", "cat", "sample"):
        assert main(["records", verb, data]) == 0
        assert len(capsys.readouterr().out.splitlines()) == len(ODD[name])
        assert main(["records", verb, data, "--json"]) == 0
        assert len(lines(capsys)) == len(ODD[name])


@pytest.mark.parametrize("name", ODD)
def test_samples_of_any_form_are_filtered(name: str, tmp_path: Path) -> None:
    data = samples(tmp_path, ODD[name])
    assert main(["records", "filter", "row", data, "--output", str(tmp_path / "kept")]) == 0
    kept = [pickle.loads(record) for record in File(tmp_path / "kept-00000-of-00000")]
    assert repr(kept) == repr([sample for sample in ODD[name] if not isinstance(sample, tuple) or sample])


@pytest.mark.parametrize("name", ["dicts and None", "other types", "unequal types", "unequal lengths"])
def test_what_nothing_orders_is_not_sorted(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = samples(tmp_path, ODD[name])
    assert main(["records", "sort", data, "--by", "slot_0", "--output", str(tmp_path / "x")]) == 1
    assert "fluidio records: slot_0 holds" in capsys.readouterr().err


def test_samples_that_begin_with_empty_lists_become_columns(tmp_path: Path) -> None:
    data = samples(tmp_path, ODD["empty lists"])
    assert main(["records", "select", "slot_0", data, "--output", str(tmp_path / "x")]) == 0
    (column,) = load(str(tmp_path / "x-*"))
    assert column.data[:, 0].tolist() == [1, 2] and column.lod[0].tolist() == [0, 0, 2, 2]


def test_map_takes_rows_that_begin_with_empty_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = """
def task_number():
    return 1

def dict_data(task):
    yield from [{"a": [], "b": [], "c": 0}, {"a": ["x"], "b": [], "c": 1}]
    yield {"a": [], "b": [0.5], "c": 2}
"""
    generate(write(tmp_path, template), str(tmp_path / "in" / "x"), 1, workers=1)
    rows = list(read_rows(str(tmp_path / "in" / "x")))
    (tmp_path / "mine.py").write_text("def same(row):\n    return row if row['c'] < 2 else None\n")
    command = ["records", "map", str(tmp_path / "mine.py:same"), str(tmp_path / "in" / "x-*-of-*")]
    assert main([*command, "--output", str(tmp_path / "out" / "x")]) == 0
    assert list(read_rows(str(tmp_path / "out" / "x"))) == rows[:2]  # b is a list of floats, as it was


def test_json_has_no_nan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Writer(tmp_path / "x") as writer:
        writer.write_block([np.array([math.nan, math.inf, -math.inf, 1.5])])
    assert main(["records", "cat", str(tmp_path / "x"), "--json"]) == 0
    assert lines(capsys) == [{"slot_0": value} for value in ("NaN", "Infinity", "-Infinity", 1.5)]
    with Writer(tmp_path / "large") as writer:
        writer.write_block([np.array([1.7e308, -1.7e308])])
    assert main(["records", "stats", str(tmp_path / "large"), "--json"]) == 0
    assert lines(capsys)[0]["std"] == "Infinity"
