"""Initial values of parameters: each initializer adds one op to the startup program."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.program import Block, Operator, Variable

__all__ = [
    "MSRA",
    "Bilinear",
    "BilinearInitializer",
    "Constant",
    "ConstantInitializer",
    "Initializer",
    "MSRAInitializer",
    "Normal",
    "NormalInitializer",
    "NumpyArrayInitializer",
    "TruncatedNormal",
    "TruncatedNormalInitializer",
    "Uniform",
    "UniformInitializer",
    "Xavier",
    "XavierInitializer",
    "force_init_on_cpu",
    "init_on_cpu",
]  # fmt: skip


class Initializer:
    """Base class: `initializer(variable, block)` prepends the op that fills the variable.

    Fluid: the ops stand in reverse order of creation; each owns its random engine, so the order changes nothing.
    """

    is_initializer = True

    def __call__(self, var: Variable, block: Block) -> Operator:
        raise NotImplementedError(f"{type(self).__name__} does not say how to initialise")

    @staticmethod
    def _compute_fans(var: Variable) -> tuple[int, int]:
        shape = var.shape
        if not shape:
            return 1, 1
        if len(shape) == 1:
            return shape[0], shape[0]
        if len(shape) == 2:
            return shape[0], shape[1]
        receptive = math.prod(shape[2:])
        return shape[1] * receptive, shape[0] * receptive

    def _fill(self, type: str, var: Variable, block: Block, **attrs: Any) -> Operator:
        options = {"shape": list(var.shape), "dtype": var.dtype, **attrs}
        op = block._prepend_op(type=type, outputs={"Out": [var]}, attrs=options)
        var.op = op
        return op


class ConstantInitializer(Initializer):
    """Every element is `value`."""

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        self.value = value
        self.force_cpu = force_cpu

    def __call__(self, var: Variable, block: Block) -> Operator:
        return self._fill("fill_constant", var, block, value=float(self.value), force_cpu=self.force_cpu)


class _Random(Initializer):
    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _seed(self, block: Block) -> int:
        # Fluid: the program's seed is read while building; 0 means a seed from the system at each run.
        return self.seed or block.program.random_seed


class UniformInitializer(_Random):
    """Uniform in [low, high]; on request `diag_val` at `diag_num` places, `diag_step` + 1 apart."""

    def __init__(
        self, low: float = -1.0, high: float = 1.0, seed: int = 0, diag_num: int = 0, diag_step: int = 0,
        diag_val: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(seed)
        if low is None or high is None or high < low:
            raise AssertionError(f"Uniform needs low <= high, got {low} and {high}")
        self.low = low
        self.high = high
        self._diagonal = {"diag_num": diag_num, "diag_step": diag_step, "diag_val": diag_val} if diag_num else {}

    def __call__(self, var: Variable, block: Block) -> Operator:
        options = {"min": self.low, "max": self.high, "seed": self._seed(block), **self._diagonal}
        return self._fill("uniform_random", var, block, **options)


class NormalInitializer(_Random):
    """Normal with mean `loc` and standard deviation `scale`."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(seed)
        self.loc = loc
        self.scale = scale

    def __call__(self, var: Variable, block: Block) -> Operator:
        return self._fill("gaussian_random", var, block, mean=self.loc, std=self.scale, seed=self._seed(block))


class TruncatedNormalInitializer(_Random):
    """Normal, cut at two standard deviations."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(seed)
        self.loc = loc
        self.scale = scale

    def __call__(self, var: Variable, block: Block) -> Operator:
        return self._fill(
            "truncated_gaussian_random", var, block, mean=self.loc, std=self.scale, seed=self._seed(block)
        )


class _Fans(_Random):
    def _draw(self, var: Variable, block: Block, uniform: bool, variance: float) -> Operator:
        seed = self._seed(block)
        if uniform:
            limit = math.sqrt(3.0 * variance)
            return self._fill("uniform_random", var, block, min=-limit, max=limit, seed=seed)
        return self._fill("gaussian_random", var, block, mean=0.0, std=math.sqrt(variance), seed=seed)


class XavierInitializer(_Fans):
    """Variance 2 / (fan_in + fan_out), uniform or normal."""

    def __init__(
        self, uniform: bool = True, fan_in: float | None = None, fan_out: float | None = None, seed: int = 0
    ) -> None:
        super().__init__(seed)
        self.uniform = uniform
        self.fan_in = fan_in
        self.fan_out = fan_out

    def __call__(self, var: Variable, block: Block) -> Operator:
        found_in, found_out = self._compute_fans(var)
        fan_in = found_in if self.fan_in is None else self.fan_in
        fan_out = found_out if self.fan_out is None else self.fan_out
        return self._draw(var, block, self.uniform, 2.0 / float(fan_in + fan_out))


class MSRAInitializer(_Fans):
    """Variance 2 / fan_in, uniform or normal."""

    def __init__(self, uniform: bool = True, fan_in: float | None = None, seed: int = 0) -> None:
        super().__init__(seed)
        self.uniform = uniform
        self.fan_in = fan_in

    def __call__(self, var: Variable, block: Block) -> Operator:
        fan_in = self._compute_fans(var)[0] if self.fan_in is None else self.fan_in
        return self._draw(var, block, self.uniform, 2.0 / float(fan_in))


class NumpyArrayInitializer(Initializer):
    """The values of an array."""

    def __init__(self, value: Any) -> None:
        if not isinstance(value, np.ndarray):
            raise AssertionError(f"NumpyArrayInitializer takes an ndarray, got {type(value).__name__}")
        self._value = value

    def __call__(self, var: Variable, block: Block) -> Operator:
        names = {
            VarType.INT32: "int32_values",
            VarType.INT64: "int64_values",
            VarType.BOOL: "bool_values",
        }
        name = names.get(var.dtype, "fp32_values")
        values = self._value.astype(np.float32) if name == "fp32_values" else self._value
        op = self._fill("assign_value", var, block, **{name: values.reshape(-1).tolist()})
        op._set_attr("shape", list(self._value.shape))
        return op


class BilinearInitializer(Initializer):
    """The kernel of bilinear up-sampling, for conv2d_transpose weights of shape [C, 1, K, K].

    Fluid: under Python 3 the rows were divided wrongly and the kernel came out skewed; here it is Python 2's.
    """

    def __call__(self, var: Variable, block: Block) -> Operator:
        shape = var.shape
        if len(shape) != 4:
            raise ValueError(f"the length of shape must be 4, the parameter {var.name} has {list(shape)}")
        if shape[2] != shape[3]:
            raise ValueError("shape[2] must be equal to shape[3].")
        size = shape[3]
        factor = math.ceil(size / 2.0)
        centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        x = np.arange(size)
        line = 1 - np.abs(x / factor - centre)
        weight = np.broadcast_to(np.outer(line, line), shape).astype(np.float32)
        op = NumpyArrayInitializer(weight)(var, block)
        block.ops.append(block.ops.pop(0))  # Fluid: this one is appended
        return op


@contextlib.contextmanager
def init_on_cpu() -> Iterator[None]:
    """Initialise on the CPU inside the block: always so here, values are drawn on the host and uploaded."""
    yield


def force_init_on_cpu() -> bool:
    """Tell whether initial values are made on the CPU; they always are."""
    return True


Constant = ConstantInitializer
Uniform = UniformInitializer
Normal = NormalInitializer
TruncatedNormal = TruncatedNormalInitializer
Xavier = XavierInitializer
MSRA = MSRAInitializer
Bilinear = BilinearInitializer
