"""What custom layers and scripts of clusters import from the inside of Fluid; texts and values are those of 1.8.5."""

from __future__ import annotations

import io
import logging
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.log_helper import get_logger
from fluidio.program.type_checks import check_dtype, check_type, check_variable_and_dtype, convert_dtype
from fluidio.transpiler import details


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (fluid.core.VarDesc.VarType.FP32, "float32"),
        (fluid.core.VarDesc.VarType.BOOL, "bool"),
        ("float16", "float16"),
        (np.float64, "float64"),
        (np.dtype("int8"), "int8"),
        (bool, "bool"),
        (np.int64, "int64"),
    ],
)
def test_a_dtype_has_a_name(dtype: Any, name: str) -> None:
    assert convert_dtype(dtype) == name


@pytest.mark.parametrize("dtype", [int, "foo", fluid.core.VarDesc.VarType.LOD_TENSOR, np.uint16, None])
def test_what_is_no_dtype_of_fluid_is_refused(dtype: Any) -> None:
    with pytest.raises(ValueError, match=r"dtype must be one of bool, float16, .*, uint8,"):
        convert_dtype(dtype)


def test_arguments_are_checked_with_fluids_messages() -> None:
    x = fluid.layers.data("x", [3])
    check_variable_and_dtype(x, "x", ["float32"], "foo")
    with pytest.raises(TypeError, match=r"foo: axis must be int, got float"):
        check_type(3.0, "axis", int, "foo")
    with pytest.raises(TypeError, match=r"foo: x must have dtype int32, got float32: more"):
        check_variable_and_dtype(x, "x", ["int32"], "foo", "more")
    with pytest.raises(TypeError, match=r"foo: x must be"):
        check_variable_and_dtype(np.ones(3), "x", ["float64"], "foo")
    check_dtype("float16", "x", ["float16"], "foo")


def test_a_program_prints_as_code() -> None:
    fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    out = io.StringIO()
    details.program_to_code(fluid.default_main_program(), out)
    lines = out.getvalue().splitlines()
    assert lines[:6] == [
        "{ // block 0",
        "    persist trainable parameter fc_0.b_0 : fluid.VarType.LOD_TENSOR.shape(2,).astype(VarType.FP32)",
        "    var fc_0.tmp_0 : fluid.VarType.LOD_TENSOR.shape(-1, 2).astype(VarType.FP32)",
        "    var fc_0.tmp_1 : fluid.VarType.LOD_TENSOR.shape(-1, 2).astype(VarType.FP32)",
        "    persist trainable parameter fc_0.w_0 : fluid.VarType.LOD_TENSOR.shape(3, 2).astype(VarType.FP32)",
        "    var x : fluid.VarType.LOD_TENSOR.shape(-1, 3).astype(VarType.FP32)",
    ]
    assert lines[7] == (
        "    {Out=['fc_0.tmp_0']} = mul(inputs={X=['x'], Y=['fc_0.w_0']}, force_fp32_output = False, op_device = , "
        "op_namescope = /, op_role = 0, op_role_var = [], scale_out = 1.0, scale_x = 1.0, scale_y = [1.0], "
        "use_mkldnn = False, x_num_col_dims = 1, y_num_col_dims = 1)"
    )


def test_a_loop_prints_its_block_by_number() -> None:
    i = fluid.layers.fill_constant([1], "int64", 0)
    goes_on = fluid.layers.less_than(i, fluid.layers.fill_constant([1], "int64", 3))
    loop = fluid.layers.While(goes_on)
    with loop.block():
        fluid.layers.less_than(fluid.layers.increment(i), i, cond=goes_on)
    line = details.op_to_code(fluid.default_main_program().global_block().ops[-1])
    assert line.endswith("sub_block = block[1])") and "op_callstack" not in line


def test_ops_are_found_and_removed() -> None:
    y = fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    block = fluid.default_main_program().global_block()
    assert details.find_op_by_input_arg(block, "x") == 0
    assert details.find_op_by_output_arg(block, y.name) == 1
    assert details.find_op_by_output_arg(block, y.name, reverse=True) == 1
    assert details.find_op_by_output_arg(block, "nobody") == -1
    details.delete_ops(block, [block.ops[0]])
    assert [op.type for op in block.ops] == ["elementwise_add"]


def test_elements_are_joined() -> None:
    sets = details.UnionFind(["a", "b", "c"])
    sets.union("a", "b")
    assert sets.is_connected("a", "b") and not sets.is_connected("a", "c")
    assert [sets.find(name) for name in ("b", "c", "unknown")] == [1, 2, -1]


def test_a_server_that_listens_is_ready() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        details.wait_server_ready([f"127.0.0.1:{server.getsockname()[1]}"])
    with pytest.raises(AssertionError, match="list of 'host:port'"):
        details.wait_server_ready("127.0.0.1:1")


def test_a_logger_writes_each_line_once() -> None:
    get_logger("fluidio.test.log_helper", logging.DEBUG)
    logger = get_logger("fluidio.test.log_helper", logging.INFO, fmt="%(levelname)s:%(message)s")
    assert len(logger.handlers) == 1 and logger.level == logging.INFO and not logger.propagate
