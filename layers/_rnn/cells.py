"""Cells of recurrent networks, and `rnn`, which runs one over time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from fluidio.dtypes import DTypeLike
from fluidio.layer_helper import LayerHelper
from fluidio.layers import utils
from fluidio.layers._rnn.static_rnn import StaticRNN
from fluidio.param_attr import AttrLike, ParamAttr
from fluidio.program import Variable, unique_name

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "rnn"]


class RNNCell:
    """Base class: `call(inputs, states)` returns outputs and new states; `state_shape` describes the states."""

    def call(self, inputs: Any, states: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a subclass of RNNCell must define call()")

    def __call__(self, inputs: object, states: object, **kwargs: object) -> Any:
        return self.call(inputs, states, **kwargs)

    def get_initial_states(
        self,
        batch_ref: Any,
        shape: Any = None,
        dtype: DTypeLike | Any = "float32",
        init_value: float = 0,
        batch_dim_idx: int = 0,
    ) -> Any:
        """Return states filled with `init_value`, with as many rows as `batch_ref`."""
        from fluidio.layers import fill_constant_batch_size_like

        reference = utils.flatten(batch_ref)[0]
        shapes = self.state_shape if shape is None else shape
        # A shape is a list of numbers; a structure of shapes holds several.
        if _is_shape(shapes):
            nested, flat = None, [list(shapes)]
        else:
            nested, flat = shapes, [list(s) for s in _shapes(shapes)]
        try:
            dtypes: Any = self.state_dtype if dtype is None else dtype
        except NotImplementedError:
            dtypes = "float32"
        kinds = utils.flatten(dtypes) if utils.is_sequence(dtypes) else [dtypes] * len(flat)
        states = [
            fill_constant_batch_size_like(
                input=reference,
                shape=dims if dims and dims[0] == -1 else [-1, *dims],
                dtype=kind,
                value=init_value,
                input_dim_idx=batch_dim_idx,
            )
            for dims, kind in zip(flat, kinds)
        ]
        return states[0] if nested is None else _packed(nested, states)

    @property
    def state_shape(self) -> Any:
        raise NotImplementedError("the cell must define state_shape")

    @property
    def state_dtype(self) -> Variable:
        raise NotImplementedError("the cell must define state_dtype")


def _is_shape(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(d, int) for d in value)


def _shapes(structure: Any) -> list[Any]:
    if _is_shape(structure):
        return [structure]
    children = [structure[key] for key in sorted(structure)] if isinstance(structure, dict) else structure
    return [leaf for child in children for leaf in _shapes(child)]


def _packed(structure: Any, states: list[Any]) -> Any:
    source = iter(states)

    def build(node: Any) -> Any:
        if _is_shape(node):
            return next(source)
        if isinstance(node, dict):
            return {key: build(node[key]) for key in sorted(node)}
        return type(node)([build(child) for child in node])

    return build(structure)


def _named(attr: AttrLike, suffix: str) -> Any:
    """Return the attribute with a suffix on its name, if it has one: one attribute serves two parameters."""
    given = ParamAttr._to_attr(attr)
    if given is False or given is None or getattr(given, "name", None) is None:
        return copy.deepcopy(given)
    twin = copy.deepcopy(given)
    twin.name += suffix
    return twin


class _Unit:
    """The common part of both cells: the name, activations, and parameters created at the first call."""

    def __init__(
        self, name: str, kind: str, hidden_size: int, param_attr: AttrLike, bias_attr: AttrLike, dtype: DTypeLike
    ) -> None:
        self.helper = LayerHelper(kind, name=unique_name.generate(f"{name}/{kind}"))
        self.hidden_size = hidden_size
        self.param_attr, self.bias_attr, self.dtype = param_attr, bias_attr, dtype
        self.built = False

    def parameter(self, attr: object, shape: list[int], is_bias: bool = False) -> Any:
        return self.helper.create_parameter(attr, shape, self.dtype, is_bias=is_bias)


class GRUCell(RNNCell):
    """Gated recurrent unit: new h = u * h + (1 - u) * candidate."""

    def __init__(
        self,
        hidden_size: int,
        param_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        gate_activation: Callable[[Variable], Variable] | None = None,
        activation: Callable[[Variable], Variable] | None = None,
        dtype: DTypeLike = "float32",
        name: str = "GRUCell",
    ) -> None:
        from fluidio.layers import sigmoid, tanh

        self.hidden_size = hidden_size
        self._unit = _Unit(name, "BasicGRUUnit", hidden_size, param_attr, bias_attr, dtype)
        self._gate = gate_activation or sigmoid
        self._act = activation or tanh

    def _build(self, width: int) -> None:
        unit, size = self._unit, self.hidden_size
        self._gate_weight = unit.parameter(_named(unit.param_attr, "_gate"), [width + size, 2 * size])
        self._candidate_weight = unit.parameter(_named(unit.param_attr, "_candidate"), [width + size, size])
        self._gate_bias = unit.parameter(_named(unit.bias_attr, "_gate"), [2 * size], True)
        self._candidate_bias = unit.parameter(_named(unit.bias_attr, "_candidate"), [size], True)
        unit.built = True

    def call(self, inputs: Variable, states: Variable, **kwargs: Any) -> tuple[Variable, Variable]:
        from fluidio.layers import concat, elementwise_add, matmul, split

        if not self._unit.built:
            self._build(inputs.shape[-1])
        gates = matmul(x=concat([inputs, states], 1), y=self._gate_weight)
        gates = self._gate(elementwise_add(gates, self._gate_bias))
        reset, update = split(gates, num_or_sections=2, dim=1)
        candidate = matmul(concat([inputs, reset * states], 1), self._candidate_weight)
        candidate = self._act(elementwise_add(candidate, self._candidate_bias))
        new = update * states + (1 - update) * candidate
        return new, new

    @property
    def state_shape(self) -> list[int]:
        return [self.hidden_size]


class LSTMCell(RNNCell):
    """Long short-term memory; states are [hidden, cell]."""

    def __init__(
        self,
        hidden_size: int,
        param_attr: AttrLike = None,
        bias_attr: AttrLike = None,
        gate_activation: Callable[[Variable], Variable] | None = None,
        activation: Callable[[Variable], Variable] | None = None,
        forget_bias: float = 1.0,
        dtype: DTypeLike = "float32",
        name: str = "LSTMCell",
    ) -> None:
        from fluidio.layers import fill_constant, sigmoid, tanh

        self.hidden_size = hidden_size
        self._unit = _Unit(name, "BasicLSTMUnit", hidden_size, param_attr, bias_attr, dtype)
        self._gate = gate_activation or sigmoid
        self._act = activation or tanh
        self._forget_bias = fill_constant([1], dtype=dtype, value=forget_bias)
        self._forget_bias.stop_gradient = False

    def _build(self, width: int) -> None:
        unit, size = self._unit, self.hidden_size
        self._weight = unit.parameter(unit.param_attr, [width + size, 4 * size])
        self._bias = unit.parameter(unit.bias_attr, [4 * size], True)
        unit.built = True

    def call(self, inputs: Variable, states: Sequence[Variable], **kwargs: Any) -> tuple[Variable, list[Variable]]:
        from fluidio.layers import concat, elementwise_add, elementwise_mul, matmul, split

        if not self._unit.built:
            self._build(inputs.shape[-1])
        hidden, cell = states
        gates = matmul(x=concat([inputs, hidden], 1), y=self._weight)
        i, j, f, o = split(elementwise_add(gates, self._bias), num_or_sections=4, dim=-1)
        kept = elementwise_mul(cell, self._gate(elementwise_add(f, self._forget_bias)))
        new_cell = elementwise_add(kept, elementwise_mul(self._gate(i), self._act(j)))
        new_hidden = self._act(new_cell) * self._gate(o)
        return new_hidden, [new_hidden, new_cell]

    @property
    def state_shape(self) -> list[list[int]]:
        return [[self.hidden_size], [self.hidden_size]]


def _swap_batch_and_time(x: Variable) -> Variable:
    from fluidio.layers import transpose

    return transpose(x, [1, 0, *range(2, len(x.shape))])


def _kept(old: Variable, new: Variable, mask: Variable) -> Variable:
    """Return `new` where the mask is one, `old` where it is zero."""
    from fluidio.layers import elementwise_mul

    kept = elementwise_mul(new, mask, axis=0) - elementwise_mul(old, mask - 1, axis=0)
    kept.stop_gradient = old.stop_gradient
    return kept


def rnn(
    cell: RNNCell,
    inputs: object,
    initial_states: object = None,
    sequence_length: Variable | None = None,
    time_major: bool = False,
    is_reverse: bool = False,
    **kwargs: object,
) -> tuple[Any, Any]:
    """Run a cell over the steps of inputs [batch, time, ...] and return all outputs and the last states.

    Args:
        sequence_length: lengths of the rows; a row keeps its state once it has ended.
        time_major: inputs and outputs are [time, batch, ...].
        kwargs: passed to the cell.
    """
    from fluidio.layers import reverse, sequence_mask, shape, transpose

    if initial_states is None:
        initial_states = cell.get_initial_states(batch_ref=inputs, batch_dim_idx=1 if time_major else 0)
    for state in utils.flatten(initial_states):
        state.stop_gradient = False
    if not time_major:
        inputs = utils.map_structure(_swap_batch_and_time, inputs)
    mask: Variable | None = None
    if sequence_length is not None:
        steps = shape(utils.flatten(inputs)[0])[0]
        mask = sequence_mask(sequence_length, maxlen=steps, dtype=utils.flatten(initial_states)[0].dtype)
        mask = transpose(mask, [1, 0])
    if is_reverse:
        inputs = utils.map_structure(lambda x: reverse(x, axis=[0]), inputs)
        mask = None if mask is None else reverse(mask, axis=[0])
    block = StaticRNN()
    with block.step():
        step_inputs = utils.map_structure(block.step_input, inputs)
        states = utils.map_structure(lambda s: block.memory(init=s), initial_states)
        outputs, new_states = cell.call(step_inputs, utils.copy_mutable_vars(states), **kwargs)
        utils.assert_same_structure(states, new_states, check_types=False)
        if mask is not None:
            step_mask = block.step_input(mask)
            new_states = utils.map_structure(lambda old, new: _kept(old, new, step_mask), states, new_states)
        utils.map_structure(block.update_memory, states, new_states)
        flat_outputs = utils.flatten(outputs)
        utils.map_structure(block.step_output, outputs)
        utils.map_structure(block.step_output, new_states)
    results = block()
    flat = results if isinstance(results, list) else [results]
    final_outputs = utils.pack_sequence_as(outputs, flat[: len(flat_outputs)])
    last = [_last_step(state) for state in flat[len(flat_outputs) :]]
    final_states = utils.pack_sequence_as(new_states, last)
    if is_reverse:
        final_outputs = utils.map_structure(lambda x: reverse(x, axis=[0]), final_outputs)
    if not time_major:
        final_outputs = utils.map_structure(_swap_batch_and_time, final_outputs)
    return final_outputs, final_states


def _last_step(states: Variable) -> Variable:
    return states[-1]
