"""What generators may yield, and what is said of rubbish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from tests.executor.readers.subjects import Subject, feed, loader, py_reader

layers = fluid.layers


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (None, "yielded NoneType"),
        (7, "yielded int"),
        (np.zeros((2, 4), "float32"), "yielded ndarray"),
        ((np.zeros((2, 4), "float32"),), "delivers 1 tensors, but the program reads 2"),
        (([[1.0], [1.0, 2.0]], [[1]]), "(different lengths|inhomogeneous)"),
    ],
)
def test_rubbish_from_a_generator_is_an_error_that_says_what_came(item: Any, text: str) -> None:
    subject = Subject(loader, read=False)
    feed(subject, lambda: iter([item])).start()
    with pytest.raises(fluid.core.EnforceNotMet, match=text):
        subject.step()
    subject.reader.reset()


def test_a_source_that_is_no_generator_is_an_error() -> None:
    subject = Subject(py_reader)
    feed(subject, lambda: 5).start()
    with pytest.raises(fluid.core.EnforceNotMet, match="cannot be iterated"):
        subject.step()
    subject.reader.reset()


def test_data_variables_are_checked_as_fluid_checked_them() -> None:
    subject = Subject(loader, read=False)
    feed(subject, lambda: iter([(np.zeros((2, 5), "float32"), np.zeros((2, 1), "int64"))])).start()
    with pytest.raises(fluid.core.EnforceNotMet, match=r"shape \[-1, 4\], .* shape \[2, 5\]"):
        subject.step()
    subject.reader.reset()
    feed(subject, lambda: iter([(np.zeros((2, 4)), np.zeros((2, 1), "int64"))])).start()
    with pytest.raises(fluid.core.EnforceNotMet, match="row was declared as FP32, but"):
        subject.step()
    subject.reader.reset()


def test_batches_are_copied_so_that_a_generator_may_reuse_its_buffers() -> None:
    row, number = np.zeros((1, 4), "float32"), np.zeros((1, 1), "int64")

    def generate() -> Iterator[Any]:
        for value in range(6):
            number[...] = value
            yield row, number

    subject = Subject(py_reader)
    feed(subject, generate).start()
    assert subject.epoch() == list(range(6))
    subject.reader.reset()


def test_lists_of_samples_and_single_samples_become_batches() -> None:
    def samples() -> Iterator[Any]:
        for value in range(7):
            yield np.full(4, value, "float32"), value

    subject = Subject(loader, read=False)
    subject.reader.set_sample_list_generator(fluid.io.batch(samples, 3))
    subject.reader.start()
    assert [subject.step() for _ in range(3)] == [[0, 1, 2], [3, 4, 5], [6]]
    subject.reader.reset()
    subject.reader.set_sample_generator(samples, batch_size=3, drop_last=False)
    subject.reader.start()
    assert subject.epoch() == list(range(7))
    subject.reader.reset()


def test_sequences_keep_their_lod() -> None:
    words = fluid.data("words", [None, 1], "int64", lod_level=1)
    reader = fluid.io.DataLoader.from_generator([words], 2, iterable=False)
    reader.set_sample_list_generator(lambda: iter([[([1, 2, 3],), ([4],)]]))
    exe = fluid.Executor(fluid.CPUPlace())
    reader.start()
    (tensor,) = exe.run(fetch_list=[words], return_numpy=False)
    reader.reset()
    assert tensor.recursive_sequence_lengths() == [[3, 1]]
    assert np.array(tensor).ravel().tolist() == [1, 2, 3, 4]
