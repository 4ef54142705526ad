"""Fluid 1.8's checks of argument types and dtypes when a layer is called, from one table. Older eras check nothing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike
from fluidio.era import era
from fluidio.initializer import Initializer
from fluidio.layers._call_checks import CALL_CHECKS
from fluidio.layers._value_checks import ValueCheck, value_checks
from fluidio.param_attr import ParamAttr
from fluidio.program import Variable
from fluidio.program.type_checks import check_dtype, check_type

__all__ = ["add_checks"]

_KINDS: dict[str, tuple[type, ...]] = {
    "Initializer": (Initializer,),
    "None": (type(None),),
    "ParamAttr": (ParamAttr,),
    "Variable": (Variable,),
    "array": (np.ndarray,),
    "bool": (bool,),
    "bytes": (bytes,),
    "dict": (dict,),
    "float": (float,),
    "int": (int,),
    "list": (list,),
    "set": (set,),
    "str": (str,),
    "tuple": (tuple,),
}


@dataclass(frozen=True, slots=True)
class _Check:
    """One argument: allowed types (None for any), allowed dtypes (None for any)."""

    argument: str
    kinds: tuple[str, ...] | None
    dtypes: tuple[str, ...] | None
    names_dtype: bool = False

    def __call__(self, layer: str, value: Any) -> None:
        if self.names_dtype:
            self._check_dtype(layer, value)
            return
        if self.kinds is not None:
            kinds = [kind for name in self.kinds for kind in _KINDS[name]]
            check_type(value, self.argument, tuple(kinds) if len(kinds) > 1 else kinds[0], layer)
        if self.dtypes is not None:
            for variable in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(variable, (Variable, np.ndarray)):
                    self._check_dtype(layer, variable.dtype)

    def _check_dtype(self, layer: str, dtype: DTypeLike | None) -> None:
        assert self.dtypes is not None
        if dtype is None and "None" in self.dtypes:
            return
        check_dtype(dtype, self.argument, self.dtypes, layer)


def add_checks(modules: Iterable[ModuleType], names: Iterable[str] | None = None) -> None:
    """Wrap layers of some modules in their checks; a layer that several modules export stays one function.

    Args:
        names: the layers to check; all in the table if None.
    """
    known = {name: _table().get(name, ()) for name in {**_table(), **value_checks(), **CALL_CHECKS}}
    chosen = known if names is None else {name: known[name] for name in names}
    wrapped: dict[int, Callable[..., Any]] = {}
    for module in modules:
        for name, checks in chosen.items():
            if "." in name:
                _check_method(module, name, checks)
                continue
            layer = vars(module).get(name)
            if inspect.isfunction(layer) and not hasattr(layer, "_checks"):
                if id(layer) not in wrapped:
                    wrapped[id(layer)] = _checked(name, layer, checks)
                setattr(module, name, wrapped[id(layer)])


def _check_method(module: ModuleType, name: str, checks: tuple[_Check, ...]) -> None:
    owner, _, method = name.partition(".")
    found = vars(module).get(owner)
    if inspect.isclass(found) and not hasattr(getattr(found, method), "_checks"):
        setattr(found, method, _checked(name, getattr(found, method), checks))


def _checked(name: str, layer: Callable[..., object], checks: tuple[_Check, ...]) -> Callable[..., Any]:
    signature = inspect.signature(layer)
    parameters = list(signature.parameters)
    values = value_checks().get(name, ())
    first = [check for check in values if check.comes_first]
    together = CALL_CHECKS.get(name)
    numbers = {i: name for i, (name, one) in enumerate(signature.parameters.items()) if _is_number(one)}

    def placed(every: Iterable[_Check | ValueCheck]) -> list[tuple[int, _Check | ValueCheck]]:
        return [(parameters.index(c.argument), c) for c in every if c.argument in parameters]

    named = set(numbers.values())
    kinds = placed([*first, *checks])
    rules = placed(check for check in values if not check.comes_first)

    def run(positions: list[tuple[int, _Check | ValueCheck]], args: Any, options: dict[str, Any]) -> None:
        for position, check in positions:
            if position < len(args):
                check(name, args[position])
            elif check.argument in options:
                check(name, options[check.argument])

    @functools.wraps(layer)
    def check_and_call(*args: object, **options: object) -> Any:
        if era().checks_layer_arguments:
            run(kinds, args, options)
            if together is not None:
                together(**signature.bind(*args, **options).arguments)
            run(rules, args, options)
        plain = [_as_number(value) if i in numbers else value for i, value in enumerate(args)]
        return layer(*plain, **{key: _as_number(v) if key in named else v for key, v in options.items()})

    # inspect.getargspec and getfullargspec do not follow functools.wraps.
    check_and_call.__dict__.update(__signature__=signature, _checks=checks)
    return check_and_call


def _is_number(parameter: inspect.Parameter) -> bool:
    return not {"int", "float"}.isdisjoint(str(parameter.annotation).split(" | "))


def _as_number(value: object) -> object:
    """Return the number in a one-element array, which NumPy accepted as a number until 2.4; anything else unchanged."""
    if type(value) is not np.ndarray or value.size != 1:
        return value
    # Keep it a NumPy number: Fluid 1.8 converts one to an attribute in another way than a Python float.
    return np.longdouble(value.item()) if value.dtype.kind == "f" and era().checks_layer_arguments else value.item()


@functools.cache
def _table() -> dict[str, tuple[_Check, ...]]:
    text = Path(__file__).with_name("_checks.txt").read_text("utf-8")
    rows = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {layer: tuple(map(_parse, words)) for layer, *words in rows}


def _parse(word: str) -> _Check:
    if "=" in word:
        argument, _, dtypes = word.partition("=")
        return _Check(argument, None, tuple(dtypes.split("|")), names_dtype=True)
    argument, _, rest = word.partition(":")
    kinds, _, dtypes = rest.partition("/")
    return _Check(
        argument, None if kinds == "*" else tuple(kinds.split("|")), tuple(dtypes.split("|")) if dtypes else None
    )
