"""Check the arguments of `append_backward` and `gradients` before anything is appended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fluidio.program import Variable
from fluidio.program.type_checks import check_type

__all__ = ["check_backward", "check_gradients"]


def check_backward(parameter_list: Any, no_grad_set: Any, callbacks: Any) -> None:
    """Raise for arguments that are not lists, or whose items are not Variables or names (callbacks: functions)."""
    where = "fluid.backward.append_backward"
    if parameter_list is not None:
        check_type(parameter_list, "parameter_list", (list, tuple, set), where)
        _check_each(parameter_list, "parameter_list", where)
    _check_no_grad(no_grad_set)
    if callbacks is None:
        return
    check_type(callbacks, "callbacks", (list, tuple), where)
    for callback in callbacks:
        if not callable(callback):
            raise ValueError(f"each callback must be callable, got {callback!r}")


def check_gradients(targets: Sequence[Any], inputs: Sequence[Any], seeds: Sequence[Any], no_grad_set: Any) -> None:
    """Raise for targets and inputs that are not Variables, and for gradients shaped unlike their targets."""
    for argument, given in (("targets", targets), ("inputs", inputs)):
        for item in given:
            check_type(item, argument, Variable, "fluid.backward.gradients")
    for target, seed in zip(targets, seeds):
        if seed is not None:
            check_type(seed, "target_gradients", Variable, "fluid.backward.gradients")
            if not _alike(target.shape, seed.shape):
                raise ValueError(
                    "gradients: a target and its entry in target_gradients must have the same shape; "
                    f"{target.name} has {list(target.shape)}, {seed.name} {list(seed.shape)}"
                )
    _check_no_grad(no_grad_set)


def _check_no_grad(given: Any) -> None:
    if given is not None:
        check_type(given, "no_grad_set", (set, frozenset, list, tuple), "fluid.backward")
        _check_each(given, "no_grad_set", "fluid.backward")


def _check_each(given: Iterable[object], argument: str, function: str) -> None:
    for item in given:
        check_type(item, argument, (str, Variable), function)


def _alike(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether two shapes may be equal at run time."""
    return len(shape) == len(other) and all(a == b or -1 in (a, b) for a, b in zip(shape, other))
