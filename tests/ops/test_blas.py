"""NumPy's BLAS has one thread while steps run, and its own number of threads otherwise."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import threads
from fluidio.ops.compiled import blas, products

pytestmark = pytest.mark.skipif(
    blas.compiled is None or products.compiled is None or blas.functions() is None,
    reason="no C compiler, no wide vectors, or another BLAS than OpenBLAS",
)


@pytest.fixture
def count() -> Iterator[Any]:
    """The function that tells how many threads the BLAS has: three, before each test."""
    found = blas.functions()
    assert found is not None
    before = found[0]()
    found[1](3)
    yield found[0]
    found[1](before)


def step(counts: list[int], count: Any, fails: bool = False) -> Any:
    """Return a function that runs a program whose py_func notes the BLAS's threads."""

    def note(x: Any) -> Any:
        counts.append(count())
        if fails:
            raise ValueError("the step fails")
        return np.array(x)

    main = fluid.Program()
    with fluid.program_guard(main):
        x = fluid.data("x", [1])
        out = main.current_block().create_var(name="out", shape=[1], dtype="float32")
        fluid.layers.py_func(note, x, out)
    exe = fluid.Executor(fluid.CPUPlace())
    return lambda: exe.run(main, feed={"x": np.ones(1, np.float32)}, fetch_list=[out])


def test_it_has_one_inside_a_step_and_then_as_many_as_before(count: Any) -> None:
    counts: list[int] = []
    step(counts, count)()
    assert counts == [1]
    assert count() == 3


def test_it_gets_them_back_when_a_step_fails(count: Any) -> None:
    counts: list[int] = []
    with pytest.raises(ValueError):
        step(counts, count, fails=True)()
    assert counts == [1]
    assert count() == 3


def test_steps_of_several_threads_overlap(count: Any) -> None:
    counts: list[int] = []
    runs = [threading.Thread(target=step(counts, count)) for _ in range(8)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert counts == [1] * 8
    assert count() == 3


def test_a_number_that_is_set_meanwhile_stays(count: Any) -> None:
    found = blas.functions()
    assert found is not None
    blas.enter()
    found[1](2)
    blas.leave()
    assert count() == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_forked_inside_a_step_goes_on_alone(count: Any) -> None:
    blas.enter()
    child = os.fork()
    if child == 0:
        blas.leave()
        os._exit(count() if count() == 3 else 99)
    _, status = os.waitpid(child, 0)
    blas.leave()
    assert os.waitstatus_to_exitcode(status) == 3
    assert count() == 3


@pytest.mark.parametrize("shape", [(300, 40, 700), (700, 40, 300), (4, 300, 900), (900, 300, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_threads_share_what_is_left_to_it(
    shape: tuple[int, int, int], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, depth, columns = shape
    rng = np.random.default_rng(rows)
    a, b = rng.standard_normal((rows, depth)).astype(dtype), rng.standard_normal((depth, columns)).astype(dtype)
    monkeypatch.setattr(products, "_SMALL", 0)
    monkeypatch.setattr(products, "_WORTH_A_THREAD", 1)
    found = []
    for number in "13":
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", number)
        found.append(products.product(a, b))
    threads.close()
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], a @ b, rtol=1e-3, atol=1e-3)
    assert found[0].dtype == a.dtype
