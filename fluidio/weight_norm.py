"""A weight as a direction and a length: w = g v / |v|."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.program import Block, Variable, unique_name

__all__ = ["create_normalised"]


class _Builder:
    """Appends ops to one block, with temporaries named after the layer."""

    def __init__(self, helper: Any, block: Block, dtype: VarType) -> None:
        self.helper = helper
        self.block = block
        self.dtype = dtype

    def temp(self, word: str) -> Variable:
        name = unique_name.generate(f"{self.helper.name}.weight_norm_{word}")
        return self.block.create_var(name=name, dtype=self.dtype)

    def op(self, type: str, word: str, x: Variable, out: Variable | None = None, **attrs: object) -> Variable:
        out = out or self.temp(word)
        self.block.append_op(type=type, inputs={"X": [x]}, outputs={"Out": [out]}, attrs=attrs)
        return out

    def length(self, v: Variable, dim: int | None, out: Variable | None = None) -> Variable:
        """Append the norm of v over all dims but `dim`; written to `out`, it has as many dims as v."""
        keep = [1] * len(v.shape)
        if dim is not None:
            keep[dim] = v.shape[dim]
        target = out or self.temp("norm")
        flat, axis = self._flat(v, dim)
        squares = self.op("pow", "pow", self.op("abs", "abs", flat), factor=2.0)
        everything = dim is None
        total = self.op("reduce_sum", "sum", squares, dim=axis, keep_dim=False, reduce_all=everything)
        if everything:
            self.op("pow", "norm", total, target, factor=0.5)
            return target
        root = self.op("pow", "norm", total, factor=0.5)
        return self.op("reshape", "norm", root, target, shape=keep)

    def _flat(self, v: Variable, dim: int | None) -> tuple[Variable, list[int]]:
        """Return v as a matrix (or unchanged) and the dim over which to sum."""
        dims = len(v.shape)
        if dim is None:
            return v, [0]
        if dim == 0:
            return self.op("reshape", "reshape", v, shape=[v.shape[0], -1]), [1]
        if dim == dims - 1:
            return self.op("reshape", "reshape", v, shape=[-1, v.shape[-1]]), [0]
        order = list(range(dims))
        order[0], order[dim] = dim, 0
        turned = self.op("transpose", "transpose", v, axis=order)
        return self.op("reshape", "reshape", turned, shape=[v.shape[dim], -1]), [1]


def create_normalised(helper: Any, attr: Any, shape: Sequence[int], dtype: VarType) -> Variable:
    """Create parameters `<name>_g` and `<name>_v`, start g at |v|, and return g v / |v|."""
    sizes = [int(d) for d in shape]
    dim = attr.dim
    g_attr, v_attr = copy.copy(attr), copy.copy(attr)
    g_attr.name, v_attr.name = f"{attr.name}_g", f"{attr.name}_v"
    g_attr.initializer = None
    g_shape = [1] * len(sizes)
    if dim is not None:
        g_shape[dim] = sizes[dim]
    startup = helper.startup_program.global_block()
    g_start = startup.create_parameter(dtype=dtype, shape=g_shape, **g_attr._to_kwargs(with_initializer=True))
    v_start = startup.create_parameter(dtype=dtype, shape=sizes, **v_attr._to_kwargs(with_initializer=True))
    builder = _Builder(helper, startup, dtype)
    builder.op("reshape", "reshape", builder.length(v_start, dim, out=g_start), g_start, shape=g_shape)
    main = helper.main_program.global_block()
    g = main.create_parameter(dtype=dtype, shape=g_shape, **g_attr._to_kwargs())
    v = main.create_parameter(dtype=dtype, shape=sizes, **v_attr._to_kwargs())
    block = helper.main_program.current_block()
    length = _Builder(helper, block, dtype).length(v, dim)
    return _product(block, g, v, length, dim)


def _product(block: Block, g: Variable, v: Variable, length: Variable, dim: int | None) -> Variable:
    def temp(word: str) -> Variable:
        return block.create_var(name=unique_name.generate(f"{unique_name.generate(word)}.tmp"), dtype=v.dtype)

    ratio = temp("elementwise_div")
    block.append_op(
        type="elementwise_div", inputs={"X": [g], "Y": [length]}, outputs={"Out": [ratio]}, attrs={"axis": -1}
    )
    if dim is not None:
        flat = temp("reshape2")
        x_shape = block.create_var(name=unique_name.generate(flat.name.rpartition(".")[0] + ".tmp"), dtype=v.dtype)
        block.append_op(
            type="reshape2",
            inputs={"X": [ratio]},
            outputs={"Out": [flat], "XShape": [x_shape]},
            attrs={"shape": [v.shape[dim]]},
        )
        ratio = flat
    out = temp("elementwise_mul")
    axis = -1 if dim is None else dim
    block.append_op(
        type="elementwise_mul", inputs={"X": [v], "Y": [ratio]}, outputs={"Out": [out]}, attrs={"axis": axis}
    )
    return out
