"""Write the ops of a block: find their mappings, collect those that cannot be written, pass LoDs on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fluidio.models.onnx.context import Lod, Op
from fluidio.models.onnx.graph import Graph, Value
from fluidio.models.onnx.table import RAW, Refused, load_table
from fluidio.program.block import Block
from fluidio.program.op_def import OpDef
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__ = ["Frame", "is_unwritten", "write_block", "write_ops"]

_NOT_WRITTEN = ("feed", "fetch")


class _Unwritten:
    """Stands for a value whose op was refused, so that ops depending on it are not reported as well."""


UNWRITTEN = _Unwritten()


class Frame:
    """The values of a graph by the names of Fluid's variables; a body's frame sees the enclosing ones."""

    def __init__(self, graph: Graph, parent: Frame | None = None) -> None:
        self.graph = graph
        self.parent = parent
        self.values: dict[str, Any] = {}
        self.lods: dict[str, Lod] = {}
        self.refusals: dict[str, str] = parent.refusals if parent is not None else {}

    def child(self, graph: Graph) -> Frame:
        return Frame(graph, self)

    def find(self, name: str) -> Any:
        """Return the value of a variable; None if it has none yet."""
        if name in self.values:
            return self.values[name]
        return self.parent.find(name) if self.parent is not None else None

    def lod(self, name: str) -> Lod:
        if name in self.values:
            return self.lods.get(name, ())
        return self.parent.lod(name) if self.parent is not None else ()

    def set(self, name: str, value: object, lod: Lod = ()) -> None:
        self.values[name] = value
        self.lods[name] = lod

    def held_shape(self, name: str) -> tuple[int, ...] | None:
        value = self.find(name)
        if isinstance(value, Value) and value.constant is not None:
            return tuple(value.constant.shape)
        return None

    def value(self, name: str) -> Value:
        found = self.find(name)
        if not isinstance(found, Value):
            raise Refused(f"variable {name} has no value here")
        return found


def write_block(block: Block, frame: Frame) -> None:
    """Append the nodes of all ops of a block."""
    write_ops(block.ops, frame)


def write_ops(ops: Iterable[Operator], frame: Frame) -> None:
    """Append the nodes of some ops; refusals are collected, not raised."""
    for op in ops:
        if op.type not in _NOT_WRITTEN:
            _write(op, frame)


def _write(op: Operator, frame: Frame) -> None:
    mapping = load_table().get(op.type)
    if mapping is None:
        _refuse(op, frame, "no mapping to ONNX")
        return
    if any(isinstance(frame.find(name), _Unwritten) for name in op.input_arg_names):
        _unwritten(op, frame)
        return
    try:
        _apply(op, mapping, frame)
    except Refused as error:
        _refuse(op, frame, str(error))


def _apply(op: Operator, mapping: Any, frame: Frame) -> None:
    definition = op.definition
    k = Op(frame, op)
    if op.type in RAW:
        mapping(k)
        return
    inputs = [_input(frame, op.input(slot.name), slot.many, slot.optional) for slot in definition.inputs]
    found = mapping(k, *inputs)
    outputs = list(found) if isinstance(found, tuple) else [found]
    for slot, value in zip(definition.outputs, outputs):
        names = op.output(slot.name)
        values = value if isinstance(value, list) else [value]
        for index, (name, each) in enumerate(zip(names, values)):
            if each is not None:
                frame.set(name, _described(each, op, name), _out_lod(k, definition, slot.name, index))


def _input(frame: Frame, names: list[str], many: bool, optional: bool) -> Any:
    if many:
        return [_found(frame, name) for name in names]
    if not names:
        return None
    return _found(frame, names[0]) if not optional else frame.find(names[0])


def _found(frame: Frame, name: str) -> Any:
    value = frame.find(name)
    if value is None:
        raise Refused(f"its input {name} is not fed, not saved, and computed by no op before it")
    return value


def _described(value: object, op: Operator, name: str) -> Any:
    """Give a value of unknown rank the rank that the program declares."""
    if not isinstance(value, Value) or value.rank is not None or value.many:
        return value
    var = op.block._find_var_recursive(name)
    if var is None or not var.shape:
        return value
    return Value(value.name, value.dtype, len(var.shape), value.constant)


def _out_lod(k: Op, definition: OpDef, slot: str, index: int) -> Lod:
    if slot in k.out_lods:
        given = k.out_lods[slot]
        if isinstance(given, list):
            return given[index] if index < len(given) else ()
        return given
    source = (definition.lods or {}).get(slot)
    if source is not None and not source.startswith("~"):
        return k.lod(source) if source else ()
    if definition.lod in ("none", "kernel"):
        return ()
    first = definition.inputs[0].name if definition.inputs else ""
    if first == "X":
        return k.lod("X")
    candidates = (k.lod(each.name) for each in definition.inputs)
    return next((lod for lod in candidates if lod), ())


def _refuse(op: Operator, frame: Frame, reason: str) -> None:
    where = op.output_arg_names[0] if op.output_arg_names else "no output"
    key = f"{op.type}: {reason}"
    frame.refusals.setdefault(key, where)
    _unwritten(op, frame)


def _unwritten(op: Operator, frame: Frame) -> None:
    for name in op.output_arg_names:
        frame.set(name, UNWRITTEN)


def is_unwritten(value: object) -> bool:
    return isinstance(value, _Unwritten)


def as_constant(frame: Frame, array: Array, name: str) -> Value:
    """Return a parameter as a value of the graph."""
    return frame.graph.constant(np.asarray(array), hint=name)
