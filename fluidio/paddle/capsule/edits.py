"""Collect edits of a source text by the positions of its syntax tree, and apply them without moving any line."""

from __future__ import annotations

import ast
from typing import TypeAlias

__all__ = ["Edits", "Spanned"]

Spanned: TypeAlias = ast.expr | ast.stmt


class Edits:
    """Insertions and replacements in one text; add an outer node's edits before those of its children."""

    def __init__(self, text: str) -> None:
        self.data = text.encode()
        self.line_starts = [0]
        for line in self.data.split(b"\n"):
            self.line_starts.append(self.line_starts[-1] + len(line) + 1)
        self._pieces: list[tuple[int, int, int, bytes]] = []  # start, end, order among equals, text

    def start(self, node: Spanned) -> int:
        """Return the offset of a node's first byte."""
        return self.line_starts[node.lineno - 1] + node.col_offset

    def end(self, node: Spanned) -> int:
        """Return the offset after a node's last byte."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.line_starts[node.end_lineno - 1] + node.end_col_offset

    def segment(self, start: int, end: int) -> str:
        """Return a part of the original text."""
        return self.data[start:end].decode()

    def open(self, offset: int, text: str) -> None:
        """Insert before the node at `offset`; insertions of inner nodes come after those of outer ones."""
        self._pieces.append((offset, offset, len(self._pieces) + 1, text.encode()))

    def close(self, offset: int, text: str) -> None:
        """Insert after the node that ends at `offset`; inner nodes' insertions come first, then those opened there."""
        self._pieces.append((offset, offset, -len(self._pieces) - 1, text.encode()))

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a span by `text`; line ends in it are kept."""
        lost = self.data[start:end].count(b"\n") - text.count("\n")
        self._pieces.append((start, end, 0, text.encode() + b"\\\n" * max(lost, 0)))

    def find(self, token: bytes, start: int, end: int) -> int:
        """Return where `token` is between two operands, skipping comments, brackets and line ends."""
        offset = start
        while offset < end:
            if self.data.startswith(b"#", offset):
                offset = self.data.index(b"\n", offset)
            elif self.data.startswith(token, offset):
                return offset
            offset += 1
        raise ValueError(f"there is no {token.decode()} between bytes {start} and {end}")

    def apply(self) -> str:
        """Return the edited text."""
        parts: list[bytes] = []
        done = 0
        for start, end, _, text in sorted(self._pieces, key=lambda piece: (piece[0], piece[1], piece[2])):
            parts += [self.data[done:start], text]
            done = max(done, end)
        return b"".join([*parts, self.data[done:]]).decode()

    def __bool__(self) -> bool:
        return bool(self._pieces)
