"""Iterable loaders: from generators and from map-style datasets."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import ReaderError


def variables() -> list[Any]:
    return [fluid.data("x", [None, 2]), fluid.data("y", [None, 1], "int64")]


def batches(count: int) -> Any:
    def generate() -> Iterator[Any]:
        for number in range(count):
            yield np.full((3, 2), number, "float32"), np.full((3, 1), number, "int64")

    return generate


def numbers(loader: Any) -> list[int]:
    return [int(np.array(place["y"])[0, 0]) for step in loader() for place in step]


def test_every_epoch_starts_with_the_first_batch_also_after_break() -> None:
    loader = fluid.io.DataLoader.from_generator(variables(), capacity=2)
    loader.set_batch_generator(batches(6), places=fluid.CPUPlace())
    assert numbers(loader) == list(range(6))
    for step in loader():
        if int(np.array(step[0]["y"])[0, 0]) == 2:
            break
    assert numbers(loader) == list(range(6))


def test_an_iterable_loader_leaves_the_program_alone() -> None:
    feed = variables()
    before = str(fluid.default_main_program())
    loader = fluid.io.DataLoader.from_generator(feed, capacity=2)
    loader.set_batch_generator(batches(2), places=fluid.cpu_places(1))
    list(loader())
    assert str(fluid.default_main_program()) == before
    assert not fluid.default_startup_program().global_block().ops


def test_a_clone_has_no_loader_of_its_own() -> None:
    loader = fluid.io.DataLoader.from_generator(variables(), capacity=2, iterable=False)
    main = fluid.default_main_program()
    clone = main.clone()
    loader.set_batch_generator(batches(4))
    exe = fluid.Executor(fluid.CPUPlace())
    loader.start()
    found = [int(exe.run(program, fetch_list=["y"])[0][0, 0]) for program in (main, clone, main, clone)]
    loader.reset()
    assert found == [0, 1, 2, 3]  # both take from the one reader


def test_what_is_yielded_can_be_fed() -> None:
    feed = variables()
    out = fluid.layers.mean(feed[0])
    loader = fluid.io.DataLoader.from_generator(feed, capacity=2)
    loader.set_batch_generator(batches(3), places=fluid.cpu_places(1))
    exe = fluid.Executor(fluid.CPUPlace())
    assert [float(exe.run(feed=data, fetch_list=[out])[0]) for data in loader()] == [0.0, 1.0, 2.0]


def test_return_list_gives_a_list_for_each_place_and_pyreader_that_of_the_first() -> None:
    loader = fluid.io.DataLoader.from_generator(variables(), capacity=2, return_list=True)
    loader.set_batch_generator(batches(1), places=fluid.cpu_places(1))
    ((tensors,),) = list(loader())
    assert [tensor.shape() for tensor in tensors] == [[3, 2], [3, 1]]
    reader = fluid.io.PyReader(variables(), 2, iterable=True, return_list=True)
    reader.decorate_batch_generator(batches(1), fluid.CPUPlace())
    (flat,) = list(reader())
    assert [tensor.shape() for tensor in flat] == [[3, 2], [3, 1]]


def test_pyreader_takes_all_three_sources() -> None:
    def samples() -> Iterator[Any]:
        for number in range(5):
            yield np.full(2, number, "float32"), number

    reader = fluid.io.PyReader(feed_list=variables(), capacity=2, iterable=True)
    with pytest.warns(UserWarning, match="drops the last 1 samples"):
        reader.decorate_sample_generator(samples, batch_size=2, places=fluid.CPUPlace())
        assert numbers(reader) == [0, 2]
    reader.decorate_sample_list_generator(fluid.io.batch(samples, 2), fluid.CPUPlace())
    assert numbers(reader) == [0, 2, 4]
    reader.decorate_batch_generator(batches(2), [fluid.CPUPlace()])
    assert numbers(reader) == [0, 1]


@pytest.mark.parametrize(("era", "iterable"), [("1.4", False), ("1.5", True), ("1.8", True)])
def test_the_era_decides_whether_pyreader_is_iterable(era: str, iterable: bool) -> None:
    with fluid.use_era(era):
        assert fluid.io.PyReader(variables(), 2).iterable is iterable


def test_an_error_of_the_generator_arrives_in_the_loop() -> None:
    def generate() -> Iterator[Any]:
        yield from batches(2)()
        raise LookupError("no third")

    loader = fluid.io.DataLoader.from_generator(variables(), capacity=4)
    loader.set_batch_generator(generate, places=fluid.CPUPlace())
    seen = []
    with pytest.raises(fluid.core.EnforceNotMet, match="LookupError: no third") as caught:
        for step in loader():
            seen.append(step)
    assert len(seen) == 2
    assert isinstance(caught.value.__cause__, LookupError)


def test_two_places_take_two_batches_and_drop_last_decides_about_the_rest() -> None:
    loader = fluid.io.DataLoader.from_generator(variables(), capacity=4)
    loader.set_batch_generator(batches(5), places=fluid.cpu_places(2))
    with pytest.warns(UserWarning, match="drops the last 1 batches"):
        assert [len(step) for step in loader()] == [2, 2]
    keeping = fluid.io.DataLoader.from_generator(variables(), capacity=4, drop_last=False)
    keeping.set_batch_generator(batches(5), places=fluid.cpu_places(2))
    assert [len(step) for step in keeping()] == [2, 2, 1]


def test_mistakes_are_refused_as_fluid_refused_them() -> None:
    feed = variables()
    make = fluid.io.DataLoader.from_generator
    with pytest.raises(ValueError, match="capacity"):
        make(feed)
    with pytest.raises(Exception, match="feed_list must be given"):
        make(capacity=2)
    loader = make(feed, capacity=2)
    with pytest.raises(AssertionError, match="needs places"):
        loader.set_batch_generator(batches(1))
    with pytest.raises(AssertionError, match="no data source"):
        iter(loader)
    with pytest.raises(AssertionError, match="batch_size"):
        loader.set_sample_generator(batches(1), batch_size=0, places=fluid.CPUPlace())
    for method in (loader.start, loader.reset):
        with pytest.raises(AssertionError, match="DataLoader is iterable"):
            method()
    with pytest.raises(AssertionError, match="is not iterable"):
        iter(make(feed, capacity=2, iterable=False))


def test_letting_go_of_an_iterator_stops_its_thread() -> None:
    before = set(threading.enumerate())
    loader = fluid.io.DataLoader.from_generator(variables(), capacity=1)
    loader.set_batch_generator(batches(50), places=fluid.CPUPlace())
    iterator = iter(loader)
    next(iterator)
    started = set(threading.enumerate()) - before
    assert started
    del iterator
    for thread in started:
        thread.join(10)
    assert not any(thread.is_alive() for thread in started)


class Squares(fluid.io.Dataset):
    """Numbers and their squares."""

    def __getitem__(self, index: int) -> Any:
        if index == 13:
            raise KeyError("unlucky")
        return np.full(2, index * index, "float32"), np.array([index], "int64")

    def __len__(self) -> int:
        return 10


class Unlucky(Squares):
    def __len__(self) -> int:
        return 20


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_comes_in_batches_in_order(workers: int) -> None:
    loader = fluid.io.DataLoader(
        Squares(), feed_list=variables(), places=fluid.CPUPlace(), batch_size=4, num_workers=workers
    )
    assert len(loader) == 3
    for _ in range(2):
        found = [np.array(step[0]["y"]).ravel().tolist() for step in loader()]
        assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.mark.parametrize(("workers", "places", "lists"), [(0, 1, True), (1, 1, False), (0, 2, True), (1, 2, True)])
def test_workers_and_one_place_give_a_plain_list(workers: int, places: int, lists: bool) -> None:
    """Fluid: without worker processes, or with several places, a list of tensors is in a list for each place."""
    loader = fluid.io.DataLoader(
        Squares(), places=fluid.cpu_places(places), batch_size=5, num_workers=workers, return_list=True
    )
    for step in loader:
        assert isinstance(step[0], list) == lists


def test_a_batch_sampler_is_one() -> None:
    with pytest.raises(AssertionError, match="batch_sampler must be"):
        fluid.io.DataLoader(Squares(), return_list=True, batch_sampler=cast(Any, 3))


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_of_a_dataset_arrives_in_the_loop(workers: int) -> None:
    loader = fluid.io.DataLoader(Unlucky(), return_list=True, batch_size=5, num_workers=workers)
    with pytest.raises(ReaderError, match="KeyError") as caught:
        for _ in loader:
            pass
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_map_style_loader_wants_its_arguments() -> None:
    with pytest.raises(AssertionError, match="feed_list, or return_list=True"):
        fluid.io.DataLoader(Squares())
    with pytest.raises(AssertionError, match="Dataset"):
        fluid.io.DataLoader([1, 2], return_list=True)
    with pytest.raises(AssertionError, match="batch_sampler"):
        fluid.io.DataLoader(Squares(), return_list=True, batch_sampler=[[0]], batch_size=3)


def test_an_iterable_loader_goes_on_where_another_was_stopped() -> None:
    loader = fluid.io.DataLoader.from_generator(variables(), capacity=2)
    loader.set_batch_generator(batches(6), places=fluid.CPUPlace())
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    state = loader.state_dict()
    with pytest.warns(UserWarning, match="skips the first 4 batches"):
        loader.load_state_dict(state)
    assert numbers(loader) == [4, 5]
    assert numbers(loader) == list(range(6))


class Deadly(Squares):
    """Its worker is killed by the third sample."""

    def __getitem__(self, index: int) -> Any:
        if index == 3 and fluid.io.get_worker_info() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(index)


def test_a_killed_worker_is_an_error_and_no_hang() -> None:
    loader = fluid.io.DataLoader(Deadly(), return_list=True, batch_size=2, num_workers=2)
    with pytest.raises(ReaderError, match=r"worker|process"):
        for _ in loader:
            pass
    assert len(list(fluid.io.DataLoader(Squares(), return_list=True, batch_size=2, num_workers=1))) == 5


def test_breaking_off_stops_the_workers() -> None:
    loader = fluid.io.DataLoader(Squares(), return_list=True, batch_size=1, num_workers=2)
    for _ in loader:
        break
    assert len(list(loader)) == 10
