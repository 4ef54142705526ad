"""Exchange gradients and initial parameters with the other trainers: the mean over all replaces each trainer's own.

Fluid: trainers had ops that sent gradients to parameter servers and received parameters; here every trainer applies
the mean gradient itself.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidio.distributed import Communicator, Intent, Membership, Work, group, serve
from fluidio.distributed.nccl import Nccl, nccl_of
from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.ops.trainers.served import served_values
from fluidio.program.consent import check_consent
from fluidio.tensor import SelectedRows
from fluidio.tensor.add_rows import add_rows
from fluidio.tensor.array import Array

__all__ = ["summed"]


@dataclass
class _UnderWay:
    """A bucket of gradients in transit."""

    communicator: Communicator
    flat: Any
    work: Work
    shapes: list[tuple[int, ...]]
    dtype: Any


@op("exchange_announce", "", "", {"signature": 0}, infer=None, grad=False, raw=True, side_effect=True)
def exchange_announce(k: Call, frame: Any) -> None:
    """Tell the others that gradients will follow, while backward computes them."""
    group().announce(Intent.STEP, k.attrs["signature"])


@op(
    "exchange_start",
    "X*",
    "Handle",
    {"signature": 0, "is_first": False, "half": False, "shapes": []},
    infer=None,
    grad=False,
    lod="none",
    side_effect=True,
)
def exchange_start(k: Call, gradients: list[Array]) -> Any:
    """Start summing gradients over all trainers, in one buffer."""
    trainers = _meet(k) if k.attrs["is_first"] else group().communicator
    shapes = k.state.get("shapes") or k.state.setdefault("shapes", _parse_shapes(k.attrs["shapes"]))
    nccl = nccl_of(trainers, k.dev) if k.dev.is_gpu and len(trainers.members) > 1 else None
    if nccl is not None:
        return _start_on_gpu(k, trainers, nccl, gradients, shapes)
    downloaded = [k.dev.download(g) if hasattr(g, "dtype") else g for g in gradients]
    flat = _flatten(downloaded, shapes, len(trainers.members))
    dtype = flat.dtype
    if k.attrs["half"] and dtype == np.float32:
        flat = flat.astype(np.float16)
    return _UnderWay(trainers, flat, trainers.all_reduce(flat), shapes, dtype)


def _start_on_gpu(
    k: Call, trainers: Communicator, nccl: Nccl, gradients: list[Array], shapes: list[tuple[int, ...]]
) -> _UnderWay:
    """Start summing gradients on the device."""
    dtype = next((g.dtype for g in gradients if g is not None), np.dtype(np.float32))
    zeros = [k.xp.zeros(math.prod(shape), dtype) if g is None else None for g, shape in zip(gradients, shapes)]
    flat = k.xp.concatenate([g.reshape(-1) if zero is None else zero for g, zero in zip(gradients, zeros)])
    flat *= dtype.type(1 / len(trainers.members))
    if k.attrs["half"] and dtype == np.float32:
        flat = flat.astype(np.float16)
    return _UnderWay(trainers, flat, nccl.all_reduce(flat), shapes, dtype)


@op("exchange_wait", "Handle", "Out*", infer=None, grad=False, lod="none", side_effect=True)
def exchange_wait(k: Call, under_way: _UnderWay) -> list[Array]:
    """Wait for the mean gradients and return them."""
    under_way.work.wait()
    return _unflatten(k.dev.upload(under_way.flat.astype(under_way.dtype, copy=False)), under_way.shapes)


@op(
    "exchange_rows",
    "X*",
    "Out*",
    {"signature": 0, "is_first": False},
    infer=None,
    grad=False,
    lod="none",
    side_effect=True,
)
def exchange_rows(k: Call, gradients: list[SelectedRows]) -> list[SelectedRows]:
    """Return sparse gradients with the rows of all trainers, divided by the number of trainers; none becomes dense."""
    trainers = _meet(k) if k.attrs["is_first"] else group().communicator
    counts = trainers.all_gather(np.array([len(g.index) for g in gradients], np.int64))
    return [_gather_rows(k, trainers, g, counts[:, i]) for i, g in enumerate(gradients)]


def _gather_rows(k: Call, trainers: Communicator, gradient: SelectedRows, counts: Array) -> SelectedRows:
    index = np.asarray(k.dev.download(gradient.index), np.int64)
    value = np.ascontiguousarray(k.dev.download(gradient.value))
    rows = trainers.all_gather(_padded(index, counts.max()))
    values = trainers.all_gather(_padded(value, counts.max()))
    everyones = np.concatenate([part[:count] for part, count in zip(rows, counts)])
    mean = np.concatenate([part[:count] for part, count in zip(values, counts)])
    mean *= mean.dtype.type(1 / len(trainers.members))
    rows, sums = summed(everyones, mean)
    return SelectedRows(k.dev.upload(rows), gradient.height(), k.dev.upload(sums))


def summed(rows: Array, values: Array) -> tuple[Array, Array]:
    """Return each row once, in ascending order, with the sum of its values, like `sum` on Fluid's servers."""
    unique, inverse = np.unique(rows, return_inverse=True)
    sums = np.zeros((unique.size, *values.shape[1:]), values.dtype)
    add_rows(sums, inverse.reshape(-1), values)
    return unique, sums


