"""TFRecord files of tf.train.Example; TensorFlow is not needed.

fluidio convert tfrecord.py --output OUT/train --partitions 8 -- --files data.tfrecord --tasks_per_file 4

A file is split into tasks by row: task K takes the rows with number % tasks_per_file == K. A feature of one number or
one text in SCHEMA form is a scalar or bytes; lists of numbers become sequences.
"""

import argparse
import functools
from collections.abc import Iterator

from fluidio.conversion.formats.tfrecord import parse_example, read_records


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", nargs="+", required=True)
    parser.add_argument("--tasks_per_file", type=int, default=1)
    return parser.parse_known_args()[0]


def task_number() -> int:
    return len(arguments().files) * int(arguments().tasks_per_file)


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    each = int(arguments().tasks_per_file)
    path = arguments().files[task_id // each]
    for number, record in enumerate(read_records(path)):
        if number % each == task_id % each:
            features = parse_example(record)
            yield {name: values[0] if len(values) == 1 else values for name, values in sorted(features.items())}
