"""English and German: (source ids, target ids from <s> on, target ids up to <e>)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from fluidio.dataset import common
from fluidio.dataset.archives import FileVersion, lines_of, tar_members, version

__all__ = ["fetch", "get_dict", "test", "train", "validation"]

DATA_URL = "http://paddlemodels.bj.bcebos.com/wmt/wmt16.tar.gz"
DATA_MD5 = "0c38be43600334966403524a40dcd81e"
TOTAL_EN_WORDS = 11250
TOTAL_DE_WORDS = 19220
START_MARK, END_MARK, UNK_MARK = "<s>", "<e>", "<unk>"

Sample = tuple[list[int], list[int], list[int]]


def _check(lang: str) -> None:
    if lang not in ("en", "de"):
        raise ValueError(f"the language must be 'en' (English) or 'de' (German), got {lang!r}")


def _pairs(tar_file: str, file_name: str) -> Iterator[list[str]]:
    for _, text in tar_members(tar_file, lambda name: name == file_name):
        for line in text.decode("utf-8").split("\n"):
            parts = line.strip().split("\t")
            if len(parts) == 2:
                yield parts


@lru_cache(maxsize=4)
def _frequent(file: FileVersion, lang: str) -> list[str]:
    """Return the words of the training text, frequent ones first, equally frequent ones in order of appearance."""
    counts: Counter[str] = Counter()
    for parts in _pairs(file[0], "wmt16/train"):
        counts.update(parts[0 if lang == "en" else 1].split())
    return [word for word, _ in counts.most_common()]


def _load_dict(tar_file: str, lang: str, dict_size: int) -> dict[str, int]:
    size = min(dict_size, TOTAL_EN_WORDS if lang == "en" else TOTAL_DE_WORDS)
    saved = os.path.join(os.path.dirname(tar_file), f"{lang}_{size}.dict")  # written by Paddle
    words: list[str] = []
    if os.path.exists(saved):
        with open(saved, encoding="utf-8") as file:
            words = lines_of(file.read())
    if len(words) != size:
        words = [START_MARK, END_MARK, UNK_MARK, *_frequent(version(tar_file), lang)][:size]
    return {word: number for number, word in enumerate(words)}


def reader_creator(
    tar_file: str, file_name: str, src_dict_size: int, trg_dict_size: int, src_lang: str
) -> Callable[[], Iterator[Sample]]:
    """Return a reader of one file of the archive, from `src_lang` to the other language."""

    def reader() -> Iterator[Sample]:
        trg_lang = "de" if src_lang == "en" else "en"
        source, target = _load_dict(tar_file, src_lang, src_dict_size), _load_dict(tar_file, trg_lang, trg_dict_size)
        start, end, unknown = source[START_MARK], source[END_MARK], source[UNK_MARK]
        side = 0 if src_lang == "en" else 1
        for parts in _pairs(tar_file, file_name):
            ids = [source.get(word, unknown) for word in parts[side].split()]
            words = [target.get(word, unknown) for word in parts[1 - side].split()]
            yield [start, *ids, end], [start, *words], [*words, end]

    return reader


def _creator(part: str, src_dict_size: int, trg_dict_size: int, src_lang: str) -> Callable[[], Iterator[Sample]]:
    _check(src_lang)
    for size in (src_dict_size, trg_dict_size):
        if size < 3:
            raise ValueError(
                f"a dictionary of {size} words has no room for {START_MARK}, {END_MARK} and {UNK_MARK}: use at least 3"
            )
    path = common.download(DATA_URL, "wmt16", DATA_MD5, "wmt16.tar.gz")
    return reader_creator(path, f"wmt16/{part}", src_dict_size, trg_dict_size, src_lang)


def train(src_dict_size: int, trg_dict_size: int, src_lang: str = "en") -> Callable[[], Iterator[Sample]]:
    """Return a reader of the training pairs."""
    return _creator("train", src_dict_size, trg_dict_size, src_lang)


def test(src_dict_size: int, trg_dict_size: int, src_lang: str = "en") -> Callable[[], Iterator[Sample]]:
    """Return a reader of the test pairs."""
    return _creator("test", src_dict_size, trg_dict_size, src_lang)


def validation(src_dict_size: int, trg_dict_size: int, src_lang: str = "en") -> Callable[[], Iterator[Sample]]:
    """Return a reader of the validation pairs."""
    return _creator("val", src_dict_size, trg_dict_size, src_lang)


def get_dict(lang: str, dict_size: int, reverse: bool = False) -> dict[Any, Any]:
    """Return the dictionary of a language: from word to number, or from number to word when `reverse`.

    Fluid: a reader of the same size had to build it first; here it is built when missing.
    """
    _check(lang)
    words = _load_dict(common.download(DATA_URL, "wmt16", DATA_MD5, "wmt16.tar.gz"), lang, dict_size)
    return {number: word for word, number in words.items()} if reverse else words


def fetch() -> None:
    """Download the archive."""
    common.download(DATA_URL, "wmt16", DATA_MD5, "wmt16.tar.gz")
