"""Files of JSON lines: one object for each row, the same keys in all.

fluidio convert json_lines.py --output OUT/train --partitions 8 -- --files part-0.jsonl part-1.jsonl

Every file (a path or URL; it may end with .gz) is a task. Numbers, texts and lists of them are stored as they are; a
column with fractions among its first 1,000 values holds floats, and so do those that `--floats price,weight` names.
`--nulls drop` drops rows with nulls, `--nulls VALUE` replaces nulls with a value. Fix types with SCHEMA:
SCHEMA = {"tokens": ("int64", 1), "text": "str", "label": "int64"}
"""

import argparse
import functools
import gzip
import io
import itertools
import json
from collections.abc import Iterator
from typing import Any

from fluidio.conversion.storage import opened


@functools.cache
def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", nargs="+", required=True)
    parser.add_argument("--nulls", metavar="drop|VALUE")
    parser.add_argument("--floats", metavar="NAME,...", default="", help="columns of floats, also where they are whole")
    return parser.parse_args()


def task_number() -> int:
    return len(arguments().files)


def task_name(task_id: int) -> str:
    return str(arguments().files[task_id])


def dict_data(task_id: int) -> Iterator[dict[str, object]]:
    rows = objects(arguments().files[task_id])
    first, problem = as_far_as_good(rows, 1000)
    floats = {name for name in arguments().floats.split(",") if name}
    floats.update(name for row in first for name, value in row.items() if has_fraction(value))
    for row in itertools.chain(first, rows):
        for name in floats & row.keys():
            row[name] = as_floats(row[name])
        yield row
    if problem is not None:
        raise problem


def as_far_as_good(rows: Iterator[dict[str, object]], most: int) -> tuple[list[dict[str, object]], ValueError | None]:
    """Return the first rows, and the error that follows them if one does."""
    found: list[dict[str, object]] = []
    try:
        for row in itertools.islice(rows, most):
            found.append(row)
    except ValueError as error:
        return found, error
    return found, None


def has_fraction(value: object) -> bool:
    return any(map(has_fraction, value)) if isinstance(value, list) else isinstance(value, float)


def as_floats(value: Any) -> Any:
    """Return whole numbers as floats where these hold them; others are refused later."""
    if isinstance(value, list):
        return [as_floats(item) for item in value]
    return float(value) if type(value) is int and abs(value) <= 2**53 else value


def objects(path: str) -> Iterator[dict[str, object]]:
    with opened(path) as file:
        plain = gzip.open(file) if path.lower().endswith(".gz") else file
        for number, line in enumerate(io.TextIOWrapper(plain, encoding="utf-8-sig"), 1):  # -sig: Windows' first bytes
            if not line.strip():
                continue
            try:
                found = without_nulls(json.loads(line, object_pairs_hook=once))
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error
            if found is not None:
                yield found


def without_nulls(row: Any) -> Any:
    """Return a row without nulls, None if it is to be dropped."""
    if not isinstance(row, dict):
        raise ValueError(f"an object is expected, not {row!r:.40}")
    nulls = arguments().nulls
    null = next((name for name, value in row.items() if value is None), None)
    if null is None or nulls == "drop":
        return row if null is None else None
    if nulls is None:
        said = "`-- --nulls drop` leaves such rows out, `-- --nulls VALUE` puts a value in their place"
        raise ValueError(f"{null} is null; tensors have no null: {said}")
    try:
        value = json.loads(nulls)
    except ValueError:
        value = nulls
    return {name: value if old is None else old for name, old in row.items()}


def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object; refuse repeated keys, of which all but the last would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise ValueError(f"the key {twice!r} appears twice")
    return found
