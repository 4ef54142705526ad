"""Tables in Parquet, Arrow or CSV files, whole columns at a time (`pip install 'fluidio[arrow]'`).

fluidio convert tables.py --output OUT/train --partitions 8 -- --files a.parquet b.csv

Every file (a path or URL; CSV may end with .gz) is a task. `fluidio convert a.parquet b.csv --output OUT/train` is the
same. `--nulls drop` leaves rows with nulls out, `--nulls VALUE` puts a value in their place. Numbers in CSV files are
numbers: `--text zip,phone` keeps columns as they are written, leading zeros included.
"""

import argparse
import functools
import gzip
import sys
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
    parser.add_argument("--text", metavar="NAME,...", default="", help="columns of CSV files that are text")
    return parser.parse_args()


def task_number() -> int:
    return len(arguments().files)


def task_name(task_id: int) -> str:
    return str(arguments().files[task_id])


def dict_data(task_id: int) -> Iterator[Any]:
    nulls = arguments().nulls
    return batches(task_id) if nulls is None else (without_nulls(batch, nulls) for batch in batches(task_id))


def batches(task_id: int) -> Iterator[Any]:
    path = arguments().files[task_id]
    name = path.lower()
    with opened(path) as file:
        if name.endswith((".parquet", ".pq")):
            yield from pyarrow.parquet.ParquetFile(file).iter_batches(8192)
        elif name.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
            yield from csv(gzip.open(file) if name.endswith(".gz") else file, "\t" if ".tsv" in name[-7:] else ",")
        else:
            reader = pyarrow.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


def csv(file: object, delimiter: str) -> Iterator[Any]:
    """Yield the rows of a CSV file; the first megabytes decide the types of the columns."""
    text = {name: pyarrow.string() for name in arguments().text.split(",") if name}
    reader = pyarrow.csv.open_csv(
        file,
        read_options=pyarrow.csv.ReadOptions(block_size=8 << 20),
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(column_types=text),
    )
    missing = [name for name in text if name not in reader.schema.names]
    if missing:
        raise ValueError(f"there is no column {missing[0]}; --text names some of {', '.join(reader.schema.names)}")
    strange = [field.name for field in reader.schema if pyarrow.types.is_binary(field.type)]
    if strange:
        raise ValueError(f"{strange[0]}: its text is not UTF-8: convert the file first, e.g. with iconv")
    for batch in reader:
        warn_of_large(batch)
        yield batch


def warn_of_large(batch: Any) -> None:
    """Warn of whole numbers that 64 bits do not hold: they were read as floats, so their last digits are lost."""
    for name, column in zip(batch.schema.names, batch.columns):
        if pyarrow.types.is_floating(column.type) and len(column) and not column.null_count:
            numbers = column.to_numpy()
            if bool((numbers == numbers.round()).all()) and float(abs(numbers).max()) >= 2.0**63:
                problem = f"{name}: whole numbers of more than 64 bits are read as floats and rounded"
                print(f"warning: {problem}; `-- --text {name}` keeps them as they are written", file=sys.stderr)
