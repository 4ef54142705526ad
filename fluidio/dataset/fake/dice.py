"""Reproducible random choices, invented words, and the archives that data sets come in."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["Array", "Dice", "Files", "gz", "made_up_words", "tar_gz", "text", "zip_bytes"]

T = TypeVar("T")
Array = np.ndarray[Any, Any]
Files = dict[str, bytes]


class Dice:
    """Random choices based only on uniform numbers, whose stream is the same in every NumPy."""

    def __init__(self, seed: int) -> None:
        self._state = np.random.RandomState(seed)

    def uniform(self, *shape: int) -> Array:
        return self._state.random_sample(shape)

    def one(self) -> float:
        return float(self._state.random_sample())

    def below(self, n: int) -> int:
        return int(self.one() * n)

    def between(self, low: int, high: int) -> int:
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def order(self, n: int) -> list[int]:
        return [int(i) for i in np.argsort(self.uniform(n), kind="mergesort")]

    def bell(self, *shape: int) -> Array:
        """Return approximately normal numbers: the sum of twelve uniform ones minus six."""
        return np.asarray(self._state.random_sample((12, *shape)).sum(axis=0) - 6.0)


def gz(data: bytes) -> bytes:
    """Return gzipped bytes, the same in every run."""
    return gzip.compress(data, 9, mtime=0)


def tar_gz(members: Iterable[tuple[str, bytes | None]]) -> bytes:
    """Return a gzipped tar archive; a member without content is a folder."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            if data is None:
                info.type, info.mode = tarfile.DIRTYPE, 0o755
            else:
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data or b""))
    return gz(out.getvalue())


def zip_bytes(members: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return out.getvalue()


def text(lines: Iterable[str], encoding: str = "utf-8") -> bytes:
    """Return lines as the bytes of a text file."""
    return ("\n".join(lines) + "\n").encode(encoding)


_HEADS = ["b", "br", "d", "dr", "f", "g", "gl", "h", "k", "kr", "l", "m"]
_HEADS += ["n", "p", "pl", "r", "s", "st", "t", "tr", "v", "w", "z"]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "oo"]
_TAILS = ["", "", "n", "r", "s", "t", "l", "m", "nd", "st"]


def made_up_words(n: int, seed: int, syllables: tuple[int, int] = (2, 3), avoid: Iterable[str] = ()) -> list[str]:
    """Return n different invented words."""
    dice, seen, words = Dice(seed), set(avoid), list[str]()
    while len(words) < n:
        word = "".join(
            dice.pick(_HEADS) + dice.pick(_VOWELS) + dice.pick(_TAILS) for _ in range(dice.between(*syllables))
        )
        if word not in seen:
            seen.add(word)
            words.append(word)
    return words
