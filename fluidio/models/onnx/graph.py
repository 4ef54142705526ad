"""Build ONNX graphs: values know their dtype and, where possible, their rank and constant."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fluidio.models.onnx.ranks import rank_of
from fluidio.tensor.array import Array, DType

__all__ = ["OPSET", "Graph", "Input", "Names", "Value"]

OPSET = 18
"""Known to ONNX Runtime since 1.14."""

_BOOL = frozenset(
    ["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Not", "Xor", "IsNaN", "IsInf"]
)
_INT64 = frozenset(["Shape", "Size", "ArgMax", "ArgMin", "NonZero", "NonMaxSuppression", "SequenceLength"])


@dataclass(frozen=True)
class Value:
    """One value of a graph.

    Attributes:
        rank: None if unknown.
        constant: the array, if it is known when the graph is built.
        many: a sequence of tensors.
    """

    name: str
    dtype: np.dtype[Any]
    rank: int | None = None
    constant: Array | None = None
    many: bool = False


Input = Value | Array | int | float | bool | Sequence[int] | None


class Names:
    """Unique names."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        self._numbers = itertools.count()

    def fresh(self, hint: str) -> str:
        name = hint
        while name in self._used or not name:
            name = f"{hint}.{next(self._numbers)}"
        self._used.add(name)
        return name


