"""The worker processes behind the map-style DataLoader."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fluidio.errors import ReaderError
from fluidio.io import BatchSampler, Dataset, default_collate_fn, get_worker_info, workers
from fluidio.io.workers import iterate_batches

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="closures need fork")


class Made(Dataset):
    """A dataset whose samples come from a closure."""

    def __init__(self, length: int, make: Callable[[int], Any]) -> None:
        self.length, self.make = length, make

    def __getitem__(self, idx: int) -> Any:
        return self.make(idx)

    def __len__(self) -> int:
        return self.length


def batches(dataset: Made, size: int = 2, num_workers: int = 2, **options: Any) -> Iterator[Any]:
    sampler = BatchSampler(dataset=dataset, batch_size=size)
    return iterate_batches(dataset, sampler, default_collate_fn, num_workers, **options)


def pictures(side: int) -> Made:
    return Made(11, lambda i: (np.full((side, side), i, "float32"), i))


@pytest.mark.parametrize("count", [0, 1, 3, 8])
@pytest.mark.parametrize("side", [2, 300])
@pytest.mark.parametrize("shared", [True, False])
def test_batches_come_in_the_samplers_order(count: int, side: int, shared: bool) -> None:
    got = list(batches(pictures(side), 2, count, use_shared_memory=shared))
    assert [labels.tolist() for _, labels in got] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]
    for images, labels in got:
        assert images.shape == (len(labels), side, side) and images.dtype == np.float32
        assert (images == labels[:, None, None]).all()


def test_shared_arrays_can_be_written_and_outlive_the_iterator() -> None:
    first, second = itertools.islice(batches(pictures(300)), 2)
    first[0][:] = 7
    assert (first[0] == 7).all() and (second[0][0] == 2).all()


def test_any_batch_can_be_sent() -> None:
    def collate(samples: list[Any]) -> Any:
        return {"n": len(samples), "all": samples, "strided": np.arange(60_000)[::2], "none": np.zeros((0, 3))}

    dataset = Made(3, lambda i: ("text", i))
    (got,) = iterate_batches(dataset, [[0, 2]], collate, 1)
    assert got["all"] == [("text", 0), ("text", 2)] and got["none"].shape == (0, 3)
    assert np.array_equal(got["strided"], np.arange(60_000)[::2])
    assert list(iterate_batches(dataset, [[0, 2]], None, 1)) == [[("text", 0), ("text", 2)]]


def test_an_empty_sampler_gives_nothing() -> None:
    assert list(batches(Made(0, int))) == []


def test_workers_are_real_processes_that_know_who_they_are() -> None:
    def make(i: int) -> Any:
        info = get_worker_info()
        assert info is not None and info.dataset is dataset
        return os.getpid(), info.id, info.num_workers

    dataset = Made(8, make)
    pids, ids, counts = map(np.concatenate, zip(*batches(dataset, 2, 2)))
    assert len(set(pids)) == 2 and os.getpid() not in pids
    assert ids.tolist() == [0, 0, 1, 1, 0, 0, 1, 1] and set(counts) == {2}
    assert get_worker_info() is None


def test_worker_init_fn_runs_first_in_each_worker() -> None:
    seen: list[int] = []
    got = [b[0].tolist() for b in batches(Made(4, lambda i: (seen[0],)), 1, 2, worker_init_fn=seen.append)]
    assert got == [[0], [1], [0], [1]] and seen == []


def test_random_numbers_differ_between_workers_and_epochs_and_leave_ours_alone() -> None:
    dataset = Made(4, lambda i: (random.random(), np.random.rand()))

    def epoch() -> list[float]:
        return [float(field[0]) for batch in batches(dataset, 1, 2) for field in batch]

    np.random.seed(3)
    assert len({*epoch(), *epoch()}) == 16
    mine = np.random.rand()
    np.random.seed(3)
    assert np.random.rand() == mine


def test_random_numbers_are_alike_in_each_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def run() -> list[list[float]]:
        monkeypatch.setattr(workers, "_epochs", itertools.count())
        np.random.seed(3)
        return [batch[0].tolist() for _ in range(2) for batch in batches(Made(4, lambda i: (np.random.rand(),)), 1, 2)]

    assert run() == run()


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_names_the_sample_and_comes_behind_the_good_batches(count: int) -> None:
    def make(i: int) -> Any:
        if i == 5:
            raise KeyError("label")
        return (i,)

    got = []
    with pytest.raises(ReaderError, match=r"raised KeyError: 'label' \(while reading dataset\[5\]\)") as caught:
        for batch in batches(Made(9, make), 2, count):
            got.append(batch[0].tolist())
    assert got == [[0, 1], [2, 3]]
    assert isinstance(caught.value.__cause__, KeyError)
    assert "in make" in "".join(caught.value.__cause__.__notes__)


def test_errors_without_workers_are_the_users_own() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        list(batches(Made(3, lambda i: 1 // i), 2, 0))
    assert caught.value.__notes__ == ["while reading dataset[0]"]


def test_an_error_in_worker_init_fn_or_the_sampler_arrives() -> None:
    def bad(number: int) -> None:
        raise OSError("no device")

    with pytest.raises(ReaderError, match="no device"):
        list(batches(Made(4, int), worker_init_fn=bad))

    def sampler() -> Iterator[list[int]]:
        yield [0]
        raise RuntimeError("sampler")

    with pytest.raises(RuntimeError, match="sampler"):
        list(iterate_batches(Made(4, int), sampler(), None, 2))


def test_a_killed_worker_is_an_error() -> None:
    def make(i: int) -> int:
        if i == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return i

    with pytest.raises(ReaderError, match=r"killed by signal 9 \(SIGKILL\).*\(worker 0\)"):
        list(batches(Made(9, make), 2, 2))


def test_a_killed_worker_is_noticed_while_waiting_for_another_one() -> None:
    gate, hold = os.pipe()

    def make(i: int) -> int:
        if i == 0:
            os.read(gate, 1)  # for ever
        os._exit(5)

    with pytest.raises(ReaderError, match=r"exit code 5 \(worker 1\)"):
        list(batches(Made(2, make), 1, 2))
    os.close(gate)
    os.close(hold)


def test_a_slow_batch_runs_into_the_timeout() -> None:
    gate, hold = os.pipe()
    with pytest.raises(ReaderError, match=r"worker 0 .* gave no batch for 0\.05 s"):
        list(batches(Made(2, lambda i: os.read(gate, 1)), 1, 1, timeout=0.05))
    os.close(gate)
    os.close(hold)


def test_an_abandoned_iterator_ends_its_workers() -> None:
    for _ in batches(Made(1000, lambda i: (np.zeros(50_000), i)), 1, 2):
        break


def test_giant_index_lists_and_giant_batches_do_not_block_each_other() -> None:
    many = list(range(200_000))
    dataset = Made(len(many), lambda i: i)
    got = list(iterate_batches(dataset, [many] * 5, lambda samples: [str(s) for s in samples], 1))
    assert [len(batch) for batch in got] == [len(many)] * 5


def test_no_warning_about_forking_with_threads() -> None:
    gate = threading.Event()
    other = threading.Thread(target=gate.wait)
    other.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(list(batches(Made(4, int)))) == 2
    finally:
        gate.set()
        other.join()


def test_many_epochs_leave_no_file_open() -> None:
    def epoch() -> int:
        list(batches(pictures(150), 4, 2))
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    assert epoch() == [epoch() for _ in range(4)][-1]


@pytest.mark.parametrize("options", [{"num_workers": -1}, {"timeout": -1}])
def test_negative_numbers_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="negative"):
        batches(Made(1, int), **options)
