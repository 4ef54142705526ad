"""What 1.8 checks when a layer is called, and older eras do not."""

from __future__ import annotations

import inspect
from typing import Any, cast

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers as L
from fluidio.era import use_era
from fluidio.layers import _checks

ARRAY = np.ones((4, 8), np.float32)


def _data(dtype: str = "float32", shape: tuple[int, ...] = (4, 8)) -> Any:
    return fluid.data(fluid.unique_name.generate("v"), list(shape), dtype=dtype)


# Each was tried on 1.8.5; True stands for a TypeError.
CALLS: list[tuple[str, Any, bool]] = [
    ("fc of an array", lambda: L.fc(ARRAY, 3), True),
    ("fc of integers", lambda: L.fc(_data("int32"), 3), True),
    ("fc of a list", lambda: L.fc([_data(), _data()], 3), False),
    ("relu of integers", lambda: L.relu(_data("int64")), True),
    ("abs of integers", lambda: L.abs(_data("int64")), False),
    ("a cast to int16", lambda: L.cast(_data(), "int16"), True),
    ("a cast to int8", lambda: L.cast(_data(), "int8"), False),
    ("embedding of int32", lambda: L.embedding(_data("int32", (4, 1)), [5, 3]), True),
    ("embedding of int64", lambda: L.embedding(_data("int64", (4, 1)), [5, 3]), False),
    ("fluid.embedding of int32", lambda: fluid.embedding(_data("int32"), [5, 3]), True),
    ("fluid.one_hot of floats", lambda: fluid.one_hot(_data(), 3), False),
    ("layers.one_hot of floats", lambda: L.one_hot(_data("float32", (4, 1)), 3), True),
    ("cross entropy with int32 labels", lambda: L.cross_entropy(_data(), _data("int32", (4, 1))), False),
    ("a sum with an array", lambda: L.elementwise_add(_data(), ARRAY), True),
    ("a comparison of booleans", lambda: L.less_than(_data("bool"), _data("bool")), True),
    ("logic on floats", lambda: L.logical_and(_data(), _data()), True),
    ("a shape that is a number", lambda: L.fill_constant(2, "float32", 1.0), True),
    ("a permutation that is a tuple", lambda: L.transpose(_data(), (1, 0)), True),
    ("a norm that is a whole number", lambda: L.clip_by_norm(_data(), 1), True),
    ("a name that is a number", lambda: L.data(cast(Any, 3), [2]), True),
    ("concat of booleans", lambda: L.concat([_data("bool"), _data("bool")]), True),
    ("roll by a number", lambda: L.roll(_data(), 1, 0), False),
]


@pytest.mark.parametrize(("call", "refused"), [c[1:] for c in CALLS], ids=[c[0] for c in CALLS])
def test_era_1_8_refuses_what_1_8_5_refused(call: Any, refused: bool) -> None:
    with use_era("1.8"):
        if refused:
            with pytest.raises(TypeError, match="must (be|have)"):
                call()
        else:
            call()


def test_the_error_names_layer_argument_given_and_allowed() -> None:
    with use_era("1.8"):
        with pytest.raises(TypeError, match=r"softmax: input must be Variable, got ndarray"):
            L.softmax(cast(Any, ARRAY))
        with pytest.raises(TypeError, match=r"mean: x must have dtype float16, .*, got int32"):
            L.mean(_data("int32"))


def test_older_eras_run_what_they_ran() -> None:
    with use_era("1.5"):
        L.embedding(_data("int32", (4, 1)), [5, 3])
        L.transpose(_data(), (1, 0))


def test_a_layer_is_one_function_wherever_it_is_shown() -> None:
    assert L.fc is L.nn.fc and L.cross_entropy is L.loss.cross_entropy
    assert L.fc.__name__ == "fc" and L.fc.__doc__


def test_a_row_of_the_table_names_arguments_that_its_layer_has() -> None:
    import inspect

    from fluidio import contrib, nets

    wrong = []
    for name, checks in _checks._table().items():
        layer = next((vars(m)[name] for m in (L, nets, contrib.layers) if name in vars(m)), None)
        if layer is None:
            continue
        known = inspect.signature(layer).parameters
        wrong += [f"{name}.{check.argument}" for check in checks if check.argument not in known]
    assert wrong == []


def test_sums_into_a_given_variable_may_mix_dtypes_as_built() -> None:
    fluid.use_era("1.8")
    state, distance = fluid.layers.data("a", [2]), fluid.layers.data("b", [2], dtype="int64")
    assert fluid.layers.sums([state, distance], out=state) is state
    with pytest.raises(ValueError, match="dtype"):
        fluid.layers.sums([state, distance])


def test_the_arguments_of_a_checked_layer_can_be_listed() -> None:
    # Frameworks on top of Fluid wrap those of its layers that take a param_attr.
    assert inspect.getfullargspec(L.fc).args == [
        "input", "size", "num_flatten_dims", "param_attr", "bias_attr", "act", "name",
    ]  # fmt: skip
    with_parameters = {
        name
        for name in dir(L)
        if inspect.isfunction(getattr(L, name)) and "param_attr" in inspect.getfullargspec(getattr(L, name)).args
    }
    assert {"fc", "embedding", "conv2d", "batch_norm", "dynamic_lstm", "sequence_conv", "hsigmoid"} <= with_parameters
