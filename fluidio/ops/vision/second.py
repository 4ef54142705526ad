"""Second derivatives of convolution, pooling and resizing.

Ops without second derivatives in 1.8.5 are marked `complete`: transposed convolution, pooling, resizing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fluidio.ops.kernel import Call
from fluidio.ops.second_order import linear, second, total
from fluidio.ops.vision import conv_transpose, pool, resize  # noqa: F401  (they bring the ops)
from fluidio.ops.vision.conv import Geometry, back, correlate, filter_gradient, first, spread
from fluidio.ops.vision.pool import max_places
from fluidio.tensor.array import Array

__all__: list[str] = []

_INPUTS = "Input Filter DOutput=Output@GRAD DDInput=+Input@GRAD DDFilter=+Filter@GRAD"
_OUTPUTS = "DInput=Input DFilter=Filter DDOutput=Output@GRAD"


def _conv_second(name: str) -> None:
    @second(name, _INPUTS, _OUTPUTS)
    def kernel(k: Call, x: Array, w: Array, dout: Array, ddx: Array | None, ddw: Array | None) -> tuple[Array, ...]:
        x, dout = first(k, x), first(k, dout)
        ddx = None if ddx is None else first(k, ddx)
        g = Geometry(k, x.shape, w)
        both = total(None if ddx is None else correlate(k, ddx, w, g), None if ddw is None else correlate(k, x, ddw, g))
        return (
            back(k, k.xp.zeros_like(x) if ddw is None else spread(k, dout, ddw, g)),
            k.xp.zeros_like(w) if ddx is None else filter_gradient(k, ddx, dout, w, g),
            back(k, both),
        )


_conv_second("conv2d")
_conv_second("conv3d")


def _transposed_second(name: str, geometry: Callable[[Call, Any, Any], Geometry]) -> None:
    @second(name, _INPUTS, _OUTPUTS, complete=True)
    def kernel(k: Call, x: Array, w: Array, dout: Array, ddx: Array | None, ddw: Array | None) -> tuple[Array, ...]:
        x, dout = first(k, x), first(k, dout)
        ddx = None if ddx is None else first(k, ddx)
        g = geometry(k, x, w)
        both = total(None if ddx is None else spread(k, ddx, w, g), None if ddw is None else spread(k, x, ddw, g))
        return (
            back(k, k.xp.zeros_like(x) if ddw is None else correlate(k, dout, ddw, g)),
            k.xp.zeros_like(w) if ddx is None else filter_gradient(k, dout, ddx, w, g),
            back(k, both),
        )


for _name in ("conv2d_transpose", "depthwise_conv2d_transpose", "conv3d_transpose"):
    _transposed_second(_name, conv_transpose.geometry)


def _pool_second(name: str) -> None:
    @second(name, "X Out DDX=+X@GRAD", "DDOut=Out@GRAD", complete=True)
    def kernel(k: Call, x: Array, out: Array, ddx: Array) -> Array:
        return max_places(k, x, out, ddx) if k.attrs["pooling_type"] == "max" else pool.forward(k, ddx)


_pool_second("pool2d")
_pool_second("pool3d")
linear("bilinear_interp", "X=+X@GRAD OutSize SizeTensor Scale", complete=True)
linear("nearest_interp", "X=+X@GRAD OutSize SizeTensor Scale", complete=True)
