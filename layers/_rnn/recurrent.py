"""Recurrent layers: LSTM and GRU over sequences and as single steps."""

from __future__ import annotations

from typing import Any

from fluidio.dtypes import DTypeLike
from fluidio.layer_helper import LayerHelper
from fluidio.layers.arguments import warn_like_fluid
from fluidio.ops.rnn.cudnn_lstm import weight_size
from fluidio.ops.rnn.lstm import ALL_GATES
from fluidio.param_attr import AttrLike
from fluidio.program import Variable

__all__ = ["dynamic_gru", "dynamic_lstm", "dynamic_lstmp", "gru_unit", "lstm", "lstm_unit"]

_NUMBERS = {"identity": 0, "sigmoid": 1, "tanh": 2, "relu": 3}


def dynamic_lstm(
    input: Variable,
    size: int,
    h_0: Variable | None = None,
    c_0: Variable | None = None,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    dtype: DTypeLike = "float32",
    name: str | None = None,
    *,
    all_gates: bool = False,
) -> tuple[Variable, Variable]:
    """Return the hidden state and cell of an LSTM over each sequence.

    Args:
        input: rows of width `size`, the input's share of the gates (usually an fc without activation).
        size: four times the width of the hidden state.
        h_0, c_0: initial states, one row for each sequence.
        use_peepholes: let the gates see the cell; the bias then is [1, 7 * hidden] instead of [1, 4 * hidden].
        all_gates: train all gates on the CPU whatever the hidden size.

    Fluid: its CPU kernel trained the output gate alone where the hidden size is a multiple of 8; the same happens here,
    with a warning, so that losses agree. On a GPU all gates are trained here.
    """
    if bias_attr is False:
        raise AssertionError("dynamic_lstm: bias_attr must not be False: its bias also holds the peephole weights")
    helper = LayerHelper("lstm", **locals())
    hidden_size = size // 4
    weight = helper.create_parameter(helper.param_attr, [hidden_size, 4 * hidden_size], dtype)
    bias = helper.create_parameter(
        helper.bias_attr, [1, (7 if use_peepholes else 4) * hidden_size], dtype, is_bias=True
    )
    hidden, cell, gates, pre_act = [helper.create_variable_for_type_inference(dtype) for _ in range(4)]
    inputs: dict[str, Any] = {"Input": input, "Weight": weight, "Bias": bias}
    _add_states(inputs, h_0, c_0)
    helper.append_op(
        type="lstm",
        inputs=inputs,
        outputs={"Hidden": hidden, "Cell": cell, "BatchGate": gates, "BatchCellPreAct": pre_act},
        attrs={
            "use_peepholes": use_peepholes,
            "is_reverse": is_reverse,
            "gate_activation": gate_activation,
            "cell_activation": cell_activation,
            "candidate_activation": candidate_activation,
            ALL_GATES: True if all_gates else None,
        },
    )
    return hidden, cell


def _add_states(inputs: dict[str, Any], h_0: Variable | None, c_0: Variable | None) -> None:
    if h_0 is not None:
        inputs["H0"] = h_0
    if c_0 is not None:
        inputs["C0"] = c_0


