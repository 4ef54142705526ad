"""Gradients of the recurrent ops as 1.8.5 computes them, where they are not what one would expect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops.rnn import gru

L = fluid.layers

# Layer, size, options; the sums of |loss| and of the gradients of input and parameters in 1.8.5.
OBSERVED: list[Any] = [
    ("lstm", 3, {"target": "hc"}, [2.5461, 2.06267, 0.366249, 1.72729]),
    ("lstm", 3, {"target": "c"}, [2.05369]),
    ("lstm", 8, {"target": "hc"}, [6.02802, 0.97546, 0.630361, 1.41128]),
    ("lstm", 3, {"target": "hc", "is_reverse": True, "use_peepholes": False}, [2.99925, 2.52193, 0.731315, 1.9047]),
    ("lstmp", 15, {"cell_clip": 0.1, "proj_clip": 0.1}, [0.0275383, 0.214736, 0.0102675, 0.272977, 0.139239]),
    ("lstmp", 3, {"cell_clip": 0.5, "proj_clip": 0.05}, [0.022392, 0.144993, 0.00538087, 0.121429, 0.135013]),
    ("lstmp", 8, {"cell_clip": 0.5}, [0.0754534, 0.694687, 0.0170363, 0.627342, 0.641665]),
    ("lstmp", 16, {"cell_clip": 10.0}, [0.366027, 4.17825, 0.589466, 5.88869, 3.38817]),
    ("lstmp", 3, {"proj_activation": "sigmoid"}, [0.0484539, 0.490795, 0.0208795, 0.337066, 0.459667]),
    (
        "lstmp",
        3,
        {"proj_activation": "relu", "cell_activation": "sigmoid"},
        [3.59448, 0.640171, 0.394474, 2.3803, 0.693138],
    ),
    ("gru", 3, {"h0": "constant"}, [4.55818, 9.98048, 3.89892, 7.54658]),
    ("gru", 3, {"h0": "trained"}, [4.55818, 10.1166, 6.78299, 7.65099]),
    ("gru", 8, {"h0": "constant", "origin_mode": True}, [6.35821, 21.3104, 11.7404, 14.3328]),
    ("gru", 16, {"h0": "constant", "is_reverse": True}, [15.5719, 43.2718, 64.8771, 28.6387]),
]


def _uniform(seed: int) -> Any:
    return fluid.ParamAttr(initializer=fluid.initializer.Uniform(-0.5, 0.5, seed=seed))


def _draw(seed: int, *shape: int) -> Any:
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype("float32")


def _outputs(kind: str, x: Any, size: int, options: dict[str, Any]) -> Any:
    params = {"param_attr": _uniform(3), "bias_attr": _uniform(4)}
    if kind == "gru":
        return [L.dynamic_gru(x, size, **params, **options)]
    if kind == "lstm":
        return L.dynamic_lstm(x, 4 * size, **params, **options)
    return L.dynamic_lstmp(x, 4 * size, 2, **params, **options)


def sums(kind: str, size: int, options: dict[str, Any]) -> list[float]:
    width = (3 if kind == "gru" else 4) * size
    x = fluid.data("x", [None, width], lod_level=1)
    x.stop_gradient = False
    feed: dict[str, Any] = {"x": fluid.create_lod_tensor(_draw(0, 7, width), [[3, 4]], fluid.CPUPlace())}
    options = dict(options)
    target, first = options.pop("target", "h"), options.pop("h0", None)
    if first is not None:
        options["h_0"] = fluid.data("h0", [None, size])
        options["h_0"].stop_gradient = first == "constant"
        feed["h0"] = _draw(1, 2, size)
    outputs = _outputs(kind, x, size, options)
    picked = [outputs["hc".index(letter)] for letter in target]
    loss = L.sums([L.reduce_sum(value * value) for value in picked])
    found = fluid.gradients([loss], [x, *fluid.default_main_program().global_block().all_parameters()])
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    fetched = exe.run(feed=feed, fetch_list=[loss, *(v for v in found if v is not None)], return_numpy=False)
    return [float(np.abs(np.array(value)).sum()) for value in fetched]


@pytest.mark.filterwarnings("ignore:.*([Ll]ike|as in) (Fluid|the CPU kernel of Fluid) 1.8.5")
@pytest.mark.parametrize(("kind", "size", "options", "expected"), OBSERVED)
def test_sums_of_gradients_are_those_of_1_8_5(
    kind: str, size: int, options: dict[str, Any], expected: list[float]
) -> None:
    assert sums(kind, size, options) == pytest.approx(expected, rel=2e-5)


def test_a_gradient_lost_at_the_cells_of_an_lstm_is_told() -> None:
    with pytest.warns(UserWarning, match="op lstm passes no gradient back from its output .*all_gates=True"):
        sums("lstm", 3, {"target": "hc"})


def test_all_gates_passes_gradients_of_the_cells() -> None:
    assert len(sums("lstm", 3, {"target": "c", "all_gates": True})) == 4


def test_a_gru_tells_of_a_first_state_without_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gru, "_warned", False)
    with pytest.warns(UserWarning, match="h_0.stop_gradient = False"):
        sums("gru", 3, {"h0": "constant"})
