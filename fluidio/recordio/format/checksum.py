"""The two checksums of the RecordIO world: CRC-32 (IEEE) over stored chunks, CRC-32C over snappy blocks."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import cast

try:
    from isal.isal_zlib import crc32 as _crc32
except ImportError:  # no wheel for this platform: three to ten times slower, same numbers
    _crc32 = zlib.crc32

__all__ = ["CRC32_IS_FAST", "crc32", "crc32c", "masked_crc32c"]

Checksum = Callable[..., int]
"""`checksum(data)`, or `checksum(more, checksum_so_far)`."""

crc32: Checksum = _crc32
_crc32c: Checksum | None = None
CRC32_IS_FAST: bool = _crc32 is not zlib.crc32


def crc32c(data: object, value: int = 0) -> int:
    """Return the CRC-32C; its package is imported at the first call, because it takes a fifth of `import fluidio`."""
    global _crc32c
    function = _crc32c
    if function is None:
        from crc32c import crc32c as found

        function = _crc32c = cast("Checksum", found)
    return function(data, value)


def masked_crc32c(data: object) -> int:
    """Return the rotated and shifted CRC-32C that both snappy stream formats (and TFRecord) store."""
    value = crc32c(data)
    return (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF
