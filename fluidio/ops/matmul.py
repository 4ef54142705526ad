"""Matrix products."""

from __future__ import annotations

import math
from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.registry import gradient, op
from fluidio.program.infer import InferContext

__all__: list[str] = []


def _infer_mul(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    nx, ny = c.attrs["x_num_col_dims"], c.attrs["y_num_col_dims"]
    c.check(len(x) > nx, f"X has {len(x)} dims, x_num_col_dims is {nx}: it must be smaller")
    c.check(len(y) > ny, f"Y has {len(y)} dims, y_num_col_dims is {ny}: it must be smaller")
    inner_x, inner_y = x[nx:], y[:ny]
    if all(d >= 0 for d in (*inner_x, *inner_y)):
        c.check(
            math.prod(inner_x) == math.prod(inner_y),
            f"X {list(x)} flattens to {math.prod(inner_x)} columns, Y {list(y)} to {math.prod(inner_y)} rows",
        )
    c.set("Out", (*x[:nx], *y[ny:]), c.dtype("X"), c.input("X").lod_level)


def _flat(array: Any, dims: int) -> Any:
    shape = array.shape
    return array if array.ndim == 2 and dims == 1 else array.reshape(math.prod(shape[:dims]), math.prod(shape[dims:]))


@op("mul", "X Y", "Out", {"x_num_col_dims": 1, "y_num_col_dims": 1}, infer=_infer_mul, grad=True)
def mul(k: Call, x: Any, y: Any) -> Any:
    """Out = X Y, both flattened to matrices at their num_col_dims."""
    nx, ny = k.attrs["x_num_col_dims"], k.attrs["y_num_col_dims"]
    if x.ndim == 2 and y.ndim == 2:
        return x @ y
    return (_flat(x, nx) @ _flat(y, ny)).reshape(x.shape[:nx] + y.shape[ny:])


@gradient("mul", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def mul_grad(k: Call, x: Any, y: Any, dout: Any) -> Any:
    nx, ny = k.attrs["x_num_col_dims"], k.attrs["y_num_col_dims"]
    xm, ym = _flat(x, nx), _flat(y, ny)
    dm = dout.reshape(xm.shape[0], ym.shape[1])
    dx = (dm @ ym.T).reshape(x.shape) if k.wants("X@GRAD") else None
    dy = (xm.T @ dm).reshape(y.shape) if k.wants("Y@GRAD") else None
    return dx, dy
