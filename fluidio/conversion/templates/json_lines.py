"""Files of JSON lines: one object for each row, the same keys in all.

fluidio convert json_lines.py --output OUT/train --partitions 8 -- --files part-0.jsonl part-1.jsonl

Every file (a path or URL; it may end with .gz) is a task. Numbers, texts and lists of them are stored as they are; fix
types with SCHEMA:
SCHEMA = {"tokens": ("int64", 1), "text": "str", "label": "int64"}
"""

import argparse
import functools
import gzip
import io
import json
from collections.abc import Iterator

from fluidio.conversion.storage import opened


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", nargs="+", required=True)
    return parser.parse_args()


def task_number() -> int:
    return len(arguments().files)


def task_name(task_id: int) -> str:
    return str(arguments().files[task_id])


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    path = arguments().files[task_id]
    with opened(path) as file:
        plain = gzip.open(file) if path.lower().endswith(".gz") else file
        for number, line in enumerate(io.TextIOWrapper(plain, encoding="utf-8-sig"), 1):  # -sig: Windows' first bytes
            if not line.strip():
                continue
            try:
                yield json.loads(line, object_pairs_hook=once)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error


def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object whose keys are there once; of repeated ones, all but the last would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise ValueError(f"the key {twice!r} is there twice")
    return found
