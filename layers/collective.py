"""Exchange between trainers, for one trainer: what everybody has is what we have."""

from __future__ import annotations

from typing import Any

from fluidio.errors import not_supported
from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable

__all__ = []  # scripts use these as layers.collective._allreduce

_KINDS = ("sum", "prod", "max", "min")


def _copied(x: Variable, out: Variable | None = None) -> Variable:
    helper = LayerHelper("assign")
    result = helper.create_variable_for_type_inference(x.dtype) if out is None else out
    helper.append_op(type="assign", inputs={"X": [x]}, outputs={"Out": [result]})
    return result


def _check_kind(reduce_type: Any) -> None:
    if reduce_type not in _KINDS:
        raise TypeError(f"reduce type can only be {'|'.join(_KINDS)}, got {reduce_type!r}")


def _check_ranks(name: str, nranks: int) -> None:
    if nranks != 1:
        not_supported(f"layers.collective.{name} over {nranks} trainers", "train in one process (nranks=1)")


def _allreduce(x: Variable, out: Variable | None = None, reduce_type: str = "sum", sync_mode: bool = False) -> Variable:
    """Return x: the sum (product, maximum, minimum) over one trainer.

    Fluid: values were exchanged between all trainers of a job; fluidio trains in one process.
    """
    _check_kind(reduce_type)
    return _copied(x, out)


def _broadcast(x: Variable, root: int, sync_mode: bool = False) -> Variable:
    """Return x: the root is here.

    Fluid: the value came from trainer `root`; fluidio trains in one process.
    """
    return x


def _c_allreduce(
    x: Variable, out: Variable | None = None, reduce_type: str = "sum", ring_id: int = 0, use_calc_stream: bool = False
) -> Variable:
    """Return x: the sum (product, maximum, minimum) over one trainer.

    Fluid: values were exchanged between all trainers of a job; fluidio trains in one process.
    """
    _check_kind(reduce_type)
    return _copied(x, out)


def _c_broadcast(x: Variable, root: int = 0, ring_id: int = 0, use_calc_stream: bool = False) -> Variable:
    """Return x: the root is here.

    Fluid: the value came from trainer `root`; fluidio trains in one process.
    """
    return x


def _c_allgather(x: Variable, nranks: int, ring_id: int = 0, use_calc_stream: bool = False) -> Variable:
    """Return a copy of x: the rows of one trainer.

    Fluid: the rows of all trainers one behind the other; fluidio trains in one process, nranks must be 1.
    """
    _check_ranks("_c_allgather", nranks)
    return _copied(x)


def _c_reducescatter(x: Variable, nranks: int, ring_id: int = 0, use_calc_stream: bool = False) -> Variable:
    """Return a copy of x: the share of one trainer.

    Fluid: each trainer got its share of the sum; fluidio trains in one process, nranks must be 1.
    """
    _check_ranks("_c_reducescatter", nranks)
    return _copied(x)


def _c_sync_calc_stream(x: Variable) -> Variable:
    """Return x: ops run in order."""
    return x


def _c_sync_comm_stream(x: Variable, ring_id: int) -> Variable:
    """Return x: ops run in order."""
    return x
