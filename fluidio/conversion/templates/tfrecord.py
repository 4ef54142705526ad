"""TFRecord files of tf.train.Example; TensorFlow is not needed.

fluidio convert tfrecord.py --output OUT/train --partitions 8 -- --files data.tfrecord --tasks_per_file 4

A file (a path or URL) is split into tasks by row: task K takes the rows with number % tasks_per_file == K. Features of
one number or text become numbers and bytes, longer ones arrays or lists. If the length of a feature varies, say so:
SCHEMA = {"ids": ("int64", 1), "label": "int64", "text": "bytes", "words": ("bytes", 2)}
"""

import argparse
import functools
from collections.abc import Iterator
from typing import Any

from fluidio.conversion.formats.tfrecord import parse_example, read_records


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", nargs="+", required=True)
    parser.add_argument("--tasks_per_file", type=int, default=1)
    return parser.parse_args()


def task_number() -> int:
    return len(arguments().files) * int(arguments().tasks_per_file)


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    each = int(arguments().tasks_per_file)
    path = arguments().files[task_id // each]
    for number, record in enumerate(read_records(path)):
        if number % each == task_id % each:
            features = parse_example(record)
            yield {name: values if is_list(name) else single(values) for name, values in sorted(features.items())}


def single(values: Any) -> Any:
    return values[0] if len(values) == 1 else values


def is_list(name: str) -> bool:
    """Return whether SCHEMA says that a feature is a list."""
    said = globals().get("SCHEMA", {}).get(name)
    return isinstance(said, tuple) and bool(said[1])
