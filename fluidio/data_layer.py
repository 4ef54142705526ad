"""`fluid.data`: a fed variable whose shape and dtype are checked (Fluid 1.6 and later)."""

from __future__ import annotations

from collections.abc import Sequence

from fluidio.dtypes import DTypeLike
from fluidio.program import Variable, default_main_program
from fluidio.program.variable import to_dim

__all__ = ["data"]


def data(name: str, shape: Sequence[int | None], dtype: DTypeLike = "float32", lod_level: int = 0) -> Variable:
    """Declare a variable to be fed; the shape is used unchanged, None or -1 stand for any size."""
    if not isinstance(name, (str, bytes)):
        raise TypeError(f"fluid.data and layers.data: name must be a str, got {type(name).__name__} {name!r}")
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"data {name!r}: shape must be a list or tuple, got {type(shape).__name__} {shape!r}")
    dims = [-1 if d is None else to_dim(d) for d in shape]
    return (
        default_main_program()
        .global_block()
        .create_var(
            name=name,
            shape=dims,
            dtype=dtype,
            stop_gradient=True,
            lod_level=lod_level,
            persistable=False,
            is_data=True,
            need_check_feed=True,
        )
    )
