"""Quantise and dequantise: the ops that quantisation-aware training put into models, and those for inference."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from fluidio.ops.kernel import Call, KernelResult
from fluidio.ops.registry import op
from fluidio.program.infer import InferContext
from fluidio.tensor.array import Array, ArrayLibrary

__all__: list[str] = []


def _steps(bits: int) -> int:
    return (1 << (bits - 1)) - 1


def _rounded(xp: ArrayLibrary | ModuleType, x: Array) -> Array:
    """Round half away from zero, as C does."""
    return xp.copysign(xp.floor(xp.abs(x) + x.dtype.type(0.5)), x)


def _on_grid(k: Call, x: Array, scale: Array) -> Array:
    """Return x clipped to [-scale, scale], in steps."""
    one, tiny = x.dtype.type(1), x.dtype.type(1e-6)
    inverse = one / k.xp.where(scale <= 1e-30, scale + tiny, scale)
    return _rounded(k.xp, x.dtype.type(_steps(k.attrs["bit_length"])) * inverse * k.xp.clip(x, -scale, scale))


def _infer(c: InferContext) -> None:
    x = c.input("X")
    c.set("Out", x.shape, c.dtype("X") if c.dtype("X").name.startswith("FP") else "float32", x.lod_level)
    for slot in ("OutScale", "OutState", "OutAccum"):
        c.set(slot, (1,), "float32")
    if "window_size" in c.attrs:
        c.set("OutScales", (c.attrs["window_size"],), "float32")


@op("fake_quantize_abs_max", "X", "Out OutScale", {"bit_length": 8}, infer=_infer, grad=False)
def fake_quantize_abs_max(k: Call, x: Array) -> tuple[Array, Array]:
    """Out = X in steps of its largest element, which is OutScale."""
    scale = k.xp.abs(x).max().reshape(1)
    return _on_grid(k, x, scale), scale


def _infer_channels(c: InferContext) -> None:
    c.same("Out", "X")
    c.set("OutScale", (c.shape("X")[0],), c.dtype("X"))


@op(
    "fake_channel_wise_quantize_abs_max",
    "X",
    "Out OutScale",
    {"bit_length": 8},
    infer=_infer_channels,
    grad=False,
)
def fake_channel_wise_quantize_abs_max(k: Call, x: Array) -> tuple[Array, Array]:
    """Out = each slice of X in steps of its largest element; OutScale = these elements."""
    scale = k.xp.abs(x).reshape(x.shape[0], -1).max(axis=1)
    return _on_grid(k, x, scale.reshape(-1, *(1,) * (x.ndim - 1))), scale


@op(
    "fake_quantize_range_abs_max",
    "X InScale Iter?",
    "Out OutScale OutScales?",
    {"bit_length": 8, "window_size": 10000, "is_test": False},
    infer=_infer,
    grad=False,
)
def fake_quantize_range_abs_max(k: Call, x: Array, before: Array, iteration: Array) -> KernelResult:
    """Out = X in steps of the largest element of the last window_size runs."""
    xp = k.xp
    if k.attrs["is_test"]:
        return _on_grid(k, x, before), before, None
    size = k.attrs["window_size"]
    held = k.state.setdefault("scales", xp.zeros(size, x.dtype))
    number = int(k.dev.download(iteration).reshape(-1)[0])
    now = xp.abs(x).max()
    gone = held[number % size].copy()
    held[number % size] = now
    largest = before.reshape(-1)[0]
    if largest < now:
        largest = now
    elif abs(gone - largest) < 1e-6:
        largest = held[: min(number, size) or 1].max()
    scale = xp.asarray(largest, x.dtype).reshape(1)
    return _on_grid(k, x, scale), scale, held.copy()


_MOVING: dict[str, Any] = {"bit_length": 8, "moving_rate": 0.9, "is_test": False}


def _moved(k: Call, x: Array, accum: Array, state: Array) -> tuple[Array, Array, Array]:
    """Return the moving mean of the largest elements, and its new state and sum."""
    rate = x.dtype.type(k.attrs["moving_rate"])
    new_state = rate * state + 1
    new_accum = rate * accum + k.xp.abs(x).max()
    return new_accum / new_state, new_state, new_accum


def _with_moving_scale(name: str, doc: str, finish: Any) -> None:
    @op(name, "X InScale InAccum? InState?", "Out OutScale OutState? OutAccum?", _MOVING, infer=_infer, grad=False)
    def kernel(k: Call, x: Any, before: Any, accum: Any, state: Any) -> Any:
        if k.attrs["is_test"] or accum is None:
            return finish(k, _on_grid(k, x, before), before), before, None, None
        scale, new_state, new_accum = _moved(k, x, accum, state)
        return finish(k, _on_grid(k, x, scale), scale), scale, new_state, new_accum

    kernel.__doc__ = doc


def _as_steps(k: Call, steps: Array, scale: Array) -> Array:
    return steps


def _as_values(k: Call, steps: Array, scale: Array) -> Array:
    return steps * scale / steps.dtype.type(_steps(k.attrs["bit_length"]))


_with_moving_scale("fake_quantize_moving_average_abs_max", "Out = X as steps of a moving scale.", _as_steps)
_with_moving_scale(
    "fake_quantize_dequantize_moving_average_abs_max", "Out = X rounded to steps of a moving scale.", _as_values
)


@op(
    "moving_average_abs_max_scale",
    "X InAccum? InState?",
    "Out OutScale OutState? OutAccum?",
    {"moving_rate": 0.9, "is_test": False},
    infer=_infer,
    grad=False,
)
def moving_average_abs_max_scale(k: Call, x: Array, accum: Array | None, state: Array) -> KernelResult:
    """OutScale = the moving mean of the largest elements of X; Out = X."""
    if k.attrs["is_test"] or accum is None:
        return x.copy(), None, None, None
    scale, new_state, new_accum = _moved(k, x, accum, state)
    return x.copy(), scale, new_state, new_accum


@op("fake_dequantize_max_abs", "X Scale", "Out", {"max_range": 127.0}, infer=_infer, grad=False)
def fake_dequantize_max_abs(k: Call, x: Array, scale: Array) -> Array:
    """Out = X * Scale / max_range."""
    return x * scale.reshape(-1)[0] / x.dtype.type(k.attrs["max_range"])


@op(
    "fake_channel_wise_dequantize_max_abs",
    "X Scales*",
    "Out",
    {"quant_bits": [8]},
    infer=_infer,
    grad=False,
)
def fake_channel_wise_dequantize_max_abs(k: Call, x: Array, scales: list[Array]) -> Array:
    """Out = X times the scale of each channel (dim 0), or with two scales times that of dim 1 and a common one."""
    bits = k.attrs["quant_bits"]
    axis = len(scales) - 1
    shape = [1] * x.ndim
    shape[axis] = -1
    out = x * scales[0].reshape(shape) / x.dtype.type(_steps(bits[0]))
    return out if axis == 0 else out * scales[1].reshape(-1)[0] / x.dtype.type(_steps(bits[1]))


@op("dequantize_abs_max", "X Scale", "Out", {"max_range": 127.0}, infer=_infer, grad=False)
def dequantize_abs_max(k: Call, x: Array, scale: Array) -> Array:
    """Out = X * Scale / max_range, where X is int8."""
    factor = scale.reshape(-1)[0]
    return factor * x.astype(scale.dtype) / scale.dtype.type(k.attrs["max_range"])


@op("dequantize_log", "X Dict", "Out", infer=_infer, grad=False)
def dequantize_log(k: Call, x: Array, table: Array) -> Array:
    """Out = the value in Dict for |X|, with the sign of X (counted from -128)."""
    number = x.astype("int64")
    return k.xp.where(number < 0, -table[k.xp.where(number < 0, number + 128, 0)], table[k.xp.maximum(number, 0)])
