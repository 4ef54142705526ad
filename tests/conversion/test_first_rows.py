"""What the first rows of a template leave open, and templates that fail before anything is finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluidio.conversion import generate, read_rows
from fluidio.errors import ConversionError
from tests.conversion.templates import write


def template(rows: str, head: str = "", tasks: int = 1) -> str:
    return f"{head}\ndef task_number():\n    return {tasks}\n\ndef dict_data(task):\n    {rows}\n"


@pytest.mark.parametrize("partitions", [1, 3])
def test_lists_that_are_empty_at_first_get_their_type_from_later_rows(tmp_path: Path, partitions: int) -> None:
    made = "for n in range(9): yield {'n': n, 'tags': ['a'] * (n // 3), 'ids': [1.5] * (n // 2), 'pairs': pairs(n)}"
    head = "def pairs(n):\n    return [[]] * n + [[n]] * (n > 6)\n"
    generate(write(tmp_path, template(made, head)), str(tmp_path / "x"), partitions, workers=1)
    found = sorted(read_rows(str(tmp_path / "x")), key=lambda row: row["n"])
    assert [row["tags"] for row in found] == [["a"] * (n // 3) for n in range(9)]
    assert [row["ids"] for row in found] == [[1.5] * (n // 2) for n in range(9)]
    assert [row["pairs"] for row in found] == [[[]] * n + [[n]] * (n > 6) for n in range(9)]


def test_a_template_may_fill_the_same_list_again_while_types_are_open(tmp_path: Path) -> None:
    made = "row = {'x': []}\n    for n in range(4):\n        row['x'][:] = [n] * n\n        yield row"
    generate(write(tmp_path, template(made)), str(tmp_path / "x"), 1, workers=1)
    assert [row["x"] for row in read_rows(str(tmp_path / "x"))] == [[], [1], [2, 2], [3, 3, 3]]


def test_columns_may_begin_with_empty_lists(tmp_path: Path) -> None:
    head = "from fluidio.conversion import Columns"
    made = "yield Columns(x=[[], [1], []])"
    generate(write(tmp_path, template(made, head)), str(tmp_path / "x"), 1, workers=1)
    assert [row["x"] for row in read_rows(str(tmp_path / "x"))] == [[], [1], []]


def test_an_error_behind_the_first_empty_list_names_its_row(tmp_path: Path) -> None:
    made = "for n in range(9): yield {'x': [1 // (4 - n)][:0]}"
    with pytest.raises(ConversionError, match="row 4: ZeroDivisionError"):
        generate(write(tmp_path, template(made)), str(tmp_path / "x"), 1, workers=1)


def test_a_schema_with_other_names_says_both(tmp_path: Path) -> None:
    made = template("yield {'x': [], 'y': 1}", "SCHEMA = {'x': ('int64', 1)}")
    with pytest.raises(
        ConversionError, match="SCHEMA names x, but the row has x, y: SCHEMA must name all of them or none"
    ):
        generate(write(tmp_path, made), str(tmp_path / "x"), 1, workers=1)


def test_a_template_that_failed_at_once_may_be_mended_and_run_again(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="row 0"):
        generate(write(tmp_path, template("yield {'x': None}")), str(tmp_path / "x"), 1, workers=1)
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["template.py"]
    generate(write(tmp_path, template("yield {'x': 1}")), str(tmp_path / "x"), 1, workers=1)
    assert [row["x"] for row in read_rows(str(tmp_path / "x"))] == [1]


def test_finished_tasks_of_a_failed_conversion_are_kept(tmp_path: Path) -> None:
    failing = template("yield {'x': 1 // (1 - task)}", tasks=2)
    with pytest.raises(ConversionError, match="task 1"):
        generate(write(tmp_path, failing), str(tmp_path / "x"), 1, workers=1)
    assert (tmp_path / ".x.parts" / "task-00000.json").exists()
