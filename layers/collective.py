"""Exchange between trainers: reductions, gathering and broadcasts as ops."""

from __future__ import annotations

from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable, unique_name
from fluidio.program.arguments import Attrs

__all__ = []  # scripts use these as layers.collective._allreduce

_KINDS = ("sum", "prod", "max", "min")


def _append(op_type: str, x: Variable, out: Variable | None, attrs: Attrs) -> Variable:
    helper = LayerHelper(op_type)
    if out is None:
        name = unique_name.generate_with_ignorable_key(f"{x.name}.{op_type if op_type[1] == '_' else 'tmp'}")
        out = helper.create_variable(name=name, dtype=x.dtype, shape=x.shape, persistable=False)
    helper.append_op(type=op_type, inputs={"X": [x]}, outputs={"Out": [out]}, attrs=attrs)
    return out


def _check_kind(reduce_type: object) -> None:
    if reduce_type not in _KINDS:
        raise TypeError(f"reduce_type must be one of {', '.join(_KINDS)}, got {reduce_type!r}")


def _allreduce(x: Variable, out: Variable | None = None, reduce_type: str = "sum", sync_mode: bool = False) -> Variable:
    """Return the sum (product, maximum, minimum) of x over all trainers."""
    _check_kind(reduce_type)
    return _append("allreduce", x, out, {"reduce_type": _KINDS.index(reduce_type), "sync_mode": sync_mode})


def _broadcast(x: Variable, root: int, sync_mode: bool = False) -> Variable:
    """Set x to the value of trainer `root`."""
    return _append("broadcast", x, x, {"root": root, "sync_mode": sync_mode})


def _c_allreduce(
    x: Variable, out: Variable | None = None, reduce_type: str = "sum", ring_id: int = 0, use_calc_stream: bool = False
) -> Variable:
    """Return the sum (product, maximum, minimum) of x over all trainers."""
    _check_kind(reduce_type)
    return _append(f"c_allreduce_{reduce_type}", x, out, {"ring_id": ring_id, "use_calc_stream": use_calc_stream})


def _c_broadcast(x: Variable, root: int = 0, ring_id: int = 0, use_calc_stream: bool = False) -> Variable:
    """Set x to the value of trainer `root`."""
    return _append("c_broadcast", x, x, {"root": root, "ring_id": ring_id, "use_calc_stream": use_calc_stream})


def _c_allgather(x: Variable, nranks: int, ring_id: int = 0, use_calc_stream: bool = False) -> Variable:
    """Return the rows of all trainers, joined in order."""
    attrs = {"nranks": nranks, "ring_id": ring_id, "use_calc_stream": use_calc_stream}
    return _append("c_allgather", x, None, attrs)


def _c_reducescatter(x: Variable, nranks: int, ring_id: int = 0, use_calc_stream: bool = False) -> Variable:
    """Return this trainer's share of the rows of the sum over all trainers."""
    if not isinstance(x, Variable):
        raise TypeError(f"_c_reducescatter: x must be a Variable, got {type(x).__name__}")
    if x.shape[0] > 0 and x.shape[0] % nranks:
        raise ValueError(f"_c_reducescatter: the {x.shape[0]} rows of x cannot be divided among {nranks} trainers")
    attrs = {"nranks": nranks, "ring_id": ring_id, "use_calc_stream": use_calc_stream}
    return _append("c_reducescatter", x, None, attrs)


def _c_sync_calc_stream(x: Variable) -> Variable:
    """Return x: ops run in order."""
    return _append("c_sync_calc_stream", x, x, {})


def _c_sync_comm_stream(x: Variable, ring_id: int) -> Variable:
    """Return x: ops run in order."""
    return _append("c_sync_comm_stream", x, x, {"ring_id": ring_id})
