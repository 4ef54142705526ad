"""What 1.8.5 checks of the attributes of an op when the op is appended."""

from __future__ import annotations

from typing import Any

import pytest

import fluidio as fluid
from fluidio.era import use_era
from fluidio.errors import EnforceNotMet
from fluidio.program import attr_rules
from fluidio.program.op_def import OP_TABLE


def _append(kind: str, dims: tuple[int, ...], attrs: dict[str, Any]) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        block = fluid.default_main_program().global_block()
        definition = OP_TABLE[kind]
        slots = definition.inputs[:1]
        given = {slot.name: block.create_var(name=slot.name, shape=dims, dtype="float32") for slot in slots}
        outputs = {slot.name: block.create_var(name=f"out {slot.name}") for slot in definition.outputs}
        block.append_op(type=kind, inputs=given, outputs=outputs, attrs=attrs)


# 1.8.5 refuses each of these.
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("clip_by_norm", {"max_norm": 0.0}, "max_norm must be above 0, it is 0.0"),
    ("cumsum", {"axis": -2}, "axis must be at least -1, it is -2"),
    ("fake_quantize_abs_max", {"bit_length": 17}, "bit_length must be 1 to 16"),
    ("spp", {"pooling_type": "sum", "pyramid_height": 1}, "pooling_type must be one of max, avg"),
    ("sequence_pool", {"pooltype": "sum"}, "pooltype must be one of AVERAGE"),
    ("layer_norm", {"epsilon": 0.01}, "epsilon must be 0 to 0.001"),
    ("reduce_sum", {"dim": []}, "dim must have 1 entries or more"),
    ("anchor_generator", {"stride": [4.0], "anchor_sizes": [8.0]}, "stride must have 2 entries"),
    ("anchor_generator", {"stride": [4.0, 0.0], "anchor_sizes": [8.0]}, "stride must be above 0 everywhere"),
    ("nearest_interp", {"data_layout": "NCWH", "interp_method": "nearest", "out_h": 2, "out_w": 2}, "data_layout must"),
    ("assign_value", {"dtype": 1, "shape": [1]}, "dtype must be one of 0, 2, 3, 5"),
]


@pytest.mark.parametrize(("kind", "attrs", "text"), REFUSED)
def test_an_op_refuses_attributes_as_185_does(kind: str, attrs: dict[str, Any], text: str) -> None:
    with use_era("1.8"), pytest.raises(EnforceNotMet, match=text):
        _append(kind, (2, 3, 4, 4), attrs)


# 1.8.5 takes each of these.
TAKEN: list[tuple[str, dict[str, Any]]] = [
    ("layer_norm", {"epsilon": 0.001}),
    ("layer_norm", {"epsilon": 0.0010000000474974513}),
    ("group_norm", {"epsilon": 1.0, "groups": 1, "data_layout": "nchw"}),
    ("cumsum", {"axis": -1}),
]


@pytest.mark.parametrize(("kind", "attrs"), TAKEN)
def test_the_ends_of_ranges_are_taken(kind: str, attrs: dict[str, Any]) -> None:
    with use_era("1.8"):
        _append(kind, (2, 3, 4, 4), attrs)


def test_older_eras_do_not_check_attributes() -> None:
    with use_era("1.4"):
        _append("layer_norm", (2, 3, 4, 4), {"epsilon": 0.01})


@pytest.mark.parametrize("kind", sorted(attr_rules._table()))
def test_each_rule_is_about_attributes_of_its_op(kind: str) -> None:
    names = {name for name, _, _ in attr_rules._rules(kind)}
    assert names
    assert names <= set(OP_TABLE[kind].attrs)


def test_a_wrong_line_about_attributes_is_an_error() -> None:
    with pytest.raises(ValueError, match="'k is 2' is no rule"):
        attr_rules._rule("k is 2")
