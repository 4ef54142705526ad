"""French to English: (source ids, target ids from <s> on, target ids up to <e>)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fluidio.dataset import common
from fluidio.dataset.archives import lines_of, tar_members

__all__ = ["get_dict", "test", "train"]

URL_TRAIN = "http://paddlemodels.bj.bcebos.com/wmt/wmt14.tgz"
MD5_TRAIN = "0791583d57d5beb693b9414c5b36798c"
START, END, UNK = "<s>", "<e>", "<unk>"
UNK_IDX = 2

Sample = tuple[list[int], list[int], list[int]]
_LONGEST = 80


def _dicts(path: str, dict_size: int) -> tuple[dict[str, int], dict[str, int]]:
    files = dict(tar_members(path, lambda name: name.endswith(("src.dict", "trg.dict"))))
    found: dict[str, dict[str, int]] = {}
    for name, text in files.items():
        lines = lines_of(text.decode("utf-8"))[:dict_size]
        found[name[-8:-5]] = {word: number for number, word in enumerate(lines)}
    if sorted(found) != ["src", "trg"]:
        raise RuntimeError(f"{path} must contain src.dict and trg.dict, found {sorted(files)}")
    return found["src"], found["trg"]


def reader_creator(tar_file: str, file_name: str, dict_size: int) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the pairs in the files whose name ends with `file_name`."""

    def reader() -> Iterator[Sample]:
        source, target = _dicts(tar_file, dict_size)
        for _, text in tar_members(tar_file, lambda name: name.endswith(file_name)):
            for line in text.decode("utf-8").split("\n"):
                parts = line.strip().split("\t")
                if len(parts) != 2:
                    continue
                ids = [source.get(word, UNK_IDX) for word in [START, *parts[0].split(), END]]
                words = [target.get(word, UNK_IDX) for word in parts[1].split()]
                if len(ids) <= _LONGEST and len(words) <= _LONGEST:
                    yield ids, [target[START], *words], [*words, target[END]]

    return reader


def train(dict_size: int) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the training pairs, with dictionaries of `dict_size` words."""
    return reader_creator(common.download(URL_TRAIN, "wmt14", MD5_TRAIN), "train/train", dict_size)


def test(dict_size: int) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the test pairs."""
    return reader_creator(common.download(URL_TRAIN, "wmt14", MD5_TRAIN), "test/test", dict_size)


def gen(dict_size: int) -> Callable[[], Iterator[Sample]]:
    """Return a reader of the pairs meant for generation."""
    return reader_creator(common.download(URL_TRAIN, "wmt14", MD5_TRAIN), "gen/gen", dict_size)


def get_dict(dict_size: int, reverse: bool = True) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the two dictionaries: from number to word, or from word to number when `reverse` is False."""
    source, target = _dicts(common.download(URL_TRAIN, "wmt14", MD5_TRAIN), dict_size)
    if not reverse:
        return source, target
    return {number: word for word, number in source.items()}, {number: word for word, number in target.items()}


def fetch() -> None:
    """Download the archive."""
    common.download(URL_TRAIN, "wmt14", MD5_TRAIN)
