"""Arrays of tensors: write, read, length, and joining one into a tensor.

The gradients of all reads add to one gradient array; the gradient of a write removes its entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.ops.frame import Frame
from fluidio.ops.kernel import Call
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp, grad_name
from fluidio.program.operator import Operator
from fluidio.tensor import LoDTensor, LoDTensorArray

__all__ = ["EndedGradients", "accumulate", "add_entry", "array_at", "as_index"]


class EndedGradients(LoDTensorArray):
    """The gradients of an array that a loop reads and writes, when something behind the loop reads it, too.

    Fluid: an iteration replaces entries that are there, and doubles those, as they are added to themselves.
    """

    __slots__ = ("_there", "replaces")

    def __init__(self, items: list[LoDTensor], replaces: bool) -> None:
        super().__init__(items)
        self.replaces = replaces
        self._there: set[int] = set()

    def begin(self) -> list[int]:
        """Note which entries are there before an iteration."""
        there = [index for index, item in enumerate(self.items) if item.array is not None]
        self._there = set(there)
        return there

    def is_replaced(self, index: int) -> bool:
        """Return whether a gradient replaces an entry; the next one is added to it."""
        found = self.replaces and index in self._there
        self._there.discard(index)
        return found

    def double(self, indices: list[int]) -> None:
        for index in indices:
            item = self.items[index]
            if item.array is not None:
                self.items[index] = LoDTensor.wrap(item.array + item.array, item.levels)


def as_index(k: Call, f: Frame, slot: str = "I") -> int:
    """Return the number in a one-element input."""
    value = f.values[k.ins[slot][0]]
    if value is None:
        raise EnforceNotMet(f"input {slot} ({k.op.input(slot)[0]}) has no value yet")
    return int(k.dev.download(value).reshape(-1)[0])


def array_at(f: Frame, position: int) -> LoDTensorArray:
    """Return the array in a slot of the frame, creating one if there is none."""
    array = f.values[position]
    if array is None:
        array = LoDTensorArray()
        f.set(position, array)
    if not isinstance(array, LoDTensorArray):
        raise EnforceNotMet(f"{f.plan.name_of(position)} must be an array of tensors, it is {type(array).__name__}")
    return array


def add_entry(array: LoDTensorArray, index: int, value: Any, lod: Any) -> None:
    """Add to an entry of a gradient array."""
    _grow(array, index)
    held = array.items[index]
    if held.array is None or (isinstance(array, EndedGradients) and array.is_replaced(index)):
        array.items[index] = LoDTensor.wrap(value, lod)
    else:
        array.items[index] = LoDTensor.wrap(held.array + value, held.levels)


def accumulate(f: Frame, position: int, items: list[LoDTensor]) -> None:
    """Add a whole array to the gradient array in a slot."""
    array = array_at(f, position)
    for index, item in enumerate(items):
        if item.array is not None:
            add_entry(array, index, item.array, item.levels)


def _grow(array: LoDTensorArray, index: int) -> None:
    if index < 0:
        raise EnforceNotMet(f"the index of an array must not be negative, got {index}")
    while len(array.items) <= index:
        array.items.append(LoDTensor())


def _infer_write(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", x.shape, x.dtype, None, type=VarType.LOD_TENSOR_ARRAY)


def _write_grad_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {"X": [x], "I": list(forward.input("I")), "Out@GRAD": [grad_name(forward.output("Out")[0])]}
    return [GradOp("write_to_array_grad", inputs, {"X@GRAD": [grad_name(x)]})]


@op("write_to_array", "X I", "Out", infer=_infer_write, grad=_write_grad_maker, lod="kernel", raw=True)
def write_to_array(k: Call, f: Frame) -> None:
    """Out[I] = X; the array grows as needed."""
    index, source = as_index(k, f), k.ins["X"][0]
    if f.values[source] is None:
        raise EnforceNotMet(f"input X ({k.op.input('X')[0]}) has no value yet")
    array = array_at(f, k.outs["Out"][0])
    _grow(array, index)
    array.items[index] = f.tensor(source)


def _infer_write_grad(c: InferContext) -> None:
    c.same("X@GRAD", "X")


@op("write_to_array_grad", "X I Out@GRAD?", "X@GRAD", infer=_infer_write_grad, grad=False, raw=True)
def write_to_array_grad(k: Call, f: Frame) -> None:
    """X@GRAD = the entry of the array's gradient, which is removed."""
    index, source = as_index(k, f), k.ins["X"][0]
    array = f.values[k.ins["Out@GRAD"][0]]
    entry = array.items[index] if array is not None and index < len(array.items) else None
    if array is None or entry is None or entry.array is None:
        f.set(k.outs["X@GRAD"][0], k.xp.zeros_like(f.values[source]), f.lods[source])
        return
    f.set(k.outs["X@GRAD"][0], entry.array, f.lods[source])
    array.items[index] = LoDTensor()


