"""`WeightQuantization`: store the weights of a saved model as int8 or int16."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fluidio.executor import Executor
from fluidio.io import load_inference_model, save_inference_model
from fluidio.places import CPUPlace
from fluidio.program import Operator
from fluidio.tensor import Scope, global_scope

__all__ = ["WeightQuantization"]

_BINS = 5000


class WeightQuantization:
    """Make a model smaller: integer weights, with scales as attributes of the ops that read them.

    Args:
        model_dir: the folder of a float32 model that `save_inference_model` wrote.
        model_filename: the file of its program, `__model__` by default.
        params_filename: the file of all its parameters; None if each has its own.
    """

    _supported_quantizable_op_type = ["conv2d", "depthwise_conv2d", "mul"]
    _supported_weight_quantize_type = ["channel_wise_abs_max", "abs_max"]

    def __init__(
        self,
        model_dir: str | os.PathLike[str],
        model_filename: str | None = None,
        params_filename: str | None = None,
    ) -> None:
        self._model_dir = model_dir
        self._model_filename = model_filename
        self._params_filename = params_filename

    def quantize_weight_to_int(
        self,
        save_model_dir: str | os.PathLike[str],
        save_model_filename: str | None = None,
        save_params_filename: str | None = None,
        quantizable_op_type: Sequence[str] = ("conv2d", "mul"),
        weight_bits: int = 8,
        weight_quantize_type: str = "channel_wise_abs_max",
        generate_test_model: bool = False,
        threshold_rate: float = 0.0,
    ) -> None:
        """Save the model with integer weights in the folder `quantized_model` of `save_model_dir`.

        Args:
            save_model_filename, save_params_filename: as in `save_inference_model`.
            quantizable_op_type: the ops whose weights are stored: conv2d, depthwise_conv2d, mul.
            weight_bits: 8 or 16.
            weight_quantize_type: one scale for a weight ("abs_max") or for each channel ("channel_wise_abs_max").
            generate_test_model: also save the rounded weights as float32, in the folder `test_model`: this model
                runs anywhere.
            threshold_rate: the fraction of a weight's numbers, the largest, that "abs_max" may clip.
        """
        for kind in quantizable_op_type:
            if kind not in self._supported_quantizable_op_type:
                raise AssertionError(
                    f"quantizable_op_type: ops of type {kind!r} cannot be quantized; choose from "
                    f"{', '.join(self._supported_quantizable_op_type)}"
                )
        if weight_bits not in (8, 16):
            raise AssertionError(f"weight_bits must be 8 or 16, got {weight_bits!r}")
        if weight_quantize_type not in self._supported_weight_quantize_type:
            raise AssertionError(
                f"weight_quantize_type must be one of {', '.join(self._supported_weight_quantize_type)}, got "
                f"{weight_quantize_type!r}"
            )
        per_channel = weight_quantize_type == "channel_wise_abs_max"
        for folder in ("quantized_model", "test_model") if generate_test_model else ("quantized_model",):
            exe, scope = Executor(CPUPlace()), global_scope()
            program, feeds, targets = load_inference_model(
                self._model_dir, exe, self._model_filename, self._params_filename
            )
            weights = {v.name for v in program.list_vars() if v.persistable}
            store = _Store(scope, weight_bits, per_channel, threshold_rate, as_floats=folder == "test_model")
            for op in [op for block in program.blocks for op in block.ops if op.type in quantizable_op_type]:
                for name in [name for name in op.input_arg_names if name in weights]:
                    op._set_attr("quantization_type", f"post_weight_{weight_quantize_type}")
                    op._set_attr("quantize_weight_bits", weight_bits)
                    op._set_attr(f"{name}_quant_scale", store.round(op, name))
            path = os.path.join(save_model_dir, folder)
            save_inference_model(path, feeds, targets, exe, program, save_model_filename, save_params_filename)


class _Store:
    """Rounds weights in a scope, each once."""

    def __init__(self, scope: Scope, bits: int, per_channel: bool, rate: float, as_floats: bool) -> None:
        self._scope, self._rate = scope, rate
        self._per_channel, self._as_floats = per_channel, as_floats
        self._steps = (1 << (bits - 1)) - 1
        self._dtype = np.dtype(f"int{bits}")
        self._done: dict[str, list[float]] = {}

    def round(self, op: Operator, name: str) -> list[float]:
        """Round the weight that an op reads; return its scales."""
        if name not in self._done:
            tensor = self._scope.var(name).get_tensor()
            weight = np.array(tensor)
            axes = None
            if self._per_channel:
                channel = weight.ndim - 1 if op.type == "mul" else 0
                axes = tuple(axis for axis in range(weight.ndim) if axis != channel)
            elif abs(self._rate) >= 1e-10:
                bound = weight.dtype.type(_threshold(weight, self._rate))
                weight = np.clip(weight, -bound, bound)
            scale = np.abs(weight).max(axis=axes, keepdims=True).astype(np.float64) / self._steps
            step = np.where(scale == 0, 1, scale)  # a channel of zeros stays zero
            whole = np.around(weight / step.astype(weight.dtype)).astype(self._dtype)
            tensor.set((whole * scale).astype(np.float32) if self._as_floats else whole, CPUPlace())
            self._done[name] = scale.ravel().tolist()
        return self._done[name]


def _threshold(weight: NDArray[np.floating], rate: float) -> float:
    """Return the bound that all but a fraction of the numbers respect."""
    sizes = np.abs(weight)
    counts, edges = np.histogram(sizes, bins=_BINS, range=(0, sizes.max()))
    kept = np.cumsum(counts / counts.sum()) >= 1.0 - rate
    return float((int(kept.argmax()) + 1) * float(edges[1] - edges[0]))
