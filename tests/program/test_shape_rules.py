"""What 1.8.5 checks of the dims of an op's inputs when the op is appended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import fluidio as fluid
from fluidio.era import use_era
from fluidio.errors import EnforceNotMet
from fluidio.program import shape_rules
from fluidio.program.op_def import OP_TABLE

Dims = tuple[int, ...]


def _append(kind: str, inputs: Mapping[str, Dims], attrs: Any = None) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        block = fluid.default_main_program().global_block()
        given = {slot: block.create_var(name=slot, shape=dims, dtype="float32") for slot, dims in inputs.items()}
        outputs = {slot.name: block.create_var(name=f"out {slot.name}") for slot in OP_TABLE[kind].outputs}
        outputs.update({f"{slot}Out": var for slot, var in given.items() if f"{slot}Out" in outputs})
        block.append_op(type=kind, inputs=given, outputs=outputs, attrs=attrs or {})


# 1.8.5 refuses each of these. The text says which rule ours found broken.
REFUSED: list[tuple[str, dict[str, Dims], str]] = [
    ("accuracy", {"Out": (3, 2), "Indices": (3, 2), "Label": (3,)}, "Label must have 2 dims, it has shape"),
    ("sampling_id", {"X": (2, 3, 4)}, "X must have 2 dims"),
    ("sequence_reverse", {"X": (3,)}, "X must have 2 dims or more"),
    ("squeeze", {"X": (1,) * 7}, "X must have 6 dims at most"),
    ("linear_chain_crf", {"Emission": (3,), "Transition": (5, 3), "Label": (3, 1)}, "Emission must have 2 to 3 dims"),
    ("increment", {"X": (2,)}, "X must have one element"),
    (
        "adam",
        {
            **dict.fromkeys(("Param", "Grad", "Moment1", "Moment2"), (2, 3)),
            **dict.fromkeys(("LearningRate", "Beta1Pow"), (1,)),
            "Beta2Pow": (-1,),
        },
        "Beta2Pow must have elements",
    ),
    ("prroi_pool", {"X": (1, 2, 3, 4), "ROIs": (-1, -1)}, "dim 1 of ROIs must be 4, ROIs has shape"),
    ("bmm", {"X": (2, 3, 4), "Y": (-1, 4, 5)}, "dim 0 of X must be dim 0 of Y; X has shape"),
    ("dot", {"X": (-1, 3), "Y": (-1, -1)}, "X must have the shape of Y; they have shapes"),
    ("allclose", {"Input": (2, 3), "Other": (2, 4)}, "Input must have the shape of Other"),
    ("minus", {"X": (-1, -1), "Y": (2, 3)}, "X must have the shape of Y"),
    ("pad_constant_like", {"X": (2, 1), "Y": (2,)}, "X must have as many dims as Y"),
    ("equal", {"X": (3,), "Y": (2, 3)}, "X must have at least as many dims as Y"),
    ("logical_and", {"X": (2, 3), "Y": (2, 2)}, "X must have as many elements as Y"),
]


@pytest.mark.parametrize(("kind", "inputs", "text"), REFUSED, ids=[case[0] for case in REFUSED])
def test_an_op_refuses_dims_as_185_does(kind: str, inputs: dict[str, Dims], text: str) -> None:
    with use_era("1.8"), pytest.raises(EnforceNotMet, match=text):
        _append(kind, inputs)


# 1.8.5 takes each of these.
TAKEN: list[tuple[str, dict[str, Dims]]] = [
    ("minus", {"X": (-1, 2), "Y": (3, 2)}),
    ("logical_and", {"X": (-1, 3), "Y": (2, 2)}),
    ("allclose", {"Input": (-1, 3), "Other": (2, 3)}),
    ("merge_lod_tensor", {"X": (4, 1), "Mask": (-1, -1), "InTrue": (2, 1), "InFalse": (2, 1)}),
    ("batch_norm", {"X": (-1, 3, 4, 4), **dict.fromkeys(("Scale", "Bias", "Mean", "Variance"), (-1,))}),
    ("layer_norm", {"X": (-1, 3), "Scale": (-1,), "Bias": (-1,)}),
    ("roi_align", {"X": (-1, 3, 4, 4), "ROIs": (-1, -1)}),
    ("grid_sampler", {"X": (-1, 3, 4, 4), "Grid": (-1, -1, -1, -1)}),
    ("linear_chain_crf", {"Emission": (-1, -1), "Transition": (5, 3), "Label": (-1, 1)}),
]


@pytest.mark.parametrize(("kind", "inputs"), TAKEN, ids=[case[0] for case in TAKEN])
def test_open_dims_are_taken_where_185_takes_them(kind: str, inputs: dict[str, Dims]) -> None:
    with use_era("1.8"):
        _append(kind, inputs)


def test_older_eras_do_not_check() -> None:
    with use_era("1.4"):
        _append("sampling_id", {"X": (2, 3, 4)})


def test_a_state_declared_without_dims_is_taken() -> None:
    with use_era("1.8"):
        alike = dict.fromkeys(("Param", "Grad"), (2, 3))
        _append("momentum", {**alike, "Velocity": (), "LearningRate": (1,)}, {"mu": 0.9})


def test_sparse_gradients_have_dims_of_their_own() -> None:
    with use_era("1.8"), fluid.program_guard(fluid.Program(), fluid.Program()):
        block = fluid.default_main_program().global_block()
        param = block.create_var(name="p", shape=(5, 2), dtype="float32")
        rows = block.create_var(name="g", shape=(3, 2), dtype="float32", type=fluid.core.VarDesc.VarType.SELECTED_ROWS)
        rate = fluid.layers.fill_constant([1], "float32", 0.1)
        block.append_op("sgd", inputs={"Param": param, "Grad": rows, "LearningRate": rate}, outputs={"ParamOut": param})


@pytest.mark.parametrize("kind", sorted(shape_rules._table()))
def test_each_rule_is_about_inputs_of_its_op(kind: str) -> None:
    slots = {slot.name for slot in OP_TABLE[kind].inputs}
    words = {word for rule in shape_rules._table()[kind].split() for word in _words(rule)}
    assert words
    assert words <= slots
    assert shape_rules._rules(kind)


def _words(rule: str) -> list[str]:
    """Return the slots that a rule names."""
    spaced = "".join(c if c.isalnum() or c == "_" else " " for c in rule)
    return [word for word in spaced.split() if not word.isdigit()]


def test_a_wrong_line_of_the_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="'X is 2' is no rule"):
        shape_rules._rule("X is 2")
