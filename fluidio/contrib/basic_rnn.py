"""`basic_gru` and `basic_lstm`: recurrent layers over padded batches, stacked and optionally bidirectional."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from fluidio import layers
from fluidio.dtypes import DTypeLike
from fluidio.layer_helper import LayerHelper
from fluidio.param_attr import AttrLike, ParamAttr
from fluidio.program import Variable, unique_name

__all__ = ["BasicGRUUnit", "BasicLSTMUnit", "basic_gru", "basic_lstm"]

Cell = Callable[[Variable, list[Variable]], list[Variable]]


class _CellOptions:
    """Settings shared by all cells of a stack."""

    def __init__(
        self,
        size: int,
        param_attr: Any,
        bias_attr: Any,
        gate: Any,
        act: Any,
        dtype: DTypeLike,
        forget: Any = 0.0,
        dropout: str = "downgrade_in_infer",
    ) -> None:
        self.size = size
        self.param_attr = param_attr
        self.bias_attr = bias_attr
        self.gate = gate or layers.sigmoid
        self.act = act or layers.tanh
        self.dtype = dtype
        self.forget = forget
        self.dropout = dropout
        self.name = ""


class _Unit:
    """A reusable cell; it creates its parameters at the first call, when the input's width is known."""

    def __init__(self, name_scope: str, options: _CellOptions) -> None:
        options.name = unique_name.generate(f"{name_scope}/{type(self).__name__}")
        self._options = options
        self._cell: Cell | None = None

    def _step(
        self, make: Callable[[str, int, _CellOptions], Cell], x: Variable, states: list[Variable]
    ) -> list[Variable]:
        if self._cell is None:
            self._cell = make("", x.shape[-1], self._options)
        return self._cell(x, states)


class BasicGRUUnit(_Unit):
    """A GRU cell: unit(input, pre_hidden) is the new hidden state."""

    def __init__(
        self,
        name_scope: str,
        hidden_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Any = None,
        activation: Any = None,
        dtype: DTypeLike = "float32",
    ) -> None:
        options = _CellOptions(hidden_size, param_attr, bias_attr, gate_activation, activation, dtype)
        super().__init__(name_scope, options)

    def forward(self, input: Variable, pre_hidden: Variable) -> Variable:
        return self._step(_gru_cell, input, [pre_hidden])[0]

    __call__ = forward


class BasicLSTMUnit(_Unit):
    """An LSTM cell: unit(input, pre_hidden, pre_cell) is (hidden, cell)."""

    def __init__(
        self,
        name_scope: str,
        hidden_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Any = None,
        activation: Any = None,
        forget_bias: float = 1.0,
        dtype: DTypeLike = "float32",
    ) -> None:
        # Fluid: the bias is created here as a variable of the program, even if the cell is never called.
        forget = _forget_bias(forget_bias, dtype)
        options = _CellOptions(hidden_size, param_attr, bias_attr, gate_activation, activation, dtype, forget)
        super().__init__(name_scope, options)

    def forward(self, input: Variable, pre_hidden: Variable, pre_cell: Variable) -> tuple[Variable, Variable]:
        hidden, cell = self._step(_lstm_cell, input, [pre_hidden, pre_cell])
        return hidden, cell

    __call__ = forward


def _forget_bias(value: float | Variable, dtype: DTypeLike) -> Variable:
    if isinstance(value, Variable):
        return value
    made = layers.fill_constant([1], dtype=dtype, value=value)
    made.stop_gradient = False
    return made


def _parameters(helper: LayerHelper, options: _CellOptions, width: int, sizes: Sequence[int]) -> list[tuple[Any, Any]]:
    """Create weights [width, size] and biases [size]; a given name becomes one name per parameter."""
    pairs = []
    for kind, attr in (("w", options.param_attr), ("b", options.bias_attr)):
        made = []
        for index, size in enumerate(sizes):
            each = copy.copy(ParamAttr._to_attr(attr))
            if isinstance(each, ParamAttr) and each.name is not None and len(sizes) > 1:
                each.name += "_gate" if index == 0 else "_candidate"
            shape = [width, size] if kind == "w" else [size]
            made.append(helper.create_parameter(each, shape, options.dtype, is_bias=kind == "b"))
        pairs.append(made)
    return list(zip(*pairs))


def _affine(parts: list[Variable], weight: Any, bias: Any) -> Variable:
    product = layers.matmul(layers.concat(parts, axis=1), weight)
    return product if bias is None else layers.elementwise_add(product, bias)


