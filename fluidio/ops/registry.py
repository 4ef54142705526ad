"""Define ops: `@op` adds a kernel to the table as a definition, `@gradient` does so for its gradient op.

    @op("relu", "X", "Out", infer=same_as("X"), grad=True)
    def relu(k, x):
        return k.xp.maximum(x, 0)

    @gradient("relu", "Out Out@GRAD", "X@GRAD")
    def relu_grad(k, out, dout):
        return dout * (out > 0)

Slots: "X" takes one variable, "Xs*" several (the kernel gets a list), "Bias?" is optional (the kernel gets None).
`grad` is `True` (a `@gradient` follows), `False` (the op has none), or a function that makes the gradient ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fluidio.ops.lod_table import lod_sources
from fluidio.program.infer import InferContext
from fluidio.program.op_def import (
    EMPTY,
    GRAD_SUFFIX,
    OP_TABLE,
    GradMaker,
    GradOp,
    LodRule,
    OpDef,
    grad_name,
    parse_slots,
)
from fluidio.program.operator import Operator

__all__ = ["default_grad_maker", "gradient", "infer_gradients", "op", "passed_on", "same_as", "updated"]

Infer = Callable[[InferContext], None]
Kernel = Callable[..., Any]


def op(
    type: str,
    inputs: str,
    outputs: str,
    attrs: Mapping[str, object] | None = None,
    *,
    infer: Infer | None,
    grad: bool | GradMaker,
    lod: LodRule = "share",
    raw: bool = False,
    side_effect: bool = False,
    carried: str = "",
) -> Callable[[Kernel], Kernel]:
    """Register the decorated kernel as an op type."""

    def register(kernel: Kernel) -> Kernel:
        if type in OP_TABLE:
            raise ValueError(f"op {type} is defined twice")
        maker = default_grad_maker if grad is True else grad or None
        output_slots = parse_slots(outputs)
        OP_TABLE[type] = OpDef(
            type,
            parse_slots(inputs),
            output_slots,
            dict(attrs or {}),
            infer,
            kernel,
            maker,
            lod,
            raw,
            side_effect,
            (kernel.__doc__ or "").strip(),
            tuple(carried.split()),
            lods=lod_sources(type, (slot.name for slot in output_slots)),
        )
        return kernel

    return register


def gradient(
    forward: str,
    inputs: str,
    outputs: str,
    *,
    infer: Infer | None = None,
    grad: bool | GradMaker = False,
    lod: LodRule | None = None,
    raw: bool = False,
    carried: str = "",
) -> Callable[[Kernel], Kernel]:
    """Register the decorated kernel as `<forward>_grad`.

    `inputs` names forward inputs, forward outputs and `Slot@GRAD` of outputs; `outputs` names `Slot@GRAD` of inputs.
    All of them may be absent at run time: an unused gradient is not computed (`k.wants("X@GRAD")`).
    "X?" may be missing in Fluid's programs; `carried` are inputs that Fluid's gradient op needs and ours does not.
    """
    definition = OP_TABLE[forward]
    many = {slot.name for slot in (*definition.inputs, *definition.outputs) if slot.many}
    optional = {slot.name for slot in (*definition.inputs, *definition.outputs) if slot.optional}

    def slots(text: str, *, all_optional: bool) -> str:
        words = []
        for word in text.split():
            name = word.rstrip("?")
            base = name.removesuffix(GRAD_SUFFIX)
            maybe = all_optional or base in optional or name.endswith(GRAD_SUFFIX) or name != word
            words.append(name + ("*" if base in many else "") + ("?" if maybe else ""))
        return " ".join(words)

    return op(
        f"{forward}_grad",
        slots(inputs, all_optional=False),
        slots(outputs, all_optional=True),
        definition.attrs,
        infer=infer or infer_gradients,
        grad=grad,
        lod=lod or ("kernel" if definition.lod == "kernel" else "share"),
        raw=raw,
        carried=carried,
    )


def default_grad_maker(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Wire `<type>_grad` by slot names: forward inputs and outputs unchanged, gradients by their suffix."""
    definition = OP_TABLE.get(f"{forward.type}_grad")
    if definition is None:
        raise NotImplementedError(f"op {forward.type} has no gradient op")
    inputs: dict[str, list[str]] = {}
    for name in (*(slot.name for slot in definition.inputs), *definition.carried):
        if name.endswith(GRAD_SUFFIX):
            names = [n + GRAD_SUFFIX for n in forward.output(name.removesuffix(GRAD_SUFFIX))]
        else:
            names = forward.input(name) or forward.output(name)
        if names:
            inputs[name] = list(names)
    outputs: dict[str, list[str]] = {}
    for slot in definition.outputs:
        sources = forward.input(slot.name.removesuffix(GRAD_SUFFIX))
        names = [EMPTY if n in no_grad else n + GRAD_SUFFIX for n in sources]
        if any(n != EMPTY for n in names):
            outputs[slot.name] = names
    if not outputs:
        return []
    return [GradOp(definition.type, inputs, outputs, dict(forward.attrs))]


def passed_on(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Return the gradient of an op that passes X on to Out: an `assign`."""
    x = forward.input("X")[0]
    if x in no_grad:
        return []
    return [GradOp("assign", {"X": [grad_name(forward.output("Out")[0])]}, {"Out": [grad_name(x)]})]


def infer_gradients(c: InferContext) -> None:
    """Describe each gradient like the variable it belongs to."""
    for slot in c.op.output_names:
        for index, name in enumerate(c.op.output(slot)):
            base, found, _ = name.partition(GRAD_SUFFIX)
            source = c.block._find_var_recursive(base) if found else None
            if source is not None:
                c.set(slot, source.shape, source.dtype, source.lod_level, index)


def updated(c: InferContext) -> None:
    """Describe the outputs of an update op: `ParamOut` like `Param`, and so on."""
    for slot in c.op.output_names:
        source = slot.removesuffix("Out") if slot.endswith("Out") else slot.replace("out_", "in_", 1)
        if source not in c.op.input_names:  # SquaredAccumOut belongs to SquaredAccumulator
            source = next((name for name in c.op.input_names if name.startswith(source)), source)
        for index, name in enumerate(c.op.input(source)):
            variable = c.block._find_var_recursive(name)
            if variable is not None:
                c.set(slot, variable.shape, variable.dtype, index=index)


def same_as(source: str, *outputs: str) -> Infer:
    """Return an inference function that describes the outputs ("Out" by default) like an input."""
    names = outputs or ("Out",)

    def infer(c: InferContext) -> None:
        for name in names:
            c.same(name, source)

    return infer
