"""Names of Fluid's imperative mode, which is not supported: calling one raises an error that says so."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["ImperativeVariable", "refuse_imperative"]


def refuse_imperative(what: str) -> NoReturn:
    """Raise the error Fluid raises when a static program uses the imperative mode."""
    raise AssertionError(
        f"{what} works only in imperative mode (fluid.dygraph), which fluidio does not have: in a static "
        "program a Variable gets its value when an Executor runs it; fetch it with exe.run(fetch_list=[...])"
    )


class ImperativeVariable:
    """Methods that a Variable has only in imperative mode."""

    def numpy(self) -> NoReturn:
        refuse_imperative("Variable.numpy")

    def detach(self) -> NoReturn:
        refuse_imperative("Variable.detach")

    def backward(self, backward_strategy: object = None) -> NoReturn:
        refuse_imperative("Variable.backward")

    def gradient(self) -> NoReturn:
        refuse_imperative("Variable.gradient")

    def clear_gradient(self) -> NoReturn:
        refuse_imperative("Variable.clear_gradient")

    def set_value(self, value: object) -> NoReturn:
        refuse_imperative("Variable.set_value")
