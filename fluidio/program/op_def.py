"""The definition behind an op type, and the one table of them.

An op is one definition: its slots, attributes with defaults, shape inference, kernel and gradient. `fluidio.ops` fills
the table; programs look types up in it; the executor calls the kernels.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from fluidio.program.absent_ops import why_absent

if TYPE_CHECKING:
    from fluidio.program.infer import InferContext
    from fluidio.program.operator import Operator

__all__ = [
    "EMPTY",
    "GRAD_SUFFIX",
    "OP_TABLE",
    "GradOp",
    "OpDef",
    "OpSlot",
    "fill_on_demand",
    "filled",
    "find_op",
    "grad_name",
    "parse_slots",
]

GRAD_SUFFIX = "@GRAD"
EMPTY = "@EMPTY@"  # stands for an unwanted argument
# Attributes that backward puts on forward ops: the op saves values that will change ("before|name|version"), a loop
# keeps the values of each iteration.
SAVED_ATTR = "fluidio_saved"
STEPS_ATTR = "fluidio_steps"
RIGHT_GRADIENT_ATTR = "fluidio_right_gradient"  # on an op whose gradient is wrong in Fluid: compute the right one


LodRule = Literal["share", "none", "kernel"]


@dataclass(frozen=True, slots=True)
class OpSlot:
    """A named argument of an op: takes one variable, several (`many`), or none (`optional`)."""

    name: str
    optional: bool = False
    many: bool = False


def parse_slots(text: str) -> tuple[OpSlot, ...]:
    """Parse "X Bias? Xs* Extra*?": a star takes several variables, a question mark may be left out."""
    return tuple(OpSlot(word.rstrip("*?"), "?" in word, "*" in word) for word in text.split())


@dataclass(slots=True)
class GradOp:
    """A gradient op to be appended: what a gradient maker returns."""

    type: str
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attrs: dict[str, Any] = field(default_factory=dict)


GradMaker = Callable[["Operator", set[str]], list[GradOp]]


@dataclass(slots=True)
class OpDef:
    """One op type.

    Attributes:
        infer: sets shape, dtype and lod_level of the outputs when the op is appended.
        kernel: `kernel(k, *inputs)` on arrays, in slot order (None for an absent optional one, a list for a `many`
            slot); returns the output, or a tuple in slot order. With `raw`, `kernel(k, frame)` works on the frame.
        lod: "share" gives every output the LoD of the first variable of X where X comes first, else of the first
            input that has one; "none" gives none,
            "kernel" lets the kernel read `k.lods` and write `k.out_lods`.
        lods: output slot -> the input slot whose LoD it has ("" for none); it comes before `lod`.
        grad: a maker of gradient ops; None for an op without gradient.
        complete_grad: a maker for a gradient op that has no second derivative in Fluid, used if all are requested.
        carried: input slots of Fluid's gradient op that our kernel does not need; kept for programs exported to Fluid.
        side_effect: the op must run even if its outputs are unused, and is never pruned from a run.
        aliases: output slot -> input slot that the kernel may update in place (`ParamOut` -> `Param`).
    """

    type: str
    inputs: tuple[OpSlot, ...]
    outputs: tuple[OpSlot, ...]
    attrs: dict[str, Any]
    infer: Callable[[InferContext], None] | None
    kernel: Callable[..., Any] | None
    grad: GradMaker | None
    lod: LodRule = "share"
    raw: bool = False
    side_effect: bool = False
    doc: str = ""
    carried: tuple[str, ...] = ()
    complete_grad: GradMaker | None = None
    lods: dict[str, str] | None = None


OP_TABLE: dict[str, OpDef] = {}
_unloaded: list[str] = []


def fill_on_demand(module: str) -> None:
    """Import a module that adds more ops when an unknown type is looked up; at its end it calls `filled`."""
    _unloaded.append(module)


def filled(module: str) -> None:
    """Note that a module has added its ops."""
    if module in _unloaded:
        _unloaded.remove(module)


def find_op(type: str) -> OpDef:
    """Return the definition of an op type; ValueError names what is missing."""
    for module in tuple(_unloaded):
        if type not in OP_TABLE or module in sys.modules:
            importlib.import_module(module)  # waits for another thread that is at it
    try:
        return OP_TABLE[type]
    except KeyError:
        error = ValueError(f'Operator "{type}" has not been registered.')
        error.add_note(why_absent(type) or "`fluidio apis --ops` lists the ops that fluidio knows.")
        raise error from None


def grad_name(name: str) -> str:
    """Return the name of a variable's gradient."""
    return name + GRAD_SUFFIX
