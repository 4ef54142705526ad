"""The gradients that `fluid.gradients` starts from: of each target, given or ones."""

from __future__ import annotations

import warnings
from collections import defaultdict

from fluidio.backward.bare import bare
from fluidio.backward.grad_vars import create_grad
from fluidio.dtypes import VarType
from fluidio.program import Block, Variable
from fluidio.program.op_def import GRAD_SUFFIX, GradOp, grad_name

__all__ = ["Seeds"]


class Seeds:
    """The gradients of targets.

    Fluid: if one target is computed from another, the two parts of the other's gradient are not added. A given
    gradient stays as it is; ones are replaced by the incoming gradient. The same happens here, with a warning.
    """

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._seeded: set[str] = set()
        self._lost: set[str] = set()

    def add(self, block: Block, target: Variable, given: Variable | None) -> str:
        """Append the gradient of a target, ones if it is not given, and return its name."""
        name = grad_name(target.name)
        self._seeded.add(target.name)
        if given is not None:
            self._given[target.name] = given.name
            return name
        create_grad(block, target, name)
        shape = block.create_var(name=f"{target.name}_shape", dtype=VarType.INT32, stop_gradient=False)
        bare(block.append_op(type="shape", inputs={"Input": [target]}, outputs={"Out": [shape]}))
        attrs = {"shape": list(target.shape), "value": 1.0, "dtype": target.dtype}
        inputs = {"ShapeTensor": [shape]}
        bare(block.append_op(type="fill_constant", inputs=inputs, outputs={"Out": [name]}, attrs=attrs))
        return name

    def assign(self, block: Block, target: Variable, given: Variable | None) -> str:
        """Append the gradient of a target as a separate variable, to which others can be added."""
        if given is None:
            return self.add(block, target, None)
        name = grad_name(target.name)
        create_grad(block, target, name)
        block.append_op(type="assign", inputs={"X": [given]}, outputs={"Out": [name]})
        return name

    def settle(self, grad_op: GradOp, pending: defaultdict[str, list[str]]) -> None:
        """Let a gradient op read the given gradients, and replace ones with the gradients it writes."""
        for slot, names in grad_op.inputs.items():
            grad_op.inputs[slot] = [self._given.get(_base(name), name) for name in names]
        read, written = (
            {_base(name) for names in slots.values() for name in names} for slots in (grad_op.inputs, grad_op.outputs)
        )
        for name in (written - read) & (self._seeded - self._lost):  # read and written: passed on
            pending[name] = []
            self._lost.add(name)

    def tell_of_lost(self) -> None:
        """Warn if a part of a gradient was lost."""
        if self._lost:
            warnings.warn(
                f"gradients: a target is computed from {', '.join(sorted(self._lost))}, a target too; as in Fluid, "
                "only one of the two parts of its gradient counts; fluidio.gradients(..., complete=True) adds them",
                stacklevel=4,
            )


def _base(name: str) -> str:
    """Return the variable whose gradient a name is; an empty string if it is none."""
    return name.removesuffix(GRAD_SUFFIX) if name.endswith(GRAD_SUFFIX) else ""
