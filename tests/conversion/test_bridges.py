"""Data sets for PyTorch and TensorFlow give every record once."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio
from fluidio.errors import MissingDependencyError, RecordIOError
from fluidio.recordio import Column, Writer


@pytest.fixture
def files(tmp_path: Path) -> str:
    for number, start in enumerate((0, 30)):
        ids = np.arange(start, start + 30 + number).reshape(-1, 1)
        offsets = np.concatenate([[0], np.cumsum(ids[:, 0] % 4 + 1)]).astype(np.int64)
        with Writer(str(tmp_path / f"r-{number}"), max_num_records=8) as writer:
            words = np.arange(offsets[-1], dtype=np.int64).reshape(-1, 1)
            writer.write_block([ids, np.repeat(ids, 3, axis=1).astype(np.float32), Column(words, offsets, (offsets,))])
    return str(tmp_path / "r-*")


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="extra: torch is not installed")


def test_a_map_style_data_set_has_random_access(files: str, torch: Any) -> None:
    from fluidio.torch import Records

    data = Records(files)
    assert len(data) == 61
    label, image, words = data[45]
    assert (label.item(), image.shape, words.shape) == (45, (3,), (2, 1))
    assert data[-1][0].item() == 60
    with pytest.raises(IndexError):
        data[61]
    copied = pickle.loads(pickle.dumps(data))
    assert copied[0][1].tolist() == [0, 0, 0]
    copied.close()
    data.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_shuffles_a_map_style_data_set(files: str, torch: Any, workers: int) -> None:
    from fluidio.torch import Records

    data = Records(files)
    loader = torch.utils.data.DataLoader(data, 8, shuffle=True, num_workers=workers, collate_fn=_labels)
    assert sorted(label for batch in loader for label in batch) == list(range(61))
    data.close()


def _labels(samples: list[Any]) -> list[int]:
    return [int(label) for label, _, _ in samples]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_workers_share_an_iterable_data_set(files: str, torch: Any, workers: int) -> None:
    from fluidio.torch import IterableRecords

    data = IterableRecords(files, 8, shuffle=True, seed=1)
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
    found: list[int] = []
    for labels, images, (words, lod) in loader:
        assert images.shape == (len(labels), 3)
        assert lod[0][-1] == len(words)
        found += labels[:, 0].tolist()
    assert sorted(found) == list(range(61))
    assert found != sorted(found)


def test_ranks_share_an_iterable_data_set(files: str, torch: Any) -> None:
    from fluidio.torch import IterableRecords

    parts = [
        [int(n) for labels, *_ in IterableRecords(files, 8, rank=rank, world_size=3) for n in labels]
        for rank in range(3)
    ]
    assert sorted(number for part in parts for number in part) == list(range(61))
    assert all(len(part) in (20, 21) for part in parts)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_know_the_rank_and_count_the_passes(
    files: str, torch: Any, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fluidio import torch as bridge

    data = bridge.IterableRecords(files, 8, shuffle=True)
    with monkeypatch.context() as patch:  # as if torch.distributed were there, in this process only
        patch.setattr(bridge, "_rank", lambda: (1, 3))
        loader = torch.utils.data.DataLoader(
            data, batch_size=None, num_workers=1, multiprocessing_context=start, persistent_workers=True
        )
        passes = [labels_of(loader) for _ in range(3)]
    data.set_epoch(1)
    passes += [labels_of(loader) for _ in range(2)]
    assert all(sorted(found) == list(range(20, 40)) for found in passes)
    assert passes[0] != passes[1] != passes[2] != passes[0]
    assert passes[3:] == passes[1:3]


@pytest.mark.parametrize("workers", [0, 2])
def test_each_pass_has_an_order_of_its_own(files: str, torch: Any, workers: int) -> None:
    from fluidio.torch import IterableRecords

    data, again = (IterableRecords(files, 8, shuffle=True, seed=5) for _ in range(2))
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
    first, second = labels_of(loader), labels_of(loader)
    assert first != second and sorted(first) == sorted(second)
    again.set_epoch(1)
    assert labels_of(torch.utils.data.DataLoader(again, batch_size=None, num_workers=workers)) == second


def labels_of(loader: Any) -> list[int]:
    return [int(label) for labels, *_ in loader for label in labels]


def test_a_copy_asks_for_the_rank_where_it_is(files: str, torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from fluidio import torch as bridge

    with monkeypatch.context() as patch:
        patch.setattr(bridge, "_rank", lambda: (1, 3))
        copied = pickle.loads(pickle.dumps(bridge.IterableRecords(files, 8)))
    assert labels_of(copied) == list(range(61))  # no worker of a loader, and no torch.distributed here
    monkeypatch.setattr(bridge, "_rank", lambda: (2, 3))
    assert labels_of(copied) == list(range(40, 61))


@pytest.mark.parametrize("given", [{"rank": 1}, {"world_size": 2}, {"rank": 2, "world_size": 2}])
def test_a_rank_needs_its_world(files: str, torch: Any, given: Any) -> None:
    from fluidio.torch import IterableRecords

    with pytest.raises(ValueError, match="rank and world_size together"):
        IterableRecords(files, 8, **given)


def test_a_map_style_data_set_of_pickles_says_what_they_are(tmp_path: Path, torch: Any) -> None:
    from fluidio.torch import Records

    (path,) = fluidio.convert(str(tmp_path), lambda: iter([(1, "a"), (2, "b")]), 1, "p")
    data = Records(path)
    with pytest.raises(RecordIOError, match=r"p-00000-of-00000: record 1: .*pickled samples are read with"):
        data[1]
    data.close()


def test_without_the_library_the_pip_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    for extra, theirs in (("torch", "torch"), ("tf", "tensorflow")):
        ours = f"fluidio.{extra}"
        monkeypatch.delitem(sys.modules, ours, raising=False)
        monkeypatch.setitem(sys.modules, theirs, None)
        with pytest.raises(MissingDependencyError, match=rf"pip install 'fluidio\[{extra}\]'"):
            importlib.import_module(ours)


def test_tensorflow_iterates_over_batches(files: str) -> None:
    pytest.importorskip("tensorflow", reason="extra: tensorflow is not installed")
    from fluidio.tf import raw_records, records

    data = records(files, 8, shuffle=True)
    for _ in range(2):
        found: list[int] = []
        for labels, images, words in data:
            assert images.shape == (len(labels), 3)
            assert words.shape[0] == len(labels)
            found += labels.numpy()[:, 0].tolist()
        assert sorted(found) == list(range(61))
    assert sum(1 for _ in raw_records(files)) == 61
