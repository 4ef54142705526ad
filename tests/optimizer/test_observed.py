"""What optimizers append and compute, beside 1.8.5."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import optimizer as O

L = fluid.layers

MAKERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: O.SGD(0.1),
    "momentum": lambda: O.Momentum(0.1, 0.9),
    "nesterov": lambda: O.Momentum(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: O.Adagrad(0.1),
    "adam": lambda: O.Adam(0.1),
    "adamax": lambda: O.Adamax(0.1),
    "decayed_adagrad": lambda: O.DecayedAdagrad(0.1),
    "adadelta": lambda: O.Adadelta(0.1),
    "rmsprop": lambda: O.RMSProp(0.1),
    "rmsprop_centered": lambda: O.RMSProp(0.1, centered=True, momentum=0.5),
    "ftrl": lambda: O.Ftrl(0.1, l1=0.01, l2=0.05),
    "lamb": lambda: O.Lamb(0.1),
    "lars": lambda: O.LarsMomentum(0.1, 0.9),
    "l2": lambda: O.SGD(0.1, regularization=fluid.regularizer.L2Decay(0.1)),
    "l1": lambda: O.Momentum(0.1, 0.9, regularization=fluid.regularizer.L1Decay(0.1)),
    "global_norm": lambda: O.SGD(0.1, grad_clip=fluid.clip.GradientClipByGlobalNorm(0.5)),
    "norm": lambda: O.Adam(0.1, grad_clip=fluid.clip.GradientClipByNorm(0.5)),
    "value": lambda: O.SGD(0.1, grad_clip=fluid.clip.GradientClipByValue(0.05)),
}
_FILE = Path(__file__).parents[1] / "data/observed/optimizers.txt"
OBSERVED = [line.split() for line in _FILE.read_text("utf-8").splitlines() if not line.startswith("#")]


@pytest.mark.filterwarnings("ignore:.*own_l2=True")
@pytest.mark.parametrize(("case", "returned", "startup", "weight"), OBSERVED, ids=[case for case, *_ in OBSERVED])
def test_an_optimizer_appends_returns_and_computes_what_1_8_5_does(
    case: str, returned: str, startup: str, weight: str
) -> None:
    with fluid.use_era("1.8"):
        hidden = L.fc(fluid.data("x", [None, 3]), 2, param_attr=fluid.ParamAttr(learning_rate=0.3))
        ops, _ = MAKERS[case]().minimize(L.reduce_mean(L.square(hidden)))
    assert ",".join(op.type for op in ops) == returned
    made = fluid.default_startup_program().global_block().ops
    assert ",".join(op.output_arg_names[0] for op in made) == startup
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    first = (np.arange(6).reshape(3, 2) / 10 + 0.1).astype("float32")
    fluid.global_scope().var("fc_0.w_0").get_tensor().set(first, fluid.CPUPlace())
    for step in range(3):
        exe.run(feed={"x": np.full((2, 3), step + 1, np.float32)})
    expected = [float(number) for number in weight.split(",")]
    np.testing.assert_allclose(fluid.fetch_var("fc_0.w_0").ravel(), expected, rtol=2e-5)


def test_ftrl_tells_that_l1_stands_for_both() -> None:
    with pytest.warns(UserWarning, match=r"own_l2=True\) uses l2"):
        O.Ftrl(0.1, l1=0.01, l2=0.05)


def test_ftrl_uses_its_own_l2_when_asked() -> None:
    loss = L.reduce_sum(L.create_parameter([3], "float32"))
    (*_, update), _ = O.Ftrl(0.1, l1=0.01, l2=0.05, own_l2=True).minimize(loss)
    assert update.attr("l2") == pytest.approx(0.05)


def test_ftrl_gives_the_numbers_of_1_8_5() -> None:
    start = fluid.initializer.NumpyArrayInitializer(np.array([0.5, 0.6, 0.9], np.float32))
    p = L.create_parameter([3], "float32", name="p", default_initializer=start)
    with pytest.warns(UserWarning, match="own_l2"):
        O.Ftrl(0.1, l1=0.01, l2=0.05).minimize(L.reduce_sum(p * p))
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    for _ in range(3):
        exe.run()
    np.testing.assert_allclose(fluid.fetch_var("p"), [0.289537, 0.385912, 0.680292], atol=1e-6)


def _counting_weight() -> tuple[Any, Any]:
    """Return a weight that grows by 1 in each step, and its loss."""
    weight = L.create_parameter([1], "float32", name="w", default_initializer=fluid.initializer.Constant(1.0))
    loss = L.reduce_sum(weight)
    O.SGD(-1.0).minimize(loss)
    return weight, loss


def _averages(average: Any, rounds: int, steps: int) -> list[float]:
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    seen = []
    for _ in range(rounds):
        for _ in range(steps):
            exe.run()
        with average.apply(exe):
            seen.append(float(fluid.fetch_var("w").item()))
    return seen


@pytest.mark.filterwarnings("ignore:.*(keep_average=True|cast thres_steps)")
@pytest.mark.parametrize(
    ("steps_dtype", "expected"),
    [
        (None, [2.52632, 8.45105, 17.25577, 27.38591]),
        ("float32", [2.83636, 4.58966, 6.36029, 8.14601]),
        ("int64", [2.52632, 8.45105, 17.25577, 27.38591]),
    ],
)
def test_a_moving_average_applied_again_is_corrected_again(steps_dtype: str | None, expected: list[float]) -> None:
    _counting_weight()
    steps = None if steps_dtype is None else L.cast(L.autoincreased_step_counter("steps"), steps_dtype)
    average = O.ExponentialMovingAverage(0.9, thres_steps=steps)
    average.update()
    assert _averages(average, 4, 2) == pytest.approx(expected, rel=1e-5)


def test_a_moving_average_tells_of_it_and_can_be_kept() -> None:
    _counting_weight()
    average = O.ExponentialMovingAverage(0.9)
    average.update()
    with pytest.warns(UserWarning, match="keep_average=True"):
        _averages(average, 2, 2)
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        _counting_weight()
        kept = O.ExponentialMovingAverage(0.9, keep_average=True)
        kept.update()
        assert _averages(kept, 4, 2) == pytest.approx([2.52632, 3.63129, 4.80522, 6.0466], rel=1e-5)


def test_the_window_of_a_model_average_is_whole_steps() -> None:
    _counting_weight()
    average = O.ModelAverage(0.5, min_average_window=2, max_average_window=4)
    assert _averages(average, 9, 1) == [2.0, 2.5, 3.0, 4.5, 5.0, 5.5, 7.0, 7.5, 8.0]


def test_lookahead_keeps_its_constants_under_the_names_of_1_8_5() -> None:
    weight = L.create_parameter([1], "float32", name="w")
    O.LookaheadOptimizer(O.SGD(0.1), alpha=0.5, k=3).minimize(L.reduce_sum(weight))
    names = {v.name for v in fluid.default_main_program().list_vars() if v.persistable}
    assert names == {"w", "w@SLOW", "learning_rate_0", "lookahead_alpha", "lookahead_k", "lookahead_step"}


def test_an_update_into_other_variables_leaves_the_inputs_alone() -> None:
    shapes = {"Param": 0, "Grad": 1, "AvgSquaredGrad": 2, "AvgSquaredUpdate": 3}
    inputs = {slot: fluid.data(slot, [3, 2]) for slot in shapes}
    block = fluid.default_main_program().global_block()
    outputs = {f"{slot}Out": block.create_var(name=f"{slot}Out", dtype="float32") for slot in shapes if slot != "Grad"}
    block.append_op(type="adadelta", inputs=inputs, outputs=outputs, attrs={"rho": 0.9, "epsilon": 1e-6})
    feed = {
        slot: np.random.RandomState(seed).uniform(0.1, 1, (3, 2)).astype("float32") for slot, seed in shapes.items()
    }
    fetched = fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[*outputs.values(), inputs["Param"]])
    np.testing.assert_allclose(fetched[0].ravel()[:3], [0.05637, -0.82869, 0.56026], atol=1e-5)
    np.testing.assert_allclose(fetched[1].ravel()[:3], [0.46575, 0.16699, 0.53623], atol=1e-5)
    np.testing.assert_allclose(fetched[2].ravel()[:3], [0.56504, 0.91083, 0.32631], atol=1e-5)
    np.testing.assert_array_equal(fetched[3], feed["Param"])
