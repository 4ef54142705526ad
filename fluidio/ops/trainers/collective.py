"""Collective ops over all trainers, in the order of their ids."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from fluidio.distributed import Communicator, Intent, declare_launched, group, signature_of
from fluidio.distributed.communicator import Reduction
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op, same_as
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GRAD_SUFFIX, GradOp
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__: list[str] = []

_RING = {"ring_id": 0, "use_calc_stream": False}
_REDUCTIONS: tuple[Reduction, ...] = ("sum", "prod", "max", "min")


def _grad_by(grad_type: str) -> Any:
    """Return the maker of a gradient that is itself a collective op."""

    def make(forward: Operator, no_grad: set[str]) -> list[GradOp]:
        (x,), (out,) = forward.input("X"), forward.output("Out")
        if x in no_grad:
            return []
        attrs = {name: value for name, value in forward.attrs.items() if not name.startswith("op_")}
        return [GradOp(grad_type, {"X": [out + GRAD_SUFFIX]}, {"Out": [x + GRAD_SUFFIX]}, attrs)]

    return make


def _meet(k: Call, array: Array) -> Communicator:
    declare_launched()
    return group().meet(Intent.COLLECTIVE, signature_of([k.op.type, array.shape, array.dtype.str]))


def _reduce(k: Call, x: Array, reduction: Reduction) -> Array:
    array = np.array(k.dev.download(x))
    _meet(k, array).all_reduce(array, reduction).wait()
    return k.dev.upload(array)


def _register_reduction(reduction: Reduction) -> None:
    name = f"c_allreduce_{reduction}"
    grad = _grad_by(name) if reduction == "sum" else False

    @op(name, "X", "Out", _RING, infer=same_as("X"), grad=grad, side_effect=True)
    def reduce(k: Call, x: Any) -> Any:
        return _reduce(k, x, reduction)


for _reduction in _REDUCTIONS:
    _register_reduction(_reduction)


def _allreduce_grad(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    if forward.attrs["reduce_type"] != 0:
        raise NotImplementedError("allreduce has a gradient only for reduce_type 0, the sum")
    found: list[GradOp] = _grad_by("allreduce")(forward, no_grad)
    return found


@op(
    "allreduce",
    "X",
    "Out",
    {"reduce_type": 0, "sync_mode": False},
    infer=same_as("X"),
    grad=_allreduce_grad,
    side_effect=True,
)
def allreduce(k: Call, x: Array) -> Array:
    """Sum (0), multiply (1), or take the largest (2) or smallest (3) over all trainers."""
    return _reduce(k, x, _REDUCTIONS[k.attrs["reduce_type"]])


@op("c_broadcast", "X", "Out", {**_RING, "root": 0}, infer=same_as("X"), grad=False, side_effect=True)
def c_broadcast(k: Call, x: Array) -> Array:
    """Return the value of trainer `root`."""
    array = np.array(k.dev.download(x))
    trainers = _meet(k, array)
    ids = [member.trainer for member in trainers.members]
    if k.attrs["root"] not in ids:
        raise EnforceNotMet(f"root must be the id of a trainer, one of {ids}; got {k.attrs['root']}")
    trainers.broadcast(array, ids.index(k.attrs["root"])).wait()
    return k.dev.upload(array)


op("broadcast", "X", "Out", {"root": 0, "sync_mode": False}, infer=same_as("X"), grad=False, side_effect=True)(
    c_broadcast
)


def _check_ranks(k: Call, trainers: Communicator) -> None:
    if k.attrs["nranks"] != len(trainers.members):
        raise EnforceNotMet(f"nranks is {k.attrs['nranks']}, but there are {len(trainers.members)} trainers")


def _infer_gathered(c: InferContext) -> None:
    first, *rest = c.shape("X")
    c.set("Out", (first * c.attrs["nranks"] if first > 0 else first, *rest), c.dtype("X"))


@op(
    "c_allgather",
    "X",
    "Out",
    {**_RING, "nranks": 1},
    infer=_infer_gathered,
    grad=_grad_by("c_reducescatter"),
    lod="none",
    side_effect=True,
)
def c_allgather(k: Call, x: Any) -> Any:
    """Return the rows of all trainers, joined in order."""
    array = np.ascontiguousarray(k.dev.download(x))
    trainers = _meet(k, array)
    _check_ranks(k, trainers)
    return k.dev.upload(trainers.all_gather(array).reshape(-1, *array.shape[1:]))


def _infer_scattered(c: InferContext) -> None:
    first, *rest = c.shape("X")
    c.set("Out", (first // c.attrs["nranks"] if first > 0 else first, *rest), c.dtype("X"))


@op(
    "c_reducescatter",
    "X",
    "Out",
    {**_RING, "nranks": 1},
    infer=_infer_scattered,
    grad=_grad_by("c_allgather"),
    lod="none",
    side_effect=True,
)
def c_reducescatter(k: Call, x: Any) -> Any:
    """Return this trainer's share of the rows of the sum over all trainers."""
    array = np.array(k.dev.download(x))
    trainers = _meet(k, array)
    _check_ranks(k, trainers)
    if len(array) % len(trainers.members):
        raise EnforceNotMet(f"{len(array)} rows cannot be divided among {len(trainers.members)} trainers")
    trainers.all_reduce(array).wait()
    share = len(array) // len(trainers.members)
    return k.dev.upload(array[trainers.rank * share : (trainers.rank + 1) * share].copy())


def _register_nothing(name: str, attrs: dict[str, Any]) -> None:
    @op(name, "X", "Out", attrs, infer=same_as("X"), grad=False)
    def nothing(k: Call, x: Array) -> Array:
        return cast("Any", x)


_register_nothing("c_sync_calc_stream", {})
_register_nothing("c_sync_comm_stream", {"ring_id": 0})
