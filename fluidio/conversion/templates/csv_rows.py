"""A CSV file with a head line; columns become slots.

fluidio convert csv_rows.py --output OUT/train --partitions 8 -- --csv_file rows.csv --label label --tasks 8

The column named by --label is an int64, all others together are the float32 vector `features`. Task K takes the rows
with number % tasks == K; change `dict_data` for columns of other kinds.
"""

import argparse
import csv
import functools
from collections.abc import Iterator

import numpy as np


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv_file", required=True)
    parser.add_argument("--label", default="label", help="the column with the class")
    parser.add_argument("--tasks", type=int, default=8)
    return parser.parse_known_args()[0]


def task_number() -> int:
    return int(arguments().tasks)


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    with open(arguments().csv_file, newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file)):
            if number % task_number() != task_id:
                continue
            label = int(row.pop(arguments().label))
            yield {"features": np.array([float(value) for value in row.values()], np.float32), "label": label}
