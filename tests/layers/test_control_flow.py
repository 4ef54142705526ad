"""Loops, branches and arrays: values, gradients against finite differences, and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers
X = np.sin(np.arange(12) * 0.7).reshape(4, 3).astype(np.float32)


def run(fetch: Any, feed: Any = None) -> list[Any]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    return list(exe.run(feed=feed or {}, fetch_list=fetch))


def check_parameter_gradients(loss: Any, feed: Any) -> None:
    """Compare the gradients of all parameters with central differences."""
    pairs = fluid.backward.append_backward(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    analytic = exe.run(feed=feed, fetch_list=[g for _, g in pairs])
    for (parameter, _), got in zip(pairs, analytic):
        variable = fluid.global_scope().find_var(parameter.name)
        assert variable is not None
        tensor = variable.get_tensor()
        base = np.array(tensor).copy()
        numeric = np.zeros_like(base)
        for index in np.ndindex(base.shape):
            sides = []
            for delta in (1e-2, -1e-2):
                moved = base.copy()
                moved[index] += delta
                tensor.set(moved, fluid.CPUPlace())
                sides.append(float(exe.run(feed=feed, fetch_list=[loss])[0][0]))
            numeric[index] = (sides[0] - sides[1]) / 2e-2
        tensor.set(base, fluid.CPUPlace())
        np.testing.assert_allclose(np.array(got), numeric, atol=2e-3, err_msg=parameter.name)


def count_to(limit: int) -> tuple[Any, Any, Any]:
    i = L.fill_constant([1], "int64", 0)
    n = L.fill_constant([1], "int64", limit)
    return i, n, L.less_than(i, n)


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_while_runs_as_often_as_its_condition_says(limit: int) -> None:
    i, n, more = count_to(limit)
    total = L.fill_constant([1], "float32", 0.0)
    loop = L.While(more)
    with loop.block():
        L.assign(total + 2.0, total)
        L.increment(i)
        L.less_than(i, n, cond=more)
    got = run([i, total])
    assert (int(got[0][0]), float(got[1][0])) == (limit, 2.0 * limit)


@pytest.mark.parametrize("limit", [0, 1, 4])
def test_gradients_flow_through_while_loop(limit: int) -> None:
    x = L.data("x", [3])
    hidden, total = L.fc(x, 3, act="tanh"), L.fc(x, 3)

    def body(i: Any, h: Any, t: Any) -> list[Any]:
        h = L.fc(h, 3, act="tanh", param_attr="w", bias_attr=False)
        return [L.increment(i), h, t + h]

    start = L.fill_constant([1], "int64", 0)
    _, _, total = L.while_loop(
        lambda i, h, t: L.less_than(i, L.fill_constant([1], "int64", limit)), body, [start, hidden, total]
    )
    check_parameter_gradients(L.mean(L.square(total)), {"x": X})


def test_gradients_flow_through_an_array_whose_entries_are_read_inside_and_outside() -> None:
    x = L.data("x", [3])
    i, n, more = count_to(3)
    array = L.array_write(L.fc(x, 3, act="tanh"), i)
    loop = L.While(more)
    with loop.block():
        entry = L.array_read(array, i)
        L.increment(i)
        L.array_write(L.fc(entry, 3, act="tanh"), i, array)
        L.less_than(i, n, cond=more)
    one = L.fill_constant([1], "int64", 1)
    loss = L.mean(L.square(L.array_read(array, n) + L.array_read(array, one)))
    check_parameter_gradients(loss, {"x": X})


def test_gradients_flow_through_nested_loops() -> None:
    x = L.data("x", [3])
    hidden = L.fc(x, 3, act="tanh")

    def inner(j: Any, h: Any) -> list[Any]:
        return [L.increment(j), L.fc(h, 3, act="tanh", param_attr="inner", bias_attr=False)]

    def outer(i: Any, h: Any) -> list[Any]:
        zero = L.fill_constant([1], "int64", 0)
        two = L.fill_constant([1], "int64", 2)
        start = L.scale(h, 1.0)
        _, h = L.while_loop(lambda j, h: L.less_than(j, two), inner, [zero, start])
        return [L.increment(i), L.fc(h, 3, act="tanh", param_attr="outer", bias_attr=False)]

    three = L.fill_constant([1], "int64", 3)
    first = L.fill_constant([1], "int64", 0)
    _, hidden = L.while_loop(lambda i, h: L.less_than(i, three), outer, [first, hidden])
    check_parameter_gradients(L.mean(L.square(hidden)), {"x": X})


def test_a_branch_inside_a_loop_has_gradients() -> None:
    x = L.data("x", [3])
    hidden = L.fc(x, 3, act="tanh")
    one = L.fill_constant([1], "int64", 1)

    def body(i: Any, h: Any) -> list[Any]:
        h = L.cond(
            L.less_than(i, one),
            lambda: L.fc(h, 3, act="tanh", param_attr="a", bias_attr=False),
            lambda: L.fc(h, 3, param_attr="b", bias_attr=False),
        )
        return [L.increment(i), h]

    limit = L.fill_constant([1], "int64", 3)
    start = L.fill_constant([1], "int64", 0)
    _, hidden = L.while_loop(lambda i, h: L.less_than(i, limit), body, [start, hidden])
    check_parameter_gradients(L.mean(L.square(hidden)), {"x": X})


def test_gradients_of_inputs_through_a_loop() -> None:
    x = L.data("x", [3])
    x.stop_gradient = False
    limit = L.fill_constant([1], "int64", 3)
    start = L.fill_constant([1], "int64", 0)
    carried = L.scale(x, 1.0)
    _, out = L.while_loop(
        lambda i, h: L.less_than(i, limit), lambda i, h: [L.increment(i), L.scale(h, 2.0)], [start, carried]
    )
    (dx,) = fluid.gradients([out], [x])
    (got,) = run([dx], {"x": X})
    np.testing.assert_allclose(got, np.full_like(X, 8.0))


@pytest.mark.parametrize(("value", "wanted"), [(0, 10.0), (1, 20.0), (7, 30.0)])
def test_switch_case_takes_the_branch_of_its_number(value: int, wanted: float) -> None:
    index = L.fill_constant([1], "int32", value)
    branch: Callable[[float], Callable[[], Any]] = lambda v: lambda: L.fill_constant([1], "float32", v)  # noqa: E731
    out = L.switch_case(index, {0: branch(10.0), 1: branch(20.0)}, default=branch(30.0))
    assert float(run([out])[0][0]) == wanted


def test_case_takes_the_first_that_holds() -> None:
    a, b = L.fill_constant([1], "float32", 0.3), L.fill_constant([1], "float32", 0.1)
    out = L.case(
        [
            (L.less_than(a, b), lambda: L.fill_constant([1], "int32", 1)),
            (L.less_than(b, a), lambda: L.fill_constant([1], "int32", 2)),
        ],
        default=lambda: L.fill_constant([1], "int32", 3),
    )
    assert int(run([out])[0][0]) == 2


def test_a_switch_inside_a_program_that_trains() -> None:
    x = L.data("x", [3])
    rate = L.create_global_var([1], 0.0, "float32", persistable=True)
    step = L.fill_constant([1], "float32", 3.0)
    with L.Switch() as switch:
        with switch.case(step < L.fill_constant([1], "float32", 1.0)):
            L.assign(L.fill_constant([1], "float32", 1.0), rate)
        with switch.default():
            L.assign(L.fill_constant([1], "float32", 0.5), rate)
    loss = L.mean(L.square(L.fc(x, 2)))
    fluid.optimizer.SGD(rate).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    losses = [float(exe.run(feed={"x": X}, fetch_list=[loss])[0][0]) for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]


@pytest.mark.parametrize("flags", [[1, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
def test_if_else_sends_each_row_through_its_block(flags: list[int]) -> None:
    x, flag = L.data("x", [3]), L.data("flag", [1])
    zero = L.fill_constant_batch_size_like(flag, [-1, 1], "float32", 0.5)
    block = L.IfElse(L.less_than(zero, flag))
    with block.true_block():
        block.output(L.scale(block.input(x), 2.0))
    with block.false_block():
        block.output(L.scale(block.input(x), -1.0))
    column = np.array(flags, np.float32).reshape(4, 1)
    (got,) = run(block(), {"x": X, "flag": column})
    np.testing.assert_allclose(got, np.where(column > 0, 2 * X, -X))


def test_arrays_join_and_count() -> None:
    x = L.data("x", [3])
    i = L.fill_constant([1], "int64", 0)
    array = L.array_write(x, i)
    L.array_write(L.scale(x, 2.0), L.increment(i), array)
    joined, sizes = L.tensor_array_to_tensor(array, axis=1)
    stacked, _ = L.tensor_array_to_tensor(array, axis=0, use_stack=True)
    got = run([L.array_length(array), joined, sizes, stacked], {"x": X})
    assert got[0].tolist() == [2]
    np.testing.assert_allclose(got[1], np.concatenate([X, 2 * X], axis=1))
    assert got[2].tolist() == [3, 3]
    np.testing.assert_allclose(got[3], np.stack([X, 2 * X]))


def test_a_joined_array_has_gradients() -> None:
    x = L.data("x", [3])
    i = L.fill_constant([1], "int64", 0)
    array = L.array_write(L.fc(x, 2), i)
    L.array_write(L.fc(x, 2, act="tanh"), L.increment(i), array)
    joined, _ = L.tensor_array_to_tensor(array, axis=1)
    check_parameter_gradients(L.mean(L.square(joined)), {"x": X})


def test_dynamic_rnn_takes_empty_sequences_and_single_ones() -> None:
    x = L.data("x", [3], lod_level=1)
    rnn = L.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(x)
        total = rnn.memory(shape=[3])
        new = total + word
        rnn.update_memory(total, new)
        rnn.output(new)
    out = L.sequence_last_step(rnn())
    for lengths in ([2, 0, 2], [4], [0, 4]):
        feed = {"x": fluid.create_lod_tensor(X, [lengths], fluid.CPUPlace())}
        (got,) = run([out], feed)
        wanted = [part.sum(axis=0) for part in np.split(X, np.cumsum(lengths)[:-1])]
        np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_a_clone_for_test_runs_the_loop_without_keeping_it() -> None:
    x = L.data("x", [3], lod_level=1)
    rnn = L.DynamicRNN()
    with rnn.block():
        word = rnn.step_input(x)
        memory = rnn.memory(shape=[2])
        hidden = L.fc([word, memory], 2, act="tanh")
        rnn.update_memory(memory, hidden)
        rnn.output(hidden)
    loss = L.mean(rnn())
    test = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": fluid.create_lod_tensor(X, [[3, 1]], fluid.CPUPlace())}
    before = exe.run(test, feed=feed, fetch_list=[loss.name])[0]
    trained = exe.run(feed=feed, fetch_list=[loss])[0]
    assert before == pytest.approx(trained)


def test_reading_an_entry_that_was_not_written_names_the_array() -> None:
    x = L.data("x", [3])
    array = L.array_write(x, L.fill_constant([1], "int64", 0))
    out = L.array_read(array, L.fill_constant([1], "int64", 4))
    named = r"entry 4 of the array array_write_0.out.*\n(.*\n)*.*test_control_flow"
    with pytest.raises(fluid.core.EnforceNotMet, match=named):
        run([out], {"x": X})


def test_mistakes_in_building_are_told() -> None:
    x = L.data("x", [3])
    with pytest.raises(TypeError, match="dtype bool"):
        L.While(x)
    with pytest.raises(TypeError, match="shape"):
        L.While(L.less_than(x, x))
    with pytest.raises(ValueError, match="only inside"):
        L.DynamicRNN().step_input(x)
    with pytest.raises(ValueError, match="at least one case"):
        L.Switch().default()
    with pytest.raises(ValueError, match="empty"):
        L.while_loop(lambda: x, lambda: x, [])
    with pytest.raises(TypeError, match="must be a function"):
        L.cond(L.fill_constant([1], "bool", True), 3)  # type: ignore[arg-type]


def test_a_dynamic_rnn_over_a_tensor_without_lod_says_so() -> None:
    x = L.data("x", [3], lod_level=1)
    rnn = L.DynamicRNN()
    with rnn.block():
        rnn.output(rnn.step_input(x))
    with pytest.raises(fluid.core.EnforceNotMet, match=r"X \(x\) has 0 LoD levels"):
        run([rnn()], {"x": X})


def test_two_calls_of_gradients_keep_both_results() -> None:
    x = L.data("x", [3])
    x.stop_gradient = False
    square = L.square(x)
    (first,) = fluid.gradients([square * x], [x])
    (second,) = fluid.gradients([square], [x])
    got = run([first, second], {"x": X})
    np.testing.assert_allclose(got[0], 3 * X * X, rtol=1e-5)
    np.testing.assert_allclose(got[1], 2 * X, rtol=1e-5)


def test_a_loop_that_would_never_end_is_refused() -> None:
    i, n, more = count_to(3)
    loop = L.While(more)
    with loop.block():
        L.increment(i)
        L.less_than(i, n)  # makes a new variable instead of setting the condition
    with pytest.raises(
        fluid.core.EnforceNotMet, match="never end, because nothing in its block sets the condition less_than_"
    ):
        run([i])


def gradient_through_switch(flag: bool, default: bool = False, reads_itself: bool = False) -> tuple[float, float]:
    """Return loss and gradient of p, where `out` is set before a Switch and again in its branches."""
    program, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(program, startup), fluid.unique_name.guard():
        p = fluid.layers.create_parameter([1], "float32", name="p", default_initializer=fluid.initializer.Constant(2.0))
        chosen = fluid.layers.data("chosen", [1], dtype="bool", append_batch_size=False)
        out = fluid.layers.scale(p, 3.0)
        with fluid.layers.Switch() as switch:
            with switch.case(chosen):
                fluid.layers.assign(fluid.layers.scale(out if reads_itself else p, 5.0), out)
            if default:
                with switch.default():
                    fluid.layers.assign(fluid.layers.scale(p, 7.0), out)
        loss = fluid.layers.mean(fluid.layers.square(out))
        fluid.backward.append_backward(loss)
    exe, scope = fluid.Executor(fluid.CPUPlace()), fluid.Scope()
    exe.run(startup, scope=scope)
    value, slope = exe.run(program, feed={"chosen": np.array([flag])}, fetch_list=[loss, "p@GRAD"], scope=scope)
    return float(value), float(slope)


@pytest.mark.parametrize(
    ("flag", "options", "factor"),
    [
        (True, {}, 5),
        (False, {}, 3),
        (True, {"default": True}, 5),
        (False, {"default": True}, 7),
        (True, {"reads_itself": True}, 15),
        (False, {"reads_itself": True}, 3),
    ],
)
def test_a_value_that_a_branch_may_replace_has_the_gradient_of_what_came_out(
    flag: bool, options: dict[str, bool], factor: float
) -> None:
    loss, slope = gradient_through_switch(flag, **options)
    assert loss == (2 * factor) ** 2
    assert slope == 2 * factor * factor * 2
