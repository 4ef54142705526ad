"""Program statistics: memory of a step, frequency of ops."""

from __future__ import annotations

import math
from collections import Counter

from fluidio.dtypes import VarType, to_numpy
from fluidio.program import Program

__all__ = ["memory_usage", "op_freq_statistic"]


def memory_usage(program: Program, batch_size: int) -> tuple[float, float, str]:
    """Estimate the memory of one step's values: (lower bound, upper bound, unit).

    The bounds are the sum of all ops' outputs plus 5 and 10 per cent; as in Fluid, values freed early count too.
    """
    if not isinstance(program, Program):
        raise TypeError(f"memory_usage takes a Program, got {type(program).__name__}")
    if batch_size <= 0:
        raise ValueError(f"memory_usage: batch_size must be above 0, got {batch_size}")
    block = program.global_block()
    names = {name for op in block.ops for name in op.output_arg_names}
    total = 0.0
    for name in sorted(names):
        variable = block._find_var_recursive(name)
        if variable is None or variable.type is not VarType.LOD_TENSOR:
            continue
        elements = math.prod(d if d >= 0 else -d * batch_size for d in variable.shape)
        total += elements * to_numpy(variable.dtype).itemsize
    units = ["B", "KB", "MB", "GB"]
    while total > 1024 and len(units) > 1:
        total /= 1024
        units.pop(0)
    return total * 1.05, total * 1.1, units[0]


def op_freq_statistic(program: Program) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """Return how often each op type occurs, and each pair of ops where one uses the other's result; most first."""
    if not isinstance(program, Program):
        raise TypeError(f"op_freq_statistic takes a Program, got {type(program).__name__}")
    block = program.global_block()
    single = Counter(op.type for op in block.ops)
    makers: dict[str, str] = {}
    pairs: Counter[str] = Counter()
    for op in block.ops:
        pairs.update(f"{makers[name]}->{op.type}" for name in op.input_arg_names if name in makers)
        makers.update(dict.fromkeys(op.output_arg_names, op.type))
    return single.most_common(), pairs.most_common()
