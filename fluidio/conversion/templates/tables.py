"""Tables in Parquet, Arrow or CSV files, whole columns at a time (`pip install 'fluidio[arrow]'`).

fluidio convert tables.py --output OUT/train --partitions 8 -- --files a.parquet b.csv

Every file (a path or URL) is a task. `fluidio convert a.parquet b.csv --output OUT/train` is the same.
`--nulls drop` leaves rows with nulls out, `--nulls VALUE` puts a value in their place.
"""

import argparse
import functools
from collections.abc import Iterator
from typing import Any

import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from fluidio.conversion.formats.nulls import without_nulls
from fluidio.conversion.storage import opened


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", nargs="+", required=True)
    parser.add_argument("--nulls", metavar="drop|VALUE")
    return parser.parse_args()


def task_number() -> int:
    return len(arguments().files)


def dict_data(task_id: int) -> Iterator[Any]:
    nulls = arguments().nulls
    return batches(task_id) if nulls is None else (without_nulls(batch, nulls) for batch in batches(task_id))


def batches(task_id: int) -> Iterator[Any]:
    path = arguments().files[task_id]
    with opened(path) as file:
        if path.endswith((".parquet", ".pq")):
            yield from pyarrow.parquet.ParquetFile(file).iter_batches(8192)
        elif path.endswith((".csv", ".tsv")):
            options = pyarrow.csv.ParseOptions(delimiter="\t" if path.endswith(".tsv") else ",")
            yield from pyarrow.csv.open_csv(file, parse_options=options)
        else:
            reader = pyarrow.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)
