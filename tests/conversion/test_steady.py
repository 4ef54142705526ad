"""A set that another process replaces while it is read: an error, never half of the old one and half of the new."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.conversion import reshard, tools
from fluidio.conversion.copying import copy
from fluidio.conversion.export import export
from fluidio.conversion.looking import rows
from fluidio.conversion.stats import stats
from fluidio.errors import RecordIOError
from fluidio.recordio import Writer, iter_batches, load
from fluidio.recordio.files.paths import expand
from fluidio.recordio.format.chunks import ChunkReader


def write(folder: Path, first: int) -> None:
    for shard in range(3):
        with Writer(str(folder / f"x-{shard:05d}-of-00002"), max_num_records=2, atomic=True) as writer:
            writer.write_block([np.arange(first + 10 * shard, first + 10 * shard + 10).reshape(-1, 1)])


@pytest.fixture
def replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the shards of a set that is replaced as soon as its last chunk has been decompressed."""
    write(tmp_path, 0)
    last = os.path.getsize(tmp_path / "x-00002-of-00002")
    real = ChunkReader._decode

    def decode(self: ChunkReader, offset: int, *rest: Any) -> Any:
        chunk = real(self, offset, *rest)
        if chunk.end == last and "x-00001" in self.source.name:
            monkeypatch.undo()
            write(tmp_path, 5)
        return chunk

    monkeypatch.setattr(ChunkReader, "_decode", decode)
    yield expand(str(tmp_path / "x-*-of-*"))


WAYS: dict[str, Callable[[list[str], str], object]] = {
    "load": lambda paths, out: load(paths, threads=0),
    "batches": lambda paths, out: list(iter_batches(paths, 3)),
    "shuffled": lambda paths, out: list(iter_batches(paths, 3, shuffle=True)),
    "rows": lambda paths, out: list(rows(paths)),
    "stats": lambda paths, out: stats(paths),
    "split": lambda paths, out: reshard.split(paths, out, 2),
    "shuffle": lambda paths, out: reshard.shuffle(paths, out, 2),
    "recompress": lambda paths, out: reshard.recompress_all(
        paths, [f"{out}-{number:05d}-of-00002" for number in range(3)], "none"
    ),
    "merge": lambda paths, out: tools.merge(paths, out),
    "sort": lambda paths, out: tools.sorted_by(paths, "slot_0", out),
    "filter": lambda paths, out: tools.filtered(paths, "True", out, 2),
    "select": lambda paths, out: tools.select(paths, ["slot_0"], out),
    "map": lambda paths, out: tools.mapped(paths, lambda row: row, out),
    "diff": lambda paths, out: tools.diff(paths, paths),
    "export": lambda paths, out: export(paths, "npz", os.path.dirname(out)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_set_that_is_replaced_while_it_is_read_is_an_error(way: str, replaced: list[str], tmp_path: Path) -> None:
    with pytest.raises(RecordIOError, match="replaced or removed while its set was read"):
        WAYS[way](replaced, str(tmp_path / "out" / "y"))
    assert not list(tmp_path.glob("out/*"))


def test_a_set_may_be_replaced_between_two_readings(tmp_path: Path) -> None:
    write(tmp_path, 0)
    paths = expand(str(tmp_path / "x-*-of-*"))
    assert tools.count(paths) == [10, 10, 10]
    write(tmp_path, 100)
    assert tools.count(paths) == [10, 10, 10]
    assert sorted(row["slot_0"] for row in rows(paths)) == list(range(100, 130))


def test_a_copy_of_a_set_that_is_replaced_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "from").mkdir()
    write(tmp_path / "from", 0)
    real = copy.__globals__["_copy_one"]

    def one(source: str, *rest: Any) -> Any:
        if source.endswith("1-of-00002"):
            write(tmp_path / "from", 5)
        return real(source, *rest)

    monkeypatch.setitem(copy.__globals__, "_copy_one", one)
    with pytest.raises(RecordIOError, match="replaced or removed while its set was read"):
        copy([str(tmp_path / "from" / "x-*-of-*")], str(tmp_path / "to"), workers=1)
