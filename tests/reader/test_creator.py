"""Readers of arrays and text files, and the shape of the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fluidio.reader
from fluidio.reader import creator


def test_np_array_gives_rows_and_a_number_once() -> None:
    assert [row.tolist() for row in creator.np_array(np.arange(4).reshape(2, 2))()] == [[0, 1], [2, 3]]
    assert list(creator.np_array(np.array(3.0))()) == [3.0]


def test_text_file_gives_lines_without_their_breaks(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("eins\nzwei \n\nfünf", encoding="utf-8")
    lines = creator.text_file(str(path))
    assert list(lines()) == list(lines()) == ["eins", "zwei ", "", "fünf"]


def test_all_names_are_there_and_sorted() -> None:
    for module in (fluidio.reader, creator, fluidio.reader.decorator):
        assert list(module.__all__) == sorted(module.__all__)
        assert all(hasattr(module, name) for name in module.__all__)
