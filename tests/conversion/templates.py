"""Template texts that the tests of generation share, and a way to write them down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fluidio.recordio import BlockReader

MIXED = """
import numpy as np

def task_number():
    return 7

def dict_data(task_id):
    random = np.random.default_rng(task_id)
    for row in range(20 + task_id):
        yield {
            "image": random.normal(size=(4, 5)).astype("float32"),
            "label": 100 * task_id + row,
            "weight": 0.1 * row,
            "good": row % 2 == 0,
            "name": f"{task_id}/{row} é",
            "raw": bytes(range(row)),
            "tokens": list(range(row % 5 + 1)),
            "words": ["x" * n for n in range(row % 3 + 1)],
            "pairs": [[1, 2], [row]],
        }
"""

NUMBERS = """
import sys

def mindrecord_task_number():
    return int(sys.argv[1])

def mindrecord_dict_data(task_id):
    for row in range(int(sys.argv[2])):
        yield {"task": task_id, "row": row}
"""


def write(folder: Path, text: str, name: str = "template.py") -> str:
    """Write a template and return its path."""
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def rows(path: Any) -> list[tuple[Any, ...]]:
    """Return the records of a shard of single numbers as tuples."""
    with BlockReader(path) as reader:
        return [
            tuple(row) for block in reader for row in zip(*(column.data.ravel().tolist() for column in block.columns))
        ]


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder with their bytes."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
