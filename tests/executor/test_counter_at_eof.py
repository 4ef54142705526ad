"""The step that meets the end of the data: what it leaves behind, with the counters of 1.8.5."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers


def _batches() -> Iterator[list[Any]]:
    for value in range(3):
        yield [np.full((2, 3), value, np.float32)]


def _compiled(program: Any, loss: Any) -> Any:
    return fluid.CompiledProgram(program)


def _parallel(program: Any, loss: Any) -> Any:
    return fluid.CompiledProgram(program).with_data_parallel(loss_name=loss.name, places=[fluid.CPUPlace()])


def _plain(program: Any, loss: Any) -> Any:
    return program


RATES: dict[str, Callable[[], Any]] = {
    "noam": lambda: L.noam_decay(4, 5),
    "exponential": lambda: L.exponential_decay(0.1, 3, 0.5),
}


@pytest.mark.parametrize(
    ("how", "rate", "counts"),
    [
        (_plain, "noam", [4, 8, 12]),
        (_plain, "exponential", [3, 7, 11]),
        (_compiled, "noam", [3, 6, 9]),
        (_compiled, "exponential", [2, 5, 8]),
        (_parallel, "noam", [3, 6, 9]),
        (_parallel, "exponential", [2, 5, 8]),
    ],
)
def test_only_a_plain_program_counts_the_step_that_meets_the_end(how: Any, rate: str, counts: list[int]) -> None:
    reader: Any = L.py_reader(4, [[-1, 3]], ["float32"], use_double_buffer=False)
    reader.decorate_tensor_provider(_batches)
    loss = L.mean(L.fc(L.read_file(reader), 2))
    fluid.optimizer.SGD(RATES[rate]()).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    program = how(fluid.default_main_program(), loss)
    seen = []
    for _ in range(3):
        reader.start()
        with pytest.raises(fluid.core.EOFException):
            while True:
                exe.run(program, fetch_list=[loss])
        reader.reset()
        seen.append(int(fluid.fetch_var("@LR_DECAY_COUNTER@").item()))
    assert seen == counts


def test_data_parallel_counts_no_step_without_data() -> None:
    counter = L.create_global_var([1], 0.0, "float32", True, name="count")
    L.increment(counter)
    reader: Any = L.py_reader(4, [[-1, 3]], ["float32"], use_double_buffer=False)
    reader.decorate_tensor_provider(_batches)
    loss = L.mean(L.fc(L.read_file(reader), 2))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(
        loss_name=loss.name, places=[fluid.CPUPlace()]
    )
    reader.start()
    with pytest.raises(fluid.core.EOFException):
        while True:
            exe.run(program, fetch_list=[loss])
    reader.reset()
    assert fluid.fetch_var("count").item() == 3.0
