"""The compiled half of quick.py; it may be missing."""

from typing import Any

from typing_extensions import Buffer

def read(
    data: Buffer, dtypes: dict[tuple[str, str], tuple[Any, int, bool]], ndarray: type, constants: tuple[Any, ...], /
) -> tuple[Any] | None: ...
