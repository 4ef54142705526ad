"""The purpose of an op, stored in its attribute `op_role`."""

from __future__ import annotations

import enum

__all__ = ["OpRole"]


class OpRole(enum.IntFlag):
    """`core.op_proto_and_checker_maker.OpRole`."""

    Forward = 0
    Backward = 1
    Optimize = 2
    RPC = 4
    Dist = 8
    LRSched = 16
    Loss = 256
    NotSpecified = 4096

    def __repr__(self) -> str:
        return f"OpRole.{self.name}" if self in type(self).__members__.values() else f"OpRole({int(self)})"

    __str__ = __repr__
