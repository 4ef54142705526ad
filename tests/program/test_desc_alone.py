"""Descs that are made and changed on their own, without a layer or a Program of Python's."""

from __future__ import annotations

import numpy as np
import pytest

from fluidio import core
from fluidio.core import AttrType
from fluidio.errors import EnforceNotMet

VarType = core.VarDesc.VarType


def _block(desc: core.ProgramDesc, index: int = 0) -> core.BlockDesc:
    block = desc.block(index)
    assert block is not None
    return block


def test_a_program_desc_starts_with_one_block_and_grows() -> None:
    program = core.ProgramDesc()
    root = _block(program)
    inner = program.append_block(root)
    assert (root.id, root.parent, inner.id, inner.parent, program.num_blocks()) == (0, -1, 1, 0, 2)
    assert program.block(2) is None
    assert inner.get_forward_block_idx() == -1
    inner._set_forward_block_idx(0)
    assert inner.get_forward_block_idx() == 0


def test_an_op_desc_takes_any_type_arguments_and_attributes() -> None:
    op = _block(core.ProgramDesc()).append_op()
    assert op.type() == ""
    op.set_type("anything")
    op.set_input("X", ["a", "b"])
    op.set_output("Out", ["c"])
    assert (op.inputs(), op.outputs()) == ({"X": ["a", "b"]}, {"Out": ["c"]})
    with pytest.raises(EnforceNotMet, match="op anything has no input Y"):
        op.input("Y")
    for name, value, kind in (
        ("i", 3, AttrType.INT),
        ("f", 1.5, AttrType.FLOAT),
        ("s", "x", AttrType.STRING),
        ("is", [1, 2], AttrType.INTS),
        ("big", 2**40, AttrType.LONG),
        ("bigs", [2**40], AttrType.LONGS),
    ):
        op._set_attr(name, value)
        assert (op.attr(name), op.attr_type(name)) == (value, kind)
    op.remove_attr("i")
    assert not op.has_attr("i")
    with pytest.raises(EnforceNotMet, match="no attribute i"):
        op.attr("i")
    with pytest.raises(EnforceNotMet, match="no op 'anything'"):
        op.check_attrs()


def test_block_attributes_are_known_by_their_numbers() -> None:
    program = core.ProgramDesc()
    inner = program.append_block(_block(program))
    op = _block(program).append_op()
    op.set_type("while")
    op.set_block_attr("sub_block", inner)
    op.set_blocks_attr("others", [inner])
    assert (op._block_attr_id("sub_block"), op.attr_type("sub_block")) == (1, AttrType.BLOCK)
    assert op.attr("sub_block") == inner
    assert op._blocks_attr_ids("others") == [1]


def test_a_block_desc_makes_finds_renames_and_removes_variables() -> None:
    program = core.ProgramDesc()
    root = _block(program)
    inner = program.append_block(root)
    var = root.var(b"v")
    assert (var.name(), var.shape(), var.dtype(), var.type()) == ("v", [], VarType.BOOL, VarType.LOD_TENSOR)
    assert root.var(b"v") == var and root.find_var(b"v") == var and inner.find_var_recursive(b"v") == var
    assert (root.find_var(b"w"), inner.has_var(b"v"), inner.has_var_recursive(b"v")) == (None, False, True)
    root._rename_var(b"v", b"w")
    assert (root.has_var(b"v"), root.has_var(b"w")) == (False, True)
    root._remove_var(b"w")
    assert root.all_vars() == []


def test_only_reader_variables_have_many_shapes() -> None:
    var = core.VarDesc("r")
    with pytest.raises(EnforceNotMet, match="variable r is a .* no sub_tensor_number"):
        var.shapes()
    var.set_type(VarType.READER)
    var.set_shapes([[1, 2], [3]])
    var.set_dtypes([VarType.FP64, VarType.INT64])
    var.set_lod_levels([0, 1])
    assert (var.shapes(), var.dtypes(), var.lod_levels()) == ([[1, 2], [3]], [VarType.FP64, VarType.INT64], [0, 1])
    with pytest.raises(EnforceNotMet, match="no tensor_desc"):
        var.shape()


