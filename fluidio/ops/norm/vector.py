"""Norms of vectors and ops that divide by them: norm, clip_by_norm, lrn, spectral_norm, data_norm."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import gradient, op, same_as
from fluidio.program.infer import InferContext
from fluidio.tensor import SelectedRows
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _infer_norm(c: InferContext) -> None:
    shape = list(c.shape("X"))
    c.same("Out", "X")
    shape[c.attrs["axis"]] = 1
    c.set("Norm", shape, c.dtype("X"), c.input("X").lod_level)


@op("norm", "X", "Out Norm", {"axis": -1, "epsilon": 1e-10, "is_test": False}, infer=_infer_norm, grad=True)
def norm(k: Call, x: Array) -> tuple[Array, Array]:
    """Out = X / Norm with Norm = sqrt(sum of squares along axis + epsilon)."""
    length = k.xp.sqrt((x * x).sum(axis=k.attrs["axis"], keepdims=True) + k.attrs["epsilon"])
    return x / length, length


@gradient("norm", "X Norm Out@GRAD", "X@GRAD")
def norm_grad(k: Call, x: Array, length: Array, dout: Array) -> Array:
    out = x / length
    return (dout - out * (dout * out).sum(axis=k.attrs["axis"], keepdims=True)) / length


@op("clip_by_norm", "X", "Out", {"max_norm": 1.0}, infer=same_as("X"), grad=False)
def clip_by_norm(k: Call, x: Array) -> KernelResult:
    """Out = X scaled down to the norm max_norm if its norm is larger.

    Fluid: no gradient passes.
    """
    if isinstance(x, SelectedRows):
        rows, values = x.merged(k.xp)
        return SelectedRows(rows, x.height(), _clipped(k, values))
    return _clipped(k, x)


def _clipped(k: Call, x: Array) -> Array:
    limit = x.dtype.type(k.attrs["max_norm"])
    length = k.xp.sqrt((x * x).sum())
    return x * k.xp.where(length > limit, limit / k.xp.maximum(length, x.dtype.type(1e-30)), x.dtype.type(1))


def _window_sums(xp: ArrayLibrary | ModuleType, x: Array, n: int) -> Array:
    """Return the sum over n neighbouring channels (axis 1), centred on each."""
    before = (n - 1) // 2
    padded = xp.pad(x, [(0, 0), (before, n - 1 - before)] + [(0, 0)] * (x.ndim - 2))
    total = padded[:, : x.shape[1]].copy()
    for i in range(1, n):
        total += padded[:, i : i + x.shape[1]]
    return total


def _first(k: Call, x: Array) -> Array:
    return k.xp.moveaxis(x, -1, 1) if k.attrs["data_format"] == "NHWC" else x


def _last(k: Call, x: Array) -> Array:
    return k.xp.moveaxis(x, 1, -1) if k.attrs["data_format"] == "NHWC" else x


def _infer_lrn(c: InferContext) -> None:
    c.check(c.attrs["n"] % 2, f"n must be odd, got {c.attrs['n']}")
    same_as("X", "Out", "MidOut")(c)


@op(
    "lrn",
    "X",
    "Out MidOut",
    {"n": 5, "k": 2.0, "alpha": 1e-4, "beta": 0.75, "data_format": "AnyLayout", "is_test": False},
    infer=_infer_lrn,
    grad=True,
)
def lrn(k: Call, x: Array) -> tuple[Array, Array]:
    """Out = X / MidOut^beta with MidOut = k + alpha times the sum of squares over n neighbouring channels."""
    a = k.attrs
    mid = a["k"] + a["alpha"] * _window_sums(k.xp, _first(k, x * x), a["n"])
    mid = _last(k, mid)
    return x * mid ** -a["beta"], mid


@gradient("lrn", "X Out MidOut Out@GRAD", "X@GRAD")
def lrn_grad(k: Call, x: Array, out: Array, mid: Array, dout: Array) -> Array:
    a = k.attrs
    shared = _first(k, dout * out / mid)[:, ::-1]  # the same neighbours, mirrored
    spread = _last(k, _window_sums(k.xp, shared, a["n"])[:, ::-1])
    return dout * mid ** -a["beta"] - 2 * a["alpha"] * a["beta"] * x * spread


def _infer_spectral(c: InferContext) -> None:
    c.same("Out", "Weight")


def _iterate(k: Call, matrix: Array, u: Array, v: Array) -> tuple[Array, Array]:
    """Return u and v after power_iters steps of the power method.

    Fluid: they are not stored; every run starts from the parameters.
    """
    eps = k.attrs["eps"]
    for _ in range(k.attrs["power_iters"]):
        v = matrix.T @ u
        v = v / (k.xp.sqrt((v * v).sum()) + eps)
        u = matrix @ v
        u = u / (k.xp.sqrt((u * u).sum()) + eps)
    return u, v


def _as_matrix(k: Call, weight: Array) -> Array:
    return k.xp.moveaxis(weight, k.attrs["dim"], 0).reshape(weight.shape[k.attrs["dim"]], -1)


@op("spectral_norm", "Weight U V", "Out", {"dim": 0, "power_iters": 1, "eps": 1e-12}, infer=_infer_spectral, grad=True)
def spectral_norm(k: Call, weight: Array, u: Array, v: Array) -> Array:
    """Out = Weight / sigma, where sigma is its largest singular value, estimated by the power method."""
    matrix = _as_matrix(k, weight)
    u, v = _iterate(k, matrix, u, v)
    return weight / (u @ matrix @ v)


@gradient("spectral_norm", "Weight U V Out@GRAD", "Weight@GRAD")
def spectral_norm_grad(k: Call, weight: Array, u: Array, v: Array, dout: Array) -> Array:
    matrix = _as_matrix(k, weight)
    u, v = _iterate(k, matrix, u, v)
    sigma = u @ matrix @ v
    # Fluid: element by element with the sum of Out, where the sum of Out times its gradient would be right.
    dmatrix = _as_matrix(k, dout) * (1 - u[:, None] * v[None, :] * (matrix.sum() / sigma)) / sigma
    moved = k.xp.moveaxis(weight, k.attrs["dim"], 0).shape
    return k.xp.moveaxis(dmatrix.reshape(moved), 0, k.attrs["dim"])


def _infer_data_norm(c: InferContext) -> None:
    c.same("Y", "X")
    c.set("Means", (c.shape("X")[-1],), c.dtype("X"))
    c.set("Scales", (c.shape("X")[-1],), c.dtype("X"))


@op(
    "data_norm",
    "X scale_w? bias? BatchSize BatchSum BatchSquareSum",
    "Y Means Scales",
    {
        "epsilon": 1e-4,
        "data_layout": "NCHW",
        "slot_dim": -1,
        "sync_stats": False,
        "summary_decay_rate": 0.9999999,
        "enable_scale_and_shift": False,
    },
    infer=_infer_data_norm,
    grad=True,
)
def data_norm(k: Call, x: Any, scale_w: Any, bias: Any, size: Any, total: Any, squares: Any) -> Any:
    """Y = (X - mean) scale from running sums: mean = sum / size, scale = sqrt(size / square sum).

    Then times scale_w plus bias, if given; zero in slots of `slot_dim` columns that begin with zero.
    """
    means, scales = total / size, k.xp.sqrt(size / squares)
    normal = (x - means) * scales
    out = normal if scale_w is None else normal * scale_w + bias
    return out if k.attrs["slot_dim"] <= 0 else out * _shown(k, x), means, scales


def _shown(k: Call, x: Array) -> Array:
    """Return 1 for the columns of slots whose first one is not zero, else 0."""
    size = k.attrs["slot_dim"]
    first = k.xp.abs(x[:, ::size]) >= 1e-7
    return k.xp.repeat(first, size, axis=1)[:, : x.shape[1]].astype(x.dtype)


@gradient(
    "data_norm",
    "X scale_w Means Scales Y@GRAD",
    "X@GRAD scale_w@GRAD bias@GRAD BatchSize@GRAD BatchSum@GRAD BatchSquareSum@GRAD",
)
def data_norm_grad(k: Call, x: Array, scale_w: Array | None, means: Array, scales: Array, dy: Array) -> KernelResult:
    """Fluid: the gradients of the sums are replaced by what the batch adds to the sums.

    With slots, it is the mean over the rows that have the slot.
    """
    rows, whole = x.shape[0], dy
    centred = x - means
    epsilon = x.dtype.type(k.attrs["epsilon"])
    if k.attrs["slot_dim"] > 0:
        shown = _shown(k, x)
        dy, centred, counts = dy * shown, centred * shown, shown.sum(axis=0)
        divisor = k.xp.maximum(counts, 1)
        sums = (
            k.xp.minimum(counts, 1),
            (x * shown).sum(axis=0) / divisor,
            (centred * centred).sum(axis=0) / divisor + counts * epsilon,
        )
    else:
        sums = (k.xp.full_like(means, rows), x.sum(axis=0), (centred * centred).sum(axis=0) + rows * epsilon)
    # Fluid: without scale_w, hidden slots have a gradient as well.
    dx = whole * scales if scale_w is None else dy * (scales * scale_w)
    return (
        dx if k.wants("X@GRAD") else None,
        (dy * centred * scales).sum(axis=0) if k.wants("scale_w@GRAD") else None,
        dy.sum(axis=0) if k.wants("bias@GRAD") else None,
        *sums,
    )
