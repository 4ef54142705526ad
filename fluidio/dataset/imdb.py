"""Film reviews: (list of word ids, 0 for a good one and 1 for a bad one)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator
from re import Pattern

from fluidio.dataset import common
from fluidio.dataset.archives import tar_members
from fluidio.dataset.words import as_bytes, as_words

__all__ = ["build_dict", "test", "train"]

URL = "https://dataset.bj.bcebos.com/imdb%2FaclImdb_v1.tar.gz"
MD5 = "7c2ac02c03563afcf9b574c7e56c153a"

WordDict = dict[bytes | str, int]
Sample = tuple[list[int], int]
_PUNCTUATION = string.punctuation.encode("ascii")


def _documents(pattern: Pattern[str]) -> Iterator[tuple[str, list[bytes | str]]]:
    for name, text in tar_members(common.download(URL, "imdb", MD5), pattern.match):
        yield name, as_words(text.rstrip(b"\n\r").translate(None, _PUNCTUATION).lower().split())


def tokenize(pattern: Pattern[str]) -> Iterator[list[bytes | str]]:
    """Yield the words of each review whose name in the archive matches: lower case, without punctuation."""
    for _, words in _documents(pattern):
        yield words


def build_dict(pattern: Pattern[str], cutoff: int) -> WordDict:
    """Number the words that occur more than `cutoff` times, frequent ones first.

    Fluid: on Python 3 the words are bytes, and the last entry is the text "<unk>". In programs for Python 2 all are
    texts.
    """
    frequency: Counter[bytes | str] = Counter()
    for words in tokenize(pattern):
        frequency.update(words)
    kept = [word for word, n in frequency.items() if n > cutoff]
    kept.sort(key=lambda word: (-frequency[word], as_bytes(word)))
    numbered: WordDict = {word: number for number, word in enumerate(kept)}
    numbered["<unk>"] = len(kept)
    return numbered


def reader_creator(
    pos_pattern: Pattern[str], neg_pattern: Pattern[str], word_idx: WordDict
) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the reviews of two patterns, all good ones first."""
    unknown = word_idx["<unk>"]
    samples: tuple[list[Sample], list[Sample]] = ([], [])
    both = re.compile(f"(?:{pos_pattern.pattern})|(?:{neg_pattern.pattern})")
    for name, words in _documents(both):
        ids = [word_idx.get(word, unknown) for word in words]
        if pos_pattern.match(name):
            samples[0].append((ids, 0))
        if neg_pattern.match(name):
            samples[1].append((ids, 1))

    def reader() -> Iterator[Sample]:
        yield from samples[0]
        yield from samples[1]

    return reader


def train(word_idx: WordDict) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the training reviews."""
    return reader_creator(
        re.compile(r"aclImdb/train/pos/.*\.txt$"), re.compile(r"aclImdb/train/neg/.*\.txt$"), word_idx
    )


def test(word_idx: WordDict) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the test reviews."""
    return reader_creator(re.compile(r"aclImdb/test/pos/.*\.txt$"), re.compile(r"aclImdb/test/neg/.*\.txt$"), word_idx)


def word_dict() -> WordDict:
    """Return the usual dictionary: the words that occur more than 150 times."""
    return build_dict(re.compile(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$"), 150)


def fetch() -> None:
    """Download the archive."""
    common.download(URL, "imdb", MD5)
