"""Plans that have gone through the passes compute what the plain ones compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.executor.passes import PASSES
from fluidio.executor.plan import Plan
from fluidio.ops.compiled import channels
from fluidio.ops.kernel import NumpyBackend

L = fluid.layers
EXACT = ["unwanted", "shapes", "in_place", "constants", "chains", "unwanted,shapes,constants,chains,in_place"]
FUSING = ["norm_relu", "relu_norm_grad", "shapes,norm_relu", "all"]


def conv_norm(x: Any, filters: int, act: str | None) -> Any:
    return L.batch_norm(L.conv2d(x, filters, 3, padding=1, bias_attr=act is None), act=act)


def residual_net(x: Any) -> Any:
    y = conv_norm(conv_norm(x, 4, "relu"), 4, None)
    x = L.relu(L.elementwise_add(conv_norm(x, 4, None), y))
    return L.relu(L.elementwise_add(conv_norm(x, 4, "relu"), x))


def broadcasting(x: Any) -> Any:
    scale = L.create_parameter([2], "float32")
    image = L.reduce_mean(x, dim=0, keep_dim=True)
    x = L.elementwise_add(L.elementwise_mul(x, scale, axis=1), image)
    return L.elementwise_sub(L.relu(x), L.reduce_mean(x, dim=[2, 3], keep_dim=True))


def shared(x: Any) -> Any:
    """What is normalised is used twice, so no ReLU may swallow it."""
    y = L.batch_norm(x)
    return L.elementwise_add(L.relu(y), y)


def twice(x: Any) -> Any:
    y = L.batch_norm(x)
    return L.relu(L.elementwise_add(y, y))


def by_moving_statistics(x: Any) -> Any:
    return L.relu(L.elementwise_add(L.batch_norm(x, act="relu", is_test=True), L.batch_norm(x, use_global_stats=True)))


def dense(x: Any) -> Any:
    return L.fc(L.batch_norm(L.fc(x, 6, act="relu"), act="relu"), 3, act="relu")


def chains(x: Any) -> Any:
    """Chains of elementwise ops with operands of every shape; some links are used twice, or as a second operand."""
    weight = L.create_parameter([6], "float32")
    channel = L.create_parameter([2], "float32")
    a = L.tanh(L.scale(L.elementwise_add(L.conv2d(x, 2, 3, padding=1), weight), 0.5, 0.25, bias_after_scale=False))
    b = L.relu(L.elementwise_mul(L.elementwise_add(a, channel, axis=1), a))
    c = L.sqrt(L.abs(L.scale(L.elementwise_sub(x, b), 2.0, 1.5)))
    d = L.square(L.elementwise_div(c, L.scale(L.exp(L.scale(c, -0.1)), 1.0, 1.0)))
    return L.elementwise_max(L.elementwise_min(d, L.elementwise_add(a, b)), L.reduce_mean(b, keep_dim=True))


def constants(x: Any) -> Any:
    two, three = L.fill_constant([1], "float32", 2.0), L.assign(np.array([3, 1], "float32"))
    ratio = L.elementwise_div(L.scale(two, 3.0), L.sqrt(two))
    rate = L.elementwise_mul(L.conv2d(x, 2, 1), L.elementwise_mul(three, ratio), axis=1)
    return L.elementwise_add(rate, L.elementwise_pow(ratio, two))


def activations(x: Any) -> Any:
    """Chains that end in activations which C computes."""
    for act in ("gelu", "swish", "hard_swish", "sigmoid", "leaky_relu", "softplus", "relu6", "brelu", "hard_sigmoid"):
        x = getattr(L, act)(L.elementwise_add(x, L.create_parameter([2], "float32"), axis=1))
    return L.softsign(L.scale(x, 2.0))


NETS: list[Callable[[Any], Any]] = [
    *(residual_net, broadcasting, shared, twice, by_moving_statistics, dense, chains, activations, constants)
]


@pytest.fixture(autouse=True)
def _short_chains_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fluidio.executor.passes.chains._LARGE", 1)
    monkeypatch.setattr("fluidio.executor.passes.in_place._LARGE", 1)
    monkeypatch.setattr("fluidio.ops.row_blocks._BLOCK", 16)


def trained(net: Callable[[Any], Any], passes: str, monkeypatch: pytest.MonkeyPatch, steps: int = 3) -> list[Any]:
    """Return what some steps fetch, and all that is in the scope then."""
    monkeypatch.setenv("FLUIDIO_PASSES", passes)
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    main.random_seed = startup.random_seed = 5
    with fluid.program_guard(main, startup), fluid.unique_name.guard(), fluid.scope_guard(scope):
        x = L.data("x", [2, 5, 6])
        out = net(x)
        loss = L.mean(L.square(out))
        fluid.optimizer.Momentum(0.05, 0.9).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        rng = np.random.default_rng(2)
        found = []
        for _ in range(steps):
            feed = {"x": rng.standard_normal((3, 2, 5, 6), np.float32)}
            before = feed["x"].copy()
            found += exe.run(main, feed=feed, fetch_list=[loss, out])
            np.testing.assert_array_equal(feed["x"], before)
        return found + [np.array(scope.var(v.name).get_tensor()) for v in main.list_vars() if v.persistable]


@pytest.mark.parametrize("passes", EXACT)
@pytest.mark.parametrize("net", NETS)
def test_passes_that_move_no_arithmetic_keep_every_bit(
    net: Callable[[Any], Any], passes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for plain, passed in zip(trained(net, "none", monkeypatch), trained(net, passes, monkeypatch)):
        np.testing.assert_array_equal(plain, passed)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("passes", FUSING)
@pytest.mark.parametrize("net", NETS)
def test_fused_steps_compute_the_same(
    net: Callable[[Any], Any], passes: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(channels, "compiled", None)
    for plain, passed in zip(trained(net, "none", monkeypatch), trained(net, passes, monkeypatch)):
        np.testing.assert_allclose(plain, passed, rtol=1e-4, atol=1e-5)


def types(program: Any, fetches: list[str]) -> list[str]:
    return [step.op.type for step in Plan(program, ["x"], fetches, NumpyBackend()).steps]


def test_a_residual_block_needs_no_step_for_its_relus_and_sums() -> None:
    loss = L.mean(residual_net(L.data("x", [2, 5, 6])))
    fluid.optimizer.SGD(0.1).minimize(loss)
    found = types(fluid.default_main_program(), [loss.name])
    assert found.count("batch_norm") == 4
    assert found.count("relu") == 1  # of a sum whose normalised side went through a ReLU of its own
    assert found.count("elementwise_add") == 2  # biases; that sum is part of the chain that ends with its ReLU
    assert found.count("relu_grad") == 2


def test_a_chain_is_one_step() -> None:
    x = L.data("x", [2, 5, 6])
    y = L.elementwise_add(x, L.create_parameter([6], "float32"))
    out = L.tanh(L.scale(L.relu(y), 2.0))
    program = fluid.default_main_program()
    assert types(program, [out.name]) == ["tanh"]
    assert types(program, [out.name, y.name]) == ["elementwise_add", "tanh"]


def test_a_chain_that_fails_names_the_op_and_the_line() -> None:
    x, y = L.data("x", [-1, 6]), L.data("y", [-1, 6])
    out = L.relu(L.elementwise_add(L.scale(x, 2.0), y))
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"x": np.ones((2, 3, 6), "float32"), "y": np.ones((2, 4, 6), "float32")}
    with pytest.raises(fluid.core.EnforceNotMet, match=r"(?s)op elementwise_add failed.*test_passes\.py"):
        exe.run(feed=feed, fetch_list=[out])


def test_a_chain_leaves_fed_arrays_and_parameters_alone() -> None:
    x = L.data("x", [6])
    weight = L.create_parameter([6], "float32", default_initializer=fluid.initializer.Constant(2.0))
    out = L.relu(L.elementwise_add(L.elementwise_mul(weight, weight), L.reduce_sum(x, dim=0)))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    fed = np.ones((3, 6), "float32")
    for _ in range(2):
        np.testing.assert_array_equal(exe.run(feed={"x": fed}, fetch_list=[out])[0], [7.0] * 6)
    np.testing.assert_array_equal(fed, 1)


def test_a_constant_is_computed_once_and_can_still_be_fetched() -> None:
    x = L.data("x", [2])
    half = L.scale(L.fill_constant([1], "float32", 1.0), 0.5)
    out = L.elementwise_mul(x, half)
    program = fluid.default_main_program()
    assert types(program, [out.name]) == ["scale", "elementwise_mul"]
    exe = fluid.Executor(fluid.CPUPlace())
    fed = np.ones((1, 2), "float32")
    found, fetched = exe.run(feed={"x": fed}, fetch_list=[out, half])
    np.testing.assert_array_equal(found, [[0.5, 0.5]])
    fetched += 1  # the user's own
    np.testing.assert_array_equal(exe.run(feed={"x": fed}, fetch_list=[out])[0], [[0.5, 0.5]])


def test_a_constant_that_a_loop_counts_up_is_made_anew_in_every_step() -> None:
    i, n = L.fill_constant([1], "int64", 0), L.fill_constant([1], "int64", 3)
    going = L.less_than(i, n)
    loop = L.While(going)
    with loop.block():
        L.increment(i, 1)
        L.less_than(i, n, cond=going)
    exe = fluid.Executor(fluid.CPUPlace())
    for _ in range(2):
        assert exe.run(fetch_list=[i])[0] == 3


def test_what_is_fetched_is_not_swallowed() -> None:
    y = L.batch_norm(L.data("x", [2, 5, 6]))
    out = L.relu(y)
    program = fluid.default_main_program()
    assert types(program, [out.name]) == ["batch_norm"]
    assert types(program, [out.name, y.name]) == ["batch_norm", "relu"]


def test_a_gradient_that_nobody_reads_is_left_out() -> None:
    x = L.data("x", [2, 5, 6])
    x.stop_gradient = False
    y = L.scale(x, 2.0)
    (dy,) = fluid.gradients([L.mean(L.square(L.elementwise_mul(y, y)))], [y])
    dx = fluid.gradients([L.mean(L.square(y))], [x])[0]
    program = fluid.default_main_program()
    assert dy is not None
    assert dx is not None
    both, one = types(program, [dy.name, dx.name]), types(program, [dy.name])
    assert len(one) < len(both)
    assert set(one) <= set(both)


def test_passes_can_be_chosen_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    out = L.batch_norm(L.data("x", [2, 5, 6]), act="relu")
    program = fluid.default_main_program()
    for chosen, expected in (("none", 2), ("in_place", 2), ("norm_relu", 1), ("all", 1), (",".join(PASSES), 1)):
        monkeypatch.setenv("FLUIDIO_PASSES", chosen)
        assert len(types(program, [out.name])) == expected
    monkeypatch.setenv("FLUIDIO_PASSES", "norm_rule")
    with pytest.raises(ValueError, match="FLUIDIO_PASSES contains 'norm_rule'; .*: unwanted"):
        types(program, [out.name])


def test_a_fed_array_is_never_changed_in_place() -> None:
    x = L.data("x", [3])
    out = L.relu(L.elementwise_add(x, x))
    exe = fluid.Executor(fluid.CPUPlace())
    fed = np.array([[-1, 2, -3]], "float32")
    (first,) = exe.run(feed={"x": fed}, fetch_list=[out])
    (second,) = exe.run(feed={"x": fed}, fetch_list=[out])
    np.testing.assert_array_equal(fed, [[-1, 2, -3]])
    np.testing.assert_array_equal(first, second)
