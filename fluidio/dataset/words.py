"""Words of a corpus, in the strings of the Python that the program was written for."""

from __future__ import annotations

import os

__all__ = ["as_bytes", "as_words"]


def as_words(words: list[bytes]) -> list[bytes | str]:
    """Return bytes, as Python 3 has them; texts in programs for Python 2, whose strings were both."""
    if (os.environ.get("FLUIDIO_PYTHON") or os.environ.get("FLUIDIO_PROGRAM_PYTHON")) == "2":
        return [word.decode("utf-8", "surrogateescape") for word in words]
    return list(words)


def as_bytes(word: bytes | str) -> bytes:
    """Return the bytes of a word, by which words are sorted."""
    return word.encode("utf-8", "surrogateescape") if isinstance(word, str) else word
