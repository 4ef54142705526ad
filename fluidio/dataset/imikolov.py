"""Newspaper text for language models: n word ids in a row, or whole sentences and what follows each word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fluidio.dataset import common
from fluidio.dataset.archives import tar_members
from fluidio.dataset.words import as_bytes, as_words

__all__ = ["build_dict", "test", "train"]

URL = "https://dataset.bj.bcebos.com/imikolov%2Fsimple-examples.tgz"
MD5 = "30177ea32e27c525793142b6bf2c8e2d"
_FOLDER = "./simple-examples/data/"

WordDict = dict[bytes | str, int]


class DataType:
    """What a sample is: n words in a row, or a sentence."""

    NGRAM = 1
    SEQ = 2


def _lines(*names: str) -> Iterator[list[bytes | str]]:
    wanted = [_FOLDER + name for name in names]
    path = common.download(URL, "imikolov", MD5)
    for _, text in tar_members(path, lambda name: name in wanted):
        for line in text.splitlines():
            yield as_words(line.split())


def word_count(f: Iterable[bytes | str], word_freq: Counter[bytes | str] | None = None) -> Counter[bytes | str]:
    """Count the words of lines, and one "<s>" and "<e>" for each."""
    counts = Counter[bytes | str]() if word_freq is None else word_freq
    for line in f:
        counts.update(line.split())
        counts.update(("<s>", "<e>"))
    return counts


def build_dict(min_word_freq: int = 50) -> WordDict:
    """Number the words that occur more than `min_word_freq` times, frequent ones first.

    Fluid: on Python 3 the words are bytes, the marks "<s>", "<e>" and "<unk>" (the last one) are text; a b"<unk>" of
    the corpus keeps a number of its own. In programs for Python 2 all are texts, and there is one "<unk>".
    """
    counts = Counter[bytes | str]()
    for words in _lines("ptb.train.txt", "ptb.valid.txt"):
        counts.update((*words, "<s>", "<e>"))
    counts.pop("<unk>", None)
    kept = sorted((w for w, n in counts.items() if n > min_word_freq), key=lambda w: (-counts[w], as_bytes(w)))
    numbered = {word: number for number, word in enumerate(kept)}
    numbered["<unk>"] = len(kept)
    return numbered


def reader_creator(
    filename: str, word_idx: WordDict, n: int, data_type: int
) -> Callable[[], Iterator[tuple[Any, ...]]]:
    """Return a reader of one file of the archive."""
    if data_type not in (DataType.NGRAM, DataType.SEQ):
        raise ValueError(f"data_type must be DataType.NGRAM (1) or DataType.SEQ (2), got {data_type}")

    def ids(words: Iterable[bytes | str]) -> list[int]:
        unknown = word_idx["<unk>"]
        return [word_idx.get(word, unknown) for word in words]

    def ngrams() -> Iterator[tuple[int, ...]]:
        assert n > -1, f"n must not be negative, got {n}"
        for line in _lines(filename):
            sentence = ids(["<s>", *line, "<e>"])
            for end in range(n, len(sentence) + 1):
                yield tuple(sentence[end - n : end])

    def sentences() -> Iterator[tuple[list[int], list[int]]]:
        for line in _lines(filename):
            words = ids(line)
            source, following = [word_idx["<s>"], *words], [*words, word_idx["<e>"]]
            if n <= 0 or len(source) <= n:
                yield source, following

    return ngrams if data_type == DataType.NGRAM else sentences


def train(word_idx: WordDict, n: int, data_type: int = DataType.NGRAM) -> Callable[[], Iterator[tuple[Any, ...]]]:
    """Return a reader of the training text: n-grams, or sentences of at most n words."""
    return reader_creator("ptb.train.txt", word_idx, n, data_type)


def test(word_idx: WordDict, n: int, data_type: int = DataType.NGRAM) -> Callable[[], Iterator[tuple[Any, ...]]]:
    """Return a reader of the validation text."""
    return reader_creator("ptb.valid.txt", word_idx, n, data_type)


def fetch() -> None:
    """Download the archive."""
    common.download(URL, "imikolov", MD5)
