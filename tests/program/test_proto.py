"""ProgramDesc bytes: round trips, the files of the real 1.8.5, and damage."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fluidio as fluid
from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.program import Program
from fluidio.program.attr_types import AttrType, attr_type
from fluidio.program.proto import parse_program, serialize_program
from fluidio.program.wire import text_field, varint_field
from tests.io.networks import MODELS, classifier

REAL = (MODELS / "mlp" / "__model__").read_bytes()


def test_a_trained_program_comes_back_the_same() -> None:
    classifier()
    main = fluid.default_main_program()
    again = parse_program(serialize_program(main))
    assert [op.type for op in again.global_block().ops] == [op.type for op in main.global_block().ops]
    added = ("@Beta1PowOut", "@Beta2PowOut")  # for 1.8.5, whose Adam has these outputs
    assert [n for n in again.global_block().vars if not n.endswith(added)] == list(main.global_block().vars)
    assert serialize_program(again) == serialize_program(main)


@pytest.mark.parametrize("era", ["0.14", "1.5", "1.8"])
def test_every_era_reads_what_every_era_writes(era: str) -> None:
    classifier()
    with fluid.use_era(era):
        data = fluid.default_main_program().desc.serialize_to_string()
    again = Program.parse_from_string(data)
    assert serialize_program(again) == serialize_program(fluid.default_main_program())


def test_variables_keep_kind_shape_dtype_lod_and_persistence() -> None:
    block = fluid.default_main_program().global_block()
    block.create_var(name="t", shape=[-1, 3], dtype="int64", lod_level=2, persistable=True, need_check_feed=True)
    block.create_var(name="s", type=VarType.SELECTED_ROWS, shape=[7, 2], dtype="float64")
    block.create_var(name="a", type=VarType.LOD_TENSOR_ARRAY, shape=[2], dtype="float32", lod_level=1)
    reader = block.create_var(name="r", type=VarType.READER, persistable=True)
    reader.reader_slots = [((-1, 4), VarType.FP32, 0), ((-1, 1), VarType.INT64, 1)]
    again = parse_program(serialize_program(fluid.default_main_program())).global_block().vars
    for name, variable in block.vars.items():
        twin = again[name]
        for field in ("type", "shape", "dtype", "lod_level", "persistable", "need_check_feed", "reader_slots"):
            if name != "r" or field not in ("shape", "dtype"):
                assert getattr(twin, field) == getattr(variable, field), (name, field)


def test_sub_blocks_come_back_as_blocks() -> None:
    main = fluid.default_main_program()
    yes = fluid.layers.fill_constant([1], "bool", True)
    with fluid.layers.Switch() as switch, switch.case(yes):
        fluid.layers.fill_constant([1], "float32", 2.0)
    assert main.global_block().ops[-1].attr_type("sub_block") == AttrType.BLOCK
    again = parse_program(serialize_program(main))
    assert again.global_block().ops[-1].attr("sub_block") is again.block(1)
    assert again.block(1).parent_idx == 0


def test_the_model_of_the_real_1_8_5_is_understood() -> None:
    program = parse_program(REAL)
    block = program.global_block()
    assert [op.type for op in block.ops] == [
        "feed",
        "mul",
        "elementwise_add",
        "relu",
        "mul",
        "elementwise_add",
        "softmax",
        "scale",
        "fetch",
    ]
    assert block.var("fc_0.w_0").persistable and block.var("fc_0.w_0").shape == (6, 5)
    assert block.ops[2].attr("axis") == 1
    assert not block.var("x").persistable


@pytest.mark.parametrize(
    ("op", "name", "value", "kind"),
    [
        ("fill_constant", "shape", [1], AttrType.LONGS),
        ("scale", "scale", 2, AttrType.FLOAT),
        ("top_k", "k", 3, AttrType.INT),
        ("anything", "unheard_of", 2**40, AttrType.LONG),
        ("anything", "unheard_of", True, AttrType.BOOLEAN),
        ("anything", "unheard_of", ["a"], AttrType.STRINGS),
        ("relu_grad", "use_mkldnn", False, AttrType.BOOLEAN),
    ],
)
def test_attributes_have_fluids_types(op: str, name: str, value: object, kind: AttrType) -> None:
    assert attr_type(op, name, value) is kind


@given(st.integers(0, len(REAL)))
def test_a_cut_file_is_an_error_or_a_smaller_program(length: int) -> None:
    try:
        program = parse_program(REAL[:length])
    except (EnforceNotMet, ValueError, AssertionError):
        return
    assert len(program.global_block().ops) <= 9


@example(2163, 53)  # a float where a whole number belongs
@given(st.integers(0, len(REAL) - 1), st.integers(0, 255))
def test_a_changed_byte_never_does_worse_than_a_clear_error(position: int, byte: int) -> None:
    damaged = REAL[:position] + bytes([byte]) + REAL[position + 1 :]
    try:
        parse_program(damaged)
    except (EnforceNotMet, ValueError, AssertionError) as error:
        assert str(error)


@given(st.binary(max_size=60))
def test_noise_is_refused(data: bytes) -> None:
    try:
        parse_program(data)
    except (EnforceNotMet, ValueError, AssertionError) as error:
        assert str(error)


def test_a_program_of_paddle_2_is_refused() -> None:
    block = text_field(1, varint_field(1, 0) + varint_field(2, -1))
    with pytest.raises(ValueError, match="format version 2000000"):
        parse_program(block + text_field(4, varint_field(1, 2_000_000)))


def test_a_block_that_is_its_own_parent_is_refused() -> None:
    first = text_field(1, varint_field(1, 0) + varint_field(2, -1))
    second = text_field(1, varint_field(1, 1) + varint_field(2, 1))
    with pytest.raises(EnforceNotMet, match="block 1 has parent 1"):
        parse_program(first + second)


def test_an_op_that_we_lack_is_named(tmp_path: Path) -> None:
    op = text_field(4, text_field(3, "pyramid_hash_of_old"))
    with pytest.raises(ValueError, match="pyramid_hash_of_old"):
        parse_program(text_field(1, varint_field(1, 0) + varint_field(2, -1) + op))


def test_what_tools_note_on_ops_comes_back() -> None:
    classifier()
    main = fluid.default_main_program()
    (first, *_) = main.global_block().ops
    noted = {"quantization_type": "post_kl", "out_threshold": 0.5, "w_quant_scale": [0.25, 2.0], "x_bits": 8}
    for name, value in noted.items():
        first._set_attr(name, value)
    (again, *_) = parse_program(serialize_program(main)).global_block().ops
    assert {name: again.attr(name) for name in noted} == noted
    assert {*noted} <= {*again.attr_names}


def test_a_desc_states_only_what_was_given() -> None:
    block = fluid.default_main_program().global_block()
    text = str(block.create_var(name="a", shape=[2], dtype="float32"))
    assert "persistable" not in text
    assert "lod_level" not in text
    text = str(block.create_var(name="b", shape=[2], dtype="float32", persistable=False, lod_level=0))
    assert "persistable: false" in text
    assert "lod_level: 0" in text
    again = Program.parse_from_string(serialize_program(fluid.default_main_program())).global_block()
    assert [str(again.var(name)) for name in "ab"] == [str(block.var(name)) for name in "ab"]
    block.var("a").persistable = True
    assert "persistable: true" in str(block.var("a"))
