"""`framework_pb2.VarType`: the numbers of types, and the TensorDesc at the head of a parameter file."""

from __future__ import annotations

from fluidio import dtypes
from fluidio.errors import EnforceNotMet
from fluidio.program.wire import Message, signed, varint_field

__all__ = ["VarType"]


class TensorDesc:
    """Dtype and dims of a tensor."""

    def __init__(self, data_type: int = 0, dims: list[int] | None = None) -> None:
        self.data_type = data_type
        self.dims = list(dims or [])

    def ParseFromString(self, serialized: bytes) -> int:
        """Read the message from bytes."""
        found: int | None = None
        dims: list[int] = []
        for number, value in Message(bytes(serialized), "the TensorDesc").fields():
            if number == 1 and isinstance(value, int):
                found = value
            elif number == 2:
                dims += [signed(v) for v in (value.varints() if isinstance(value, Message) else [int(value)])]
        if found is None:
            raise EnforceNotMet("cannot parse the TensorDesc: it names no data type")
        self.data_type, self.dims = found, dims
        return len(serialized)

    def SerializeToString(self) -> bytes:
        """Return the message as bytes."""
        return varint_field(1, self.data_type) + b"".join(varint_field(2, dim) for dim in self.dims)


class VarType:
    """`framework_pb2.VarType`."""

    TensorDesc = TensorDesc


for _kind in dtypes.VarType:
    setattr(VarType, _kind.name, int(_kind))
