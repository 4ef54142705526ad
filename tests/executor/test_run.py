"""What `exe.run` does with programs, feeds, fetches and scopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid


@pytest.fixture
def exe() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


def _square() -> Any:
    x = fluid.layers.data("x", shape=[2])
    return fluid.layers.elementwise_mul(x, x)


@pytest.mark.parametrize("how", ["variable", "name", "lists", "bare"])
def test_every_form_of_a_fetch(exe: fluid.Executor, how: str) -> None:
    y = _square()
    forms = {"variable": [y], "name": [y.name], "lists": [[y]], "bare": y}
    results = exe.run(feed={"x": np.full((1, 2), 3, np.float32)}, fetch_list=forms[how])
    assert [result.tolist() for result in results] == [[[9, 9]]]


def test_nothing_fetched_is_an_empty_list(exe: fluid.Executor) -> None:
    _square()
    feed = {"x": np.ones((1, 2), np.float32)}
    assert exe.run(feed=feed) == exe.run(feed=feed, fetch_list=[]) == []


def test_temporaries_vanish_and_persistables_go_to_the_outermost_scope(exe: fluid.Executor) -> None:
    x = fluid.layers.data("x", shape=[2])
    y = fluid.layers.fc(x, size=1)
    root = fluid.Scope()
    inner = root.new_scope()
    exe.run(fluid.default_startup_program(), scope=inner)
    exe.run(feed={"x": np.ones((1, 2), np.float32)}, fetch_list=[y], scope=inner)
    assert root.find_var("fc_0.w_0") is not None
    assert inner.find_var(y.name) is None
    assert inner.local_var_names() == []
    assert fluid.global_scope().find_var("fc_0.w_0") is None


@pytest.mark.parametrize("use_program_cache", [False, True])
def test_a_program_that_grows_between_runs_is_seen(exe: fluid.Executor, use_program_cache: bool) -> None:
    y = _square()
    feed = {"x": np.full((1, 2), 2, np.float32)}
    exe.run(feed=feed, fetch_list=[y], use_program_cache=use_program_cache)
    z = fluid.layers.elementwise_add(y, y)
    (result,) = exe.run(feed=feed, fetch_list=[z], use_program_cache=use_program_cache)
    assert result.tolist() == [[8, 8]]


def test_the_batch_size_may_change_between_runs(exe: fluid.Executor) -> None:
    y = _square()
    for rows in (3, 1, 5):
        (result,) = exe.run(feed={"x": np.ones((rows, 2), np.float32)}, fetch_list=[y])
        assert result.shape == (rows, 2)


def test_two_programs_with_equal_names_do_not_mix(exe: fluid.Executor) -> None:
    results = []
    for layer in (fluid.layers.abs, fluid.layers.exp):
        main = fluid.Program()
        with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
            y = layer(fluid.layers.data("x", shape=[1]))
            main.global_block().create_var(name="out", persistable=True)
        feed = {"x": np.zeros((1, 1), np.float32)}
        results.append(float(exe.run(main, feed=feed, fetch_list=[y], use_program_cache=True)[0]))
    assert results == [0.0, 1.0]


def test_numbers_are_fed_as_the_variable_wants_them(exe: fluid.Executor) -> None:
    y = fluid.layers.abs(fluid.layers.data("x", shape=[1], append_batch_size=False))
    (result,) = exe.run(feed={"x": -2}, fetch_list=[y])
    assert (result.tolist(), result.dtype.name) == ([2.0], "float32")


def test_a_list_of_one_feed_is_unwrapped_and_none_is_nothing(exe: fluid.Executor) -> None:
    y = _square()
    feed = {"x": np.ones((1, 2), np.float32)}
    assert exe.run(feed=[feed], fetch_list=[y])[0].tolist() == [[1, 1]]
    nothings: list[Any] = [None, {}, []]
    assert [exe.run(fluid.Program(), feed=nothing) for nothing in nothings] == [[], [], []]


def test_executors_show_their_place(exe: fluid.Executor) -> None:
    assert repr(exe) == "Executor(CPUPlace)"
    assert repr(fluid.Executor()) == "Executor(CPUPlace)" or fluid.is_compiled_with_cuda()


@pytest.mark.parametrize("layer", ["elementwise_add", "sums", "concat"])
def test_results_have_the_lod_of_the_first_input_only(layer: str) -> None:
    plain, words = fluid.layers.data("plain", [2]), fluid.layers.data("words", [2], lod_level=1)
    build = getattr(fluid.layers, layer)
    pairs = [(plain, words), (words, plain)]
    outs = [build(*pair) if layer == "elementwise_add" else build(list(pair)) for pair in pairs]
    rows = np.ones((3, 2), "float32")
    feed = {"plain": rows, "words": fluid.create_lod_tensor(rows, [[1, 2]], fluid.CPUPlace())}
    first, second = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=outs, return_numpy=False)
    assert first.lod() == []
    assert second.lod() == [[0, 1, 3]]


def test_as_numpy_refuses_sequences() -> None:
    from fluidio.executor import as_numpy

    rows = np.ones((3, 2), "float32")
    plain = fluid.create_lod_tensor(rows, [[1, 2]], fluid.CPUPlace())
    with pytest.raises(RuntimeError, match="return_numpy=False"):
        as_numpy(plain)
    plain.set_lod([])
    assert [a.shape for a in as_numpy([plain, rows])] == [(3, 2), (3, 2)]
