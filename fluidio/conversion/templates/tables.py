"""Tables in Parquet, Arrow or CSV files, whole columns at a time (`pip install 'fluidio[arrow]'`).

fluidio convert tables.py --output OUT/train --partitions 8 -- --files a.parquet b.csv

Every file (a path or URL; CSV may end with .gz) is a task. `fluidio convert a.parquet b.csv --output OUT/train` is the
same. `--nulls drop` drops rows with nulls, `--nulls VALUE` replaces nulls with a value. Numbers in CSV files are
numbers: `--text zip,phone` keeps columns as they are written, including leading zeros. Dates and times are text.
"""

import argparse
import contextlib
import functools
import gzip
import itertools
import re
from collections.abc import Iterator
from typing import Any

import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from fluidio.conversion.formats.nulls import without_nulls
from fluidio.conversion.storage import opened

WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*$")


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", nargs="+", required=True)
    parser.add_argument("--nulls", metavar="drop|VALUE")
    parser.add_argument("--text", metavar="NAME,...", default="", help="columns of CSV files that are text")
    parser.add_argument(
        "--delimiter", metavar="C", type=character, help="between the columns of CSV files (default: a comma)"
    )
    return parser.parse_args()


def character(text: str) -> str:
    """Return a delimiter; `\\t` stands for a tab."""
    found = "\t" if text == "\\t" else text
    if len(found) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return found


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
    if name.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
        yield from csv(path)
        return
    with opened(path) as file:
        if name.endswith((".parquet", ".pq")):
            table = pyarrow.parquet.ParquetFile(file)
            schema, found = table.schema_arrow, table.iter_batches(8192)
        else:
            reader = pyarrow.ipc.open_file(file)
            schema, found = reader.schema, ipc_batches(reader)
        first = next(found, None)
        if first is not None:
            yield from itertools.chain([first], found)
        elif len(schema) and pyarrow.null() not in schema.types:  # its names
            yield pyarrow.RecordBatch.from_pylist([], schema)


def ipc_batches(reader: Any) -> Iterator[Any]:
    for number in range(reader.num_record_batches):
        batch = reader.get_batch(number)
        batch.validate(full=True)  # Arrow believes the offsets in a file
        yield batch


def csv(path: str) -> Iterator[Any]:
    """Yield the rows of a CSV file; the first megabytes decide the types of the columns."""
    names = [name for name in arguments().text.split(",") if name]
    suspects: set[str] = set()
    with csv_reader(path, names) as reader:
        check_delimiter(reader.schema.names, names)
        text = names + [field.name for field in reader.schema if pyarrow.types.is_temporal(field.type)]
    with csv_reader(path, text) as reader:
        missing = [name for name in names if name not in reader.schema.names]
        if missing:
            raise ValueError(f"there is no column {missing[0]}; --text names some of {', '.join(reader.schema.names)}")
        strange = [field.name for field in reader.schema if pyarrow.types.is_binary(field.type)]
        if strange:
            raise ValueError(f"{strange[0]}: its text is not UTF-8: convert the file first, e.g. with iconv")
        for batch in reader:
            suspects.update(with_large_numbers(batch))
            yield batch
    if suspects:
        refuse_rounding(path, sorted(suspects))


def check_delimiter(columns: list[str], text: list[str]) -> None:
    """Refuse a file whose only column holds what may stand between columns."""
    found = next((mark for mark in ";\t|" if mark in columns[0]), None) if len(columns) == 1 else None
    if found is not None and arguments().delimiter is None and columns[0] not in text:
        raise ValueError(
            f"its only column is called {columns[0]!r}: `-- --delimiter '{found}'` says what is between the columns, "
            f"`-- --text {columns[0]!r}` that this is one"
        )


@contextlib.contextmanager
def csv_reader(path: str, text: list[str], **options: Any) -> Iterator[Any]:
    """Open a CSV file whose columns `text` stay as they are written."""
    name = path.lower()
    with opened(path) as file:
        yield pyarrow.csv.open_csv(
            gzip.open(file) if name.endswith(".gz") else file,
            read_options=pyarrow.csv.ReadOptions(block_size=8 << 20),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=arguments().delimiter or ("\t" if ".tsv" in name[-7:] else ","), newlines_in_values=True
            ),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(text, pyarrow.string()), **options),
        )


def with_large_numbers(batch: Any) -> Iterator[str]:
    """Yield the names of columns of floats that hold numbers of 2**53 and more, which may be rounded whole numbers."""
    for name, column in zip(batch.schema.names, batch.columns):
        if pyarrow.types.is_floating(column.type) and bool((abs(column.drop_null().to_numpy()) >= 2.0**53).any()):
            yield name


def refuse_rounding(path: str, names: list[str]) -> None:
    """Read columns of floats as they are written, and refuse whole numbers that a float cannot hold."""
    row = 0
    with csv_reader(path, names, include_columns=names) as reader:
        for batch in reader:
            for name, column in zip(names, batch.columns):
                for number, text in enumerate(column.to_pylist(), row):
                    if len(text or "") > 15 and WHOLE.match(text) and float(text) != int(text):
                        raise ValueError(
                            f"{name}: {text.strip()} in row {number} would be rounded to {float(text)}, because the "
                            f"column is read as floats; `-- --text {name}` keeps it as it is written"
                        )
            row += len(batch)
