"""convert(): what goes into the shards comes out of `reader.creator.RecordIO`, type by type."""

from __future__ import annotations

import datetime
import pickle
import resource
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import fluidio
from fluidio import paddle, pickles, recordio
from fluidio.conversion import shard_name, storage
from fluidio.errors import UnsafePickleError

VALUES: list[Any] = [
    1,
    -(2**70),
    True,
    None,
    0.1,
    float("inf"),
    "text é 中",
    b"\x00\xff bytes",
    [1, 2.5, "three", b"4"],
    [],
    np.float32(0.1),
    np.int64(7),
    np.arange(6, dtype=np.uint8).reshape(2, 3),
    np.asfortranarray(np.random.default_rng(0).normal(size=(3, 4))),
    np.array(5.0),
    np.zeros((0, 3), np.float16),
    (np.arange(3.0), 0),
    (1, "a", [b"b"], {"key": np.ones(2)}),
    "cnumpy._core.multiarray\n_reconstruct\n",
    ("cnumpy._core.multiarray\n", np.ones(2)),
    (np.frombuffer(b"cnumpy._core.multiarray\n", np.uint8), np.float64(1)),
]


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal and of the same types all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        layout = a.flags.f_contiguous == b.flags.f_contiguous
        return bool(a.dtype == b.dtype and a.shape == b.shape and layout and a.tobytes() == b.tobytes())
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return bool(a == b)


def test_numpy_turns_foreign_byte_order_into_its_own() -> None:
    out = pickles.loads(pickles.dumps(np.array([1, 2], ">i4")))
    assert out.tolist() == [1, 2]
    assert out.dtype == np.int32


def test_every_type_comes_back_as_it_was(tmp_path: Path) -> None:
    fluidio.convert(str(tmp_path), lambda: iter(VALUES), 1, "values")
    found = list(paddle.reader.creator.RecordIO(str(tmp_path / "values-*-of-*"))())
    assert [value for value, out in zip(VALUES, found, strict=True) if not same(value, out)] == []


plain = st.recursive(
    st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=12,
)


@given(plain)
def test_a_pickle_for_old_readers_is_read_by_pickle_itself(value: Any) -> None:
    assert same(pickle.loads(pickles.dumps(value)), value)
    assert same(pickles.loads(pickles.dumps(value)), value)


def test_pickles_name_numpy_as_old_readers_know_it() -> None:
    for value in VALUES:
        names = {part.split(b"\n")[0] for part in pickles.dumps(value).split(b"cnumpy")[1:]}
        assert names <= {b"", b".core.multiarray", b"._core.multiarray"}
    assert b"_core" not in pickles.dumps((np.ones(3), 1))
    assert b"_core" not in pickles.dumps({"nested": [np.ones(3), np.float32(1)]})
    assert pickles.dumps(1)[:2] == b"\x80\x02"


def test_names_count_up_to_the_last_index(tmp_path: Path) -> None:
    assert shard_name("imagenet", 999, 1000) == "imagenet-00999-of-00999"
    paths = fluidio.convert(str(tmp_path / "new"), lambda: range(10), 3, "n")
    assert [Path(path).name for path in paths] == ["n-00000-of-00002", "n-00001-of-00002", "n-00002-of-00002"]
    assert sorted(path.name for path in (tmp_path / "new").glob("n-*")) == [Path(path).name for path in paths]
    assert [list(recordio.sample_reader(path)()) for path in paths] == [[0, 3, 6, 9], [1, 4, 7], [2, 5, 8]]
    with recordio.File(paths[0]) as file:
        assert file.get(1) == pickle.dumps(3, 2)


def test_windows_are_shuffled_by_a_seed(tmp_path: Path) -> None:
    def run(folder: str, seed: int) -> list[int]:
        paths = fluidio.convert(str(tmp_path / folder), lambda: range(100), 1, "n", 10, seed=seed)
        return list(recordio.sample_reader(paths)())

    first = run("a", 1)
    assert first == run("b", 1) != run("c", 2)
    assert first != list(range(100))
    assert [sorted(first[at : at + 10]) for at in range(0, 100, 10)] == [
        list(range(at, at + 10)) for at in range(0, 100, 10)
    ]


def test_other_types_are_noted_once_and_need_consent(tmp_path: Path) -> None:
    days = [datetime.date(2018, 1, day) for day in (1, 2, 3)]
    with pytest.warns(UserWarning, match=r"datetime\.date are pickled .* allow_pickle=True") as notes:
        fluidio.convert(str(tmp_path), lambda: ((day, 1) for day in days), 1, "days")
    assert len(notes) == 1
    path = str(tmp_path / "days-*-of-*")
    with pytest.raises(UnsafePickleError, match="allow_pickle=True"):
        list(recordio.sample_reader(path)())
    assert [day for day, _ in paddle.reader.creator.RecordIO(path, allow_pickle=True)()] == days


def test_a_failing_reader_leaves_no_shard(tmp_path: Path) -> None:
    def reader() -> Iterator[int]:
        yield 1
        raise ValueError("bad sample")

    with pytest.raises(ValueError, match="bad sample") as caught:
        fluidio.convert(str(tmp_path), reader, 2, "n")
    assert "no shard was written" in caught.value.__notes__[0]
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_says_which(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        fluidio.convert(str(tmp_path / "file" / "inside"), lambda: range(3), 1, "n")
    with pytest.raises(ValueError, match="num_shards must lie in"):
        fluidio.convert(str(tmp_path), lambda: range(3), 0, "n")


def test_more_shards_than_open_files_are_allowed(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        paths = fluidio.convert(str(tmp_path), lambda: range(500), 300, "n")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(recordio.sample_reader(paths)()) == list(range(500))


def test_a_remote_folder(tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        paths = fluidio.convert("memory://convert-test", lambda: range(10), 2, "n")
    assert paths == ["memory://convert-test/n-00000-of-00001", "memory://convert-test/n-00001-of-00001"]
    assert sorted(recordio.sample_reader(paths)()) == list(range(10))


def test_a_store_that_fails_half_way_keeps_no_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    fsspec = pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    opened = storage.opened

    def failing(path: str, mode: str = "rb") -> Any:
        if path.endswith("n-00002-of-00002"):
            raise OSError("the store has gone")
        return opened(path, mode)

    monkeypatch.setattr(storage, "opened", failing)
    with pytest.raises(OSError, match="has gone"):
        fluidio.convert("memory://half-way", lambda: range(10), 3, "n")
    assert fsspec.filesystem("memory").ls("/half-way") == []


def test_the_later_form_writes_the_same_pickles(tmp_path: Path) -> None:
    from fluidio.dataset import common

    common.convert(str(tmp_path), lambda: iter([(np.ones(2), 1), (np.zeros(2), 0)]), 1, "n")
    with recordio.File(str(tmp_path / "n-00000")) as file:
        assert file.get(0) == pickles.dumps((np.ones(2), 1))
