"""Gradient variables: which variables have one, and in which block it is."""

from __future__ import annotations

from collections.abc import Iterable

from fluidio.dtypes import VarType
from fluidio.program import Block, Variable
from fluidio.program.op_def import GRAD_SUFFIX, grad_name

__all__ = ["array_gradient", "create_grad", "describe_grads", "differentiable", "is_array", "is_new"]

_WITH_GRADIENT = frozenset({VarType.LOD_TENSOR, VarType.SELECTED_ROWS, VarType.LOD_TENSOR_ARRAY})


def differentiable(variable: Variable | None) -> bool:
    """Return whether a variable can have a gradient.

    Fluid: one of integers or bools has one too, in its own dtype; so a gradient that comes through `cast` is cut.
    """
    return variable is not None and variable.type in _WITH_GRADIENT


def is_array(block: Block, name: str) -> bool:
    """Return whether a name, seen from a block, is an array of tensors."""
    variable = block._find_var_recursive(name)
    return variable is not None and variable.type is VarType.LOD_TENSOR_ARRAY


def create_grad(block: Block, like: Variable | None, name: str) -> Variable:
    """Create the variable of a gradient in a block, described like the variable it belongs to."""
    if block.has_var(name) or like is None:
        return block.create_var(name=name)
    return block.create_var(name=name, shape=like.shape, dtype=like.dtype, lod_level=like.lod_level, type=like.type)


def is_new(target: Block, name: str) -> bool:
    """Return whether no op has written this gradient yet."""
    variable = target._find_var_recursive(name)
    return variable is None or variable.op is None


def describe_grads(block: Block, target: Block, names: Iterable[str]) -> None:
    """Give gradients the shape and dtype of their variables, whatever the op that writes them infers."""
    for name in names:
        base, found, _ = name.partition(GRAD_SUFFIX)
        like, made = block._find_var_recursive(base), target._find_var_recursive(name)
        if found and like is not None and made is not None:
            made._shape, made._dtype = like._shape, like._dtype


def array_gradient(block: Block, target: Block, variable: Variable) -> Variable:
    """Return the gradient variable of an array, in the block of gradients that belongs to the array's own block."""
    home: Block | None = block
    while home is not None and home is not variable.block and target.parent is not None:
        home, target = home.parent, target.parent
    return create_grad(target, variable, grad_name(variable.name))