def _padded(array: Array, length: int) -> Array:
    """Return an array of this length; the padding is never read."""
    if len(array) == length:
        return np.ascontiguousarray(array)
    longer = np.zeros((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@op("exchange_mean", "X*", "Out*", {"signature": 0}, infer=None, grad=False, lod="none", side_effect=True)
def exchange_mean(k: Call, values: list[Array]) -> list[Array]:
    """Return the mean of each value over all trainers."""
    trainers = _meet(k)
    if len(trainers.members) == 1:
        return values
    arrays = [k.dev.download(value) for value in values]
    found: dict[int, Array] = {}
    for dtype in sorted({array.dtype.str for array in arrays}):
        alike = [index for index, array in enumerate(arrays) if array.dtype.str == dtype]
        shapes = [arrays[index].shape for index in alike]
        flat = _flatten([arrays[index] for index in alike], shapes, len(trainers.members))
        trainers.all_reduce(flat).wait()
        found.update(zip(alike, _unflatten(flat, shapes)))
    return [k.dev.upload(found[index]) for index in range(len(values))]


@op("exchange_first", "X*", "Out*", {"signature": 0}, infer=None, grad=False, lod="none", side_effect=True)
def exchange_first(k: Call, values: list[Array]) -> list[Array]:
    """Return the first trainer's values, so that all start from the same ones."""
    trainers = _meet(k, Intent.BROADCAST)
    if len(trainers.members) == 1:
        return values
    return _of_the_first(k, trainers, served_values(k, trainers.take_model(), values))


def _of_the_first(k: Call, trainers: Communicator, values: list[Array]) -> list[Array]:
    arrays = [np.array(k.dev.download(value)) for value in values]
    for dtype in sorted({array.dtype.str for array in arrays}):
        alike = [array for array in arrays if array.dtype.str == dtype]
        flat = np.concatenate([array.reshape(-1) for array in alike])
        trainers.broadcast(flat, 0).wait()
        for array, part in zip(alike, np.split(flat, np.cumsum([array.size for array in alike])[:-1])):
            array[...] = part.reshape(array.shape)
    return [k.dev.upload(array) for array in arrays]


@op("exchange_agree", "X*", "Out*", {"signature": 0}, infer=None, grad=False, lod="none", side_effect=True)
def exchange_agree(k: Call, values: list[Array]) -> list[Array]:
    """In the first step, return the first trainer's values if the trainers differ; later, the given values.

    They differ if the startup program ran before it was shared, or if only one of them has loaded a model.
    """
    program = k.op.block.program
    if program._trainers_agree:
        return values
    program._trainers_agree = True
    trainers = _meet(k, Intent.AGREE)
    if len(trainers.members) == 1 or any(value is None for value in values):
        return values
    values = served_values(k, trainers.take_model(), values)
    mine = 0
    for value in values:
        mine = zlib.crc32(np.ascontiguousarray(k.dev.download(value)).reshape(-1).view(np.uint8).data, mine)
    everyones = trainers.all_gather(np.array([mine], np.int64))
    return values if (everyones == mine).all() else _of_the_first(k, trainers, values)


@op(
    "listen_and_serv",
    "",
    "",
    {"endpoint": "127.0.0.1:6164", "endpoints": [], "trainers": 1, "model": ""},
    infer=None,
    grad=False,
    raw=True,
    side_effect=True,
)
def listen_and_serv(k: Call, frame: Any) -> None:
    """Act as a parameter server, which holds nothing here, until the trainers have ended.

    The first trainer loads the model that a script loads on servers from the folder `model`.
    """
    endpoints = tuple(k.attrs["endpoints"])
    endpoint = k.attrs["endpoint"]
    check_consent(k.op, f"listen at {endpoint}")
    if endpoint not in endpoints:
        raise EnforceNotMet(
            f"no parameter server has the endpoint {endpoint!r}; the servers are {', '.join(endpoints)}"
        )
    serve(Membership(-1, k.attrs["trainers"], endpoints, endpoint, endpoints.index(endpoint)), k.attrs["model"])


def _meet(k: Call, intent: Intent = Intent.STEP) -> Communicator:
    return group().meet(intent, k.attrs["signature"])


def _parse_shapes(numbers: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the shapes in a list of [rank, dim, dim, ..., rank, dim, ...]."""
    shapes, position = [], 0
    while position < len(numbers):
        end = position + 1 + numbers[position]
        shapes.append(tuple(numbers[position + 1 : end]))
        position = end
    return shapes


def _flatten(gradients: Sequence[Array], shapes: Sequence[tuple[int, ...]], members: int) -> Array:
    """Return gradients divided by the number of members, in one new buffer.

    A gradient not computed in this step counts as 0.
    """
    dtype = next((g.dtype for g in gradients if g is not None), np.dtype(np.float32))
    share = dtype.type(1 / members)
    sizes = [math.prod(shape) for shape in shapes]
    flat, end = np.empty(sum(sizes), dtype), 0
    for gradient, size in zip(gradients, sizes):
        part, end = flat[end : end + size], end + size
        if gradient is None:
            part.fill(0)
        else:
            np.multiply(gradient.reshape(-1), share, out=part)
    return flat


def _unflatten(flat: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Return the parts of `flat` in their shapes."""
    parts, end = [], 0
    for shape in shapes:
        begin, end = end, end + math.prod(shape)
        parts.append(flat[begin:end].reshape(shape))
    return parts
