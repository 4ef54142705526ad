"""What 1.8.5 does not repeat is no difference; what it repeats is."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import fluidio
from tests.differential.cases import draw_op
from tests.differential.compare import compare
from tests.differential.interpret import run_case
from tests.differential.steadiness import judge
from tests.differential.tensors import decode, encode

Result = dict[str, Any]


@pytest.fixture
def relu() -> tuple[dict[str, Any], Result]:
    case = draw_op("leaky_relu", 1, 0)
    return case, run_case(fluidio, case)


def _off(result: Result, by: float) -> Result:
    changed = copy.deepcopy(result)
    value = changed["values"]["0 out_Out"]
    changed["values"]["0 out_Out"] = encode(decode(value) + np.asarray(by, value["dtype"]))
    return changed


def test_a_difference_that_1_8_5_repeats_is_one(relu: tuple[dict[str, Any], Result]) -> None:
    case, real = relu
    ours = _off(real, 0.5)
    run = (lambda _: real, lambda _: ours)
    assert judge(run, case, real, ours, compare(real, ours)) == ""


def test_what_another_run_gives_differently_is_unsteady(relu: tuple[dict[str, Any], Result]) -> None:
    case, real = relu
    ours = _off(real, 0.5)
    assert judge((lambda _: _off(real, 0.3), lambda _: ours), case, real, ours, compare(real, ours)) == "unsteady"


def test_what_moves_as_far_with_its_last_bits_is_sensitive(relu: tuple[dict[str, Any], Result]) -> None:
    case, real = relu
    ours = _off(real, 0.5)

    def run(asked: dict[str, Any]) -> Result:
        return real if asked == case else _off(real, -0.5)

    assert judge((run, lambda _: ours), case, real, ours, compare(real, ours)) == "sensitive"


def test_a_bias_of_zeros_moves_and_a_moment_of_zeros_stays() -> None:
    fc = {"do": "call", "name": "layers.fc", "args": [{"var": "x"}, 3], "kw": {}, "out": "y"}
    mean = {"do": "call", "name": "layers.mean", "args": [{"var": "y"}], "kw": {}, "out": "loss"}
    adam = {"new": "optimizer.Adam", "kw": {"learning_rate": 0.0}}
    train = {"do": "method", "of": adam, "name": "minimize", "args": [{"var": "loss"}], "out": "ops"}
    fed = {"dtype": "float32", "shape": [2, 4], "data": [0.0] * 8}
    given = {"shape": [-1, 4], "dtype": "float32", "lod_level": 0, "values": [fed], "how": "data"}
    case = {"inputs": {"x": given}, "steps": [fc, mean, train], "fetch": ["y"], "persistables": True, "shake": 1}
    values = {name: decode(value) for name, value in run_case(fluidio, case)["values"].items()}
    bias = values["end fc_0.b_0"]
    assert (bias != 0).all()
    assert (abs(bias) < 1e-7).all()
    assert not values["end fc_0.w_0_moment1_0"].any()
