"""Time writing Python rows to a file, compared with pyarrow's `from_pylist` alone and followed by a file.

    python -m benchmarks.rows [--rows 100000] [--rounds 5]

Rows are existing dicts, because from_pylist needs them in a list; CPU seconds, best of several alternating rounds.
from_pylist builds columns in memory, and "x pylist" divides by that alone: it is the target measure. Ours also
compresses, checksums and writes, so it is compared with two peers that end in a file: "x plain" is from_pylist with the
plainest Parquet (no compression, no dictionary, checksums), "x Parquet" with default Parquet. Columns in place of rows
(`Columns(...)`) are the fast way; this is about templates that yield dicts.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from fluidio.conversion.columns import Columns, block_of
from fluidio.conversion.rows import RowBuffer, slots_of
from fluidio.recordio import Writer

Rows = list[dict[str, Any]]


def kinds(count: int) -> dict[str, Rows]:
    """Return rows of several kinds."""
    return {
        "two ints": [{"a": n, "b": 2 * n} for n in range(count)],
        "mixed": [{"id": n, "w": n / 2, "name": f"row {n}", "ok": n % 2 == 0} for n in range(count)],
        "tokens": [{"id": n, "tokens": [n, n + 1, n + 2, n + 3]} for n in range(count)],
        "bytes": [{"id": n, "data": b"x" * 100} for n in range(count)],
    }


def ours(rows: Rows) -> None:
    """Write rows as RecordIO."""
    buffer = RowBuffer(slots_of(rows[0]), 1000, 8 << 20, for_writing=True)
    source = iter(rows)
    with Writer(io.BytesIO()) as writer:
        while buffer.fill(source):
            buffer.write(writer)
        if buffer.rows:
            buffer.write(writer)


def by_columns(rows: Rows) -> Callable[[], None]:
    """Return a function that writes the same rows, given as columns."""
    columns = Columns({name: _column([row[name] for row in rows]) for name in rows[0]})

    def work() -> None:
        with Writer(io.BytesIO()) as writer:
            writer.write_block(block_of(columns)[1])

    return work


def _column(values: list[Any]) -> Any:
    return np.array(values) if isinstance(values[0], (int, float)) else values


def parquet(rows: Rows) -> None:
    """Write rows as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pylist(rows), io.BytesIO())


def plain(rows: Rows) -> None:
    """Write rows as Parquet without compression, but with checksums."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pa.Table.from_pylist(rows), io.BytesIO(), **options)


def pylist(rows: Rows) -> None:
    """Make a table of rows and write nothing."""
    import pyarrow as pa

    pa.Table.from_pylist(rows)


def best(works: list[Callable[[], None]], rounds: int) -> list[float]:
    """Return the least CPU seconds of each work."""
    found = [float("inf")] * len(works)
    for _ in range(rounds):
        for number, work in enumerate(works):
            began = time.process_time()
            work()
            found[number] = min(found[number], time.process_time() - began)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    print(f"{'':10} {'rows/s':>12} {'columns/s':>12} {'x Parquet':>10} {'x plain':>10} {'x pylist':>10}")
    for name, rows in kinds(args.rows).items():
        works: list[Callable[[], None]] = [partial(ours, rows), by_columns(rows)]
        works += [partial(work, rows) for work in (parquet, plain, pylist)]
        mine, columns, *peers = best(works, args.rounds)
        ratios = "".join(f" {peer / mine:10.2f}" for peer in peers)
        print(f"{name:10} {len(rows) / mine:12,.0f} {len(rows) / columns:12,.0f}{ratios}")


if __name__ == "__main__":
    main()
