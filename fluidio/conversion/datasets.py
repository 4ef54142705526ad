"""`dataset:mnist.train`: find a reader of `paddle.dataset` by its name."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from fluidio.errors import ConversionError

__all__ = ["find_reader"]


def find_reader(name: str, args: Sequence[str] = ()) -> Callable[[], Iterable[Any]]:
    """Return the reader that `dataset:MODULE.FUNCTION` means.

    Args:
        args: `key=value` for parameters of the function. The module builds a word dictionary if the function needs one.
    """
    module_name, _, function_name = name.removeprefix("dataset:").partition(".")
    try:
        module = importlib.import_module(f"fluidio.dataset.{module_name}")
        function = getattr(module, function_name)
    except (ImportError, AttributeError) as error:
        raise ConversionError(
            f"{name}: expected dataset:MODULE.FUNCTION, for example dataset:mnist.train: {error}"
        ) from error
    values = dict(map(_parse, args))
    parameters = inspect.signature(function).parameters
    unknown = values.keys() - parameters.keys()
    if unknown:
        raise ConversionError(f"{name} has no parameter {', '.join(sorted(unknown))}; it has: {', '.join(parameters)}")
    for key, parameter in parameters.items():
        if key in values or parameter.default is not parameter.empty or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        make = getattr(module, "word_dict", None) or getattr(module, "build_dict", None)
        if key != "word_idx" or make is None:
            raise ConversionError(f"{name} needs {key}: add `-- {key}=VALUE`")
        values[key] = make()
    reader = function(**values)
    if not callable(reader):
        raise ConversionError(f"{name} is not a reader: it returned {type(reader).__name__}")
    found: Callable[..., Any] = reader
    return found


def _parse(word: str) -> tuple[str, Any]:
    key, equals, text = word.partition("=")
    if not equals:
        raise ConversionError(f"{word!r}: expected key=value")
    try:
        return key, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return key, text
