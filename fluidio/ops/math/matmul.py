"""Matrix products."""

from __future__ import annotations

import math
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.compiled.products import product
from fluidio.ops.fused.mkldnn import TURNED, check_is_float, is_turned, turned_shape
from fluidio.ops.half import summed_in_single
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.math.elementwise import reduced
from fluidio.ops.registry import gradient, op
from fluidio.ops.row_blocks import share_products
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array

__all__: list[str] = []


def _infer_mul(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    nx, ny = c.attrs["x_num_col_dims"], c.attrs["y_num_col_dims"]
    c.check(len(x) > nx, f"X has {len(x)} dims, so x_num_col_dims must be smaller than {len(x)}, got {nx}")
    c.check(len(y) > ny, f"Y has {len(y)} dims, so y_num_col_dims must be smaller than {len(y)}, got {ny}")
    inner_x, inner_y = x[nx:], y[:ny]
    if all(d >= 0 for d in (*inner_x, *inner_y)):
        c.check(
            math.prod(inner_x) == math.prod(inner_y),
            f"X must have as many columns as Y has rows, but X {list(x)} flattens to "
            f"{math.prod(inner_x)} columns and Y {list(y)} to {math.prod(inner_y)} rows",
        )
    c.set("Out", (*x[:nx], *y[ny:]), c.dtype("X"), c.input("X").lod_level)


def _flat(array: Array, dims: int) -> Array:
    shape = array.shape
    return array if array.ndim == 2 and dims == 1 else array.reshape(math.prod(shape[:dims]), math.prod(shape[dims:]))


_MUL = {"x_num_col_dims": 1, "y_num_col_dims": 1, "use_mkldnn": False}


@op("mul", "X Y", "Out", _MUL, infer=_infer_mul, grad=True)
@summed_in_single
def mul(k: Call, x: Array, y: Array) -> Array:
    """Out = X @ Y, both flattened to matrices at their num_col_dims."""
    if k.attrs["use_mkldnn"]:
        check_is_float(x)
    nx, ny = k.attrs["x_num_col_dims"], k.attrs["y_num_col_dims"]
    try:
        if x.ndim == 2 and y.ndim == 2:
            return product(x, y)
        return product(_flat(x, nx), _flat(y, ny)).reshape(x.shape[:nx] + y.shape[ny:])
    except ValueError:
        columns, rows = math.prod(x.shape[nx:]), math.prod(y.shape[:ny])
        if columns == rows:
            raise
        problem = f"X {list(x.shape)} gives rows of {columns} numbers, but Y {list(y.shape)} needs rows of {rows}"
        raise EnforceNotMet(problem) from None


@gradient("mul", "X Y Out@GRAD", "X@GRAD Y@GRAD")
@summed_in_single
def mul_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    if x.ndim == y.ndim == dout.ndim == 2:
        return (
            product(dout, y.T) if "X@GRAD" in k.wanted else None,
            product(x.T, dout) if "Y@GRAD" in k.wanted else None,
        )
    nx, ny = k.attrs["x_num_col_dims"], k.attrs["y_num_col_dims"]
    xm, ym = _flat(x, nx), _flat(y, ny)
    dm = dout.reshape(xm.shape[0], ym.shape[1])
    dx = product(dm, ym.T).reshape(x.shape) if k.wants("X@GRAD") else None
    dy = product(xm.T, dm).reshape(y.shape) if k.wants("Y@GRAD") else None
    return dx, dy


def _matrix_shape(shape: tuple[int, ...], left: bool, transposed: bool) -> tuple[int, ...]:
    """Return the shape that matmul works on: a vector is a row on the left and a column on the right, or transposed."""
    if len(shape) == 1:
        return (1, shape[0]) if left != transposed else (shape[0], 1)
    return (*shape[:-2], shape[-1], shape[-2]) if transposed else shape


def _infer_matmul(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    c.check(x and y, f"X {list(x)} and Y {list(y)} must have at least one dim")
    a = _matrix_shape(x, True, c.attrs["transpose_X"])
    b = _matrix_shape(y, False, c.attrs["transpose_Y"])
    c.check(
        a[-1] in (b[-2], b[-2] * c.attrs["head_number"]) or a[-1] < 0 or b[-2] < 0,
        f"X must have as many columns as Y has rows, but X {list(x)} gives matrices of {a[-1]} "
        f"columns and Y {list(y)} matrices of {b[-2]} rows (transpose_X={c.attrs['transpose_X']}, "
        f"transpose_Y={c.attrs['transpose_Y']})",
    )
    batch = a[:-2] if len(a) >= len(b) else b[:-2]
    for i, j in zip(a[:-2][::-1], b[:-2][::-1]):
        c.check(i == j or i < 0 or j < 0, f"X {list(x)} and Y {list(y)} must have the same batch dims")
    shape = _out_shape(batch, a, b, len(x), len(y))
    if is_turned(c.attrs):
        shape = turned_shape(shape, c.attrs)
    c.set("Out", shape, c.dtype("X"), c.input("X").lod_level)


def _out_shape(batch: tuple[int, ...], a: tuple[int, ...], b: tuple[int, ...], nx: int, ny: int) -> tuple[int, ...]:
    """Return the result's shape: a vector's dim of one is dropped, but at least one dim is kept."""
    dims = list(batch)
    if nx > 1 or a[-2] != 1:
        dims.append(a[-2])
    if ny > 1 or b[-1] != 1:
        dims.append(b[-1])
    return tuple(dims) or (1,)


def _as_matrix(array: Array, left: bool, transposed: bool) -> Array:
    if array.ndim == 1:
        return array.reshape(_matrix_shape(array.shape, left, transposed))
    return array.swapaxes(-1, -2) if transposed else array


_MATMUL = {"transpose_X": False, "transpose_Y": False, "alpha": 1.0, "head_number": 1, **TURNED}


@op("matmul", "X Y", "Out", _MATMUL, infer=_infer_matmul, grad=True)
@summed_in_single
def matmul(k: Call, x: Array, y: Array) -> Array:
    """Out = alpha * (X @ Y) on the last two dims, each operand transposed first if requested."""
    if k.attrs["use_mkldnn"]:
        check_is_float(x)
    a = _as_matrix(x, True, k.attrs["transpose_X"])
    b = _as_matrix(y, False, k.attrs["transpose_Y"])
    if k.attrs["head_number"] > 1:
        a, b = _by_heads(k, a, b)
    if a.shape[-1] != b.shape[-2]:
        raise EnforceNotMet(f"X {list(x.shape)} and Y {list(y.shape)} cannot be multiplied with {dict(k.attrs)}")
    out = share_products(k, a, b)
    if k.attrs["head_number"] > 1:
        return _joined_heads(out) * k.attrs["alpha"]
    if k.attrs["alpha"] != 1.0:
        out *= k.attrs["alpha"]
    out = out.reshape(_out_shape(out.shape[:-2], a.shape, b.shape, x.ndim, y.ndim))
    if not is_turned(k.attrs):
        return out
    shape = turned_shape(out.shape, k.attrs)
    return (out.transpose(k.attrs["fused_transpose_Out"]) if k.attrs["use_mkldnn"] else out).reshape(shape)


def _by_heads(k: Call, a: Array, b: Array) -> tuple[Array, Array]:
    """Split into heads the columns of X and the rows of Y, or its columns if it has only as many rows as a head."""
    heads = k.attrs["head_number"]
    left = a.reshape(*a.shape[:-1], heads, -1).swapaxes(-2, -3)
    if a.shape[-1] == b.shape[-2]:
        return left, b.reshape(*b.shape[:-2], heads, -1, b.shape[-1])
    return left, b.reshape(*b.shape[:-1], heads, -1).swapaxes(-2, -3)


def _joined_heads(out: Array) -> Array:
    """Return [..., heads, rows, columns] as [..., rows, heads * columns]."""
    joined = out.swapaxes(-2, -3)
    return joined.reshape(*joined.shape[:-2], -1)


@gradient("matmul", "X Y Out@GRAD", "X@GRAD Y@GRAD")
@summed_in_single
def matmul_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    if k.attrs["head_number"] > 1:
        return _gradients_by_heads(k, x, y, dout)
    return matmul_gradients(k, x, y, dout, k.wants("X@GRAD"), k.wants("Y@GRAD"))


def _gradients_by_heads(k: Call, x: Array, y: Array, dout: Array) -> tuple[Array, Array]:
    tx, ty, heads = k.attrs["transpose_X"], k.attrs["transpose_Y"], k.attrs["head_number"]
    a, b = _as_matrix(x, True, tx), _as_matrix(y, False, ty)
    left, right = _by_heads(k, a, b)
    d = dout.reshape(*dout.shape[:-1], heads, -1).swapaxes(-2, -3) * dout.dtype.type(k.attrs["alpha"])
    dleft = _joined_heads(k.xp.matmul(d, right.swapaxes(-1, -2)))
    dright = k.xp.matmul(left.swapaxes(-1, -2), d)
    dright = dright.reshape(b.shape) if a.shape[-1] == b.shape[-2] else _joined_heads(dright)
    return _to_source(dleft, a.shape, x.shape, tx), _to_source(dright, b.shape, y.shape, ty)


def matmul_by(k: Call, x: Array, y: Array) -> Array:
    """Return alpha * (X @ Y)."""
    result: Any = matmul(k, x, y)
    return result


def matmul_gradients(
    k: Call, x: Array, y: Array, dout: Array, wants_x: bool, wants_y: bool
) -> tuple[Array | None, ...]:
    """Return X@GRAD and Y@GRAD, None for one that is not wanted."""
    tx, ty, alpha = k.attrs["transpose_X"], k.attrs["transpose_Y"], k.attrs["alpha"]
    a, b = _as_matrix(x, True, tx), _as_matrix(y, False, ty)
    batch = a.shape[:-2] if a.ndim >= b.ndim else b.shape[:-2]
    d = dout.reshape(*batch, a.shape[-2], b.shape[-1])
    if alpha != 1.0:
        d = d * alpha
    dx = dy = None
    if wants_x:
        dx = _to_source(share_products(k, d, b.swapaxes(-1, -2)), a.shape, x.shape, tx)
    if wants_y:
        if y.ndim == 2 and a.ndim > 2 and not ty:
            # The batch shares one weight: use one product over all rows, not one for each example.
            dy = product(a.reshape(-1, a.shape[-1]).T, d.reshape(-1, d.shape[-1]))
        else:
            dy = _to_source(share_products(k, a.swapaxes(-1, -2), d), b.shape, y.shape, ty)
    return dx, dy


def _to_source(gradient_: Array, matrix: tuple[int, ...], source: tuple[int, ...], transposed: bool) -> Array:
    """Sum over broadcast batches and undo the transposition."""
    d = reduced(gradient_, matrix)
    if len(source) == 1:
        return d.reshape(source)
    return d.swapaxes(-1, -2) if transposed else d


def _infer_bmm(c: InferContext) -> None:
    x, y = c.shape("X"), c.shape("Y")
    c.check(len(x) == 3 and len(y) == 3, f"X {list(x)} and Y {list(y)} must have 3 dims")
    for a, b in ((x[0], y[0]), (x[2], y[1])):
        c.check(a == b or a < 0 or b < 0, f"X {list(x)} and Y {list(y)} cannot be multiplied")
    c.set("Out", (x[0], x[1], y[2]), c.dtype("X"), c.input("X").lod_level)


@op("bmm", "X Y", "Out", infer=_infer_bmm, grad=True)
def bmm(k: Call, x: Array, y: Array) -> Array:
    """Out = X @ Y for each pair of matrices in a batch."""
    return share_products(k, x, y)


@gradient("bmm", "X Y Out@GRAD", "X@GRAD Y@GRAD")
def bmm_grad(k: Call, x: Array, y: Array, dout: Array) -> KernelResult:
    return (
        share_products(k, dout, y.swapaxes(1, 2)) if k.wants("X@GRAD") else None,
        share_products(k, x.swapaxes(1, 2), dout) if k.wants("Y@GRAD") else None,
    )


def _infer_bilinear(c: InferContext) -> None:
    x, y, weight = c.shape("X"), c.shape("Y"), c.shape("Weight")
    c.check(
        (x[1], y[1]) == weight[1:],
        f"for X {list(x)} and Y {list(y)}, Weight must have shape [size, {x[1]}, {y[1]}], got {list(weight)}",
    )
    c.set("Out", (x[0], weight[0]), c.dtype("X"), c.input("X").lod_level)


@op("bilinear_tensor_product", "X Y Weight Bias?", "Out", infer=_infer_bilinear, grad=True)
def bilinear_tensor_product(k: Call, x: Array, y: Array, weight: Array, bias: Array | None) -> Array:
    """Out[:, i] = X @ Weight[i] @ Y' row by row, plus Bias."""
    size, m, n = weight.shape
    left = product(x, weight.transpose(1, 0, 2).reshape(m, size * n)).reshape(-1, size, n)
    out = k.xp.matmul(left, y[:, :, None])[:, :, 0]
    return out if bias is None else out + bias.reshape(1, -1)


@gradient("bilinear_tensor_product", "X Y Weight Out@GRAD", "X@GRAD Y@GRAD Weight@GRAD Bias@GRAD")
def bilinear_tensor_product_grad(k: Call, x: Array, y: Array, weight: Array, dout: Array) -> KernelResult:
    xp = k.xp
    size, m, n = weight.shape
    mixed = product(dout, weight.reshape(size, m * n)).reshape(-1, m, n)
    dweight = None
    if k.wants("Weight@GRAD"):
        pairs = (x[:, :, None] * y[:, None, :]).reshape(-1, m * n)
        dweight = product(dout.T, pairs).reshape(weight.shape)
    return (
        xp.matmul(mixed, y[:, :, None])[:, :, 0] if k.wants("X@GRAD") else None,
        xp.matmul(x[:, None, :], mixed)[:, 0, :] if k.wants("Y@GRAD") else None,
        dweight,
        dout.sum(axis=0).reshape(1, -1) if k.wants("Bias@GRAD") else None,
    )
