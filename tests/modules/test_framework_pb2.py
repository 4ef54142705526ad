"""Programs as protobuf messages, and descriptions of ops made from them."""

from __future__ import annotations

from typing import Any

import pytest

import fluidio as fluid
from fluidio.op import get_all_op_protos
from fluidio.proto import data_feed_pb2
from fluidio.proto import framework_pb2 as pb
from fluidio.proto.messages import DecodeError, EncodeError
from fluidio.proto.op_creation import OpDescCreationMethod, create_op_creation_method, is_str


def test_a_program_can_be_read_and_written_as_a_message() -> None:
    fluid.layers.fc(fluid.data("x", [None, 3]), 2)
    data = fluid.default_main_program().desc.serialize_to_string()
    message = pb.ProgramDesc.FromString(data)
    assert [op.type for op in message.blocks[0].ops] == ["mul", "elementwise_add"]
    (x,) = (v for v in message.blocks[0].vars if v.name == "x")
    assert list(x.type.lod_tensor.tensor.dims) == [-1, 3]
    assert x.type.lod_tensor.tensor.data_type == pb.VarType.FP32
    message.blocks[0].ops[0].type = "matmul"
    again = fluid.Program.parse_from_string(message.SerializeToString())
    assert [op.type for op in again.global_block().ops] == ["matmul", "elementwise_add"]


def test_fields_are_set_cleared_and_copied() -> None:
    op = pb.OpDesc(type="a")
    op.inputs.add(parameter="X", arguments=["a", "b"])
    attr = op.attrs.add(name="f", type=pb.FLOAT)
    attr.f = 0.1
    assert attr.f == pytest.approx(0.1, rel=1e-7)
    assert attr.f != 0.1  # 32 bits
    twin = pb.OpDesc()
    twin.CopyFrom(op)
    assert twin == op
    twin.attrs[0].ClearField("f")
    assert (twin.attrs[0].HasField("f"), twin.attrs[0].f, twin == op) == (False, 0.0, False)
    assert [field.name for field, _ in op.ListFields()] == ["inputs", "type", "attrs"]
    assert pb.BlockDesc().forward_block_idx == -1
    assert pb.OpDesc.FromString(op.SerializeToString()) == op


def test_the_text_of_a_message_is_protobufs() -> None:
    var = pb.VarDesc(name="é\n")
    var.type.type = pb.VarType.LOD_TENSOR
    var.type.lod_tensor.tensor.data_type = pb.VarType.INT64
    var.type.lod_tensor.tensor.dims.extend([-1, 2])
    var.persistable = True
    assert str(var) == (
        'name: "\\303\\251\\n"\ntype {\n  type: LOD_TENSOR\n  lod_tensor {\n    tensor {\n      data_type: INT64\n'
        "      dims: -1\n      dims: 2\n    }\n  }\n}\npersistable: true\n"
    )


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (TypeError, lambda op: setattr(op, "type", 3)),
        (AttributeError, lambda op: setattr(op, "nothing", 3)),
        (AttributeError, lambda op: setattr(op, "inputs", [])),
        (AttributeError, lambda op: op.nothing),
        (ValueError, lambda op: op.HasField("inputs")),
        (ValueError, lambda op: op.HasField("nothing")),
        (ValueError, lambda op: setattr(op.attrs.add(), "type", 99)),
        (ValueError, lambda op: setattr(op.attrs.add(), "i", 2**40)),
        (TypeError, lambda op: op.attrs.add().ints.append("a")),
        (TypeError, lambda op: op.attrs.append(3)),
        (TypeError, lambda op: op.CopyFrom(pb.VarDesc())),
        (EncodeError, lambda op: op.SerializeToString()),
        (DecodeError, lambda op: op.ParseFromString(b"zzz")),
        (DecodeError, lambda op: op.ParseFromString(b"")),
        (ValueError, lambda op: pb.OpDesc(nothing=3)),
        (ValueError, lambda op: pb.AttrType.Name(77)),
    ],
)
def test_what_does_not_fit_a_message_is_refused(error: type[Exception], wrong: Any) -> None:
    with pytest.raises(error):
        wrong(pb.OpDesc())


def test_enums_know_their_names() -> None:
    assert (pb.AttrType.Name(6), pb.AttrType.Value("FLOAT"), pb.VarType.Type.Name(5)) == ("BOOLEAN", 1, "FP32")


def test_a_feed_has_defaults() -> None:
    assert data_feed_pb2.DataFeedDesc().batch_size == 32


def proto_of_its_own() -> Any:
    proto = pb.OpProto(type="test", comment="")
    proto.inputs.add(name="X", comment="", duplicable=True)
    proto.inputs.add(name="Y", comment="")
    proto.outputs.add(name="Out", comment="")
    for name, kind in (("n", pb.INT), ("f", pb.FLOAT), ("s", pb.STRING), ("ns", pb.INTS), ("ss", pb.STRINGS)):
        proto.attrs.add(name=name, type=kind, comment="")
    return proto


def test_a_description_is_made_from_the_names_of_arguments() -> None:
    method = OpDescCreationMethod(proto_of_its_own())
    desc = method(X=["a", "b"], Out="c", n=3, f=0.5, ns=[1, 2], ss=["p", "q"])
    assert [(var.parameter, list(var.arguments)) for var in desc.inputs] == [("X", ["a", "b"]), ("Y", [])]
    assert [list(var.arguments) for var in desc.outputs] == [["c"]]
    assert {attr.name: attr.type for attr in desc.attrs} == {
        "n": pb.INT,
        "f": pb.FLOAT,
        "ns": pb.INTS,
        "ss": pb.STRINGS,
    }
    with pytest.raises(ValueError, match="by name"):
        method("a")
    with pytest.raises(ValueError, match="one variable"):
        method(Y=["a", "b"])
    with pytest.raises(TypeError, match="OpProto"):
        OpDescCreationMethod(3)


def test_ops_of_fluid_have_such_a_function() -> None:
    (scale,) = (proto for proto in get_all_op_protos() if proto.type == "scale")
    info = create_op_creation_method(scale)
    assert (info.name, info.outputs) == ("scale", [("Out", False)])
    assert info.method(X="a", Out="b", scale=2.0).attrs[0].f == 2.0
    assert is_str("a")
    assert not is_str(3)
