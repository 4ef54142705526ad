"""Gradients of gradients: the numbers of 1.8.5, what it drops, and the whole of it where it is asked for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fluidio as fluid

L = fluid.layers


def _param(seed: int) -> Any:
    return fluid.ParamAttr(initializer=fluid.initializer.Uniform(-0.5, 0.5, seed=seed))


def _fc(x: Any, size: int, seed: int) -> Any:
    return L.fc(x, size, param_attr=_param(seed))


def _conv(x: Any, **options: Any) -> Any:
    return L.conv2d(x, 3, 3, padding=1, param_attr=_param(1), **options)


def _upwards(x: Any) -> Any:
    return L.conv2d_transpose(x, 2, filter_size=2, param_attr=_param(1))


NETS: dict[str, tuple[list[int], Callable[[Any], Any]]] = {
    "relu": ([4, 3], lambda x: _fc(L.relu(_fc(x, 5, 1)), 1, 2)),
    "leaky_relu": ([4, 3], lambda x: _fc(L.leaky_relu(_fc(x, 5, 1), 0.2), 1, 2)),
    "tanh": ([4, 3], lambda x: _fc(L.tanh(_fc(x, 5, 1)), 1, 2)),
    "conv": ([2, 2, 6, 6], lambda x: _fc(L.leaky_relu(_conv(x, stride=2), 0.2), 1, 2)),
    "instance_norm": ([2, 2, 6, 6], lambda x: _fc(L.leaky_relu(L.instance_norm(_conv(x)), 0.2), 1, 2)),
    "batch_norm": ([2, 2, 6, 6], lambda x: _fc(L.leaky_relu(L.batch_norm(_conv(x)), 0.2), 1, 2)),
    "pool": ([2, 2, 6, 6], lambda x: _fc(L.pool2d(L.relu(_conv(x)), 2, "avg", 2), 1, 2)),
    "layer_norm": ([4, 3], lambda x: _fc(L.layer_norm(_fc(x, 5, 1)), 1, 2)),
    "matmul": ([4, 3], lambda x: L.matmul(_fc(x, 5, 1), _fc(x, 5, 2), transpose_y=True)),
    "broadcast": (
        [4, 3],
        lambda x: L.square(x) * _fc(x, 3, 1) / (L.reduce_sum(L.square(x), dim=1, keep_dim=True) + 1.0),
    ),
}

# Five losses of a gradient penalty with Adam(0.01) in 1.8.5; the op that it passes nothing through.
OBSERVED: list[Any] = [
    ("relu", [4.4491, 3.0276, 2.2277, 1.6195, 2.97], None),
    ("leaky_relu", [3.4453, 2.0835, 1.4172, 0.9858, 1.9809], None),
    ("tanh", [0.9225, 0.7244, 0.2231, 0.6906, 0.7836], "tanh_grad"),
    ("conv", [0.2639, -0.4901, -0.342, 0.8944, 0.1208], None),
    ("instance_norm", [101.508, 38.8679, 47.6346, 55.5994, 45.7806], None),
    ("batch_norm", [80.2453, 42.5161, 59.997, 64.2177, 90.3159], "batch_norm_grad"),
    ("pool", [0.7611, -0.084, 0.7009, 0.7663, -0.1788], "pool2d_grad"),
    ("layer_norm", [94.2852, 20.7605, 3.2051, 86.2196, 27.5167], "layer_norm_grad"),
    ("broadcast", [5.5179, 6.5634, 4.7306, 4.39, 4.2404], None),
    ("matmul", [1.1762, 32.6797, 18.5933, 0.6181, 32.0113], "matmul_grad"),
]


@pytest.mark.parametrize(("net", "losses", "dropped"), OBSERVED, ids=[net for net, *_ in OBSERVED])
def test_a_gradient_penalty_trains_as_in_1_8_5(net: str, losses: list[float], dropped: str | None) -> None:
    shape, build = NETS[net]
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    main.random_seed = startup.random_seed = 1
    with fluid.use_era("1.8"):
        x = fluid.data("x", shape)
        x.stop_gradient = False
        y = build(x)
        (g,) = fluid.gradients([y], [x])
        norm = L.sqrt(L.reduce_sum(L.square(g), dim=list(range(1, len(shape)))) + 1e-6)
        loss = L.reduce_mean(y) + 10.0 * L.reduce_mean(L.square(norm - 1.0))
        warning = pytest.warns(UserWarning, match=f"{dropped}.*complete=True") if dropped else contextlib.nullcontext()
        with warning:
            fluid.optimizer.Adam(0.01).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    seen = []
    for step in range(5):
        batch = np.random.RandomState(step).uniform(-1, 1, shape).astype("float32")
        seen.append(float(exe.run(main, feed={"x": batch}, fetch_list=[loss])[0]))
    assert seen == pytest.approx(losses, rel=1e-4, abs=1e-4)


def test_a_path_without_second_derivative_gives_nothing_and_says_so() -> None:
    x = fluid.data("x", [2, 3])
    x.stop_gradient = False
    (g,) = fluid.gradients(L.tanh(x), x)
    with pytest.warns(UserWarning, match="does not go through tanh_grad, as in Fluid 1.8.5"):
        assert fluid.gradients(L.reduce_sum(L.square(g)), x) == []


def test_names_of_second_gradients_are_those_of_1_8_5() -> None:
    with fluid.use_era("1.8"):
        x = fluid.data("x", [2, 3])
        x.stop_gradient = False
        (g,) = fluid.gradients(L.square(x), x)
        (h,) = fluid.gradients(L.reduce_sum(L.square(g)), x)
    assert g is not None and h is not None
    assert (g.name, h.name) == ("x@GRAD", "grad/grad/x@GRAD")
    types = [op.type for op in fluid.default_main_program().global_block().ops]
    assert types == [
        "square",
        "shape",
        "fill_constant",
        "square_grad",
        "square",
        "reduce_sum",
        "shape",
        "fill_constant",
        "reduce_sum_grad",
        "square_grad",
        "square_grad_grad",
    ]


COMPLETE: dict[str, tuple[list[int], Callable[[Any], Any]]] = {
    "tanh": ([2, 3], L.tanh),
    "sigmoid": ([2, 3], L.sigmoid),
    "softmax": ([2, 3], L.softmax),
    "sqrt": ([2, 3], lambda x: L.sqrt(L.square(x) + 1.0)),
    "elu": ([2, 3], lambda x: L.elu(x * 2.0)),
    "div": ([2, 3], lambda x: x / (L.square(x) + 1.0)),
    "matmul": ([2, 3], lambda x: L.matmul(L.square(x), x, transpose_y=True)),
    "concat": ([2, 3], lambda x: L.square(L.concat([x, L.square(x)], axis=1))),
    "transpose": ([2, 3], lambda x: L.square(L.transpose(L.square(x), [1, 0]))),
    "layer_norm": ([2, 4], lambda x: L.square(L.layer_norm(x))),
    "batch_norm": ([3, 2, 2, 2], lambda x: L.square(L.batch_norm(x))),
    "instance_norm": ([2, 2, 2, 2], lambda x: L.square(L.instance_norm(x))),
    "conv2d": ([1, 2, 4, 4], lambda x: L.square(L.conv2d(x, 2, 3, param_attr=_param(1)))),
    "conv2d_transpose": (
        [1, 2, 3, 3],
        lambda x: L.square(L.conv2d_transpose(x, 2, filter_size=2, param_attr=_param(1))),
    ),
    "avg_pool": ([1, 1, 4, 4], lambda x: L.square(L.pool2d(L.square(x), 2, "avg", 2))),
    "max_pool": ([1, 1, 4, 4], lambda x: L.square(L.pool2d(L.square(x), 2, "max", 2))),
    "resize": ([1, 1, 3, 3], lambda x: L.square(L.resize_bilinear(L.square(x), [5, 4]))),
}


@pytest.mark.parametrize("case", COMPLETE)
def test_a_complete_second_derivative_is_that_of_finite_differences(case: str) -> None:
    shape, build = COMPLETE[case]
    x = fluid.data("x", shape, "float32")
    x.stop_gradient = False
    (g,) = fluid.gradients(build(x), x, complete=True)
    loss = L.reduce_sum(L.square(g) * L.fill_constant(shape, "float32", 0.1))
    (second,) = fluid.gradients(loss, x)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    at = np.random.default_rng(3).uniform(0.2, 1.2, shape).astype("float32")
    got = np.array(exe.run(feed={"x": at}, fetch_list=[second])[0])

    def value(point: Any) -> float:
        (gradient,) = exe.run(feed={"x": point.astype("float32")}, fetch_list=[g])
        return float(0.1 * (np.asarray(gradient, np.float64) ** 2).sum())

    step = 2e-3
    for place in np.ndindex(*shape):
        bump = np.zeros(shape)
        bump[place] = step
        slope = (value(at + bump) - value(at - bump)) / (2 * step)
        assert got[place] == pytest.approx(slope, rel=3e-2, abs=3e-3)


def test_what_has_no_second_derivative_at_all_is_refused_when_it_must_be_complete() -> None:
    x = fluid.data("x", [2, 3])
    x.stop_gradient = False
    (g,) = fluid.gradients(L.gelu(x), x, complete=True)
    with pytest.raises(NotImplementedError, match="gelu_grad.*no second derivative"):
        fluid.gradients(L.reduce_sum(L.square(g)), x)


# What 1.8.5 gives; it dies of elementwise_div with a broadcast X.
BROADCAST: list[tuple[str, list[int], Any, Any]] = [
    ("add", [2, 1], [[96], [192]], [[30, 32, 34], [62, 64, 66]]),
    ("add", [3], [54, 78, 102], [[24, 36, 48], [30, 42, 54]]),
    ("sub", [2, 1], [[-48], [-96]], [[14, 16, 18], [30, 32, 34]]),
    ("sub", [3], [30, 30, 30], [[-12, -12, -12], [-18, -18, -18]]),
    ("mul", [2, 1], [[7.0234375], [202.8125]], [[0.921875, 1.3828125, 1.84375], [35, 42, 49]]),
    (
        "div",
        [3],
        [60.609536, 32.921811, 19.004996],
        [[-53.3696, -36.8139, -23.134775], [-9.901261, -8.223137, -6.098239]],
    ),
]


@pytest.mark.filterwarnings("ignore:elementwise_sub_grad_grad:UserWarning")
@pytest.mark.parametrize(("name", "shape", "by_x", "by_y"), BROADCAST)
def test_gradients_of_gradients_reach_an_x_that_was_broadcast(
    name: str, shape: list[int], by_x: Any, by_y: Any
) -> None:
    layer: Any = getattr(L, f"elementwise_{name}")
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        x, y = fluid.data("x", shape, "float64"), fluid.data("y", [2, 3], "float64")
        x.stop_gradient = y.stop_gradient = False
        first = fluid.gradients(L.elementwise_mul(layer(x, y), layer(x, y)), [x, y])
        loss = L.reduce_sum(L.square(first[0])) + L.reduce_sum(L.square(first[1]))
        second = fluid.gradients(loss, [x, y])
        size = int(np.prod(shape))
        feed = {"x": (np.arange(1, 1 + size) / 4).reshape(shape), "y": (np.arange(2, 8) / 4).reshape(2, 3)}
        found = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=second)
    np.testing.assert_allclose(found[0], by_x, rtol=1e-6)
    np.testing.assert_allclose(found[1], by_y, rtol=1e-6)
