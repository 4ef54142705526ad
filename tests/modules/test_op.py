"""`fluid.op` and the small names of `fluid.core`: single ops by hand, flags, DLPack."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio import core, framework
from fluidio.errors import EnforceNotMet
from fluidio.op import Operator, get_all_op_protos

PLACE = fluid.CPUPlace()


def test_the_protos_are_those_of_fluid() -> None:
    assert len(get_all_op_protos()) == 437
    proto = framework.OpProtoHolder.instance().get_op_proto("dropout")
    assert [(s.name, s.dispensable) for s in proto.inputs] == [("X", False), ("Seed", True)]
    assert [(s.name, s.intermediate) for s in proto.outputs] == [("Out", False), ("Mask", True)]
    with pytest.raises(ValueError, match="no op 'zz'"):
        framework.OpProtoHolder.instance().get_op_proto("zz")


def test_the_factory_tells_slots_and_attributes() -> None:
    assert Operator.get_op_inputs("sum") == [("X", True)]
    assert Operator.get_op_output_names("mul") == ["Out"]
    assert {"x_num_col_dims", "op_role"} <= set(Operator.get_op_attr_names("mul"))
    with pytest.raises(ValueError, match="no op 'zzz'"):
        Operator.get_op_info("zzz")
    with pytest.raises(ValueError, match="X takes one variable, got 2"):
        Operator("mul", X=["a", "b"])
    with pytest.raises(ValueError, match="by name"):
        Operator("mul", "x")


def test_an_op_runs_on_the_variables_of_a_scope() -> None:
    op = Operator("mul", X="x", Y="y", Out="out", x_num_col_dims=1)
    assert (op.type(), op.inputs(), op.no_intermediate_outputs()) == ("mul", {"X": ["x"], "Y": ["y"]}, ["out"])
    scope = fluid.Scope()
    scope.var("out").get_tensor()
    for rows in (2, 5):
        scope.var("x").get_tensor().set(np.ones((rows, 3), np.float32), PLACE)
        scope.var("y").get_tensor().set(np.ones((3, 4), np.float32), PLACE)
        op.run(scope, PLACE)
        assert np.array(scope.find_var("out").get_tensor()).tolist() == [[3.0] * 4] * rows  # type: ignore[union-attr]


def test_an_op_runs_on_sparse_rows() -> None:
    scope = fluid.Scope()
    scope.var("p").get_tensor().set(np.zeros((4, 2), np.float32), PLACE)
    scope.var("lr").get_tensor().set(np.ones(1, np.float32), PLACE)
    grad = scope.var("g").get_selected_rows()
    grad.set_rows([1, 1])
    grad.set_height(4)
    grad.get_tensor().set(np.ones((2, 2), np.float32), PLACE)
    Operator("sgd", Param="p", Grad="g", ParamOut="p", LearningRate="lr").run(scope, PLACE)
    out = np.array(scope.find_var("p").get_tensor())  # type: ignore[union-attr]
    assert out.tolist() == [[0, 0], [-2, -2], [0, 0], [0, 0]]


def test_global_flags_are_read_and_set_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = core.globals()
    old = flags["FLAGS_use_system_allocator"]
    flags["FLAGS_use_system_allocator"] = 1
    assert core.globals()["FLAGS_use_system_allocator"] is True
    flags["FLAGS_use_system_allocator"] = old
    assert (flags.get("FLAGS_nope", 5), flags.is_public("FLAGS_use_mkldnn"), "FLAGS_use_mkldnn" in flags) == (
        5,
        False,
        True,
    )
    with pytest.raises(EnforceNotMet, match="does not exist or is read-only"):
        flags["FLAGS_use_mkldnn"] = True
    with pytest.raises(RuntimeError, match="must be float"):
        flags["FLAGS_eager_delete_tensor_gb"] = "x"
    with pytest.raises(ValueError, match="cannot read"):
        fluid.get_flags("FLAGS_use_mkldnn")


def test_tensors_come_back_from_dlpack_without_a_copy() -> None:
    tensor = core.LoDTensor()
    tensor.set(np.arange(6, dtype=np.float32).reshape(2, 3), PLACE)
    shared = core.from_dlpack(tensor._to_dlpack())
    tensor._set_float_element(0, 7.0)
    assert np.array(shared).tolist() == [[7, 1, 2], [3, 4, 5]]


def test_mutable_data_gives_memory_of_the_dims() -> None:
    tensor = core.LoDTensor()
    tensor._set_dims([2, 3])
    address = tensor._mutable_data(PLACE, core.VarDesc.VarType.INT64)
    assert (address != 0, tensor.shape(), tensor._dtype()) == (True, [2, 3], core.VarDesc.VarType.INT64)
