"""Python 2's attributes of functions and methods, under their current names."""

from __future__ import annotations

import types
from typing import Any

__all__ = ["func_code", "func_defaults", "func_dict", "func_doc", "func_globals", "func_name", "im_class"]
__all__ += ["im_func", "im_self"]


def _old_or_new(value: object, old: str, new: str) -> Any:
    return getattr(value, old) if hasattr(value, old) else getattr(value, new)


def func_name(value: object) -> Any:
    """Return the name of a function."""
    return _old_or_new(value, "func_name", "__name__")


def func_code(value: object) -> Any:
    """Return the code of a function."""
    return _old_or_new(value, "func_code", "__code__")


def func_defaults(value: object) -> Any:
    """Return the defaults of a function."""
    return _old_or_new(value, "func_defaults", "__defaults__")


def func_dict(value: object) -> Any:
    """Return the attributes of a function."""
    return _old_or_new(value, "func_dict", "__dict__")


def func_doc(value: object) -> Any:
    """Return the docstring of a function."""
    return _old_or_new(value, "func_doc", "__doc__")


def func_globals(value: object) -> Any:
    """Return the globals of a function."""
    return _old_or_new(value, "func_globals", "__globals__")


def im_func(value: object) -> Any:
    """Return the function of a method; one taken from its class is the function."""
    if isinstance(value, types.FunctionType):
        return value
    return _old_or_new(value, "im_func", "__func__")


def im_self(value: object) -> Any:
    """Return the object of a method."""
    return _old_or_new(value, "im_self", "__self__")


def im_class(value: Any) -> Any:
    """Return the class of a method."""
    return value.im_class if hasattr(value, "im_class") else type(value.__self__)
