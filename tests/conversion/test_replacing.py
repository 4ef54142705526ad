"""A new set takes the place of an old one, or the old one stays: also in a store, and if the old one is the source."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

import fluidio
from fluidio.conversion import new_set, passing, read_manifest, storage
from fluidio.conversion.copying import copy
from fluidio.conversion.export import export
from fluidio.conversion.reshard import shuffle, split
from fluidio.recordio import Writer, sample_reader
from fluidio.recordio.files.paths import expand
from tests.conversion.servers import need


def make(output: str, shards: int, count: int = 10) -> None:
    fluidio.convert(storage.parent(output), lambda: iter(range(count)), shards, storage.name_of(output))


def content(output: str) -> list[Any]:
    return sorted(sample_reader(f"{output}-*-of-*")())


@pytest.fixture(params=["disk", "store"])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "disk":
        return str(tmp_path / "x")
    need("fsspec")
    return f"memory://{tmp_path.name}/x"


@pytest.mark.parametrize("tool", [split, shuffle])
def test_a_set_may_be_divided_anew_in_its_own_place(tool: Any, output: str) -> None:
    make(output, 3)
    tool(f"{output}-*-of-*", output, 5)
    assert content(output) == list(range(10))
    assert len(expand(f"{output}-*-of-*")) == 5
    assert not [name for name in storage.files_in(storage.parent(output)) if "waiting" in name]


def test_a_failure_half_way_keeps_the_old_set(output: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make(output, 3)
    before = storage.files_in(storage.parent(output))
    placed, done = new_set.NewSet.placed, []

    def fail_later(self: new_set.NewSet, index: int) -> None:
        placed(self, index)
        done.append(index)
        if len(done) == 2:
            raise OSError("the connection broke")

    monkeypatch.setattr(new_set.NewSet, "placed", fail_later)
    with pytest.raises(OSError, match="broke"):
        split(f"{output}-*-of-*", output, 5)
    assert storage.files_in(storage.parent(output)) == before
    assert content(output) == list(range(10))


def _full(*_: object) -> NoReturn:
    raise OSError(28, "No space left on device")


def test_a_disk_that_is_full_at_the_end_keeps_the_old_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = str(tmp_path / "x")
    make(output, 3)
    monkeypatch.setattr(new_set, "write_manifest", _full)
    with pytest.raises(OSError, match="No space"):
        make(output, 2, 5)
    assert content(output) == list(range(10))


def test_a_disk_that_is_full_at_the_end_keeps_what_was_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Writer(str(tmp_path / "a-00000-of-00000")) as writer:
        writer.write(b"one")
    (out,) = export(str(tmp_path / "a-*"), "tfrecord", str(tmp_path / "out"))
    before = Path(out).read_bytes()
    with Writer(str(tmp_path / "a-00000-of-00000")) as writer:
        writer.write(b"two")
    monkeypatch.setattr(passing, "write_manifest", _full)
    with pytest.raises(OSError, match="No space"):
        export(str(tmp_path / "a-*"), "tfrecord", str(tmp_path / "out"))
    assert Path(out).read_bytes() == before


def test_an_interrupt_comes_before_or_after_the_old_set_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = str(tmp_path / "x")
    make(output, 3)
    remove = new_set.remove_set

    def interrupted(*args: Any) -> None:
        remove(*args)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(new_set, "remove_set", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job may inherit "ignore"
    try:
        with pytest.raises(KeyboardInterrupt):
            make(output, 2, 5)
    finally:
        signal.signal(signal.SIGINT, before)
    assert content(output) == list(range(5))
    assert sorted(os.listdir(tmp_path)) == ["x-00000-of-00001", "x-00001-of-00001", "x.manifest.json"]


def test_a_set_may_be_copied_in_pieces(tmp_path: Path) -> None:
    make(str(tmp_path / "x"), 4)
    to = tmp_path / "to"
    for path in sorted(tmp_path.glob("x-*")):
        copy([str(path)], str(to))
    assert content(str(to / "x")) == list(range(10))
    make(str(tmp_path / "x"), 4, 20)  # another set of as many shards: nothing of the old one may stay
    copy([str(tmp_path / "x-00001-of-00003")], str(to))
    assert sorted(os.listdir(to)) == ["x-00001-of-00003", "x.manifest.json"]


def test_manifests_say_what_the_shards_hold(tmp_path: Path) -> None:
    def digests() -> Iterator[Any]:
        for shard in (read_manifest(str(tmp_path / "x")) or {})["shards"]:
            yield (shard["bytes"], shard["sha256"]), storage.digest(str(tmp_path / shard["name"]))

    make(str(tmp_path / "x"), 2)
    assert all(said == found for said, found in digests())