def test_ops_are_inserted_prepended_and_removed() -> None:
    root = _block(core.ProgramDesc())
    last = root.append_op()
    first, second = root._prepend_op(), root._insert_op(1)
    assert [root.op(i) for i in range(root.op_size())] == [first, second, last]
    root._remove_op(0, 2)
    assert root.op_size() == 1 and root.op(0) == last


def _mul() -> tuple[core.BlockDesc, core.OpDesc]:
    root = _block(core.ProgramDesc())
    op = root.append_op()
    op.set_type("mul")
    for slot, name, shape in (("X", "x", [10, 15]), ("Y", "y", [15, 20])):
        var = root.var(name)
        var.set_shape(shape)
        var.set_dtype(VarType.FP32)
        op.set_input(slot, [name])
    root.var("out")
    op.set_output("Out", ["out"])
    return root, op


def test_infer_shape_describes_the_outputs() -> None:
    root, op = _mul()
    op.check_attrs()
    op.infer_var_type(root)
    op.infer_shape(root)
    assert (root.var("out").shape(), root.var("out").dtype()) == ([10, 20], VarType.FP32)
    assert op.attr("force_fp32_output") is False


def test_gradients_of_a_desc_are_descs() -> None:
    _, op = _mul()
    (grad,), names = core.get_grad_op_desc(op, set(), [])
    assert grad.type() == "mul_grad"
    assert grad.inputs() == {"X": ["x"], "Y": ["y"], "Out@GRAD": ["out@GRAD"]}
    assert grad.outputs() == {"X@GRAD": ["x@GRAD"], "Y@GRAD": ["y@GRAD"]}
    assert names == {"x@GRAD": "x", "y@GRAD": "y", "out@GRAD": "out"}
    (grad,), names = core.get_grad_op_desc(op, {"x@GRAD"}, [])
    assert grad.outputs() == {"X@GRAD": [], "Y@GRAD": ["y@GRAD"]}
    assert names == {"y@GRAD": "y", "out@GRAD": "out"}


def test_a_copied_op_desc_has_a_life_of_its_own() -> None:
    _, op = _mul()
    twin = core.OpDesc()
    twin.copy_from(op)
    twin.set_input("X", ["other"])
    assert (twin.type(), twin.input("X"), op.input("X")) == ("mul", ["other"], ["x"])


def test_a_desc_survives_its_bytes() -> None:
    root, op = _mul()
    op.check_attrs()
    program = core.ProgramDesc()
    mirrored = _block(program)
    for var in root.all_vars():
        mirrored.var(var.name()).set_shape(var.shape())
    mirrored.append_op().copy_from(op)
    again = _block(core.ProgramDesc(program.serialize_to_string()))
    assert again.op(0).inputs() == op.inputs()
    assert again.var("x").shape() == [10, 15]
    program.parse_from_string(core.ProgramDesc().serialize_to_string())
    assert _block(program).op_size() == 0


def test_a_program_built_from_descs_runs() -> None:
    import fluidio as fluid

    program = fluid.Program()
    root = _block(program.desc)
    for name, shape in (("x", [2, 3]), ("out", [2, 3])):
        root.var(name).set_shape(shape)
        root.var(name).set_dtype(VarType.FP32)
    op = root.append_op()
    op.set_type("scale")
    op.set_input("X", ["x"])
    op.set_output("Out", ["out"])
    op.set_attr("scale", 3.0)
    op.check_attrs()
    (out,) = fluid.Executor(fluid.CPUPlace()).run(program, feed={"x": np.ones((2, 3), np.float32)}, fetch_list=["out"])
    assert np.asarray(out).tolist() == [[3.0] * 3] * 2