class Graph:
    """A list of nodes under construction; a child graph is the body of a loop or branch and sees its parents."""

    def __init__(self, names: Names, parent: Graph | None = None) -> None:
        self._helper: Any = importlib.import_module("onnx.helper")
        self._numpy_helper: Any = importlib.import_module("onnx.numpy_helper")
        self.names = names
        self.parent = parent
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Value] = {}

    # -- values ---------------------------------------------------------------------------------------------------

    def constant(self, array: Any, dtype: Any = None, hint: str = "const") -> Value:
        """Return an array as a value; equal small arrays are stored once, in the outermost graph."""
        if self.parent is not None:
            return self.parent.constant(array, dtype, hint)
        fixed = np.ascontiguousarray(array, dtype).reshape(np.shape(array))
        key = (fixed.dtype.str, fixed.shape, fixed.tobytes() if fixed.nbytes <= 4096 else b"")
        if fixed.nbytes <= 4096 and key in self._constants and hint == "const":
            return self._constants[key]
        value = Value(self.names.fresh(hint), fixed.dtype, fixed.ndim, fixed)
        self.initializers.append(self._numpy_helper.from_array(fixed, value.name))
        if fixed.nbytes <= 4096 and hint == "const":
            self._constants[key] = value
        return value

    def value(self, given: Input, like: Value | None = None) -> Value:
        """Return an input as a value: numbers take the dtype of `like`, lists and ints become int64."""
        if isinstance(given, Value):
            return given
        if isinstance(given, np.ndarray):
            return self.constant(given)
        if isinstance(given, bool | int | float):
            return self.constant(np.asarray(given, like.dtype if like is not None else _plain_dtype(given)))
        return self.constant(np.asarray(given, np.int64))

    # -- nodes ----------------------------------------------------------------------------------------------------

    def __call__(
        self, op_type: str, *inputs: Input, dtype: Any = None, rank: int | None = None, hint: str = "", **attrs: Any
    ) -> Value:
        """Append a node with one output and return it; numbers among the inputs take the dtype of the first value."""
        return self.node(op_type, *inputs, dtypes=[dtype], ranks=[rank], hints=[hint], **attrs)[0]

    def node(
        self,
        op_type: str,
        *inputs: Input,
        dtypes: Sequence[Any] = (None,),
        ranks: Sequence[int | None] = (),
        hints: Sequence[str] = (),
        many: Sequence[bool] = (),
        **attrs: Any,
    ) -> list[Value]:
        """Append a node with one output per dtype; a dtype of None is inferred."""
        sources = inputs[1:] if op_type == "Where" else inputs
        like = next((each for each in sources if isinstance(each, Value)), None)
        values = [None if each is None else self.value(each, like) for each in inputs]
        outputs = []
        for index, dtype in enumerate(dtypes):
            found = np.dtype(dtype) if dtype is not None else _dtype_of(op_type, values, attrs, index)
            rank = ranks[index] if index < len(ranks) else None
            rank = rank if rank is not None else rank_of(op_type, values, attrs)
            hint = (hints[index] if index < len(hints) else "") or op_type.lower()
            is_many = bool(many[index]) if index < len(many) else False
            outputs.append(Value(self.names.fresh(hint), found, rank, many=is_many))
        if attrs.get("domain"):
            raise ValueError("only the standard operators are used")
        made = {name: value for name, value in attrs.items() if value is not None}
        if op_type == "Cast":
            made["to"] = self._helper.np_dtype_to_tensor_dtype(outputs[0].dtype)
        names = ["" if value is None else value.name for value in values]
        while names and not names[-1]:
            names.pop()
        self.nodes.append(self._helper.make_node(op_type, names, [value.name for value in outputs], **made))
        return outputs

    # -- common operations ----------------------------------------------------------------------------------------

    def cast(self, value: Value, dtype: Any) -> Value:
        """Convert a value to a dtype; no node is added if it has it already."""
        wanted = np.dtype(dtype)
        if value.dtype == wanted:
            return value
        if value.constant is not None and value.constant.size <= 512:
            return self.constant(value.constant.astype(wanted))
        return self("Cast", value, dtype=wanted, rank=value.rank)

    def shape(self, value: Value) -> Value:
        return self("Shape", value)

    def dim(self, value: Value, axis: int) -> Value:
        """Return one dim as an int64 tensor of shape [1]."""
        shape = self("Shape", value, start=axis, end=axis + 1 if axis != -1 else None)
        return Value(shape.name, shape.dtype, 1)

    def rows(self, value: Value) -> Value:
        return self.dim(value, 0)

    def reshape(self, value: Value, dims: Sequence[int | Value] | Value, allowzero: bool = False) -> Value:
        """Return a value with other dims: a Value of dims, or a list of numbers and [1] Values."""
        if isinstance(dims, Value):
            return self("Reshape", value, dims, allowzero=int(allowzero) or None)
        rank = len(dims)
        if all(isinstance(dim, int) for dim in dims):
            return self("Reshape", value, np.asarray(dims, np.int64), rank=rank, allowzero=int(allowzero) or None)
        return self("Reshape", value, self.join(dims), rank=rank, allowzero=int(allowzero) or None)

    def join(self, dims: Sequence[int | Value]) -> Value:
        """Return numbers and [1] Values as one int64 tensor."""
        parts = [dim if isinstance(dim, Value) else self.constant(np.array([dim], np.int64)) for dim in dims]
        return parts[0] if len(parts) == 1 else self("Concat", *parts, axis=0, rank=1)

    def slice(self, value: Value, axis: int, start: Input, stop: Input, step: int = 1) -> Value:
        """Return a slice of one axis; start and stop are numbers or [1] Values."""
        begin = np.array([start], np.int64) if isinstance(start, int) else start
        end = np.array([stop], np.int64) if isinstance(stop, int) else stop
        return self("Slice", value, begin, end, np.array([axis], np.int64), np.array([step], np.int64))

    def unsqueeze(self, value: Value, *axes: int) -> Value:
        return self("Unsqueeze", value, np.asarray(axes, np.int64)) if axes else value

    def squeeze(self, value: Value, *axes: int) -> Value:
        return self("Squeeze", value, np.asarray(axes, np.int64))

    def scalar(self, value: Value) -> Value:
        """Return a value of one element as a scalar."""
        if value.rank == 0:
            return value
        return self("Reshape", value, np.zeros(0, np.int64), rank=0)

    def arange(self, count: Value) -> Value:
        """Return 0, 1, ... below an int64 count."""
        return self("Range", np.asarray(0), self.scalar(count), np.asarray(1), dtype=np.int64, rank=1)

    def filled(self, dims: Value, number: Any, dtype: Any) -> Value:
        """Return a tensor filled with a number; an int64 value holds its dims."""
        tensor = self._numpy_helper.from_array(np.asarray([number], dtype), "value")
        rank = dims.constant.size if dims.constant is not None else None
        return self("ConstantOfShape", dims, value=tensor, dtype=dtype, rank=rank)

    def pad(
        self,
        value: Value,
        before: Value | Sequence[int],
        after: Value | Sequence[int],
        first: int,
        count: int = 1,
        fill: object = 0,
        mode: str = "constant",
    ) -> Value:
        """Return a value with borders along `count` axes from `first` on.

        ONNX Runtime's optimizer misreads the axes input of Pad when it moves transpositions, so none is written.
        """
        if value.rank is None:
            raise ValueError("pad: the rank is not known")
        zeros = np.zeros(first, np.int64), np.zeros(value.rank - first - count, np.int64)
        parts = [zeros[0], before, zeros[1], zeros[0], after, zeros[1]]
        number = np.asarray(fill, value.dtype) if mode == "constant" else None
        if isinstance(before, Value) or isinstance(after, Value):
            pads = self("Concat", *parts, axis=0, dtype=np.int64, rank=1)
        else:
            pads = self.constant(np.concatenate([np.asarray(part, np.int64) for part in parts]))
        return self("Pad", value, pads, number, mode=mode)

    def flat(self, value: Value) -> Value:
        return self("Reshape", value, np.array([-1], np.int64), rank=1)

    def flat2(self, value: Value) -> Value:
        """Return the rows of a value as vectors."""
        return self("Flatten", value, axis=1, rank=2)

    # -- bodies ---------------------------------------------------------------------------------------------------

    def child(self) -> Graph:
        return Graph(self.names, self)

    def info(self, value: Value) -> Any:
        """Return the type of a value, for a graph's inputs and outputs."""
        element = self._helper.np_dtype_to_tensor_dtype(value.dtype)
        if value.many:
            inner = self._helper.make_tensor_type_proto(element, None)
            return self._helper.make_value_info(value.name, self._helper.make_sequence_type_proto(inner))
        shape = None if value.rank is None else [None] * value.rank
        return self._helper.make_tensor_value_info(value.name, element, shape)

    def given(self, hint: str, dtype: Any, rank: int | None = None, many: bool = False) -> Value:
        """Return a value that is an input of this body."""
        return Value(self.names.fresh(hint), np.dtype(dtype), rank, many=many)

    def body(self, name: str, inputs: Sequence[Value], outputs: Sequence[Value]) -> Any:
        """Return the GraphProto; an output that this graph did not produce itself goes through Identity."""
        made = {output for node in self.nodes for output in node.output}
        taken: set[str] = set()
        own = []
        for value in outputs:
            fresh = value.name in made and value.name not in taken
            own.append(value if fresh else self("Identity", value, rank=value.rank))
            taken.add(own[-1].name)
            if value.many and not fresh:
                own[-1] = Value(own[-1].name, value.dtype, many=True)
        return self._helper.make_graph(
            self.nodes, name, [self.info(value) for value in inputs], [self.info(value) for value in own]
        )


def _plain_dtype(given: bool | int | float) -> Any:
    return np.bool_ if isinstance(given, bool) else np.int64 if isinstance(given, int) else np.float32


def _dtype_of(op_type: str, values: Sequence[Value | None], attrs: dict[str, Any], index: int) -> DType:
    if op_type in _BOOL:
        return np.dtype(np.bool_)
    if op_type in _INT64 or (op_type in ("TopK", "MaxPool", "Unique") and index):
        return np.dtype(np.int64)
    source = values[{"Where": 1, "OneHot": 2}.get(op_type, 0)]
    if source is None:
        raise ValueError(f"{op_type}: no input to take the dtype from")
    return source.dtype
