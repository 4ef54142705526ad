"""The compiled half of write/encode.py; it may be missing."""

from typing import Any

from typing_extensions import Buffer

Columns = tuple[tuple[Any, ...], ...]
"""For each slot: data, bytes of a row, rows of a record, edges or None, sequences or None, levels, and the TensorDesc
before and behind the number of rows."""

def sizes(records: int, columns: Columns, sizes: Buffer, /) -> None: ...
def encode(records: int, columns: Columns, target: Buffer, /) -> None: ...
