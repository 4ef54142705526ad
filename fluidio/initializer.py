"""Initial values of parameters: each initializer adds one op to the startup program."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.program import Block, Operator, Variable, unique_name

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
]


class Initializer:
    """Base class: `initializer(variable, block)` prepends the op that fills the variable.

    Fluid: the ops are in reverse order of creation; each has its own random engine, so the order does not matter.
    """

    is_initializer = True

    def __call__(self, var: Variable, block: Block) -> Operator:
        raise NotImplementedError(f"{type(self).__name__} must define how it initializes")

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

    _float16_name = ""
    """What the float32 variable is called that a float16 one is cast from; else by the op."""

    def _fill(self, type: str, var: Variable, block: Block, **attrs: object) -> Operator:
        out = self._as_float32(type, var, block) if var.dtype == VarType.FP16 else var
        options = {"shape": list(var.shape), "dtype": out.dtype, **attrs}
        op = block._prepend_op(type=type, outputs={"Out": [out]}, attrs=options)
        if out is not var:
            dtypes = {"in_dtype": out.dtype, "out_dtype": var.dtype}
            block.append_op(type="cast", inputs={"X": [out]}, outputs={"Out": [var]}, attrs=dtypes)
        var.op = op
        return op

    def _as_float32(self, type: str, var: Variable, block: Block) -> Variable:
        name = unique_name.generate(f"{self._float16_name or type}.{var.name}.tmp")
        made: Variable = block.create_var(name=name, shape=var.shape, dtype=VarType.FP32, persistable=False)
        return made


class ConstantInitializer(Initializer):
    """Set every element to `value`."""

    _float16_name = "constant_init"

    def __init__(self, value: float = 0.0, force_cpu: bool = False) -> None:
        _check_given(value=value)
        self.value = value
        self.force_cpu = force_cpu

    def __call__(self, var: Variable, block: Block) -> Operator:
        return self._fill("fill_constant", var, block, value=float(self.value), force_cpu=self.force_cpu)


class _Random(Initializer):
    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def _seed(self, block: Block) -> int:
        # Fluid: the program's seed is read while building; 0 means a seed from the system in each run.
        return self.seed or block.program.random_seed


_FLOATS = (VarType.FP16, VarType.FP32, VarType.FP64)


def _check_float(var: Variable, op: str) -> None:
    """Refuse to draw whole numbers, as 1.8 does."""
    if var.dtype not in _FLOATS and era().checks_layer_arguments:
        raise TypeError(f"{op}: {var.name} must have dtype float16, float32 or float64, got {var.dtype.name.lower()}")


class UniformInitializer(_Random):
    """Uniform in [low, high]; on request `diag_val` at `diag_num` places, `diag_step` + 1 apart."""

    def __init__(
        self,
        low: float = -1.0,
        high: float = 1.0,
        seed: int = 0,
        diag_num: int = 0,
        diag_step: int = 0,
        diag_val: float = 1.0,
    ) -> None:
        super().__init__(seed)
        _check_given(seed=seed, diag_num=diag_num, diag_step=diag_step, diag_val=diag_val)
        if low is None or high is None or high < low:
            raise AssertionError(f"Uniform: low ({low}) must not be above high ({high})")
        if (diag_num > 0 or diag_step > 0) and not (diag_num > 0 and diag_step > 0):
            raise AssertionError(f"Uniform: diag_num and diag_step must be above 0, got {diag_num} and {diag_step}")
        self.low = low
        self.high = high
        self._diagonal = {"diag_num": diag_num, "diag_step": diag_step, "diag_val": diag_val} if diag_num else {}

    def __call__(self, var: Variable, block: Block) -> Operator:
        _check_float(var, "uniform_random")
        options = {"min": self.low, "max": self.high, "seed": self._seed(block), **self._diagonal}
        return self._fill("uniform_random", var, block, **options)


class NormalInitializer(_Random):
    """Normal with mean `loc` and standard deviation `scale`."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(seed)
        _check_given(loc=loc, scale=scale, seed=seed)
        self.loc = loc
        self.scale = scale

    def __call__(self, var: Variable, block: Block) -> Operator:
        _check_float(var, "gaussian_random")
        return self._fill("gaussian_random", var, block, mean=self.loc, std=self.scale, seed=self._seed(block))


class TruncatedNormalInitializer(_Random):
    """Normal, truncated at two standard deviations."""

    def __init__(self, loc: float = 0.0, scale: float = 1.0, seed: int = 0) -> None:
        super().__init__(seed)
        _check_given(loc=loc, scale=scale, seed=seed)
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


def _check_given(**given: object) -> None:
    for name, value in given.items():
        if value is None:
            raise AssertionError(f"{name} must be given, got None")