def dynamic_lstmp(
    input: Variable,
    size: int,
    proj_size: int,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    use_peepholes: bool = True,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    cell_activation: str = "tanh",
    candidate_activation: str = "tanh",
    proj_activation: str = "tanh",
    dtype: DTypeLike = "float32",
    name: str | None = None,
    h_0: Variable | None = None,
    c_0: Variable | None = None,
    cell_clip: float | None = None,
    proj_clip: float | None = None,
    *,
    all_gates: bool = False,
) -> tuple[Variable, Variable]:
    """Return the projected hidden state and the cell of an LSTM with a projection of `proj_size`.

    Args:
        all_gates: train all gates on the CPU whatever the hidden size.

    Fluid: its CPU kernel trained the output gate alone where the hidden size is a multiple of 8; see `dynamic_lstm`.
    """
    if bias_attr is False:
        raise AssertionError("dynamic_lstmp: bias_attr must not be False: its bias also holds the peephole weights")
    helper = LayerHelper("lstmp", **locals())
    hidden_size = size // 4
    weight = helper.create_parameter(helper.param_attr, [proj_size, 4 * hidden_size], dtype)
    project = helper.create_parameter(helper.param_attr, [hidden_size, proj_size], dtype)
    bias = helper.create_parameter(
        helper.bias_attr, [1, (7 if use_peepholes else 4) * hidden_size], dtype, is_bias=True
    )
    projection, cell, _, hidden, gates, pre_act = [helper.create_variable_for_type_inference(dtype) for _ in range(6)]
    inputs: dict[str, Any] = {"Input": input, "Weight": weight, "ProjWeight": project, "Bias": bias}
    _add_states(inputs, h_0, c_0)
    attrs: dict[str, Any] = {
        "use_peepholes": use_peepholes,
        "is_reverse": is_reverse,
        "gate_activation": gate_activation,
        "cell_activation": cell_activation,
        "candidate_activation": candidate_activation,
        "proj_activation": proj_activation,
    }
    if all_gates:
        attrs[ALL_GATES] = True
    if cell_clip:
        attrs["cell_clip"] = cell_clip
    if proj_clip:
        attrs["proj_clip"] = proj_clip
    helper.append_op(
        type="lstmp",
        inputs=inputs,
        outputs={
            "Projection": projection,
            "Cell": cell,
            "BatchHidden": hidden,
            "BatchGate": gates,
            "BatchCellPreAct": pre_act,
        },
        attrs=attrs,
    )
    return projection, cell


def dynamic_gru(
    input: Variable,
    size: int,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    is_reverse: bool = False,
    gate_activation: str = "sigmoid",
    candidate_activation: str = "tanh",
    h_0: Variable | None = None,
    origin_mode: bool = False,
) -> Variable:
    """Return the hidden state of a GRU over each sequence.

    Args:
        input: rows of width 3 * size, the input's share of the gates.
        origin_mode: h = u * h + (1 - u) * c instead of h = (1 - u) * h + u * c.
    """
    helper = LayerHelper("gru", **locals())
    dtype = helper.input_dtype()
    weight = helper.create_parameter(helper.param_attr, [size, 3 * size], dtype)
    bias = helper.create_parameter(helper.bias_attr, [1, 3 * size], dtype, is_bias=True)
    inputs: dict[str, Any] = {"Input": input, "Weight": weight}
    if bias is not None:
        inputs["Bias"] = bias
    _add_states(inputs, h_0, None)
    hidden, gates, reset, batch_hidden = [helper.create_variable_for_type_inference(dtype) for _ in range(4)]
    helper.append_op(
        type="gru",
        inputs=inputs,
        outputs={
            "Hidden": hidden,
            "BatchGate": gates,
            "BatchResetHiddenPrev": reset,
            "BatchHidden": batch_hidden,
        },
        attrs={
            "is_reverse": is_reverse,
            "gate_activation": gate_activation,
            "activation": candidate_activation,
            "origin_mode": origin_mode,
        },
    )
    return hidden


def _check_activations(*names: str) -> None:
    for name in names:
        if name not in _NUMBERS:
            raise KeyError(f"gru_unit: unknown activation {name!r}: use one of {', '.join(_NUMBERS)}")


def gru_unit(
    input: Variable,
    hidden: Variable,
    size: int,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    activation: str = "tanh",
    gate_activation: str = "sigmoid",
    origin_mode: bool = False,
    *,
    own_activations: bool = False,
) -> tuple[Variable, Variable, Variable]:
    """Return the hidden state, reset hidden state and gates of one GRU step; `size` is three times the width.

    Args:
        own_activations: use `activation` and `gate_activation`.

    Fluid: they are tanh and sigmoid whatever is asked for. The same happens here, with a warning.
    """
    _check_activations(activation, gate_activation)
    if not own_activations and (activation, gate_activation) != ("tanh", "sigmoid"):
        more = "gru_unit(..., own_activations=True) uses what is asked for"
        warn_like_fluid("gru_unit", f"the activations are tanh and sigmoid; {more}")
        activation, gate_activation = "tanh", "sigmoid"
    helper = LayerHelper("gru_unit", **{k: v for k, v in locals().items() if k not in ("own_activations", "more")})
    dtype = helper.input_dtype()
    width = size // 3
    weight = helper.create_parameter(helper.param_attr, [width, 3 * width], dtype)
    gate, reset, updated = [helper.create_variable_for_type_inference(dtype) for _ in range(3)]
    inputs: dict[str, Any] = {"Input": input, "HiddenPrev": hidden, "Weight": weight}
    bias = helper.create_parameter(helper.bias_attr, [1, 3 * width], dtype, is_bias=True)
    if bias is not None:
        inputs["Bias"] = bias
    helper.append_op(
        type="gru_unit",
        inputs=inputs,
        outputs={"Gate": gate, "ResetHiddenPrev": reset, "Hidden": updated},
        attrs={
            "activation": _NUMBERS[activation],
            "gate_activation": _NUMBERS[gate_activation],
            "origin_mode": origin_mode,
        },
    )
    return updated, reset, gate


