"""Readers and dictionaries give, sample by sample, what the real Fluid 1.8.5 read from the same files."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import reader
from fluidio.dataset import cifar, conll05, imdb, imikolov, mnist, movielens, sentiment, uci_housing, wmt14, wmt16

GOLDEN = json.loads((Path(__file__).parents[1] / "data/dataset/fluid-1.8.5.json").read_text())["readers"]


def canonical(value: Any) -> bytes:
    """Return a sample as bytes: numbers of any width alike, arrays with dtype and shape, lists like tuples."""
    if isinstance(value, np.ndarray):
        shape = b"".join(struct.pack("<q", n) for n in value.shape)
        return str(value.dtype).encode() + shape + np.ascontiguousarray(value).tobytes()
    if isinstance(value, int | np.integer):
        return struct.pack("<q", int(value))
    if isinstance(value, float | np.floating):
        return struct.pack("<d", float(value))
    if isinstance(value, list | tuple):
        return b"(" + b"".join(map(canonical, value)) + b")"
    return value if isinstance(value, bytes) else str(value).encode()


def samples(read: Callable[[], Iterable[Any]]) -> dict[str, Any]:
    crc, number, last, kind = 0, 0, b"", ""
    for sample in read():
        last, kind = canonical(sample), type(sample).__name__
        crc, number = zlib.crc32(last, crc), number + 1
    return {"samples": number, "crc32": crc, "sample_type": kind, "last_sample_crc32": zlib.crc32(last)}


def dictionary(numbers: dict[Any, int]) -> dict[str, Any]:
    items = sorted(numbers.items(), key=lambda item: item[1])
    blob = b"".join((k if isinstance(k, bytes) else k.encode()) + b"\0" + struct.pack("<q", v) for k, v in items)
    return {
        "size": len(numbers),
        "crc32": zlib.crc32(blob),
        "key_types": sorted({type(key).__name__ for key in numbers}),
    }


def embedding() -> dict[str, Any]:
    blob = Path(conll05.get_embedding()).read_bytes()
    rows = np.frombuffer(blob[16:], "<f4").reshape(-1, 32)
    header = list(struct.unpack("<iIQ", blob[:16]))
    return {"header": header, "shape": list(rows.shape), "crc32": zlib.crc32(blob)}


def limits() -> dict[str, Any]:
    return {
        "max_user_id": movielens.max_user_id(),
        "max_movie_id": movielens.max_movie_id(),
        "max_job_id": movielens.max_job_id(),
        "users": len(movielens.user_info()),
        "movies": len(movielens.movie_info()),
        "movie_783": movielens.movie_info()[783].title,
        "user_1": str(movielens.user_info()[1]),
    }


def shuffled() -> dict[str, Any]:
    random.seed(7)
    return samples(reader.shuffle(mnist.test(), 200))


def word_list() -> dict[str, Any]:
    words = sentiment.get_word_dict()
    return {"type": type(words).__name__, "size": len(words), "first": [list(pair) for pair in words[:5]]}


def batches(**options: Any) -> dict[str, Any]:
    return {"batches": [len(batch) for batch in reader.batch(mnist.test(), 64, **options)()]}


SEQ = imikolov.DataType.SEQ
CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "mnist.train": lambda: samples(mnist.train()),
    "mnist.test": lambda: samples(mnist.test()),
    "uci_housing.train": lambda: samples(uci_housing.train()),
    "uci_housing.test": lambda: samples(uci_housing.test()),
    "cifar.train10": lambda: samples(cifar.train10()),
    "cifar.test10": lambda: samples(cifar.test10()),
    "cifar.train100": lambda: samples(cifar.train100()),
    "cifar.test100": lambda: samples(cifar.test100()),
    "imdb.word_dict": lambda: dictionary(imdb.word_dict()),
    "imdb.train(word_dict)": lambda: samples(imdb.train(imdb.word_dict())),
    "imdb.test(word_dict)": lambda: samples(imdb.test(imdb.word_dict())),
    "imikolov.build_dict": lambda: dictionary(imikolov.build_dict()),
    "imikolov.build_dict(20)": lambda: dictionary(imikolov.build_dict(20)),
    "imikolov.train(dict,5)": lambda: samples(imikolov.train(imikolov.build_dict(), 5)),
    "imikolov.test(dict,5)": lambda: samples(imikolov.test(imikolov.build_dict(), 5)),
    "imikolov.train(dict,20,SEQ)": lambda: samples(imikolov.train(imikolov.build_dict(), 20, SEQ)),
    "imikolov.test(dict,20,SEQ)": lambda: samples(imikolov.test(imikolov.build_dict(), 20, SEQ)),
    "movielens.title_dict": lambda: dictionary(movielens.get_movie_title_dict()),
    "movielens.categories": lambda: dictionary(movielens.movie_categories()),
    "movielens.limits": limits,
    "movielens.train": lambda: samples(movielens.train()),
    "movielens.test": lambda: samples(movielens.test()),
    "conll05.word_dict": lambda: dictionary(conll05.get_dict()[0]),
    "conll05.verb_dict": lambda: dictionary(conll05.get_dict()[1]),
    "conll05.label_dict": lambda: dictionary(conll05.get_dict()[2]),
    "conll05.test": lambda: samples(conll05.test()),
    "conll05.embedding": embedding,
    "wmt14.train(30)": lambda: samples(wmt14.train(30)),
    "wmt14.test(30)": lambda: samples(wmt14.test(30)),
    "wmt14.train(30000)": lambda: samples(wmt14.train(30000)),
    "wmt14.test(30000)": lambda: samples(wmt14.test(30000)),
    "wmt14.src_dict": lambda: dictionary(wmt14.get_dict(30000, reverse=False)[0]),
    "wmt14.trg_dict": lambda: dictionary(wmt14.get_dict(30000, reverse=False)[1]),
    "wmt16.train(60,60)": lambda: samples(wmt16.train(60, 60)),
    "wmt16.test(60,60)": lambda: samples(wmt16.test(60, 60)),
    "wmt16.validation(60,60)": lambda: samples(wmt16.validation(60, 60)),
    "wmt16.train(30000,30000)": lambda: samples(wmt16.train(30000, 30000)),
    "wmt16.test(30000,30000)": lambda: samples(wmt16.test(30000, 30000)),
    "wmt16.validation(30000,30000)": lambda: samples(wmt16.validation(30000, 30000)),
    "wmt16.train(60,50,de)": lambda: samples(wmt16.train(60, 50, "de")),
    "wmt16.get_dict(en,60)": lambda: dictionary(wmt16.get_dict("en", 60)),
    "wmt16.get_dict(de,60)": lambda: dictionary(wmt16.get_dict("de", 60)),
    "wmt16.get_dict(en,30000)": lambda: dictionary(wmt16.get_dict("en", 30000)),
    "sentiment.train": lambda: samples(sentiment.train),
    "sentiment.get_word_dict": word_list,
    "shuffle(mnist.test,200) seed 7": shuffled,
    "batch(mnist.test,64)": batches,
    "batch(mnist.test,64,drop_last=True)": lambda: batches(drop_last=True),
}


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", sorted(CASES))
def test_what_is_read_is_what_fluid_read(name: str) -> None:
    assert CASES[name]() == GOLDEN[name]


def test_every_golden_case_is_tried() -> None:
    assert set(CASES) == set(GOLDEN)
