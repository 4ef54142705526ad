"""Programs that train through a loop. With the real 1.8.5, `python loop_cases.py FILE` writes what they give there."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

__all__ = ["names", "run"]

X = [0.5, -0.3]


class Cases:
    """Builds the programs with `fluid`, the real one or ours; `options` go to every loop."""

    def __init__(self, fluid: Any, options: Any) -> None:
        self.fluid = fluid
        self.layers = fluid.layers
        self.options = options

    def build(self, name: str, x: Any, w: Any) -> Any:
        case, times = name.split()[0], int(name.split()[-1])
        self.loop = self._while if " While " in name else self._while_loop
        return getattr(self, "_" + case)(times, x, w)

    def _counter(self, times: int) -> Any:
        return self.layers.fill_constant([1], "int64", 0), self.layers.fill_constant([1], "int64", times)

    def _while(self, times: int, states: Any, body: Any) -> Any:
        layers = self.layers
        i, n = self._counter(times)
        goes_on = layers.less_than(i, n)
        with layers.While(goes_on, **self.options).block():
            for new, state in zip(body(*states), states):
                layers.assign(new, state)
            layers.increment(i, in_place=True)
            layers.less_than(i, n, cond=goes_on)
        return states

    def _while_loop(self, times: int, states: Any, body: Any) -> Any:
        i, n = self._counter(times)
        return self.layers.while_loop(
            lambda i, *states: self.layers.less_than(i, n),
            lambda i, *states: [i + 1, *body(*states)],
            [i, *states],
            **self.options,
        )[1:]

    def _multiplied(self, times: int, x: Any, w: Any) -> Any:
        (h,) = self.loop(times, [self.layers.assign(x * w)], lambda h: [h * w])
        return self.layers.reduce_sum(h)

    def _squared(self, times: int, x: Any, w: Any) -> Any:
        (h,) = self.loop(times, [self.layers.assign(x * w)], lambda h: [self.layers.square(h) * 0.5 + h])
        return self.layers.reduce_sum(h)

    def _scaled(self, times: int, x: Any, w: Any) -> Any:
        (h,) = self.loop(times, [self.layers.assign(x * w)], lambda h: [self.layers.scale(h, 1.1, bias=0.1)])
        return self.layers.reduce_sum(h)

    def _unread(self, times: int, x: Any, w: Any) -> Any:
        layers = self.layers

        def body(h: Any, g: Any) -> Any:
            return [layers.tanh(g) * w, g * 0.4 + layers.sigmoid(g)]

        h, g = self.loop(times, [layers.assign(x * w), layers.assign(x)], body)
        return layers.reduce_sum(h + g)

    def _branches(self, times: int, x: Any, w: Any) -> Any:
        layers = self.layers
        limit = layers.fill_constant([1], "float32", 0.05)

        def body(h: Any, g: Any, k: Any) -> Any:
            above = layers.greater_than(layers.reduce_mean(g), limit)
            chosen = layers.cond(above, lambda: layers.tanh(g) * w, lambda: layers.sigmoid(g) * w)
            return [chosen, g * 0.4, layers.tanh(g)]

        h, g, k = self.loop(times, [layers.assign(x * w), layers.assign(x), layers.assign(x * 0.5)], body)
        return layers.reduce_sum(h + g + k)

    def _crossed(self, times: int, x: Any, w: Any) -> Any:
        layers = self.layers
        states = [layers.assign(x * w), layers.assign(x)]
        h, _ = self.loop(times, states, lambda h, g: [layers.tanh(g) * w, layers.sigmoid(h)])
        return layers.reduce_sum(h)

    def _array(self, times: int, x: Any, w: Any, twice: bool = False) -> Any:
        """Read and write an array in the loop, and read all of it behind the loop."""
        layers = self.layers
        i, n = self._counter(times)
        array = layers.array_write(x * 1.0, i)
        goes_on = layers.less_than(i, n)
        with layers.While(goes_on, **self.options).block():
            h = layers.array_read(array, i)
            new = h * w
            if twice:
                new = new + layers.square(layers.array_read(array, i)) * 0.01
            layers.increment(i, in_place=True)
            layers.array_write(new, i, array)
            layers.less_than(i, n, cond=goes_on)
        joined = layers.tensor_array_to_tensor(array, axis=1)[0]
        factors = np.arange(1, 2 * times + 3, dtype="float32").reshape(1, -1)
        return layers.reduce_sum(joined * layers.assign(factors))

    def _twice(self, times: int, x: Any, w: Any) -> Any:
        return self._array(times, x, w, twice=True)

    def _after(self, times: int, x: Any, w: Any) -> Any:
        """Write a state to an array after it has its new value."""
        layers = self.layers
        i, n = self._counter(times)
        h, array = layers.assign(x * w), layers.create_array("float32")
        goes_on = layers.less_than(i, n)
        with layers.While(goes_on, **self.options).block():
            layers.assign(layers.tanh(h) * w, h)
            layers.array_write(h, i, array)
            layers.increment(i, in_place=True)
            layers.less_than(i, n, cond=goes_on)
        return layers.reduce_sum(layers.tensor_array_to_tensor(array, axis=1)[0])


def names() -> list[str]:
    carried = ["multiplied", "squared", "scaled", "unread", "branches", "crossed"]
    found = [f"{case} {loop} {times}" for case in carried for loop in ("While", "while_loop") for times in (1, 2, 3)]
    return found + [f"{case} {times}" for case in ("array", "twice", "after") for times in (1, 2, 3)]


def run(fluid: Any, name: str, x: Any = X, w: float = 0.7, **options: Any) -> dict[str, list[float]]:
    """Return the loss and the gradients of x and w."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.unique_name.guard(), fluid.program_guard(main, startup), fluid.scope_guard(fluid.Scope()):
        fed = fluid.layers.data("x", [2])
        fed.stop_gradient = False
        constant = fluid.initializer.Constant(w)
        weight = fluid.layers.create_parameter([2], "float32", name="w", default_initializer=constant)
        loss = Cases(fluid, options).build(name, fed, weight)
        fluid.backward.append_backward(loss)
        found = ["loss", *(one for one in ("x@GRAD", "w@GRAD") if main.global_block().has_var(one))]
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(startup)
        fetched = exe.run(main, feed={"x": np.array([x], "float32")}, fetch_list=[loss.name, *found[1:]])
    return {one: np.asarray(value).ravel().tolist() for one, value in zip(found, fetched)}


if __name__ == "__main__":
    import paddle.fluid as real  # type: ignore[import-not-found]

    results: dict[str, Any] = {}
    for one in names():
        try:
            results[one] = run(real, one)
        except real.core.EnforceNotMet:
            results[one] = None
    with open(sys.argv[1], "w") as file:
        json.dump(results, file, indent=1)
