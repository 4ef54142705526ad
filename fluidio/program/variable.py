"""Variable and Parameter: names with shape, dtype and LoD level inside a block."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.program import unique_name
from fluidio.program.imperative import ImperativeVariable
from fluidio.program.variable_math import VariableMath

if TYPE_CHECKING:
    from fluidio.program.block import Block
    from fluidio.program.operator import Operator

__all__ = ["Parameter", "Variable", "check_text_options", "to_dim"]


class Variable(VariableMath, ImperativeVariable):
    """A value of a program: identified by name, described by shape, dtype and LoD level; its data is in a scope.

    Created by `block.create_var` and by layers. Arithmetic on variables appends ops to the current program.
    """

    # Readers and their handles add their own methods (start, reset, decorate_*); any attribute may be set.
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
        if not isinstance(type, VarType):
            raise TypeError(f"Variable {self.name}: type must be a core.VarDesc.VarType, got {type!r}")
        if lod_level is not None and not isinstance(lod_level, (int, np.integer)):
            raise TypeError(f"Variable {self.name}: lod_level must be a whole number, got {lod_level!r}")
        self.type = type
        self._shape: tuple[int, ...] = _shape(shape)
        self._dtype: VarType = VarType.FP32 if dtype is None else to_vartype(dtype)
        self.lod_level = lod_level or 0
        self._persistable = bool(persistable)
        # Which of them the VarDesc states: those that were given, or set later.
        self.states_lod_level, self.states_persistable = lod_level is not None, persistable is not None
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
        block.vars[self.name] = self

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
                    f"the block already has a variable {self.name} with {what} {old}: it cannot be created "
                    f"again with {what} {new}"
                )

    @property
    def shape(self) -> tuple[int, ...]:
        self._check_tensor("shape")
        return self._shape

    @property
    def dtype(self) -> VarType:
        self._check_tensor("dtype")
        return self._dtype

    def _check_tensor(self, what: str) -> None:
        if self.type in _NO_TENSOR:
            raise EnforceNotMet(f"the variable {self.name} is a {self.type.name}, which has no {what}")

    @property
    def persistable(self) -> bool:
        return self._persistable

    @persistable.setter
    def persistable(self, value: bool) -> None:
        if isinstance(value, str):
            raise TypeError(f"persistable must be True or False, got {value!r}")
        self._persistable = bool(value)
        self.states_persistable = True
        self.block.program._bump_details()

    @property
    def desc(self) -> Any:
        from fluidio.program.desc import VarDesc

        return VarDesc(self)

    def set_error_clip(self, error_clip: Any) -> None:
        self.error_clip = error_clip

    _set_error_clip = set_error_clip

    def _set_info(self, key: str, value: object) -> None:
        """Attach arbitrary information to this variable; it is not saved with the program."""
        self.__dict__.setdefault("_info", {})[key] = value

    def _get_info(self, key: str) -> Any:
        return self.__dict__.get("_info", {}).get(key)

    @property
    def grad_name(self) -> str:
        """Return the name that the gradient has or would have."""
        return f"{self.name}@GRAD"

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Return the VarDesc as text; `with_details` adds the properties that only Python has."""
        from fluidio.program.text_format import variable_text

        check_text_options(throw_on_error, with_details)
        return variable_text(self, with_details)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        if era().repr_is_text:
            return self.to_string(True)
        kind = type(self).__name__
        return f"{kind}({self.name!r}, shape={list(self._shape)}, dtype={self._dtype.name}, lod_level={self.lod_level})"


def check_text_options(throw_on_error: object, with_details: object = False) -> None:
    """Raise for options that are not bools, as Fluid did."""
    for name, given in (("throw_on_error", throw_on_error), ("with_details", with_details)):
        if not isinstance(given, bool):
            raise AssertionError(f"{name} must be True or False, got {type(given).__name__}")


# Fluid describes no tensor for these types of variables.
_NO_TENSOR = frozenset(
    {VarType.FEED_MINIBATCH, VarType.FETCH_LIST, VarType.STEP_SCOPES, VarType.LOD_RANK_TABLE, VarType.PLACE_LIST}
)


def _shape(shape: Sequence[int] | None) -> tuple[int, ...]:
    return () if shape is None else tuple(-1 if d is None else to_dim(d) for d in shape)


def to_dim(size: Any) -> int:
    """Return a dim as an int; TypeError for anything but whole numbers."""
    one: Any = size.reshape(-1)[0] if isinstance(size, np.ndarray) and size.size == 1 else size
    if isinstance(one, (float, np.floating)) and float(one).is_integer():
        return int(one)
    index: Any = operator.index
    try:
        return int(index(one))
    except TypeError:
        kind = ValueError if isinstance(size, (np.ndarray, Variable)) else TypeError  # as in Fluid
        raise kind(f"a size in a shape must be a whole number, got {type(size).__name__} {size!r}") from None


class Parameter(Variable):
    """A persistable variable that training may change."""

    def __init__(
        self,
        block: Block,
        shape: Sequence[int],
        dtype: DTypeLike,
        type: VarType = VarType.LOD_TENSOR,
        **options: Any,
    ) -> None:
        if shape is None or dtype is None:
            raise ValueError("a Parameter needs a shape and a dtype")
        if len(shape) == 0:
            raise ValueError("a Parameter needs a shape of at least one dim")
        if any(d < 0 for d in shape):
            raise ValueError(f"a Parameter must have a fixed shape, without -1; got {list(shape)}")
        options.setdefault("persistable", True)
        super().__init__(block, type, shape=shape, dtype=dtype, **options)
        self.trainable: bool = options.get("trainable", True)
        self.optimize_attr: dict[str, Any] = options.get("optimize_attr") or {"learning_rate": 1.0}
        self.regularizer = options.get("regularizer")
        self.gradient_clip_attr = options.get("gradient_clip_attr")
        self.do_model_average = options.get("do_model_average")
        self.is_distributed = options.get("is_distributed", False)
