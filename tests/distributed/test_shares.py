"""Records are divided among trainers: each once in an epoch, in one global order, for any number of trainers."""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluidio as fluid
from fluidio.distributed.shares import next_step, share
from fluidio.recordio import Writer

L = fluid.layers


@contextmanager
def files(sizes: list[int], chunk: int) -> Iterator[list[str]]:
    """Write files whose records are the numbers 0, 1, 2, ..."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = itertools.count()
        names = []
        for index, size in enumerate(sizes):
            names.append(str(Path(folder) / f"part-{index}.recordio"))
            with Writer(names[-1], max_num_records=chunk) as writer:
                for _ in range(size):
                    writer.write_tensors([(np.array([[next(numbers)]], "int64"), ())])
        yield names


class Trainer:
    """A program that reads as one of several trainers."""

    def __init__(self, names: list[str], trainers: int, trainer: int, batch: int, **options: Any) -> None:
        self.scope = fluid.Scope()
        self.exe = fluid.Executor(fluid.CPUPlace())
        self.main, startup = fluid.Program(), fluid.Program()
        self.main.random_seed = options.pop("seed", 0)
        shuffle, buffered = options.pop("shuffle", 0), options.pop("buffered", False)
        drop_last = options.pop("drop_last", False)
        with fluid.program_guard(self.main, startup), fluid.unique_name.guard():
            reader = L.open_files(names, [[-1, 1]], [0], ["int64"], trainers=trainers, trainer_id=trainer, **options)
            if shuffle:
                reader = L.shuffle(reader, shuffle)
            if batch:
                reader = L.batch(reader, batch, drop_last=drop_last)
            self.reader = L.double_buffer(reader) if buffered else reader
            self.value = L.read_file(self.reader)
        self.exe.run(startup, scope=self.scope)

    def step(self) -> list[int] | None:
        """Return the records of the next batch, None at the end of the epoch."""
        try:
            return [int(n) for n in self.exe.run(self.main, fetch_list=[self.value], scope=self.scope)[0].reshape(-1)]
        except fluid.core.EOFException:
            return None

    def state(self) -> dict[str, Any]:
        with fluid.scope_guard(self.scope):
            state: dict[str, Any] = json.loads(json.dumps(self.reader.state_dict()))  # type: ignore[attr-defined]
            return state

    def resume(self, state: dict[str, Any]) -> None:
        with fluid.scope_guard(self.scope):
            self.reader.load_state_dict(state)  # type: ignore[attr-defined]

    def next_epoch(self) -> None:
        with fluid.scope_guard(self.scope):
            self.reader.reset()


def run(job: list[Trainer], steps: int | None = None) -> list[int]:
    """Run trainers step by step; return the records in the order of the steps."""
    found: list[int] = []
    for _ in itertools.count() if steps is None else range(steps):
        batches = [trainer.step() for trainer in job]
        if None in batches:
            assert batches == [None] * len(job), "all trainers reach the end in the same step"
            break
        found += [number for batch in batches if batch is not None for number in batch]
    return found


chains = st.fixed_dictionaries(
    {},
    optional={
        "shuffle": st.integers(1, 9),
        "seed": st.integers(0, 5),
        "buffered": st.booleans(),
        "thread_num": st.integers(1, 3),
        "shuffle_files": st.booleans(),
        "pass_num": st.integers(1, 2),
    },
)


@given(
    st.lists(st.integers(0, 13), min_size=1, max_size=4),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 6),
    chains,
)
def test_any_number_of_trainers_reads_the_same_order_also_after_a_change_in_mid_epoch(
    sizes: list[int], chunk: int, batch: int, first: int, then: int, then_batch: int, cut: int, chain: dict[str, Any]
) -> None:
    total = sum(sizes) * chain.get("pass_num", 1)
    if total < 16:
        sizes, total = [*sizes, 16], total + 16 * chain.get("pass_num", 1)
    with files(sizes, chunk) as names:
        whole = run([Trainer(names, 1, 0, 1, **chain)])
        assert sorted(whole) == sorted(list(range(sum(sizes))) * chain.get("pass_num", 1))
        job = [Trainer(names, first, i, batch, **chain) for i in range(first)]
        before = run(job, cut)
        assert before == whole[: len(before)]
        states = [trainer.state() for trainer in job]
        if len(before) == total or total - len(before) < then:
            return
        others = [Trainer(names, then, i, then_batch, **chain) for i in range(then)]
        for trainer in others:
            trainer.resume(states[0])
        assert before + run(others) == whole
        for trainer in others:
            trainer.next_epoch()
        again = run(others)
        assert sorted(again) == sorted(whole)


def test_all_trainers_save_the_same_place() -> None:
    with files([20], 4) as names:
        job = [Trainer(names, 3, i, 2) for i in range(3)]
        run(job, 2)
        places = [trainer.state()["records"] for trainer in job]
        assert places == [12, 12, 12]


@given(st.integers(0, 2000), st.integers(1, 9), st.integers(1, 40), st.booleans())
def test_steps_divide_an_epoch_so_that_each_trainer_has_a_part_of_each(
    total: int, batch: int, trainers: int, drop_last: bool
) -> None:
    left, steps = total, []
    while (count := next_step(left, batch, trainers, drop_last)) >= trainers:
        steps.append(count)
        left -= count
    assert left < (batch * trainers if drop_last else trainers) or (left and total < trainers)
    if not drop_last and total >= trainers:
        assert left == 0
    for count in steps:
        bounds = [share(count, trainers, i) for i in range(trainers)]
        assert bounds[0][0] == 0 and bounds[-1][1] == count
        assert all(a[1] == b[0] for a, b in itertools.pairwise(bounds))
        assert {high - low for low, high in bounds} <= {batch, batch + 1} or count == steps[-1]
        assert min(high - low for low, high in bounds) >= 1


def test_a_thousand_trainers_that_come_and_go_read_a_hundred_thousand_chunks_once() -> None:
    rng = np.random.default_rng(7)
    records = int(rng.integers(1, 40, 100_000).sum())
    at, trainers, seen = 0, 1000, np.zeros(records, np.int8)
    while True:
        count = next_step(records - at, 32, trainers, drop_last=False)
        if not count:
            break
        bounds = np.array([share(count, trainers, i) for i in range(trainers)])
        np.add.at(seen, np.r_[at : at + count], 1)
        assert (bounds[1:, 0] == bounds[:-1, 1]).all() and bounds[-1, 1] == count
        at += count
        trainers = int(np.clip(trainers + rng.integers(-60, 60), 1, 1000))  # some die, some come back
    assert at == records and (seen == 1).all()


def test_records_without_a_batch_layer_are_divided_one_by_one() -> None:
    with files([9], 4) as names:
        job = [Trainer(names, 2, i, 0) for i in range(2)]
        with pytest.warns(UserWarning, match="the last 1 items of each epoch are dropped"):
            assert run(job) == list(range(8))


@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize("records", range(8, 17))
def test_joined_trainers_give_out_every_record_and_some_reach_the_end_earlier(batch: int, records: int) -> None:
    with files([records], 4) as names:
        job = [Trainer(names, 4, i, batch, join=True) for i in range(4)]
        for _ in range(2):
            found, steps = [], [0] * 4
            for index, trainer in enumerate(job):
                while (numbers := trainer.step()) is not None:
                    found += numbers
                    steps[index] += 1
                trainer.next_epoch()
            assert sorted(found) == list(range(records))
            assert max(steps) - min(steps) <= 1
            assert (max(steps) > min(steps)) == (0 < records % (4 * max(batch, 1)) < 4)


def test_a_joined_trainer_without_a_record_lets_the_others_train(monkeypatch: pytest.MonkeyPatch) -> None:
    class Others:
        sat_out = 0

        def sit_out(self) -> None:
            self.sat_out += 1

    with files([9], 4) as names:
        for index in range(2):
            others = Others()
            monkeypatch.setattr("fluidio.executor.readers.ops.group", lambda others=others: others)
            trainer = Trainer(names, 2, index, 2, join=True)
            trainer.main._is_distributed = True
            steps = sum(1 for _ in iter(trainer.step, None))
            assert (steps, others.sat_out) in ((3, 0), (2, 1))


def test_fewer_records_than_trainers_are_an_error() -> None:
    with files([2], 4) as names, pytest.raises(fluid.core.EnforceNotMet, match="2 records are left for 3 trainers"):
        Trainer(names, 3, 0, 1).step()


def test_the_environment_says_which_part_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDLE_TRAINERS", "2")
    monkeypatch.setenv("PADDLE_TRAINER_ID", "1")
    with files([8], 4) as names:
        reader = L.open_files(names, [[-1, 1]], [0], ["int64"], trainers="env")
        value = L.read_file(L.batch(reader, 2))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        assert exe.run(fetch_list=[value])[0].reshape(-1).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"trainer_id": 1}, "needs trainers="),
        ({"trainers": 0, "trainer_id": 0}, "must be a number or 'env'"),
        ({"trainers": "all"}, "must be a number or 'env'"),
        ({"trainers": 2}, "got None"),
        ({"join": True}, "join=True needs trainers="),
        ({"trainers": 2, "trainer_id": 2}, "got 2"),
        ({"trainers": 2, "trainer_id": 0, "deterministic": False}, "deterministic=False"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        L.open_files(["x.recordio"], [[-1, 1]], [0], ["int64"], **options)


def test_a_reader_without_trainers_reads_every_file() -> None:
    with files([3, 2], 4) as names:
        reader = L.open_files(names, [[-1, 1]], [0], ["int64"], thread_num=1)
        value = L.read_file(L.batch(reader, 5))
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        assert exe.run(fetch_list=[value])[0].reshape(-1).tolist() == [0, 1, 2, 3, 4]
