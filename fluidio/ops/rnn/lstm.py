"""LSTM over sequences, with peepholes, and with a projection of the hidden state.

BatchGate holds the gates as [rows, 4 * size], BatchCellPreAct (despite its name in Fluid) the activated cells, both
with rows in time-major order.
"""

from __future__ import annotations

import warnings
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.ops.kernel import Call
from fluidio.ops.registry import default_grad_maker, gradient, op
from fluidio.ops.rnn.lstm_steps import ALL_GATES, Cell, all_gates_backward, forward, output_gate_backward
from fluidio.program.infer import InferContext
from fluidio.program.op_def import GradOp
from fluidio.program.operator import Operator
from fluidio.tensor.array import Array

__all__ = ["ALL_GATES"]

_warned = False

_ATTRS = {
    "use_peepholes": True,
    "is_reverse": False,
    "gate_activation": "sigmoid",
    "cell_activation": "tanh",
    "candidate_activation": "tanh",
}


def _infer_lstm(c: InferContext) -> None:
    x, weight = c.input("Input"), c.shape("Weight")
    size = weight[1] // 4
    c.check(
        x.shape[-1] in (4 * size, -1),
        f"Input must have {4 * size} columns for a weight of shape {list(weight)}, it has {x.shape[-1]}",
    )
    wanted = (7 if c.attrs["use_peepholes"] else 4) * size
    c.check(c.shape("Bias")[-1] == wanted, f"Bias must have {wanted} columns, it has {c.shape('Bias')[-1]}")
    state = c.shape("ProjWeight")[1] if c.has("ProjWeight") else size
    c.set("Projection" if c.has("ProjWeight") else "Hidden", (x.shape[0], state), x.dtype, x.lod_level)
    c.set("Cell", (x.shape[0], size), x.dtype, x.lod_level)
    c.set("BatchGate", (x.shape[0], 4 * size), x.dtype, 0)
    c.set("BatchCellPreAct", (x.shape[0], size), x.dtype, 0)
    c.set("BatchHidden", (x.shape[0], size), x.dtype, 0)


def _grad_without_cells(forward: Operator, no_grad: set[str]) -> list[GradOp]:
    """Make the gradient op; it reads the gradient of Cell only if all gates are trained."""
    made = default_grad_maker(forward, no_grad)
    if not forward.attrs.get(ALL_GATES):
        for grad_op in made:
            grad_op.inputs.pop("Cell@GRAD", None)
    return made


@op(
    "lstm",
    "Input H0? C0? Weight Bias",
    "Hidden Cell BatchGate? BatchCellPreAct?",
    _ATTRS,
    infer=_infer_lstm,
    grad=_grad_without_cells,
    lod="kernel",
)
def lstm(k: Call, x: Array, h0: Array, c0: Array, weight: Array, bias: Array) -> tuple[Array, ...]:
    """Hidden, Cell = an LSTM over each sequence; Input already holds the input's share of the gates.

    Fluid: no gradient passes back through Cell. If the hidden size is a multiple of 8, its CPU kernel for float32
    trains only the output gate. The same happens here, for equal losses, unless all gates are requested.
    """
    cell = Cell(k, x, weight, bias)
    k.out_lods["Hidden"] = k.out_lods["Cell"] = k.lod("Input")
    gates, cells, seen, hidden, _ = forward(k, cell, x, h0, c0, None)
    return cell.scattered(hidden), cell.scattered(cells), gates, seen


@gradient(
    "lstm",
    "Input H0 C0 Weight Bias Hidden Cell BatchGate BatchCellPreAct Hidden@GRAD Cell@GRAD",
    "Input@GRAD H0@GRAD C0@GRAD Weight@GRAD Bias@GRAD",
)
def lstm_grad(
    k: Call,
    x: Array,
    h0: Array,
    c0: Array,
    weight: Array,
    bias: Array,
    hidden: Array,
    cells: Array,
    gates: Array,
    seen: Array,
    dhidden: Array,
    dcell: Array,
) -> Array:
    k.out_lods["Input@GRAD"] = k.lod("Input")
    cell = Cell(k, x, weight, bias)
    hidden, cells = hidden.take(cell.rows, axis=0), cells.take(cell.rows, axis=0)
    return _backward(k, cell, x, h0, c0, weight, bias, gates, cells, seen, hidden, None, hidden, dhidden, dcell)[:5]