def _infer_read(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", x.shape or (0,), x.dtype)


def _read_grad_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {"I": list(forward.input("I")), "Out@GRAD": [grad_name(forward.output("Out")[0])]}
    return [GradOp("read_from_array_grad", inputs, {"X@GRAD": [grad_name(x)]})]


@op("read_from_array", "X I X_W?", "Out", infer=_infer_read, grad=_read_grad_maker, raw=True)
def read_from_array(k: Call, f: Frame) -> None:
    """Out = X[I]."""
    index, array = as_index(k, f), f.values[k.ins["X"][0]]
    name = k.op.input("X")[0]
    if not isinstance(array, LoDTensorArray):
        raise EnforceNotMet(f"input X ({name}) is not an array yet: call array_write first")
    if not 0 <= index < len(array.items) or array.items[index].array is None:
        raise EnforceNotMet(
            f"entry {index} of the array {name} was never written; the array has {len(array.items)} entries"
        )
    item = array.items[index]
    f.set(k.outs["Out"][0], item.array, item.levels)


@op("read_from_array_grad", "I Out@GRAD?", "X@GRAD", infer=None, grad=False, raw=True)
def read_from_array_grad(k: Call, f: Frame) -> None:
    """X@GRAD[I] += Out@GRAD."""
    source = k.ins["Out@GRAD"][0]
    array = array_at(f, k.outs["X@GRAD"][0])
    if f.values[source] is not None:
        add_entry(array, as_index(k, f), f.values[source], f.lods[source])


def _infer_length(c: InferContext) -> None:
    c.set("Out", (1,), VarType.INT64, 0)


@op("lod_array_length", "X", "Out", infer=_infer_length, grad=False, raw=True)
def lod_array_length(k: Call, f: Frame) -> None:
    """Out = the number of entries of an array."""
    array = f.values[k.ins["X"][0]]
    count = 0 if array is None else len(array.items)
    f.set(k.outs["Out"][0], k.dev.upload(np.array([count], np.int64)))


# -- joining -------------------------------------------------------------------------------------------------------


def _infer_join(c: InferContext) -> None:
    shape, axis = list(c.shape("X")), c.attrs["axis"]
    if shape:
        shape = [*shape[:axis], -1, *shape[axis if c.attrs["use_stack"] else axis + 1 :]]
    c.set("Out", shape, c.dtype("X"), 0, type=VarType.LOD_TENSOR)
    c.set("OutIndex", dtype=VarType.INT32)


def _join_grad_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    inputs = {"OutIndex": list(forward.output("OutIndex")), "Out@GRAD": [grad_name(forward.output("Out")[0])]}
    attrs = {"axis": forward.attr("axis"), "use_stack": forward.attr("use_stack")}
    return [GradOp("tensor_array_to_tensor_grad", inputs, {"X@GRAD": [grad_name(x)]}, attrs)]


@op(
    "tensor_array_to_tensor",
    "X",
    "Out OutIndex",
    {"axis": 0, "use_stack": False},
    infer=_infer_join,
    grad=_join_grad_maker,
    raw=True,
)
def tensor_array_to_tensor(k: Call, f: Frame) -> None:
    """Out = all entries joined (or stacked) along axis; OutIndex = the size of each along it."""
    array = f.values[k.ins["X"][0]]
    if array is None or not array.items:
        raise EnforceNotMet(f"the array {k.op.input('X')[0]} is empty, so there is nothing to join")
    axis = k.attrs["axis"]
    parts = [item.array for item in array.items]
    missing = [i for i, part in enumerate(parts) if part is None]
    if missing:
        raise EnforceNotMet(f"entry {missing[0]} of the array {k.op.input('X')[0]} was never written")
    if k.attrs["use_stack"]:
        out = k.xp.stack(parts, axis=axis)
    else:
        out = k.xp.concatenate(parts, axis=axis)
    sizes = [part.shape[axis] if axis < part.ndim else 0 for part in parts]  # Fluid: of stacked entries, too
    f.set(k.outs["Out"][0], out)
    f.set(k.outs["OutIndex"][0], k.dev.upload(np.array(sizes, np.int32)))


@op(
    "tensor_array_to_tensor_grad",
    "OutIndex Out@GRAD",
    "X@GRAD",
    {"axis": 0, "use_stack": False},
    infer=None,
    grad=False,
    raw=True,
)
def tensor_array_to_tensor_grad(k: Call, f: Frame) -> None:
    """X@GRAD[i] += the part of Out@GRAD that entry i became."""
    axis = k.attrs["axis"]
    dout = f.values[k.ins["Out@GRAD"][0]]
    sizes = np.asarray(k.dev.download(f.values[k.ins["OutIndex"][0]]))
    if k.attrs["use_stack"]:
        sizes = np.ones_like(sizes)
    parts = list(k.xp.split(dout, np.cumsum(sizes)[:-1].tolist(), axis=axis))
    if k.attrs["use_stack"]:
        parts = [k.xp.squeeze(part, axis=axis) for part in parts]
    accumulate(f, k.outs["X@GRAD"][0], [LoDTensor.wrap(part) for part in parts])
