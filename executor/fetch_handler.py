"""`fluid.executor.FetchHandler`: inspect variables every few seconds of `train_from_dataset`."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fluidio.tensor import Scope

__all__ = ["FetchHandler", "FetchHandlerMonitor", "Monitor"]


class FetchHandler:
    """Names variables and receives their values; override `handler`.

    Args:
        var_dict: titles and variables.
        period_secs: seconds from one call to the next.
    """

    def __init__(self, var_dict: Mapping[str, object] | None = None, period_secs: float = 60) -> None:
        assert var_dict is not None
        self.var_dict = var_dict
        self.period_secs = period_secs

    def handler(self, res_dict: Mapping[str, object]) -> None:
        """Print the first number of every value."""
        for title, value in res_dict.items():
            if isinstance(value, np.ndarray):
                print(f"{title}[0]: {value[0]} ")

    @staticmethod
    def help() -> None:
        """Print an example."""
        print(_EXAMPLE)


_EXAMPLE = """
class ShowAuc(fluid.executor.FetchHandler):
    def handler(self, res_dict):
        print("auc:", res_dict["auc"])

exe.train_from_dataset(program, dataset, fetch_handler=ShowAuc({"auc": auc}, period_secs=10))
"""


class Monitor:
    """Calls a handler between steps once its period has passed.

    Fluid: a separate thread checked every second, and once more after the last step.
    """

    def __init__(self, handler: FetchHandler | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._handler = handler
        self._clock = clock
        self._last = clock()
        self.variables = list(handler.var_dict.values()) if handler else []

    def step(self, values: list[Any], *, last: bool = False) -> None:
        """Pass the values to the handler if its period has passed."""
        if self._handler is None or not values:
            return
        passed = self._clock() - self._last
        if (math.ceil(passed) if last else passed) >= self._handler.period_secs:
            self._last = self._clock()
            self._handler.handler(dict(zip(self._handler.var_dict, map(np.asarray, values))))


class FetchHandlerMonitor:
    """A thread that hands the values of a scope to a handler, once in each of its periods, until `stop`."""

    def __init__(self, scope: Scope, handler: FetchHandler) -> None:
        self.scope = scope
        self.fetch_instance = handler
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._stopped.clear()
        self._thread = threading.Thread(target=self._watch, name="fetch handler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(self.fetch_instance.period_secs):
            named = self.fetch_instance.var_dict.items()
            self.fetch_instance.handler({title: self._value(variable) for title, variable in named})

    def _value(self, variable: object) -> Any:
        held = self.scope.find_var(variable if isinstance(variable, str) else getattr(variable, "name", ""))
        return None if held is None else np.array(held.get_tensor())
