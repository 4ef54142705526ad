"""`fluid.embedding` and `fluid.one_hot`: the forms since 1.6, which keep every dim of the ids."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from fluidio.dtypes import DTypeLike
from fluidio.layers._checks import add_checks
from fluidio.layers._shape import lookup
from fluidio.param_attr import AttrLike
from fluidio.program import Variable

__all__ = ["embedding", "one_hot"]


def embedding(
    input: Variable,
    size: Sequence[int],
    is_sparse: bool = False,
    is_distributed: bool = False,
    padding_idx: int | None = None,
    param_attr: AttrLike = None,
    dtype: DTypeLike = "float32",
) -> Variable:
    """The rows of a learned table [size[0], size[1]]; ids of shape [...] give [..., size[1]].

    Args as for `fluid.layers.embedding`, which takes ids of shape [..., 1].
    """
    return lookup.lookup("lookup_table_v2", input, size, is_sparse, is_distributed, padding_idx, param_attr, dtype)


def one_hot(input: Variable, depth: object, allow_out_of_range: bool = False) -> Variable:
    """Rows of zeros with a one at each id; ids of shape [...] give [..., depth]."""
    return lookup.hot("one_hot_v2", input, depth, allow_out_of_range)


# Fluid: `fluid.one_hot` is not checked, unlike `layers.one_hot`.
add_checks([sys.modules[__name__]], ["embedding"])
