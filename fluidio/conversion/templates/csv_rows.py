"""A CSV file with a header line; columns become slots.

fluidio convert csv_rows.py --output OUT/train --partitions 8 -- --csv_file rows.csv --label label --tasks 8

The column named by --label is an int64, all others together are the float32 vector `features`. Task K takes the rows
with number % tasks == K; change `dict_data` for columns of other kinds. The file is a path or a URL.
"""

import argparse
import csv
import functools
import io
from collections.abc import Iterator

import numpy as np

from fluidio.conversion.storage import opened


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv_file", required=True)
    parser.add_argument("--label", default="label", help="the column with the class")
    parser.add_argument("--tasks", type=int, default=8)
    return parser.parse_args()


def task_number() -> int:
    return int(arguments().tasks)


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    path, label = arguments().csv_file, arguments().label
    with opened(path) as file:
        rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))  # -sig: Excel's first bytes
        if label not in (rows.fieldnames or []):
            raise ValueError(f"{path} has no column {label}; --label names one of {', '.join(rows.fieldnames or [])}")
        for number, row in enumerate(rows):
            if number % task_number() != task_id:
                continue
            if None in row or None in row.values():
                raise ValueError(f"{path}, line {rows.line_num}: there are more or fewer values than columns")
            try:
                answer = int(row.pop(label))
                features = np.array([float(value) for value in row.values()], np.float32)
            except ValueError as error:
                raise ValueError(f"{path}, line {rows.line_num}: {error}") from error
            yield {"features": features, "label": answer}