def _gru_cell(scope: str, width: int, options: _CellOptions) -> Cell:
    helper = LayerHelper("BasicGRUUnit", name=options.name or unique_name.generate(f"{scope}/BasicGRUUnit"))
    size = options.size
    (gate_w, gate_b), (new_w, new_b) = _parameters(helper, options, width + size, [2 * size, size])

    def step(x: Variable, states: list[Variable]) -> list[Variable]:
        (hidden,) = states
        reset, update = layers.split(options.gate(_affine([x, hidden], gate_w, gate_b)), num_or_sections=2, dim=1)
        candidate = options.act(_affine([x, reset * hidden], new_w, new_b))
        return [update * hidden + (1 - update) * candidate]

    return step


def _lstm_cell(scope: str, width: int, options: _CellOptions) -> Cell:
    if options.gate is not layers.sigmoid or options.act is not layers.tanh:
        warnings.warn(
            "an LSTM of fluid.contrib always uses sigmoid and tanh; the activations that were passed have no effect"
        )
    helper = LayerHelper("BasicLSTMUnit", name=options.name or unique_name.generate(f"{scope}/BasicLSTMUnit"))
    ((weight, bias),) = _parameters(helper, options, width + options.size, [4 * options.size])
    forget = _forget_bias(options.forget, options.dtype)

    def step(x: Variable, states: list[Variable]) -> list[Variable]:
        hidden, cell = states
        i, j, f, o = layers.split(_affine([x, hidden], weight, bias), num_or_sections=4, dim=-1)
        # Fluid: an LSTM uses sigmoid and tanh, whatever activations were given.
        kept = layers.elementwise_mul(cell, layers.sigmoid(layers.elementwise_add(f, forget)))
        new_cell = layers.elementwise_add(kept, layers.elementwise_mul(layers.sigmoid(i), layers.tanh(j)))
        return [layers.tanh(new_cell) * layers.sigmoid(o), new_cell]

    return step


def _of_layer(options: _CellOptions, way: str, layer: int) -> _CellOptions:
    """Return the options of one layer; parameters' names get the direction, "w" or "b", and the layer's number."""
    found = copy.copy(options)
    found.param_attr = _with_suffix(options.param_attr, f"_{way}_w_{layer}")
    found.bias_attr = _with_suffix(options.bias_attr, f"_{way}_b_{layer}")
    return found


def _of_lstm_layer(options: _CellOptions, way: str, layer: int) -> _CellOptions:
    """Return the options of one layer of LSTMs.

    Fluid: a backward bias takes `param_attr`, unless `bias_attr` has a name.
    """
    found = _of_layer(options, way, layer)
    if way == "bw" and getattr(found.bias_attr, "name", None) is None and found.bias_attr is not False:
        if options.bias_attr is not None:
            warnings.warn(
                "basic_lstm: as in Fluid, the biases of the backward direction use param_attr; a bias_attr "
                "takes effect only if it has a name"
            )
        found.bias_attr = options.param_attr
    return found


def _with_suffix(attr: AttrLike, suffix: str) -> Any:
    named = copy.copy(ParamAttr._to_attr(attr)) if attr is not None else None
    if isinstance(named, ParamAttr) and named.name is not None:
        named.name += suffix
        return named
    return attr


def _one_way(
    cells: list[Cell],
    x: Variable,
    first: list[list[Variable | None]],
    mask: Variable | None,
    dropout_prob: float,
    options: _CellOptions,
) -> tuple[Variable, list[Variable]]:
    """Run a stack over [time, batch, width]; return all outputs and the last states, [depth, batch, size] each."""
    depth, kinds = len(cells), len(first[0])
    rnn = layers.StaticRNN()
    with rnn.step():
        current = rnn.step_input(x)
        keep = None if mask is None else rnn.step_input(mask)
        for cell, initial in zip(cells, first):
            states = [_memory(rnn, init, x, options) for init in initial]
            new = cell(current, states)
            if keep is not None:
                new = [
                    layers.elementwise_mul(n, keep, axis=0) - layers.elementwise_mul(s, keep - 1, axis=0)
                    for n, s in zip(new, states)
                ]
            for state, value in zip(states, new):
                rnn.update_memory(state, value)
                rnn.step_output(value)
            current = new[0]
            if dropout_prob and dropout_prob > 0.0:
                current = layers.dropout(current, dropout_prob, dropout_implementation=options.dropout)
        rnn.step_output(current)
    outputs = rnn()
    every = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    ends = [steps[-1] for steps in every[:-1]]
    lasts = [
        layers.reshape(layers.concat(ends[kind::kinds], axis=0), shape=[depth, -1, options.size])
        for kind in range(kinds)
    ]
    return every[-1], lasts


