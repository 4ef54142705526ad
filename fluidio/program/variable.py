"""Variable and Parameter: names with shape, dtype and LoD level inside a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.program import unique_name
from fluidio.program.variable_math import VariableMath

if TYPE_CHECKING:
    from fluidio.program.block import Block
    from fluidio.program.operator import Operator

__all__ = ["Parameter", "Variable", "check_text_options"]


class Variable(VariableMath):
    """A value of a program: known by name, described by shape, dtype and LoD level; its data live in a scope.

    Made by `block.create_var` and by layers. Arithmetic on variables appends ops to the current program.
    """

    # Readers and their handles bring methods of their own (start, reset, decorate_*); any attribute may be set.
    reset: Callable[[], None]

    def __init__(
        self,
        block: Block,
        type: VarType = VarType.LOD_TENSOR,
        name: str | None = None,
        shape: Sequence[int] | None = None,
        dtype: DTypeLike | None = None,
        lod_level: int | None = None,
        capacity: int | None = None,
        persistable: bool | None = None,
        error_clip: Any = None,
        stop_gradient: bool = False,
        is_data: bool = False,
        need_check_feed: bool = False,
        belong_to_optimizer: bool = False,
        **_: Any,
    ) -> None:
        self.block = block
        self.name = name if name is not None else unique_name.generate("_generated_var")
        self.type = type
        self._shape: tuple[int, ...] = _shape(shape)
        self._dtype: VarType = VarType.FP32 if dtype is None else to_vartype(dtype)
        self.lod_level = lod_level or 0
        self._persistable = bool(persistable)
        self.error_clip = error_clip
        self.stop_gradient = stop_gradient
        self.is_data = is_data
        self.need_check_feed = need_check_feed
        self.belong_to_optimizer = belong_to_optimizer
        self.op: Operator | None = None
        self.reader_slots: list[tuple[tuple[int, ...], VarType, int]] = []
        """For a READER variable: shape, dtype and LoD level of each slot it delivers."""
        self.trainer_share: tuple[int, int, bool] | None = None
        """For a READER variable: (trainers, trainer id) if its records are still to be divided among trainers."""

    def _meets(self, type: VarType, shape: Any, dtype: Any, lod_level: Any, persistable: Any) -> None:
        """Check a second declaration of the same name against the first."""
        wanted = [
            ("type", self.type, type),
            ("shape", self._shape, None if shape is None else _shape(shape)),
            ("dtype", self._dtype, None if dtype is None else to_vartype(dtype)),
            ("lod_level", self.lod_level, lod_level),
            ("persistable", self._persistable, persistable),
        ]
        for what, old, new in wanted:
            if new is not None and old != new:
                raise ValueError(
                    f"Variable {self.name} has been created before. The previous {what} is {old}; the new {what} is "
                    f"{new}. They are not matched."
                )

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> VarType:
        return self._dtype

    @property
    def persistable(self) -> bool:
        return self._persistable

    @persistable.setter
    def persistable(self, value: bool) -> None:
        self._persistable = bool(value)
        self.block.program._bump_details()

    @property
    def desc(self) -> Any:
        from fluidio.program.desc import VarDesc

        return VarDesc(self)

    def set_error_clip(self, error_clip: Any) -> None:
        self.error_clip = error_clip

    _set_error_clip = set_error_clip

    @property
    def grad_name(self) -> str:
        """Return the name that the gradient has or would have."""
        return f"{self.name}@GRAD"

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Return the VarDesc as text; `with_details` adds what only Python knows."""
        from fluidio.program.text_format import variable_text

        check_text_options(throw_on_error, with_details)
        return variable_text(self, with_details)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"{kind}({self.name!r}, shape={list(self._shape)}, dtype={self._dtype.name}, lod_level={self.lod_level})"


def check_text_options(throw_on_error: object, with_details: object = False) -> None:
    """Refuse what is no bool, as Fluid did."""
    for name, given in (("throw_on_error", throw_on_error), ("with_details", with_details)):
        if not isinstance(given, bool):
            raise AssertionError(f"The type of {name} parameter is wrong, expected bool, but received {type(given)}.")


def _shape(shape: Sequence[int] | None) -> tuple[int, ...]:
    return () if shape is None else tuple(-1 if d is None else int(d) for d in shape)


class Parameter(Variable):
    """A persistable variable that training may change."""

    def __init__(self, block: Block, shape: Sequence[int], dtype: DTypeLike, **options: Any) -> None:
        if shape is None or dtype is None:
            raise ValueError("Parameter must set shape and dtype")
        if len(shape) == 0:
            raise ValueError("Parameter shape cannot be empty")
        if any(d < 0 for d in shape):
            raise ValueError(f"Parameter shape should not be related with batch-size, got {list(shape)}")
        options.setdefault("persistable", True)
        super().__init__(block, shape=shape, dtype=dtype, **options)
        self.trainable: bool = options.get("trainable", True)
        self.optimize_attr: dict[str, Any] = options.get("optimize_attr") or {"learning_rate": 1.0}
        self.regularizer = options.get("regularizer")
        self.gradient_clip_attr = options.get("gradient_clip_attr")
        self.do_model_average = options.get("do_model_average")
        self.is_distributed = options.get("is_distributed", False)