class XavierInitializer(_Fans):
    """Variance 2 / (fan_in + fan_out), uniform or normal."""

    _float16_name = "xavier_init"

    def __init__(
        self, uniform: bool = True, fan_in: float | None = None, fan_out: float | None = None, seed: int = 0
    ) -> None:
        super().__init__(seed)
        _check_given(uniform=uniform, seed=seed)
        self.uniform = uniform
        self.fan_in = fan_in
        self.fan_out = fan_out

    def __call__(self, var: Variable, block: Block) -> Operator:
        _check_float(var, "xavier_init")
        found_in, found_out = self._compute_fans(var)
        fan_in = found_in if self.fan_in is None else self.fan_in
        fan_out = found_out if self.fan_out is None else self.fan_out
        return self._draw(var, block, self.uniform, 2.0 / float(fan_in + fan_out))


class MSRAInitializer(_Fans):
    """Variance 2 / fan_in, uniform or normal."""

    _float16_name = "masra_init"

    def __init__(self, uniform: bool = True, fan_in: float | None = None, seed: int = 0) -> None:
        super().__init__(seed)
        _check_given(uniform=uniform, seed=seed)
        self.uniform = uniform
        self.fan_in = fan_in

    def __call__(self, var: Variable, block: Block) -> Operator:
        fan_in = self._compute_fans(var)[0] if self.fan_in is None else self.fan_in
        return self._draw(var, block, self.uniform, 2.0 / float(fan_in))


class NumpyArrayInitializer(Initializer):
    """The values of an array."""

    _float16_name = "numpy_array_init"

    def __init__(self, value: object) -> None:
        if not isinstance(value, np.ndarray):
            raise AssertionError(f"NumpyArrayInitializer takes a NumPy array, got {type(value).__name__}")
        self._value = value

    def __call__(self, var: Variable, block: Block) -> Operator:
        names: dict[VarType, tuple[str, type[np.generic]]] = {
            VarType.INT32: ("int32_values", np.int32),
            VarType.INT64: ("int64_values", np.int64),
            VarType.BOOL: ("bool_values", np.bool_),
        }
        name, kept = names.get(var.dtype, ("fp32_values", np.float32))
        op = self._fill("assign_value", var, block, **{name: self._value.astype(kept).reshape(-1).tolist()})
        op._set_attr("shape", list(self._value.shape))
        return op


def _near(place: Any, factor: float, centre: float) -> Any:
    return 1 - np.abs(place / factor - centre)


class BilinearInitializer(Initializer):
    """The kernel of bilinear up-sampling, for conv2d_transpose weights of shape [C, 1, K, K].

    Args:
        even: make the intended kernel, the same in rows and columns.

    Fluid: under Python 3 the row number keeps its fraction and the kernel is skewed. The same happens here in era 1.8,
    with a warning; earlier eras follow Python 2.
    """

    def __init__(self, *, even: bool | None = None) -> None:
        self._even = not era().rows_keep_fractions if even is None else even
        if even is None and not self._even:
            warnings.warn(
                "Bilinear(): like Fluid 1.8.5 under Python 3, fluidio makes a skewed kernel; "
                "Bilinear(even=True) makes the intended one",
                stacklevel=2,
            )

    def __call__(self, var: Variable, block: Block) -> Operator:
        shape = var.shape
        if len(shape) != 4:
            raise ValueError(f"Bilinear needs a parameter of 4 dims, {var.name} has shape {list(shape)}")
        if shape[2] != shape[3]:
            raise ValueError(f"Bilinear needs a parameter as high as it is wide, {var.name} has shape {list(shape)}")
        size = shape[3]
        factor = math.ceil(size / 2.0)
        centre = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        place = np.arange(math.prod(shape))
        row = place // size if self._even else place / size
        weight = _near(place % size, factor, centre) * _near(row % size, factor, centre)
        weight = weight.astype(np.float32).reshape(shape)
        values = NumpyArrayInitializer(weight)
        values._float16_name = "bilinear_init"
        op = values(var, block)
        block.ops.remove(op)
        block.ops.insert(len(block.ops) - (var.dtype == VarType.FP16), op)  # Fluid: this op is appended
        return op


@contextlib.contextmanager
def init_on_cpu() -> Iterator[None]:
    """Initialise on the CPU inside the block, as always here: values are drawn on the host and uploaded."""
    yield


def force_init_on_cpu() -> bool:
    """Return whether initial values are made on the CPU; they always are."""
    return True


Constant = ConstantInitializer
Uniform = UniformInitializer
Normal = NormalInitializer
TruncatedNormal = TruncatedNormalInitializer
Xavier = XavierInitializer
MSRA = MSRAInitializer
Bilinear = BilinearInitializer
