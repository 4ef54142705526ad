"""Python 2's attributes of functions and methods, whatever an object calls them today."""

from __future__ import annotations

from typing import Any

__all__ = ["func_code", "func_defaults", "func_dict", "func_doc", "func_globals", "func_name", "im_class"]
__all__ += ["im_func", "im_self"]


def _old_or_new(value: Any, old: str, new: str) -> Any:
    return getattr(value, old) if hasattr(value, old) else getattr(value, new)


def func_name(value: Any) -> Any:
    """Return the name of a function."""
    return _old_or_new(value, "func_name", "__name__")


def func_code(value: Any) -> Any:
    """Return the code of a function."""
    return _old_or_new(value, "func_code", "__code__")


def func_defaults(value: Any) -> Any:
    """Return the defaults of a function."""
    return _old_or_new(value, "func_defaults", "__defaults__")


def func_dict(value: Any) -> Any:
    """Return the attributes of a function."""
    return _old_or_new(value, "func_dict", "__dict__")


def func_doc(value: Any) -> Any:
    """Return the docstring of a function."""
    return _old_or_new(value, "func_doc", "__doc__")


def func_globals(value: Any) -> Any:
    """Return the module names that a function sees."""
    return _old_or_new(value, "func_globals", "__globals__")


def im_func(value: Any) -> Any:
    """Return the function of a method."""
    return _old_or_new(value, "im_func", "__func__")


def im_self(value: Any) -> Any:
    """Return the object of a method."""
    return _old_or_new(value, "im_self", "__self__")


def im_class(value: Any) -> Any:
    """Return the class of a method."""
    return value.im_class if hasattr(value, "im_class") else type(value.__self__)
