"""Files of JSON lines: one object for each row, the same keys in all.

fluidio convert json_lines.py --output OUT/train --partitions 8 -- --files part-0.jsonl part-1.jsonl

Every file is a task. Numbers, texts and lists of them are stored as they are; fix types with SCHEMA, e.g.
SCHEMA = {"tokens": ("int64", 1), "text": "str", "label": "int64"}
"""

import argparse
import functools
import json
from collections.abc import Iterator


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", nargs="+", required=True)
    return parser.parse_known_args()[0]


def task_number() -> int:
    return len(arguments().files)


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    with open(arguments().files[task_id], encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)
