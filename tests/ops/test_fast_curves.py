"""Activations in C give what NumPy gives, with every set of instructions, however threads divide them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops import threads
from fluidio.ops.compiled import curves
from fluidio.program.op_def import find_op

pytestmark = pytest.mark.skipif(curves.compiled is None, reason="there was no C compiler when fluidio was installed")

EXACT = {
    "abs_grad",
    "brelu",
    "brelu_grad",
    "ceil",
    "exp_grad",
    "floor",
    "hard_shrink",
    "hard_shrink_grad",
    "leaky_relu",
    "leaky_relu_grad",
    "log_grad",
    "relu6",
    "relu6_grad",
    "round",
    "sign",
    "softshrink",
    "softshrink_grad",
    "thresholded_relu",
    "thresholded_relu_grad",
}
ATTRS: dict[str, list[dict[str, Any]]] = {
    "brelu": [{}, {"t_min": -1.0, "t_max": 2.0}, {"t_min": 3.0, "t_max": 1.0}],
    "elu": [{}, {"alpha": 0.3}, {"alpha": 2.5}, {"alpha": -0.5}],
    "gelu": [{}, {"approximate": True}],
    "hard_shrink": [{}, {"threshold": 2.0}, {"threshold": -0.5}],
    "hard_sigmoid": [{}, {"slope": 0.3, "offset": 0.1}],
    "hard_swish": [{}, {"threshold": 4.0, "scale": 5.0, "offset": 1.5}],
    "leaky_relu": [{}, {"alpha": 0.3}, {"alpha": 1.5}, {"alpha": -0.5}],
    "relu6": [{}, {"threshold": 1.0}],
    "selu": [{}, {"scale": 1.5, "alpha": 0.5}],
    "soft_relu": [{}, {"threshold": 2.0}],
    "softshrink": [{}, {"lambda": 2.0}],
    "thresholded_relu": [{}, {"threshold": -0.5}],
    "swish": [{}, {"beta": 0.3}, {"beta": -2.0}],
}
OF_THEIR_OWN = {
    *("clip", "clip_grad", "huber_loss", "huber_loss_grad", "prelu", "prelu_grad", "prelu_slope"),
    *("sigmoid_loss", "sigmoid_loss_grad", "smooth_l1_loss", "smooth_l1_loss_grad"),
}
"""Functions whose kernels take other arguments: tested below."""
NAMES = sorted(curves.NUMBERS.keys() - OF_THEIR_OWN)
CASES = [(name, attrs) for name in NAMES for attrs in ATTRS.get(name.removesuffix("_grad"), [{}])]


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest) -> Iterator[int]:
    yield curves.compiled.instructions(request.param)
    curves.compiled.instructions(512)


def kernel(name: str, attrs: dict[str, Any], *arrays: Any) -> Any:
    """Compute the kernel of an op or of its gradient."""
    definition = find_op(name)
    call: Any = SimpleNamespace(xp=np, attrs={**definition.attrs, **attrs}, dev=SimpleNamespace(is_gpu=False))
    call.wants = lambda slot: True
    assert definition.kernel is not None
    return definition.kernel(call, *arrays)


def both(name: str, attrs: dict[str, Any], *arrays: Any) -> tuple[Any, Any]:
    """Return what C computes, and what NumPy computes in double precision."""
    with np.errstate(all="ignore"):
        found = kernel(name, attrs, *arrays)
        return found, kernel(name, attrs, *[a.astype(np.float64) for a in arrays])


def arrays_of(name: str, x: Any) -> list[Any]:
    """Return X, and the gradient of Out if the function takes one."""
    positive = name in ("log_grad", "soft_relu_grad", "sqrt_grad")
    x = np.abs(x) + np.float32(0.01) if positive else x
    return [x, np.cos(3 * x)] if name.endswith("_grad") else [x]


@pytest.mark.parametrize(("name", "attrs"), CASES)
def test_values_are_those_of_numpy(name: str, attrs: dict[str, Any], bits: int) -> None:
    draws = np.random.default_rng(0).standard_normal(5000, np.float32)
    for x in (draws * 3, draws * np.float32(1e-3), np.linspace(-30, 30, 5000, dtype=np.float32)):
        found, wanted = both(name, attrs, *arrays_of(name, x))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=4e-7 * max(1e-3, float(np.abs(x).max())))


@pytest.mark.parametrize("name", sorted(EXACT & set(NAMES)))
def test_what_takes_no_rounding_has_the_bits_of_numpy(name: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(1).standard_normal(777, np.float32) * 4
    found = kernel(name, {}, *arrays_of(name, x))
    monkeypatch.setattr(curves, "compiled", None)
    np.testing.assert_array_equal(found, kernel(name, {}, *arrays_of(name, x)))


@pytest.mark.parametrize(("name", "attrs"), [case for case in CASES if not case[0].endswith("_grad")])
def test_odd_values_are_as_in_numpy(
    name: str, attrs: dict[str, Any], bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = [0.0, -0.0, math.inf, -math.inf, math.nan, 3e38, -3e38, 1e-40, -1e-40, 88.7, -87.4, -103.0, 1.0, -1.0]
    x = np.array(odd, np.float32)
    with np.errstate(all="ignore"):
        found = kernel(name, attrs, x)
        monkeypatch.setattr(curves, "compiled", None)
        wanted = kernel(name, attrs, x)
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(found[np.isinf(wanted)], wanted[np.isinf(wanted)])
    np.testing.assert_allclose(found[finite], wanted[finite], rtol=1e-5, atol=1e-37)


@pytest.mark.parametrize("name", NAMES)
def test_the_bits_do_not_depend_on_the_place(name: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(2).standard_normal(200, np.float32)
    whole = kernel(name, {}, *arrays_of(name, x))
    for size in range(1, 40):
        part = kernel(name, {}, *[a[size : 2 * size].copy() for a in arrays_of(name, x)])
        np.testing.assert_array_equal(part, whole[size : 2 * size])
    monkeypatch.setattr(curves, "_WORTH_A_THREAD", 1)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    np.testing.assert_array_equal(kernel(name, {}, *arrays_of(name, x)), whole)
    threads.close()


NONE_OR_TWO: list[list[str]] = [["none", "none"], ["weight", "weight"]]
PAIRS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("clip", {"min": -0.5, "max": 1.5}, ["none", "none"]),
    ("clip", {"min": 1.0, "max": -1.0}, ["none", "none"]),
    *[("huber_loss", {"delta": delta}, ["other"]) for delta in (0.0, 0.3, 1.0)],
    *[("smooth_l1_loss", {"sigma": sigma}, ["other", *others]) for sigma in (0.0, 0.5, 3.0) for others in NONE_OR_TWO],
    *[("prelu", {"mode": "all"}, [slope]) for slope in ("slope", "steep", "infinite")],
    ("prelu", {"mode": "channel"}, ["slopes"]),
    ("prelu", {"mode": "channel"}, ["infinite slopes"]),
    ("prelu", {"mode": "element"}, ["all slopes"]),
    ("sigmoid_cross_entropy_with_logits", {}, ["label"]),
    ("sigmoid_cross_entropy_with_logits", {"ignore_index": 1, "normalize": True}, ["label"]),
]


@pytest.mark.parametrize(("name", "attrs", "others"), PAIRS)
def test_kernels_of_several_inputs_give_what_numpy_gives(
    name: str, attrs: dict[str, Any], others: list[str], bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draws = np.random.default_rng(6)
    x, other, d = draws.standard_normal((3, 7, 5, 9), np.float32) * 2
    given: dict[str, Any] = {
        "none": None,
        "other": other,
        "weight": np.abs(other),
        "slope": np.array([0.3], np.float32),
        "steep": np.array([-1.5], np.float32),
        "infinite": np.array([np.inf], np.float32),
        "slopes": draws.random(5, np.float32),
        "infinite slopes": np.array([0.5, np.inf, 0, -1, 2], np.float32),
        "all slopes": other[0],
        "label": np.trunc(other),
    }
    inputs = [x, *(given[kind] for kind in others)]

    def all_of_it(arrays: list[Any]) -> list[Any]:
        out = kernel(name, attrs, *arrays)
        out = out if isinstance(out, tuple) else (out,)
        if name == "huber_loss":
            return [*out, *kernel(f"{name}_grad", attrs, out[0], d)]
        if name == "smooth_l1_loss":
            return [*out, *kernel(f"{name}_grad", attrs, out[0], *arrays[2:], d[:, 0, :1])]
        slopes = kernel(f"{name}_grad", attrs, *arrays, d)
        return [*out, *(slopes if isinstance(slopes, tuple) else (slopes,))]

    with np.errstate(all="ignore"):
        found = all_of_it(inputs)
        monkeypatch.setattr(curves, "compiled", None)
        wanted = all_of_it(inputs)
    for one, two in zip(found, wanted, strict=True):
        assert one.dtype == two.dtype and one.shape == two.shape
        np.testing.assert_allclose(one, two, rtol=2e-6, atol=1e-6)


def test_halves_are_rounded_away_from_zero_and_nothing_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, -0.49999997, 8388609.0, 4194304.5, 3e9, -3e38], np.float32)
    wanted = np.array([1, -1, 2, 3, -3, 0, -0.0, 8388609, 4194305, 3e9, -3e38], np.float32)
    for _ in range(2):
        found = kernel("round", {}, x)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
        monkeypatch.setattr(curves, "compiled", None)


def test_the_result_may_replace_an_argument() -> None:
    x, d = np.random.default_rng(3).standard_normal((2, 50), np.float32)
    wanted = curves.curve(curves.NUMBERS["gelu_grad"], x, d, [0.0])
    held = d.copy()
    assert curves.curve(curves.NUMBERS["gelu_grad"], x, held, [0.0], out=held) is held
    np.testing.assert_array_equal(held, wanted)


@pytest.mark.parametrize(
    ("number", "x", "d", "out"),
    [(-1, 4, 4, 4), (len(curves.NUMBERS), 4, 4, 4), (0, 4, 8, 4), (0, 4, 4, 8), (0, 3, 3, 3)],
)
def test_what_does_not_fit_is_refused(number: int, x: int, d: int, out: int) -> None:
    with pytest.raises(ValueError):
        curves.compiled.curve(number, bytes(x), bytes(d), bytearray(out), 0.0, 0.0, 0.0, 1, 1)


def test_other_arrays_are_left_to_numpy() -> None:
    x = np.ones((4, 4), np.float32)
    assert curves.fits(x) and curves.fits(x, x)
    for other in (x.astype(np.float64), x.T[::2], x[:, ::2], [1.0]):
        assert not curves.fits(other)
    assert not curves.fits(x, np.ones(16, np.float32))


def test_a_program_trains_through_them() -> None:
    x = fluid.layers.data("x", [8])
    loss = fluid.layers.mean(fluid.layers.swish(fluid.layers.fc(fluid.layers.gelu(x), 4, act="leaky_relu")))
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feed = {"x": np.random.default_rng(4).standard_normal((16, 8), np.float32)}
    losses = [float(exe.run(feed=feed, fetch_list=[loss])[0]) for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and losses[0] > losses[-1]