def lstm_unit(
    x_t: Variable,
    hidden_t_prev: Variable,
    cell_t_prev: Variable,
    forget_bias: float = 0.0,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    name: str | None = None,
) -> tuple[Variable, Variable]:
    """Return the hidden state and cell of one LSTM step, which includes the projection of both inputs."""
    from fluidio.layers import concat, fc

    helper = LayerHelper("lstm_unit", **locals())
    for what, variable in (("x_t", x_t), ("hidden_t_prev", hidden_t_prev), ("cell_t_prev", cell_t_prev)):
        if len(variable.shape) != 2:
            raise ValueError(f"lstm_unit: {what} must have 2 dims, {variable.name} has shape {list(variable.shape)}")
    if len({x_t.shape[0], hidden_t_prev.shape[0], cell_t_prev.shape[0]}) != 1:
        raise ValueError(
            "lstm_unit: x_t, hidden_t_prev and cell_t_prev must have the same number of rows, got "
            f"{x_t.shape[0]}, {hidden_t_prev.shape[0]} and {cell_t_prev.shape[0]}"
        )
    if cell_t_prev.shape[1] != hidden_t_prev.shape[1]:
        raise ValueError(
            f"lstm_unit: hidden_t_prev and cell_t_prev must have the same width, got {hidden_t_prev.shape[1]} "
            f"and {cell_t_prev.shape[1]}"
        )
    size = cell_t_prev.shape[1]
    joined = concat(input=[x_t, hidden_t_prev], axis=1)
    gates = fc(input=joined, size=4 * size, param_attr=param_attr, bias_attr=helper.bias_attr)
    cell = helper.create_variable_for_type_inference(x_t.dtype)
    hidden = helper.create_variable_for_type_inference(x_t.dtype)
    helper.append_op(
        type="lstm_unit",
        inputs={"X": gates, "C_prev": cell_t_prev},
        outputs={"C": cell, "H": hidden},
        attrs={"forget_bias": forget_bias},
    )
    return hidden, cell


def lstm(
    input: Variable,
    init_h: Variable,
    init_c: Variable,
    max_len: int,
    hidden_size: int,
    num_layers: int,
    dropout_prob: float = 0.0,
    is_bidirec: bool = False,
    is_test: bool = False,
    name: str | None = None,
    default_initializer: object = None,
    seed: int = -1,
) -> tuple[Variable, Variable, Variable]:
    """Return the outputs and last states of a stack of LSTMs over input [time, batch, width].

    Fluid: it ran only on a GPU (cuDNN); here it runs everywhere, on weights in the same layout.
    """
    helper = LayerHelper("cudnn_lstm", **locals())
    width = input.shape[-1]
    size = weight_size(width, hidden_size, num_layers, 2 if is_bidirec else 1)
    weight = helper.create_parameter(helper.param_attr, [size], input.dtype, default_initializer=default_initializer)
    out, last_h, last_c = [helper.create_variable_for_type_inference(input.dtype) for _ in range(3)]
    reserve = helper.create_variable_for_type_inference(input.dtype, stop_gradient=True)
    helper.append_op(
        type="cudnn_lstm",
        inputs={"Input": input, "InitH": init_h, "InitC": init_c, "W": weight},
        outputs={"Out": out, "last_h": last_h, "last_c": last_c, "Reserve": reserve},
        attrs={
            "max_len": max_len,
            "is_bidirec": is_bidirec,
            "input_size": width,
            "hidden_size": hidden_size,
            "num_layers": num_layers,
            "is_test": is_test,
            "dropout_prob": dropout_prob,
            "seed": seed,
        },
    )
    return out, last_h, last_c
