"""What programs do with a queue by hand: push from a thread of their own, join the feeding thread, loaders' names."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import fluidio as fluid


def test_a_run_waits_for_the_first_push_of_another_thread() -> None:
    reader: Any = fluid.layers.py_reader(capacity=2, shapes=[[-1, 2]], dtypes=["float32"], use_double_buffer=False)
    x = fluid.layers.read_file(reader)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    go = threading.Event()

    def feed() -> None:
        go.wait(10)
        reader.queue.push([np.ones((3, 2), "float32")])
        reader.queue.close()

    thread = threading.Thread(target=feed)
    thread.start()
    timer = threading.Timer(0.05, go.set)
    timer.start()
    assert exe.run(fetch_list=[x])[0].shape == (3, 2)
    thread.join()
    timer.join()  # any other thread might push
    with pytest.raises(fluid.core.EOFException):
        exe.run(fetch_list=[x])
    reader.reset()
    with pytest.raises(fluid.core.EnforceNotMet, match="not started"):  # nobody is left who could push
        exe.run(fetch_list=[x])


def test_the_feeding_thread_can_be_joined() -> None:
    reader: Any = fluid.layers.py_reader(capacity=2, shapes=[[-1, 2]], dtypes=["float32"])
    fluid.layers.read_file(reader)
    reader.decorate_tensor_provider(lambda: iter([[np.ones((3, 2), "float32")]]))
    reader.start()
    reader.thread.join(10)
    assert not reader.thread.is_alive()
    reader.reset()


def test_fluid_reader_knows_the_loaders() -> None:
    reader: Any = fluid.reader
    assert reader.DataLoader is fluid.io.DataLoader
    with pytest.raises(NotImplementedError):
        iter(reader.DataLoaderBase())
    reader.keep_data_loader_order(True)
    x = fluid.data("x", [None, 2])
    loader = fluid.io.DataLoader.from_generator(feed_list=[x], capacity=2)
    assert isinstance(loader, reader.DataLoaderBase)
    loader.set_batch_generator(lambda: iter(lambda: [np.ones((1, 2), "float32")], 0), places=fluid.CPUPlace())
    next(iter(loader()))
    loader._reset()
