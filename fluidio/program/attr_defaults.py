"""Attributes that Fluid 1.8.5 writes on every op, with their defaults.

It needs them mainly on gradient ops, which have no defaults of their own there and take those of the forward op.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fluidio.program.op_proto import OpProto, find_proto

if TYPE_CHECKING:
    from fluidio.program.operator import Operator

__all__ = ["full_attrs"]


def full_attrs(op: Operator) -> dict[str, Any]:
    """Return the attributes of an op as 1.8.5 would write them: its own, and the defaults of the others."""
    if not op.has_defaults:
        return dict(op.attrs)
    proto = find_proto(op.type)
    stack = [] if op.site is None else ['  File "{}", line {}, in {}\n'.format(*op.site)]
    common = {"op_role": 0, "op_role_var": [], "op_namescope": "/", "op_device": "", "op_callstack": stack}
    own = op.attrs if proto is None else {n: v for n, v in op.attrs.items() if not _is_later(op, proto, n, v)}
    return {**(proto.defaults() if proto else {}), **common, **own}


def _is_later(op: Operator, proto: OpProto, name: str, value: object) -> bool:
    """Return whether this is an attribute that later versions gave the op, left at its default."""
    defaults = op.definition.attrs
    return name in defaults and value == defaults[name] and all(attr.name != name for attr in proto.attrs)
