"""Second derivatives of normalisation: instance_norm as in 1.8.5; layer_norm and batch_norm if all are requested.

With x' = (x - mean) s and P(v) = v - m(v) - x' m(v x'), where m is the mean over jointly normalised elements, the
gradient of the normalised numbers is dx = s P(u) for an incoming gradient u. For L = <v, dx> this gives
    dL/du = s P(v),    dL/dx = -s^2 (x' m(v P(u)) + m(u x') P(v) + m(v x') P(u)).
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from fluidio.ops.compiled.turned import row_by_row
from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.norm import batch_norm, per_example  # noqa: F401  (they bring the ops)
from fluidio.ops.second_order import second
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


class _Normalised:
    """Numbers that are normalised together along `axes`, and the sums that second derivatives need."""

    def __init__(self, xp: ArrayLibrary | ModuleType, x: Array, axes: tuple[int, ...], epsilon: float) -> None:
        self.xp, self.axes = xp, axes
        centred = x - x.mean(axis=axes, keepdims=True)
        self.inverse = 1 / xp.sqrt((centred * centred).mean(axis=axes, keepdims=True) + epsilon)
        self.normal = centred * self.inverse

    def mean(self, values: Any) -> Any:
        return values.mean(axis=self.axes, keepdims=True)

    def project(self, values: Array) -> Array:
        return values - self.mean(values) - self.normal * self.mean(values * self.normal)

    def to_input(self, v: Array, u: Array) -> Array:
        pv, pu = self.project(v), self.project(u)
        square = self.inverse * self.inverse
        return -square * (
            self.normal * self.mean(v * pu) + self.mean(u * self.normal) * pv + self.mean(v * self.normal) * pu
        )


def _gradients(
    n: _Normalised,
    dy: Array,
    scale: Array,
    shift: Array | None,
    ddx: Array | None,
    ddscale: Array | None,
    others: tuple[int, ...],
) -> tuple[Array, ...]:
    """Return the gradients of X, of Scale (before summing over `others`) and of the gradient of Y.

    Scale, and the incoming gradients of scale and shift, are broadcast against X.
    """
    v = n.xp.zeros_like(dy) if ddx is None else ddx
    u = dy * scale
    dx = n.to_input(v, u)
    ddy = scale * n.inverse * n.project(v)
    if ddscale is not None:
        dx = dx + ddscale * n.inverse * n.project(dy)
        ddy = ddy + ddscale * n.normal
    if shift is not None:
        ddy = ddy + shift
    dscale = (n.inverse * n.project(v) * dy).sum(axis=others)
    return dx, dscale, ddy


def _channels(values: Array | None, ndim: int) -> Any:
    return None if values is None else values.reshape(1, -1, *(1,) * (ndim - 2))


_INPUTS = "X Scale DY=Y@GRAD DDX=+X@GRAD DDScale=+Scale@GRAD DDBias=+Bias@GRAD"
_OUTPUTS = "DX=X DScale=Scale DDY=Y@GRAD"


@second("instance_norm", _INPUTS, _OUTPUTS)
def instance_norm_second(
    k: Call, x: Array, scale: Array | None, dy: Array, ddx: Array, ddscale: Array, ddbias: Array
) -> KernelResult:
    n = _Normalised(k.xp, x, tuple(range(2, x.ndim)), k.attrs["epsilon"])
    one = x.dtype.type(1) if scale is None else _channels(scale, x.ndim)
    shift, bent = _channels(ddbias, x.ndim), _channels(ddscale, x.ndim)
    dx, dscale, ddy = _gradients(n, dy, one, shift, ddx, bent, (0, *range(2, x.ndim)))
    return dx, None if scale is None else dscale.reshape(scale.shape), ddy


@second("batch_norm", _INPUTS, _OUTPUTS, complete=True)
def batch_norm_second(
    k: Call, x: Array, scale: Array, dy: Array, ddx: Array, ddscale: Array, ddbias: Array
) -> tuple[Array, ...]:
    last = k.attrs["data_layout"] == "NHWC"
    x, dy, ddx = (v if v is None or not last else k.xp.moveaxis(v, -1, 1) for v in (x, dy, ddx))
    axes = (0, *range(2, x.ndim))
    n = _Normalised(k.xp, x, axes, k.attrs["epsilon"])
    shift, bent = _channels(ddbias, x.ndim), _channels(ddscale, x.ndim)
    dx, dscale, ddy = _gradients(n, dy, _channels(scale, x.ndim), shift, ddx, bent, axes)
    if last:
        dx, ddy = (row_by_row(k.xp, k.xp.moveaxis(v, 1, -1)) for v in (dx, ddy))
    return dx, dscale.reshape(scale.shape), ddy


@second("layer_norm", _INPUTS, _OUTPUTS, complete=True)
def layer_norm_second(
    k: Call, x: Array, scale: Array | None, dy: Array, ddx: Array | None, ddscale: Array, ddbias: Array
) -> KernelResult:
    rows = 1
    for size in x.shape[: k.attrs["begin_norm_axis"]]:
        rows *= size
    flat, d = x.reshape(rows, -1), dy.reshape(rows, -1)
    n = _Normalised(k.xp, flat, (1,), k.attrs["epsilon"])
    one = x.dtype.type(1) if scale is None else scale.reshape(1, -1)
    shift, bent = (None if v is None else v.reshape(1, -1) for v in (ddbias, ddscale))
    dx, dscale, ddy = _gradients(n, d, one, shift, None if ddx is None else ddx.reshape(rows, -1), bent, (0,))
    return dx.reshape(x.shape), None if scale is None else dscale.reshape(scale.shape), ddy.reshape(x.shape)
