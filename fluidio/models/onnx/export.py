"""Convert a program and its parameters to an ONNX model.

A variable with a LoD becomes its flat data, as in Fluid, and one int64 tensor of offsets for each level, called
`NAME.lod0`, `NAME.lod1`, ...: these follow all data inputs, or all data outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fluidio.dtypes import VarType, to_numpy
from fluidio.errors import ModelError, missing_dependency
from fluidio.models.onnx.blocks import Frame, as_constant, is_unwritten, write_block
from fluidio.models.onnx.cleanup import without_unused
from fluidio.models.onnx.graph import OPSET, Graph, Names, Value
from fluidio.program import Program, Variable
from fluidio.version import __version__

__all__ = ["lod_name", "onnx_package", "to_onnx"]


def onnx_package() -> Any:
    try:
        import onnx
    except ImportError:
        raise missing_dependency("onnx", "onnx", "writing ONNX models") from None
    return onnx


def lod_name(name: str, level: int) -> str:
    """Return the name of the offsets of a variable."""
    return f"{name}.lod{level}"


def to_onnx(
    program: Program, feeds: Sequence[str], targets: Sequence[str], parameter: Callable[[str], Any], what: str = "model"
) -> Any:
    """Return the ModelProto of a program that computes `targets` from `feeds`.

    Args:
        program: pruned to the targets and set for inference.
        parameter: returns the array of a persistable variable.
        what: the model's name, for errors.

    Raises:
        ModelError: with one line for everything that ONNX cannot express.
    """
    onnx = onnx_package()
    graph = Graph(Names())
    frame = Frame(graph)
    inputs, offsets = _declare_inputs(program, feeds, frame)
    _add_parameters(program, set(feeds), frame, parameter)
    write_block(program.global_block(), frame)
    outputs, extra = _outputs(program, targets, frame)
    if frame.refusals:
        lines = [f"{reason} (at {where})" for reason, where in frame.refusals.items()]
        raise ModelError(f"{what}: cannot be written as ONNX", lines)
    ends = [*inputs, *offsets]
    nodes, initializers = without_unused(graph.nodes, graph.initializers, [v.name for v in [*outputs, *extra]])
    proto = onnx.helper.make_graph(
        nodes,
        "fluid",
        [_input_info(onnx, program, value) for value in ends],
        [
            _output_info(onnx, program, name, value)
            for name, value in zip([*targets, *_lod_ends(frame, targets)], [*outputs, *extra])
        ],
        initializers,
    )
    return onnx.helper.make_model(
        proto,
        producer_name="fluidio",
        producer_version=__version__,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=8,
    )


def _declare_inputs(program: Program, feeds: Sequence[str], frame: Frame) -> tuple[list[Value], list[Value]]:
    inputs: list[Value] = []
    offsets: list[Value] = []
    for name in feeds:
        var = program.global_block()._find_var_recursive(name)
        if var is None:
            raise ModelError(f"the program has no variable {name!r} to feed")
        value = frame.graph.given(name, to_numpy(var.dtype), len(var.shape) or None)
        lod = tuple(frame.graph.given(lod_name(name, level), np.int64, 1) for level in range(var.lod_level))
        inputs.append(value)
        offsets += lod
        frame.set(name, value, lod)
    return inputs, offsets


def _add_parameters(program: Program, feeds: set[str], frame: Frame, parameter: Callable[[str], Any]) -> None:
    read = {name for block in program.blocks for op in block.ops for name in op.input_arg_names}
    for block in program.blocks:
        for var in block.vars.values():
            if var.persistable and var.name in read and var.name not in feeds and _is_tensor(var):
                array = parameter(var.name)
                if array is not None:
                    frame.set(var.name, as_constant(frame, array, var.name))


def _is_tensor(var: Variable) -> bool:
    return var.type is VarType.LOD_TENSOR


def _outputs(program: Program, targets: Sequence[str], frame: Frame) -> tuple[list[Value], list[Value]]:
    """Return the values of the targets under their own names, and the offsets of those that have a LoD."""
    outputs, extra = [], []
    for name in targets:
        value = frame.find(name)
        if is_unwritten(value):
            continue
        if not isinstance(value, Value) or value.many:
            frame.refusals.setdefault(f"{name}: a target must be a tensor", name)
            continue
        outputs.append(_named(frame.graph, value, name))
        extra += [_named(frame.graph, each, lod_name(name, level)) for level, each in enumerate(frame.lod(name))]
    return outputs, extra


def _lod_ends(frame: Frame, targets: Sequence[str]) -> list[str]:
    return [lod_name(name, level) for name in targets for level in range(len(frame.lod(name)))]


def _named(graph: Graph, value: Value, name: str) -> Value:
    return graph("Identity", value, hint=name, rank=value.rank)


def _input_info(onnx: Any, program: Program, value: Value) -> Any:
    element = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    base, _, level = value.name.rpartition(".lod")
    if base and level.isdigit() and program.global_block()._find_var_recursive(value.name) is None:
        return onnx.helper.make_tensor_value_info(value.name, element, [f"{value.name}_size"])
    var = program.global_block()._find_var_recursive(value.name)
    dims = [_dim(var, axis) for axis in range(len(var.shape))] if var is not None and var.shape else None
    return onnx.helper.make_tensor_value_info(value.name, element, dims)


def _dim(var: Any, axis: int) -> int | str:
    size = int(var.shape[axis])
    if size >= 0 and not (axis == 0 and var.lod_level):
        return size
    if axis == 0:
        return f"{var.name}_rows" if var.lod_level else "batch"
    return f"{var.name}_{axis}"


def _output_info(onnx: Any, program: Program, name: str, value: Value) -> Any:
    element = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    dims = None if value.rank is None else [f"{name}_{axis}" for axis in range(value.rank)]
    return onnx.helper.make_tensor_value_info(value.name, element, dims)
