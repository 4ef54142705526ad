"""Counting, getting and cutting a file in a store takes few requests and few bytes; a wrong index is not believed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fluidio.conversion.copying import copy
from fluidio.conversion.reshard import split
from fluidio.recordio import File, Writer, partition, tasks
from fluidio.recordio.files.index import build_index
from fluidio.recordio.files.sidecar import open_index, sidecar_path
from fluidio.recordio.files.source import LocalSource
from fluidio.recordio.files.walk import STEP, Walk


class Counting:
    """Counts what is asked of the store."""

    def __init__(self, store: Any, patch: pytest.MonkeyPatch) -> None:
        self.requests = self.bytes = 0
        read, info = store.cat_file, store.info

        def counted(path: str, start: Any = None, end: Any = None, **options: Any) -> Any:
            self.requests += 1
            data = read(path, start=start, end=end, **options)
            self.bytes += len(data)
            return data

        def asked(path: str, **options: Any) -> Any:
            self.requests += 1
            return info(path, **options)

        patch.setattr(store, "cat_file", counted)
        patch.setattr(store, "info", asked)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Any]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fsspec = pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield memory
    memory.store.clear()


def write(path: str, chunks: int, record: int = 300, each: int = 2) -> None:
    random = np.random.default_rng(0)
    with Writer(path, "none", each) as writer:
        for _ in range(chunks * each):
            writer.write(random.bytes(record))


@pytest.mark.parametrize("way", ["writer", "cp", "split", "read before"])
def test_an_index_beside_the_data_makes_counting_cheap(way: str, store: Any, tmp_path: Any) -> None:
    url, count = "memory://bucket/a", 10_000
    write(str(tmp_path / "a"), 5000)
    if way == "writer":
        write(url, 5000)
    elif way == "cp":
        copy([str(tmp_path / "a")], "memory://bucket")
    elif way == "split":
        (url,) = split(str(tmp_path / "a"), "memory://bucket/s", 1)
    else:
        store.pipe_file("/bucket/a", (tmp_path / "a").read_bytes())
        with File(url) as file:
            assert file.count() == count
    size = store.info("/bucket/a" if way != "split" else "/bucket/s-00000-of-00000")["size"]
    for ask in (_count, _get, lambda u: tasks(u, 1000), lambda u: partition(u, 4, 1)):
        with pytest.MonkeyPatch.context() as patch:
            seen = Counting(store, patch)
            ask(url)
        assert seen.requests <= 3
        assert seen.bytes <= 0.02 * size + (310_000 if ask is _get else 0)  # its chunk


def _count(url: str) -> None:
    with File(url) as file:
        assert file.count() == 10_000


def _get(url: str) -> None:
    with File(url) as file:
        assert len(file.get(7777)) == 300


def test_without_an_index_the_file_is_read_once_in_large_pieces(store: Any, tmp_path: Any) -> None:
    write(str(tmp_path / "a"), 5000, 1000, 4)  # 20 MB
    size = (tmp_path / "a").stat().st_size
    store.pipe_file("/bucket/a", (tmp_path / "a").read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        seen = Counting(store, patch)
        assert open_index("memory://bucket/a", sidecar=False).num_records == 20_000
    assert seen.requests - 1 <= size / STEP + 2  # one asks for the size
    assert seen.bytes <= 1.02 * size


def test_large_chunks_are_hopped_over(store: Any, tmp_path: Any) -> None:
    write(str(tmp_path / "a"), 20, 3 << 20, 1)  # 60 MB
    with pytest.MonkeyPatch.context() as patch:
        store.pipe_file("/bucket/a", (tmp_path / "a").read_bytes())
        seen = Counting(store, patch)
        assert open_index("memory://bucket/a", sidecar=False).num_records == 20
    assert seen.bytes < 10 << 20
    assert seen.requests <= 25


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("record", [10, 40_000, 2_000_000])
def test_a_walk_finds_what_hopping_finds(record: int, each: int, tmp_path: Any) -> None:
    write(str(tmp_path / "a"), 12, record, each)
    source = LocalSource(str(tmp_path / "a"))
    one, other = build_index(source), build_index(Walk(source))
    assert (one.offsets.tolist(), one.counts.tolist()) == (other.offsets.tolist(), other.counts.tolist())
    source.close()


def test_a_stale_or_damaged_index_in_a_store_is_not_believed(store: Any) -> None:
    write("memory://bucket/a", 500)
    index = store.cat_file(sidecar_path("memory://bucket/a").removeprefix("memory:/"))
    write("memory://bucket/b", 400)
    changed = store.cat_file("/bucket/b")
    store.pipe_file("/bucket/a", changed)
    assert open_index("memory://bucket/a").num_records == 800
    for position in range(0, len(index), 7):
        bad = bytearray(index)
        bad[position] ^= 0x55
        store.pipe_file("/bucket/.a.index", bytes(bad))
        assert open_index("memory://bucket/a").num_records == 800
    for length in range(0, len(index), 11):
        store.pipe_file("/bucket/.a.index", index[:length])
        assert open_index("memory://bucket/a").num_records == 800


def test_a_new_set_in_a_store_leaves_no_index_of_the_old_one(store: Any, tmp_path: Any) -> None:
    write(str(tmp_path / "a"), 500)
    split(str(tmp_path / "a"), "memory://bucket/s", 3)
    split(str(tmp_path / "a"), "memory://bucket/s", 2)
    names = sorted(path.rpartition("/")[2] for path in store.find("/bucket"))
    assert names == [f".s-0000{n}-of-00001.index" for n in range(2)] + [f"s-0000{n}-of-00001" for n in range(2)] + [
        "s.manifest.json"
    ]
