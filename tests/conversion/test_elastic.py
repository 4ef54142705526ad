"""Training data sets go on in the middle of a pass, with another number of workers and ranks too."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.recordio import Writer, iter_batches


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="extra: torch is not installed")


@pytest.fixture
def files(tmp_path: Path) -> str:
    for number in range(3):
        with Writer(str(tmp_path / f"r-{number}"), max_num_records=8) as writer:
            writer.write_block([np.arange(number * 40, number * 40 + 40 - number).reshape(-1, 1)])
    return str(tmp_path / "r-*")


EVERYTHING = [*range(40), *range(40, 79), *range(80, 118)]


def labels(batches: Any) -> list[int]:
    return [int(label) for batch in batches for label in batch[0].ravel()]


def loader_of(data: Any, workers: int, **options: Any) -> Any:
    from torch.utils.data import DataLoader

    return DataLoader(data, batch_size=None, num_workers=workers, **options)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("before", "after"), [(2, 1), (0, 2), (1, 2)])
def test_a_pass_goes_on_with_another_number_of_workers(
    files: str, torch: Any, shuffle: bool, before: int, after: int
) -> None:
    from fluidio.torch import IterableRecords

    data = IterableRecords(files, 7, shuffle=shuffle, workers=before)
    found = labels(itertools.islice(loader_of(data, before), 6))
    states = json.loads(json.dumps(data.state_after(6)))
    again = IterableRecords(files, 7, shuffle=shuffle, workers=after)
    again.load_state_dict(states)
    loader = loader_of(again, after)
    found += labels(loader)
    assert sorted(found) == EVERYTHING
    assert sorted(labels(loader)) == EVERYTHING  # the next pass is whole


@pytest.mark.parametrize(("told", "real"), [(0, 2), (2, 1), (1, 2)])
def test_a_state_of_other_workers_than_the_loaders_is_refused(files: str, torch: Any, told: int, real: int) -> None:
    from fluidio.torch import IterableRecords

    data = IterableRecords(files, 7, workers=told)
    labels(itertools.islice(loader_of(data, real), 3))
    with pytest.raises(ValueError, match=f"reads with {real} workers: pass workers={real}"):
        data.state_after(3)


@pytest.mark.parametrize("workers", [(2, 2, 1), (1, 2, 2), (2, 1, 2)])
def test_a_pass_may_stop_and_go_on_again_and_again(files: str, torch: Any, workers: tuple[int, ...]) -> None:
    from fluidio.torch import IterableRecords

    found: list[int] = []
    states: Any = None
    for number in workers:
        data = IterableRecords(files, 7, shuffle=True, workers=number)
        if states is not None:
            data.load_state_dict(states)
        found += labels(itertools.islice(loader_of(data, number), 5))
        states = data.state_after(5)
    data = IterableRecords(files, 7, shuffle=True)
    data.load_state_dict(states)
    assert sorted(found + labels(data)) == EVERYTHING


def test_ranks_may_change_too(files: str, torch: Any) -> None:
    from fluidio.torch import IterableRecords

    found: list[int] = []
    states: list[Any] = []
    for rank in range(3):
        data = IterableRecords(files, 7, shuffle=True, rank=rank, world_size=3)
        found += labels(itertools.islice(data, 2))
        states.append(data.state_dict())
    for rank in range(2):
        data = IterableRecords(files, 7, shuffle=True, rank=rank, world_size=2)
        data.load_state_dict(states)
        found += labels(data)
    assert sorted(found) == EVERYTHING


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_the_length_is_that_of_a_pass(files: str, torch: Any, workers: int, drop_last: bool) -> None:
    from fluidio.torch import IterableRecords

    loader = loader_of(IterableRecords(files, 7, drop_last=drop_last, workers=workers), workers)
    assert len(loader) == sum(1 for _ in loader)


def test_a_pass_that_has_ended_is_followed_by_the_next(files: str, torch: Any) -> None:
    from fluidio.torch import IterableRecords

    data = IterableRecords(files, 7, shuffle=True)
    passes = [labels(data) for _ in range(3)]
    data = IterableRecords(files, 7, shuffle=True)
    assert labels(data) == passes[0]
    again = IterableRecords(files, 7, shuffle=True)
    again.load_state_dict(data.state_dict())
    assert [labels(again), labels(again)] == passes[1:]


def test_a_state_that_only_the_workers_know_is_not_made_up(files: str, torch: Any) -> None:
    from fluidio.torch import IterableRecords

    data = IterableRecords(files, 7, workers=1)
    assert data.state_dict()["batches"] == 0
    next(iter(loader_of(data, 1)))
    with pytest.raises(RuntimeError, match=r"state_after\(batches\)"):
        data.state_dict()


@pytest.mark.filterwarnings("ignore")  # torchdata calls what newer versions of torch warn about
@pytest.mark.parametrize("taken", [0, 1, 5, 13, 16])
def test_the_loader_of_torchdata_goes_on(files: str, torch: Any, taken: int) -> None:
    pytest.importorskip("torchdata", reason="extra: torchdata is not installed")
    from torchdata.stateful_dataloader import StatefulDataLoader

    from fluidio.torch import IterableRecords

    def loader(workers: int) -> Any:
        data = IterableRecords(files, 7, shuffle=True)
        return data, StatefulDataLoader(data, batch_size=None, num_workers=workers)

    _, first = loader(2)
    found = labels(itertools.islice(first, taken))
    state = first.state_dict()
    _, same = loader(2)
    same.load_state_dict(state)
    assert sorted(found + labels(same)) == EVERYTHING
    if taken:
        data, other = loader(1)
        data.load_state_dict(state)
        assert sorted(found + labels(other)) == EVERYTHING


@pytest.fixture
def tf() -> Any:
    return pytest.importorskip("tensorflow", reason="extra: tensorflow is not installed")


def test_a_tensorflow_data_set_knows_its_length(files: str, tf: Any) -> None:
    from fluidio.tf import records

    data = records(files, 7)
    assert len(data) == 17 == sum(1 for _ in data) == sum(1 for _ in data)
    assert len(records(files, 7, drop_last=True, part=(1, 3))) == 5


@pytest.mark.parametrize("taken", [0, 4, 17])
def test_a_tensorflow_data_set_goes_on_in_the_middle_of_a_pass(files: str, tf: Any, taken: int) -> None:
    from fluidio.tf import records

    data = records(files, 7, shuffle=True)
    passes = [rows(data), rows(data), rows(data)]
    state = iter_batches(files, 7, shuffle=True, epoch=1).state_after(taken)
    again = records(files, 7, shuffle=True, state=state)
    if taken < 17:
        assert passes[1][: taken * 7] + rows(again) == passes[1]
    assert rows(again) == passes[2]


def rows(data: Any) -> list[int]:
    return [int(label) for (batch,) in data for label in batch.numpy().ravel()]


def test_a_tensorflow_data_set_goes_on_in_other_parts(files: str, tf: Any) -> None:
    from fluidio.tf import records

    states = [iter_batches(files, 7, shuffle=True, part=(number, 3)).state_after(number) for number in range(3)]
    found: list[int] = []
    for number in range(3):
        found += rows(records(files, 7, shuffle=True, part=(number, 3)).take(number))
    for number in range(2):
        found += rows(records(files, 7, shuffle=True, part=(number, 2), state=states))
    assert sorted(found) == EVERYTHING
