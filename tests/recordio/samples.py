"""Files of numbered records, and what numbers come back."""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.recordio import BlockReader, Column, Writer


def numbered(path: Any, count: int, start: int = 0, chunk: int = 10, compressor: str = "none") -> Any:
    """Write records (float32 (1, 2), int64 sequence) whose values tell their number."""
    numbers = np.arange(start, start + count)
    lengths = numbers % 4
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = Column(np.repeat(numbers, lengths)[:, None], offsets, (offsets,))
    with Writer(path, compressor, chunk) as writer:
        writer.write_block([Column(np.stack([numbers, -numbers], 1).astype(np.float32)), words])
    return path


def block_numbers(reader: BlockReader) -> list[int]:
    return [int(value) for block in reader for value in block.columns[0].data[:, 0]]
