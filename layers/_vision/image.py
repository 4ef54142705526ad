"""Resize images and rearrange their channels and pixels."""

from __future__ import annotations

from typing import Any

from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import apply, as_list, check_variable, dims_as_variables, has_variables, plain_dims
from fluidio.program import Variable
from fluidio.program.arguments import ShapeLike

__all__ = [
    "add_position_encoding",
    "affine_channel",
    "affine_grid",
    "fsp_matrix",
    "grid_sampler",
    "image_resize",
    "image_resize_short",
    "interpolate",
    "pixel_shuffle",
    "resize_bilinear",
    "resize_nearest",
    "resize_trilinear",
    "shuffle_channel",
    "space_to_depth",
    "temporal_shift",
    "upsampling_bilinear2d",
]


_METHODS = {
    "BILINEAR": ("bilinear", 2),
    "NEAREST": ("nearest", 2),
    "TRILINEAR": ("trilinear", 3),
    "BICUBIC": ("bicubic", 2),
}


def interpolate(
    input: Variable,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    resample: str = "BILINEAR",
    actual_shape: Variable | None = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Variable:
    """Resize images to out_shape, or by a factor `scale`.

    Args:
        resample: "BILINEAR", "NEAREST", "BICUBIC" or "TRILINEAR" (volumes).
        actual_shape: a Variable that overrides out_shape at run time.
        align_corners: the corners of input and output coincide.
        align_mode: without align_corners, 0 aligns the centres of pixels, 1 their corners.
    """
    if resample not in _METHODS:
        raise ValueError(f"resample must be one of {', '.join(_METHODS)}, got {resample!r}")
    if out_shape is None and scale is None:
        raise ValueError("give out_shape or scale")
    if align_mode not in (0, 1):
        raise ValueError(f"align_mode must be 0 or 1, got {align_mode!r}")
    check_variable("image_resize", "input", input)
    method, dims = _METHODS[resample]
    helper = LayerHelper(f"{method}_interp", name=name)
    inputs: dict[str, Any] = {"X": [input]}
    attrs: dict[str, Any] = {
        "out_d": -1,
        "out_h": -1,
        "out_w": -1,
        "interp_method": method,
        "align_corners": align_corners,
        "align_mode": align_mode,
        "data_layout": "NHWC" if data_format.endswith("C") else "NCHW",
    }
    names = ["out_d", "out_h", "out_w"][3 - dims :]
    if isinstance(out_shape, Variable):
        out_shape.stop_gradient = True
        inputs["OutSize"] = [out_shape]
    elif out_shape is not None:
        if len(out_shape) != dims:
            raise ValueError(
                f"out_shape must have {dims} sizes for an input of {len(input.shape)} dims, got {len(out_shape)}"
            )
        attrs.update(zip(names, plain_dims(out_shape)))
        if has_variables(out_shape):
            inputs["SizeTensor"] = dims_as_variables(helper, out_shape)
    elif isinstance(scale, Variable):
        scale.stop_gradient = True
        inputs["Scale"] = [scale]
    else:
        if scale <= 0:
            raise ValueError(f"scale must be above 0, got {scale}")
        attrs["scale"] = float(scale)
    if isinstance(actual_shape, Variable):
        actual_shape.stop_gradient = True
        inputs["OutSize"] = [actual_shape]
    elif actual_shape is not None:
        raise TypeError(f"actual_shape must be a Variable or None, got {type(actual_shape).__name__}")
    out = helper.create_variable_for_type_inference(input.dtype)
    helper.append_op(type=f"{method}_interp", inputs=inputs, outputs={"Out": [out]}, attrs=attrs)
    return out


def image_resize(
    input: Variable,
    out_shape: Any = None,
    scale: Any = None,
    name: str | None = None,
    resample: str = "BILINEAR",
    actual_shape: Variable | None = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Variable:
    """Resize images to out_shape, or by a factor `scale`: as `interpolate`, without "BICUBIC"."""
    if resample not in ("BILINEAR", "TRILINEAR", "NEAREST"):
        raise ValueError(f"image_resize: resample must be 'BILINEAR', 'TRILINEAR' or 'NEAREST', got {resample!r}")
    return interpolate(input, out_shape, scale, name, resample, actual_shape, align_corners, align_mode, data_format)


def resize_bilinear(
    input: Variable,
    out_shape: ShapeLike | None = None,
    scale: float | Variable | None = None,
    name: str | None = None,
    actual_shape: Variable | None = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCHW",
) -> Variable:
    """Resize images by bilinear interpolation; arguments as for image_resize."""
    return image_resize(input, out_shape, scale, name, "BILINEAR", actual_shape, align_corners, align_mode, data_format)


def upsampling_bilinear2d(
    input: Variable,
    out_shape: ShapeLike | None = None,
    scale: float | Variable | None = None,
    name: str | None = None,
) -> Variable:
    """Resize images by bilinear interpolation: the name of `resize_bilinear` up to Fluid 0.12."""
    return resize_bilinear(input, out_shape, scale, name)


def resize_trilinear(
    input: Variable,
    out_shape: ShapeLike | None = None,
    scale: float | Variable | None = None,
    name: str | None = None,
    actual_shape: Variable | None = None,
    align_corners: bool = True,
    align_mode: int = 1,
    data_format: str = "NCDHW",
) -> Variable:
    """Resize volumes by trilinear interpolation; arguments as for image_resize."""
    return image_resize(
        input, out_shape, scale, name, "TRILINEAR", actual_shape, align_corners, align_mode, data_format
    )


def resize_nearest(
    input: Variable,
    out_shape: ShapeLike | None = None,
    scale: float | Variable | None = None,
    name: str | None = None,
    actual_shape: Variable | None = None,
    align_corners: bool = True,
    data_format: str = "NCHW",
) -> Variable:
    """Resize images by their nearest pixels; arguments as for image_resize."""
    return image_resize(input, out_shape, scale, name, "NEAREST", actual_shape, align_corners, 1, data_format)


def image_resize_short(input: Variable, out_short_len: int, resample: str = "BILINEAR") -> Variable:
    """Resize images so that the shorter side has out_short_len pixels."""
    if len(input.shape) != 4:
        raise ValueError(f"image_resize_short: input must have 4 dims [N, C, H, W], it has shape {list(input.shape)}")
    sides = list(input.shape[2:4])
    short = sides.index(min(sides))
    long = 1 - short
    new = [0, 0]
    new[short] = out_short_len
    new[long] = int(float(sides[long]) * (float(out_short_len) / float(sides[short])) + 0.5)
    return image_resize(input=input, out_shape=new, resample=resample)


def pixel_shuffle(x: Variable, upscale_factor: int) -> Variable:
    """Rearrange channels into squares of pixels."""
    return apply(LayerHelper("pixel_shuffle"), "pixel_shuffle", x, {"upscale_factor": upscale_factor})


def shuffle_channel(x: Variable, group: int, name: str | None = None) -> Variable:
    """Interleave the channels of several groups."""
    return apply(LayerHelper("shuffle_channel", name=name), "shuffle_channel", x, {"group": group})


def space_to_depth(x: Variable, blocksize: int, name: str | None = None) -> Variable:
    """Rearrange squares of pixels into channels."""
    if not isinstance(blocksize, int):
        raise ValueError(f"space_to_depth: blocksize must be an int, got {type(blocksize).__name__}")
    return apply(LayerHelper("space_to_depth", name=name), "space_to_depth", x, {"blocksize": blocksize})


def temporal_shift(x: Variable, seg_num: int, shift_ratio: float = 0.25, name: str | None = None) -> Variable:
    """Shift some channels of each frame to the next frame, and some to the previous one."""
    attrs = {"seg_num": seg_num, "shift_ratio": shift_ratio}
    return apply(LayerHelper("temporal_shift", name=name), "temporal_shift", x, attrs)


def affine_channel(
    x: Variable,
    scale: float | Variable | None = None,
    bias: object = None,
    data_layout: str = "NCHW",
    name: str | None = None,
    act: str | None = None,
) -> Variable:
    """scale * x + bias, with a scale and a bias for each channel."""
    helper = LayerHelper("affine_channel", act=act, name=name)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(
        type="affine_channel",
        inputs={"X": [x], "Scale": scale, "Bias": bias},
        outputs={"Out": [out]},
        attrs={"data_layout": data_layout},
    )
    return helper.append_activation(out)


def affine_grid(theta: Variable, out_shape: Any, name: str | None = None) -> Variable:
    """The source position of each pixel of images of out_shape [N, C, H, W] under affine maps theta [N, 2, 3]."""
    helper = LayerHelper("affine_grid", name=name)
    inputs: dict[str, Any] = {"Theta": [check_variable("affine_grid", "theta", theta)]}
    attrs: dict[str, Any] = {}
    if isinstance(out_shape, Variable):
        inputs["OutputShape"] = [out_shape]
    elif isinstance(out_shape, (list, tuple)):
        attrs["output_shape"] = as_list(out_shape)
    else:
        raise ValueError(
            f"affine_grid: out_shape must be a list, a tuple or a Variable, got {type(out_shape).__name__}"
        )
    out = helper.create_variable_for_type_inference(theta.dtype)
    helper.append_op(type="affine_grid", inputs=inputs, outputs={"Output": [out]}, attrs=attrs)
    return out


def grid_sampler(x: Variable, grid: Variable, name: str | None = None) -> Variable:
    """Images sampled at the positions of a grid [N, H, W, 2] in [-1, 1]; zeros outside."""
    helper = LayerHelper("grid_sampler", name=name)
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="grid_sampler", inputs={"X": [x], "Grid": [grid]}, outputs={"Output": [out]})
    return out


def add_position_encoding(input: Variable, alpha: float, beta: float, name: str | None = None) -> Variable:
    """alpha * input + beta * sines and cosines of the position in the sequence."""
    helper = LayerHelper("add_position_encoding", name=name)
    return apply(helper, "add_position_encoding", input, {"alpha": alpha, "beta": beta})


def fsp_matrix(x: Variable, y: Variable) -> Variable:
    """Products of each channel of x with each of y, averaged over the pixels."""
    helper = LayerHelper("fsp_matrix")
    out = helper.create_variable_for_type_inference(x.dtype)
    helper.append_op(type="fsp", inputs={"X": [x], "Y": [y]}, outputs={"Out": [out]})
    return out