def _memory(rnn: Any, init: Variable | None, like: Variable, options: _CellOptions) -> Variable:
    if init is None:
        made: Variable = rnn.memory(shape=[-1, options.size], batch_ref=like)
    else:
        made = rnn.memory(init=init)
    return made


def _run(
    make: Callable[[str, int, _CellOptions], Cell],
    of_layer: Callable[[_CellOptions, str, int], _CellOptions],
    input: Variable,
    initial: list[Variable | None],
    num_layers: int,
    sequence_length: Variable | None,
    dropout_prob: float,
    bidirectional: bool,
    batch_first: bool,
    options: _CellOptions,
    name: str,
) -> tuple[Variable, list[Variable]]:
    ways = 2 if bidirectional else 1
    cells = [
        [
            make(
                f"{name}{suffix}_layers_{layer}",
                input.shape[-1] if layer == 0 else options.size,
                of_layer(options, way, layer),
            )
            for layer in range(num_layers)
        ]
        for suffix, way in (("", "fw"), ("_reverse", "bw"))[:ways]
    ]
    x = layers.transpose(input, [1, 0, 2]) if batch_first else input
    mask = None
    if sequence_length is not None:
        found = layers.sequence_mask(sequence_length, maxlen=layers.shape(x)[0], dtype="float32")
        mask = layers.transpose(found, [1, 0])
    shaped = [
        None if init is None else layers.reshape(init, shape=[num_layers, ways, -1, options.size]) for init in initial
    ]
    first = [
        [[None if state is None else state[layer, way] for state in shaped] for layer in range(num_layers)]
        for way in range(ways)
    ]
    out, lasts = _one_way(cells[0], x, first[0], mask, dropout_prob, options)
    if bidirectional:
        back = layers.reverse(x, axis=[0])
        back_mask = None if mask is None else layers.reverse(mask, axis=[0])
        other, other_lasts = _one_way(cells[1], back, first[1], back_mask, dropout_prob, options)
        out = layers.concat([out, layers.reverse(other, axis=[0])], axis=2)
        lasts = [
            layers.reshape(layers.concat([a, b], axis=1), shape=[num_layers * 2, -1, options.size])
            for a, b in zip(lasts, other_lasts)
        ]
    return (layers.transpose(out, [1, 0, 2]) if batch_first else out), lasts


def basic_gru(
    input: Variable,
    init_hidden: Variable | None,
    hidden_size: int,
    num_layers: int = 1,
    sequence_length: Variable | None = None,
    dropout_prob: float = 0.0,
    bidirectional: bool = False,
    batch_first: bool = True,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    gate_activation: Any = None,
    activation: Any = None,
    dtype: DTypeLike = "float32",
    name: str = "basic_gru",
) -> tuple[Variable, Variable]:
    """Run GRUs over [batch, time, width]; return outputs and last states [layers * ways, batch, size]."""
    options = _CellOptions(hidden_size, param_attr, bias_attr, gate_activation, activation, dtype)
    out, (last,) = _run(
        _gru_cell,
        _of_layer,
        input,
        [init_hidden],
        num_layers,
        sequence_length,
        dropout_prob,
        bidirectional,
        batch_first,
        options,
        name,
    )
    return out, last


def basic_lstm(
    input: Variable,
    init_hidden: Variable | None,
    init_cell: Variable | None,
    hidden_size: int,
    num_layers: int = 1,
    sequence_length: Variable | None = None,
    dropout_prob: float = 0.0,
    bidirectional: bool = False,
    batch_first: bool = True,
    param_attr: AttrLike = None,
    bias_attr: AttrLike = None,
    gate_activation: Any = None,
    activation: Any = None,
    forget_bias: float = 1.0,
    dtype: DTypeLike = "float32",
    name: str = "basic_lstm",
) -> tuple[Variable, Variable, Variable]:
    """Run LSTMs over [batch, time, width]; return outputs, last hidden and last cell states."""
    options = _CellOptions(
        hidden_size, param_attr, bias_attr, gate_activation, activation, dtype, forget_bias, "upscale_in_train"
    )
    out, (hidden, cell) = _run(
        _lstm_cell,
        _of_lstm_layer,
        input,
        [init_hidden, init_cell],
        num_layers,
        sequence_length,
        dropout_prob,
        bidirectional,
        batch_first,
        options,
        name,
    )
    return out, hidden, cell