def _trains_output_gate_only(k: Call, cell: Cell) -> bool:
    """Return whether Fluid's CPU kernel would pass no gradient to the cell."""
    return cell.by_eights and not (k.attrs.get("cell_clip") or 0) > 0


def _backward(
    k: Call,
    cell: Cell,
    x: Array,
    h0: Array,
    c0: Array,
    weight: Array,
    bias: Array,
    gates: Array | None,
    cells: Array,
    seen: Array | None,
    outputs: Array,
    project: Array | None,
    hidden: Array,
    dout: Array,
    dcell: Array,
) -> Any:
    """Return the gradients of Input, H0, C0, Weight, Bias and ProjWeight."""
    if gates is None or seen is None:
        raise EnforceNotMet(
            "the gradient needs the outputs BatchGate and BatchCellPreAct of the forward op, which are not kept"
        )
    if not _trains_output_gate_only(k, cell):
        return all_gates_backward(
            k, cell, x, h0, c0, weight, bias, gates, cells, seen, outputs, project, hidden, dout, dcell
        )
    _tell_of_output_gate(k, cell.size)
    return output_gate_backward(
        k, cell, x, h0, c0, weight, bias, gates[:, 3 * cell.size :], cells, seen, outputs, project, hidden, dout
    )


def _tell_of_output_gate(k: Call, size: int) -> None:
    global _warned
    if _warned:
        return
    _warned = True
    layer = "dynamic_lstmp" if k.op.type == "lstmp_grad" else "dynamic_lstm"
    warnings.warn(
        f"{layer} with a hidden size of {size}: like the CPU kernel of Fluid 1.8.5 with a multiple of 8, "
        f"fluidio trains only the output gate; {layer}(..., all_gates=True) trains all gates",
        stacklevel=2,
    )


@op(
    "lstmp",
    "Input H0? C0? Weight ProjWeight Bias",
    "Projection Cell BatchGate? BatchCellPreAct? BatchHidden?",
    {**_ATTRS, "proj_activation": "tanh", "cell_clip": 0.0, "proj_clip": 0.0},
    infer=_infer_lstm,
    grad=_grad_without_cells,
    lod="kernel",
)
def lstmp(k: Call, x: Array, h0: Array, c0: Array, weight: Array, project: Array, bias: Array) -> tuple[Array, ...]:
    """Projection, Cell = an LSTM whose hidden state is multiplied by ProjWeight before it is passed on.

    Fluid: if the hidden size is a multiple of 8, the CPU kernel trains only the output gate, as with `lstm`.
    """
    cell = Cell(k, x, weight, bias)
    k.out_lods["Projection"] = k.out_lods["Cell"] = k.lod("Input")
    gates, cells, seen, hidden, outputs = forward(k, cell, x, h0, c0, project)
    return cell.scattered(outputs), cell.scattered(cells), gates, seen, hidden


@gradient(
    "lstmp",
    "Input? H0 C0 Weight ProjWeight Bias Projection Cell BatchGate BatchCellPreAct BatchHidden "
    "Projection@GRAD Cell@GRAD",
    "Input@GRAD H0@GRAD C0@GRAD Weight@GRAD Bias@GRAD ProjWeight@GRAD",
)
def lstmp_grad(
    k: Call,
    x: Array | None,
    h0: Array,
    c0: Array,
    weight: Array,
    project: Array,
    bias: Array,
    projection: Array,
    cells: Array,
    gates: Array,
    seen: Array,
    hidden: Array,
    dprojection: Array,
    dcell: Array,
) -> Array:
    k.out_lods["Input@GRAD"] = k.lods["Input"] = k.lod("Projection")
    if x is None:  # Fluid: its gradient op does not read the input, of which only the shape matters
        x = k.xp.empty((projection.shape[0], weight.shape[1]), projection.dtype)
    cell = Cell(k, x, weight, bias)
    outputs, cells = projection.take(cell.rows, axis=0), cells.take(cell.rows, axis=0)
    return _backward(k, cell, x, h0, c0, weight, bias, gates, cells, seen, outputs, project, hidden, dprojection, dcell)
