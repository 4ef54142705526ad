"""The descs of programs, blocks, ops and variables: views that scripts of the C++ era read and change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.core import VarDesc
from fluidio.errors import OpError

FP32, FP64 = VarDesc.VarType.FP32, VarDesc.VarType.FP64


def _scaled() -> Any:
    return fluid.layers.scale(fluid.layers.data("x", shape=[2], lod_level=1), scale=3.0)


def _run(out: Any, **feed: Any) -> Any:
    return fluid.Executor(fluid.CPUPlace()).run(feed=feed, fetch_list=[out])[0].tolist()


def test_descs_tell_what_the_program_holds() -> None:
    out = _scaled()
    program = fluid.default_main_program().desc
    block = program.block(0)
    op, var = block.op(0), block.var(b"x")
    assert (program.num_blocks(), block.id, block.parent, block.op_size()) == (1, 0, -1, 1)
    assert [v.name() for v in block.all_vars()] == ["x", out.name]
    assert (op.type(), op.input("X"), op.output("Out")) == ("scale", ["x"], [out.name])
    assert (op.input_names(), op.output_names()) == (["X"], ["Out"])
    assert (op.input_arg_names(), op.output_arg_names()) == (["x"], [out.name])
    assert (op.attr("scale"), op.has_attr("scale"), op.has_attr("none"), "bias" in op.attr_names()) == (
        3.0,
        True,
        False,
        True,
    )
    assert (var.shape(), var.dtype(), var.type(), var.lod_level()) == ([-1, 2], FP32, VarDesc.VarType.LOD_TENSOR, 1)
    assert (var.persistable(), var.need_check_feed()) == (False, False)


def test_what_is_set_in_a_variables_desc_is_the_variables() -> None:
    x = fluid.layers.data("x", shape=[2])
    x.desc.set_shape([4, 5])
    x.desc.set_dtype(FP64)
    x.desc.set_lod_level(2)
    x.desc.set_persistable(True)
    assert (x.shape, x.dtype, x.lod_level, x.persistable) == ((4, 5), FP64, 2, True)
    x.desc.set_type(VarDesc.VarType.SELECTED_ROWS)
    assert x.type == VarDesc.VarType.SELECTED_ROWS


def test_a_changed_op_desc_reaches_the_next_run() -> None:
    out = _scaled()
    y = fluid.layers.data("y", shape=[2])
    ones, twos = np.ones((1, 2), np.float32), np.full((1, 2), 2, np.float32)
    assert _run(out, x=ones, y=twos) == [[3.0, 3.0]]
    out.op.desc.set_attr("scale", 5.0)
    assert _run(out, x=ones, y=twos) == [[5.0, 5.0]]
    out.op.desc.set_input("X", [y.name])
    assert _run(out, x=ones, y=twos) == [[10.0, 10.0]]
    other = fluid.default_main_program().global_block().create_var(name="other", dtype="float32")
    out.op.desc.set_output("Out", [other.name])
    assert _run(other, x=ones, y=twos) == [[10.0, 10.0]]


def test_a_changed_dtype_is_what_the_next_feed_is_compared_with() -> None:
    x = fluid.layers.data("x", shape=[2])
    total = x + fluid.layers.fill_constant([2], "float32", 1.0)
    with pytest.raises(OpError, match="'x' was declared float32 and fed as float64"):
        _run(total, x=np.ones((1, 2)))
    x.desc.set_dtype(VarDesc.VarType.INT64)
    with pytest.raises(OpError, match="'x' was declared int64 and fed as float64"):
        _run(total, x=np.ones((1, 2)))


def test_a_feed_is_checked_when_its_desc_says_so() -> None:
    x = fluid.layers.data("x", shape=[2])
    x.desc.set_need_check_feed(True)
    with pytest.raises(ValueError, match="'x' was declared with shape"):
        _run(fluid.layers.abs(x), x=np.ones((1, 3), np.float32))
