"""`framework_pb2`: programs as protobuf messages, for code that reads and writes `__model__` files itself."""

from __future__ import annotations

import enum

from fluidio import dtypes
from fluidio.program.op_proto import AttrType as _AttrType
from fluidio.proto.messages import EnumNames, Field, message

__all__ = ["BlockDesc", "OpDesc", "OpProto", "ProgramDesc", "VarDesc", "VarType", "Version"]


class _Attr(enum.IntEnum):
    INT = 0
    FLOAT = 1
    STRING = 2
    INTS = 3
    FLOATS = 4
    STRINGS = 5
    BOOLEAN = 6
    BOOLEANS = 7
    BLOCK = 8
    LONG = 9
    BLOCKS = 10
    LONGS = 11


class _Compatible(enum.IntEnum):
    COMPATIBLE = 0
    DEFINITELY_NOT = 1
    POSSIBLE = 2
    BUG_FIX = 3
    PRECISION_CHANGE = 4


AttrType = EnumNames(_AttrType, lambda kind: kind.proto_name)
INT, FLOAT, STRING, INTS, FLOATS, STRINGS = range(6)
BOOLEAN, BOOLEANS, BLOCK, LONG, BLOCKS, LONGS = range(6, 12)

Version = message("Version", Field("version", 1, int, bits=64))

_OpVar = message("Var", Field("parameter", 1, str, "required"), Field("arguments", 2, str, "repeated"))
_OpAttr = message(
    "Attr",
    Field("name", 1, str, "required"),
    Field("type", 2, _Attr, "required"),
    Field("i", 3, int),
    Field("f", 4, float),
    Field("s", 5, str),
    Field("ints", 6, int, "repeated"),
    Field("floats", 7, float, "repeated"),
    Field("strings", 8, str, "repeated"),
    Field("b", 10, bool),
    Field("bools", 11, bool, "repeated"),
    Field("block_idx", 12, int),
    Field("l", 13, int, bits=64),
    Field("blocks_idx", 14, int, "repeated"),
    Field("longs", 15, int, "repeated", bits=64),
)
OpDesc = message(
    "OpDesc",
    Field("inputs", 1, _OpVar, "repeated"),
    Field("outputs", 2, _OpVar, "repeated"),
    Field("type", 3, str, "required"),
    Field("attrs", 4, _OpAttr, "repeated"),
    Field("is_target", 5, bool),
    Var=_OpVar,
    Attr=_OpAttr,
)

_ProtoVar = message(
    "Var",
    Field("name", 1, str, "required"),
    Field("comment", 2, str, "required"),
    Field("duplicable", 3, bool),
    Field("intermediate", 4, bool),
    Field("dispensable", 5, bool),
)
_ProtoAttr = message(
    "Attr",
    Field("name", 1, str, "required"),
    Field("type", 2, _Attr, "required"),
    Field("comment", 3, str, "required"),
    Field("generated", 4, bool),
)
OpProto = message(
    "OpProto",
    Field("type", 1, str, "required"),
    Field("inputs", 2, _ProtoVar, "repeated"),
    Field("outputs", 3, _ProtoVar, "repeated"),
    Field("attrs", 4, _ProtoAttr, "repeated"),
    Field("comment", 5, str, "required"),
    Var=_ProtoVar,
    Attr=_ProtoAttr,
)

TensorDesc = message(
    "TensorDesc", Field("data_type", 1, dtypes.VarType, "required"), Field("dims", 2, int, "repeated", bits=64)
)
_LoDTensorDesc = message("LoDTensorDesc", Field("tensor", 1, TensorDesc, "required"), Field("lod_level", 2, int))
_LoDTensorArrayDesc = message(
    "LoDTensorArrayDesc", Field("tensor", 1, TensorDesc, "required"), Field("lod_level", 2, int)
)
_ReaderDesc = message("ReaderDesc", Field("lod_tensor", 1, _LoDTensorDesc, "repeated"))
_Tuple = message("Tuple", Field("element_type", 1, dtypes.VarType, "repeated"))
VarType = message(
    "VarType",
    Field("type", 1, dtypes.VarType, "required"),
    Field("selected_rows", 2, TensorDesc),
    Field("lod_tensor", 3, _LoDTensorDesc),
    Field("tensor_array", 4, _LoDTensorArrayDesc),
    Field("reader", 5, _ReaderDesc),
    Field("tuple", 7, _Tuple),
    TensorDesc=TensorDesc,
    LoDTensorDesc=_LoDTensorDesc,
    LoDTensorArrayDesc=_LoDTensorArrayDesc,
    ReaderDesc=_ReaderDesc,
    Tuple=_Tuple,
    Type=EnumNames(dtypes.VarType),
    **{kind.name: int(kind) for kind in dtypes.VarType},
)
VarDesc = message(
    "VarDesc",
    Field("name", 1, str, "required"),
    Field("type", 2, VarType, "required"),
    Field("persistable", 3, bool),
    Field("need_check_feed", 4, bool),
)
BlockDesc = message(
    "BlockDesc",
    Field("idx", 1, int, "required"),
    Field("parent_idx", 2, int, "required"),
    Field("vars", 3, VarDesc, "repeated"),
    Field("ops", 4, OpDesc, "repeated"),
    Field("forward_block_idx", 5, int, default=-1),
)

CompatibleInfo = message(
    "CompatibleInfo",
    Field("version", 1, str, "required"),
    Field("type", 2, _Compatible, "required"),
    Type=EnumNames(_Compatible),
    **{kind.name: int(kind) for kind in _Compatible},
)
_OpCompatiblePair = message(
    "OpCompatiblePair", Field("op_name", 1, str, "required"), Field("compatible_info", 2, CompatibleInfo, "required")
)
OpCompatibleMap = message(
    "OpCompatibleMap",
    Field("pair", 1, _OpCompatiblePair, "repeated"),
    Field("default_required_version", 2, str),
    OpCompatiblePair=_OpCompatiblePair,
)
ProgramDesc = message(
    "ProgramDesc",
    Field("blocks", 1, BlockDesc, "repeated"),
    Field("op_compatible_map", 3, OpCompatibleMap),
    Field("version", 4, Version),
)
