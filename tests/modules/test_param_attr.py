"""ParamAttr: what it takes, and what it refuses as 1.8 did."""

from __future__ import annotations

from typing import Any

import pytest

import fluidio as fluid
from fluidio.era import use_era


def test_flags_are_bools_in_1_8() -> None:
    with use_era("1.8"):
        wrongs: list[dict[str, Any]] = [{"trainable": 1}, {"do_model_average": 3}]
        for wrong in wrongs:
            with pytest.raises(TypeError, match="must be True or False"):
                fluid.ParamAttr(**wrong)
    with use_era("1.5"):
        assert fluid.ParamAttr(trainable=1).trainable == 1  # type: ignore[arg-type]


def test_the_sixth_argument_of_1_8_says_whether_it_is_averaged() -> None:
    attr = fluid.ParamAttr("w", None, 1.0, None, True, False)
    assert (attr.gradient_clip, attr.do_model_average) == (None, False)


def test_a_missing_initializer_is_said_and_defaults_can_be_set() -> None:
    attr = fluid.ParamAttr("w")
    with pytest.raises(ValueError, match="no initializer"):
        attr._set_default_initializer(None)
    attr._set_default_param_initializer()
    assert type(attr.initializer).__name__ == "XavierInitializer"
    bias = fluid.ParamAttr("b")
    bias._set_default_bias_initializer()
    assert type(bias.initializer).__name__ == "ConstantInitializer"


def test_normalised_weights_are_listed() -> None:
    attr = fluid.WeightNormParamAttr(0, "wn", None, 0.5)
    assert (attr.dim, attr.learning_rate, attr.do_model_average) == (0, 0.5, False)
    fluid.layers.fc(fluid.data("x", [None, 4]), 3, param_attr=attr)
    made = fluid.WeightNormParamAttr.params_with_weight_norm
    assert made[-1].shape == (4, 3)
