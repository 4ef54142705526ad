"""Check an op's gradient against finite differences, in float64."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import fluidio as fluid

__all__ = ["Ragged", "check_gradient", "run_op"]


class Ragged:
    """An input with LoD, given by lengths: Ragged(array, [2, 0, 3]) or Ragged(array, [2, 1], [2, 0, 3])."""

    def __init__(self, array: Any, *lengths: Sequence[int]) -> None:
        self.array = np.asarray(array)
        self.lengths = [list(level) for level in lengths]

    def tensor(self, array: Any = None) -> Any:
        tensor = fluid.LoDTensor()
        tensor.set(self.array if array is None else array, fluid.CPUPlace())
        tensor.set_recursive_sequence_lengths(self.lengths)
        return tensor


Inputs = Mapping[str, Any]


class _Built:
    """A program of one op, with its feeds."""

    def __init__(
        self, op_type: str, inputs: Inputs, outputs: Sequence[str] | Mapping[str, int], attrs: Mapping[str, Any] | None
    ) -> None:
        self.main = fluid.Program()
        self.block = self.main.global_block()
        self.values: dict[str, Any] = {}
        names: dict[str, list[Any]] = {}
        for slot, given in inputs.items():
            many = given if isinstance(given, list) else [given]
            names[slot] = [self._declare(f"{slot}_{i}", value) for i, value in enumerate(many)]
        counts = outputs if isinstance(outputs, Mapping) else dict.fromkeys(outputs, 1)
        self.outputs = {
            slot: [self.block.create_var(name=f"out_{slot}_{i}", dtype="float64") for i in range(count)]
            for slot, count in counts.items()
        }
        self.names = names
        self.block.append_op(type=op_type, inputs=names, outputs=self.outputs, attrs=dict(attrs or {}))
        self.exe = fluid.Executor(fluid.CPUPlace())

    def _declare(self, name: str, value: Any) -> Any:
        array = value.array if isinstance(value, Ragged) else np.asarray(value)
        self.values[name] = value
        levels = len(value.lengths) if isinstance(value, Ragged) else 0
        return self.block.create_var(name=name, shape=array.shape, dtype=array.dtype, lod_level=levels, is_data=True)

    def feed(self, changed: str = "", array: Any = None) -> dict[str, Any]:
        fed = {}
        for name, value in self.values.items():
            new = array if name == changed else None
            fed[name] = value.tensor(new) if isinstance(value, Ragged) else (value if new is None else new)
        return fed

    def run(self, fetch: Sequence[Any], changed: str = "", array: Any = None, extra: Any = None) -> list[Any]:
        feed = {**self.feed(changed, array), **(extra or {})}
        with fluid.scope_guard(fluid.Scope()):
            return list(self.exe.run(self.main, feed=feed, fetch_list=list(fetch), return_numpy=False))


def run_op(
    op_type: str,
    inputs: Inputs,
    outputs: Sequence[str] | Mapping[str, int],
    attrs: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Run one op and return its outputs as LoDTensors, in the order of `outputs`."""
    built = _Built(op_type, inputs, outputs, attrs)
    return built.run([v for group in built.outputs.values() for v in group])


def check_gradient(
    op_type: str,
    inputs: Inputs,
    outputs: Sequence[str] | Mapping[str, int],
    attrs: Mapping[str, Any] | None = None,
    *,
    wrt: Sequence[str],
    unchecked: Sequence[str] = (),
    delta: float = 1e-5,
    tolerance: float = 1e-6,
) -> None:
    """Compare the gradients of `wrt` (input slots) with central differences of a weighted sum of the outputs.

    Args:
        inputs: slot -> array, Ragged, or a list of them; floats must be float64.
        outputs: output slots to create; a mapping gives the number of variables in each.
        unchecked: outputs that take no part in the sum (intermediates, whole numbers).
    """
    built = _Built(op_type, inputs, outputs, attrs)
    targets = [v for slot, group in built.outputs.items() if slot not in unchecked for v in group]
    found = [np.array(t) for t in built.run(targets)]
    weights = {f"weight_{i}": np.sin(np.arange(a.size) * 1.3 + i + 0.5).reshape(a.shape) for i, a in enumerate(found)}
    sources = [v for slot in wrt for v in built.names[slot]]
    with fluid.program_guard(built.main):
        declared = zip(weights, targets)  # a LoD decides how many rows there really are
        seeds = [built.block.create_var(name=n, shape=t.shape, dtype="float64") for n, t in declared]
        for variable in sources:
            variable.stop_gradient = False
        grads = fluid.gradients(targets, sources, target_gradients=seeds)
    assert all(g is not None for g in grads), "some input has no gradient"
    got = [np.array(g) for g in built.run(grads, extra=weights)]

    def total(name: str, array: Any) -> float:
        outs = built.run(targets, name, array, weights)
        return float(sum((np.array(o) * w).sum() for o, w in zip(outs, weights.values())))

    for variable, analytic in zip(sources, got):
        value = built.values[variable.name]
        base = np.array(value.array if isinstance(value, Ragged) else value)
        numeric = np.zeros_like(base)
        for index in np.ndindex(base.shape):
            moved = base.copy()
            moved[index] += delta
            up = total(variable.name, moved)
            moved[index] -= 2 * delta
            numeric[index] = (up - total(variable.name, moved)) / (2 * delta)
        assert analytic.shape == base.shape, f"gradient of {variable.name} has shape {analytic.shape}"
        np.testing.assert_allclose(
            analytic, numeric, rtol=tolerance, atol=tolerance, err_msg=f"{op_type}: gradient of {variable.name}"
        )
