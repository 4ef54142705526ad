"""Learning to rank: documents of a query with 46 features and a relevance from 0 to 2."""

from __future__ import annotations

import functools
import importlib
import os
import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fluidio.dataset import common
from fluidio.era import era
from fluidio.errors import MissingDependencyError
from fluidio.tensor.array import Array

__all__ = [
    "Query",
    "QueryList",
    "gen_list",
    "gen_pair",
    "gen_plain_txt",
    "gen_point",
    "load_from_text",
    "test",
    "train",
]

URL = "http://www.bigdatalab.ac.cn/benchmark/upload/download_source/7b6dbbe2-842c-11e4-a536-bcaec51b9163_MQ2007.rar"
MD5 = "7be1640ae95c6408dab0ae7207bdc706"


class Query:
    """One document of a query: its relevance and features."""

    def __init__(
        self,
        query_id: int = -1,
        relevance_score: int = -1,
        feature_vector: list[float] | None = None,
        description: str = "",
    ) -> None:
        self.query_id = query_id
        self.relevance_score = relevance_score
        self.feature_vector = feature_vector or []
        self.description = description

    def __str__(self) -> str:
        return " ".join(map(str, [self.relevance_score, self.query_id, *self.feature_vector]))


class QueryList:
    """The documents of one query."""

    def __init__(self, querylist: list[Query] | None = None) -> None:
        self.querylist = querylist or []
        self.query_id = self.querylist[0].query_id if self.querylist else -1

    def __iter__(self) -> Iterator[Query]:
        return iter(self.querylist)

    def __len__(self) -> int:
        return len(self.querylist)

    def __getitem__(self, i: int) -> Query:
        return self.querylist[i]

    def ranked(self) -> list[Query]:
        """Return the documents, relevant ones first."""
        return sorted(self.querylist, key=lambda query: -query.relevance_score)


def gen_plain_txt(querylist: QueryList) -> Iterator[tuple[int, int, Array]]:
    """Yield (query, relevance, features) of each document."""
    for query in querylist.ranked():
        yield querylist.query_id, query.relevance_score, np.array(query.feature_vector)


def gen_point(querylist: QueryList) -> Iterator[tuple[int, Array]]:
    """Yield (relevance, features) of each document."""
    for query in querylist.ranked():
        yield query.relevance_score, np.array(query.feature_vector)


def gen_pair(querylist: QueryList, partial_order: str = "full") -> Iterator[tuple[Array, ...]]:
    """Yield ([1], features of the better, features of the worse) for each pair of different relevance.

    Fluid: `partial_order` had no effect, and has none here.
    """
    ranked = querylist.ranked()
    for i, better in enumerate(ranked):
        for worse in ranked[i + 1 :]:
            if better.relevance_score > worse.relevance_score:
                yield np.array([1]), np.array(better.feature_vector), np.array(worse.feature_vector)


def gen_list(querylist: QueryList) -> Iterator[tuple[Array, Array]]:
    """Yield once (relevances as a column, a row of features for each document)."""
    ranked = querylist.ranked()
    yield np.array([[q.relevance_score] for q in ranked]), np.array([q.feature_vector for q in ranked])


def query_filter(querylists: Iterable[QueryList]) -> list[QueryList]:
    """Drop the queries without any relevant document."""
    return [one for one in querylists if sum(query.relevance_score for query in one)]


def load_from_text(filepath: str, shuffle: bool = False, fill_missing: float = -1) -> list[QueryList]:
    """Return the queries of a text file of the data set.

    Args:
        filepath: the path in the archive, "MQ2007/MQ2007/Fold1/train.txt".
        shuffle: in random order.
        fill_missing: the value of features missing from a line.
    """
    lists: dict[int, list[Query]] = {}
    with open(_unpacked(filepath), encoding="utf-8") as lines:
        for line in lines:
            if query := _parse(line, fill_missing):
                lists.setdefault(query.query_id, []).append(query)
    found = [QueryList(queries) for queries in lists.values()]
    if shuffle:
        random.shuffle(found)
    return found


def _parse(line: str, fill_missing: float) -> Query | None:
    text, _, description = line.partition("#")
    parts = text.split()
    if len(parts) < 2:
        return None
    features = [float(fill_missing)] * 46
    for part in parts[2:]:
        number, value = part.split(":")
        features[int(number) - 1] = float(value)
    return Query(int(parts[1].split(":")[1]), int(parts[0]), features, description.strip())


def _unpacked(filepath: str) -> str:
    folder = os.path.join(common.DATA_HOME, "MQ2007")
    places = [os.path.join(folder, "MQ2007", filepath), os.path.join(folder, filepath)]
    for place in places:
        if os.path.exists(place):
            return place
    archive = common.download(URL, "MQ2007", MD5)
    try:
        rarfile = importlib.import_module("rarfile")
    except ImportError:
        raise MissingDependencyError(
            f"unpacking {archive} needs rarfile and unrar: pip install rarfile; or unpack it yourself to {places[0]}",
            name="rarfile",
        ) from None
    rarfile.RarFile(archive).extractall(path=os.path.join(folder, "MQ2007"))
    return places[0]


_FORMATS = {"plain_txt": gen_plain_txt, "pointwise": gen_point, "pairwise": gen_pair, "listwise": gen_list}


def _reader(filepath: str, format: str = "pairwise", shuffle: bool = False, fill_missing: float = -1) -> Iterator[Any]:
    """Yield samples of all queries. Fluid: "pointwise" and "plain_txt" gave the first document of each query only."""
    if format not in _FORMATS:
        raise ValueError(f"format must be one of {', '.join(_FORMATS)}, got {format!r}")
    for querylist in query_filter(load_from_text(filepath, shuffle, fill_missing)):
        samples: Iterator[Any] = _FORMATS[format](querylist)
        if era().strict and format in ("plain_txt", "pointwise"):
            yield next(samples)
        else:
            yield from samples


train = functools.partial(_reader, filepath="MQ2007/MQ2007/Fold1/train.txt")
test = functools.partial(_reader, filepath="MQ2007/MQ2007/Fold1/test.txt")


def fetch() -> str:
    """Download the archive."""
    return common.download(URL, "MQ2007", MD5)
