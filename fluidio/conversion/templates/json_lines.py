"""Files of JSON lines: one object for each row, the same keys in all.

fluidio convert json_lines.py --output OUT/train --partitions 8 -- --files part-0.jsonl part-1.jsonl

Every file (a path or URL) is a task. Numbers, texts and lists of them are stored as they are; fix types with SCHEMA:
SCHEMA = {"tokens": ("int64", 1), "text": "str", "label": "int64"}
"""

import argparse
import functools
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


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    path = arguments().files[task_id]
    with opened(path) as file:
        for number, line in enumerate(io.TextIOWrapper(file, encoding="utf-8"), 1):
            if not line.strip():
                continue
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
