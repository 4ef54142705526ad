"""Where data enter a program: `data` for feeding, reader ops for files."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio.dtypes import DTypeLike, VarType
from fluidio.program import Variable, default_main_program

__all__ = ["data"]


def data(
    name: str,
    shape: Sequence[int | None],
    append_batch_size: bool = True,
    dtype: DTypeLike = "float32",
    lod_level: int = 0,
    type: VarType = VarType.LOD_TENSOR,
    stop_gradient: bool = True,
) -> Variable:
    """Declare a variable to be fed; a batch dimension of -1 is put in front unless the shape has a -1 already."""
    dims = [-1 if d is None else int(d) for d in shape]
    if append_batch_size and all(d >= 0 for d in dims):
        dims = [-1, *dims]
    return (
        default_main_program()
        .global_block()
        .create_var(
            name=name,
            shape=dims,
            dtype=dtype,
            type=type,
            stop_gradient=stop_gradient,
            lod_level=lod_level,
            is_data=True,
        )
    )
