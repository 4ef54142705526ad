"""Step-by-step decoding: decoders, beam search on dense tensors, and the loop that runs them."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import numpy as np

from fluidio.dtypes import DTypeLike, VarType
from fluidio.layers import utils
from fluidio.layers._control.loops import While, assign_to, increment
from fluidio.layers._control.tensor_array import array_read, array_write, tensor_array_to_tensor
from fluidio.layers._rnn.beam import gather_tree
from fluidio.program import Variable, default_main_program, unique_name

__all__ = ["BeamSearchDecoder", "Decoder", "dynamic_decode"]

_FAR = 1e9  # infinity, among scores


class Decoder:
    """Base class for dynamic_decode: implement initialize and step, and finalize if needed."""

    def initialize(self, inits: object) -> Any:
        """Return the initial inputs, the initial states and which rows are finished."""
        raise NotImplementedError(f"{type(self).__name__} must define initialize()")

    def step(self, time: Variable, inputs: Any, states: Any, **kwargs: Any) -> Any:
        """Return outputs, next states, next inputs and which rows are finished."""
        raise NotImplementedError(f"{type(self).__name__} must define step()")

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Variable) -> Any:
        """Return what `dynamic_decode` gives back."""
        raise NotImplementedError(f"{type(self).__name__} does not define finalize()")


class BeamSearchDecoder(Decoder):
    """Beam search around a cell.

    Args:
        cell: an RNNCell, or any function with its arguments.
        embedding_fn: turns token ids into inputs of the cell.
        output_fn: turns outputs of the cell into scores of the vocabulary.
    """

    OutputWrapper = collections.namedtuple("OutputWrapper", ("scores", "predicted_ids", "parent_ids"))
    StateWrapper = collections.namedtuple("StateWrapper", ("cell_states", "log_probs", "finished", "lengths"))

    def __init__(
        self,
        cell: Any,
        start_token: int,
        end_token: int,
        beam_size: int,
        embedding_fn: Callable[[Variable], Variable] | None = None,
        output_fn: Callable[[Variable], Variable] | None = None,
    ) -> None:
        self.cell = cell
        self.embedding_fn = embedding_fn
        self.output_fn = output_fn
        self.start_token = start_token
        self.end_token = end_token
        self.beam_size = beam_size
        self.batch_size: Any = None

    @staticmethod
    def tile_beam_merge_with_batch(x: Variable, beam_size: int) -> Variable:
        """Repeat each row `beam_size` times: [batch, ...] becomes [batch * beam, ...]."""
        from fluidio.layers import expand, reshape, transpose, unsqueeze

        x = unsqueeze(x, [1])
        rank = len(x.shape)
        x = expand(x, [1, beam_size] + [1] * (rank - 2))
        x = transpose(x, [*range(2, rank), 0, 1])
        x = reshape(x, shape=[0] * (rank - 2) + [-1])
        rank = len(x.shape)
        return transpose(x, [rank - 1, *range(rank - 1)])

    def _split(self, x: Variable) -> Variable:
        from fluidio.layers import reshape

        return reshape(x, shape=[-1, self.beam_size, *x.shape[1:]])

    def _merge(self, x: Variable) -> Variable:
        from fluidio.layers import reshape

        return reshape(x, shape=[-1, *x.shape[2:]])

    def _expand(self, x: Variable) -> Variable:
        from fluidio.layers import expand, unsqueeze

        x = unsqueeze(x, [1])
        return expand(x, [1, self.beam_size] + [1] * (len(x.shape) - 2))

    def initialize(self, initial_cell_states: object) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        from fluidio import layers

        state = utils.flatten(initial_cell_states)[0]
        self.batch_size = layers.shape(state)[0]
        self.batch_size.stop_gradient = True
        self.start_token_tensor = layers.fill_constant(shape=[1], dtype="int64", value=self.start_token)
        self.end_token_tensor = layers.fill_constant(shape=[1], dtype="int64", value=self.end_token)
        cell_states = utils.map_structure(self._expand, initial_cell_states)
        inputs = layers.expand(self.start_token_tensor, [self.batch_size])
        inputs = layers.expand(layers.unsqueeze(inputs, [1]), [1, self.beam_size])
        first = np.array([[0.0] + [-_FAR] * (self.beam_size - 1)], np.float32)
        log_probs = layers.expand(layers.assign(first), [self.batch_size, 1])
        finished = layers.fill_constant_batch_size_like(
            input=state, shape=[-1, self.beam_size], dtype="bool", value=False
        )
        lengths = layers.zeros_like(inputs)
        if self.embedding_fn is not None:
            inputs = self.embedding_fn(inputs)
        return inputs, self.StateWrapper(cell_states, log_probs, finished, lengths), finished

    def step(self, time: Variable, inputs: Any, states: Any, **kwargs: Any) -> Any:
        inputs = utils.map_structure(self._merge, inputs)
        cell_states = utils.map_structure(self._merge, states.cell_states)
        outputs, next_states = self.cell(inputs, cell_states, **kwargs)
        outputs = utils.map_structure(self._split, outputs)
        next_states = utils.map_structure(self._split, next_states)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        output, state = self._search(outputs, next_states, states)
        chosen = output.predicted_ids
        chosen.stop_gradient = True
        next_inputs = chosen if self.embedding_fn is None else self.embedding_fn(chosen)
        return output, state, next_inputs, state.finished

    def _masked(self, log_probs: Variable, finished: Variable, vocabulary: int) -> Variable:
        """Let finished beams continue only with the end token, at no cost."""
        from fluidio import layers

        only_end = np.full(vocabulary, -_FAR, np.float32)
        only_end[self.end_token] = 0
        mask = layers.assign(only_end)
        flags = layers.cast(finished, dtype=log_probs.dtype)
        wide = layers.expand(layers.unsqueeze(flags, [2]), [1, 1, vocabulary])
        going_on = layers.elementwise_mul(log_probs, flags - 1, axis=0)
        return layers.elementwise_mul(wide, mask, axis=-1) - going_on

    def _gather(self, x: Variable, indices: Variable) -> Variable:
        """Return x[b, indices[b, k]] for every row b."""
        from fluidio import layers

        rows = layers.cast(self.batch_size, indices.dtype)
        rows.stop_gradient = True
        at = layers.range(0, rows, 1, dtype=indices.dtype)
        at = layers.expand(layers.unsqueeze(at, [1]), [1, self.beam_size])
        places = layers.stack([at, indices], axis=2)
        places.stop_gradient = True
        return layers.gather_nd(x, places)

    def _search(self, logits: Variable, next_cell_states: Any, states: Any) -> Any:
        from fluidio import layers

        vocabulary = logits.shape[-1]
        size = layers.fill_constant(shape=[1], dtype="int64", value=vocabulary)
        log_probs = self._masked(layers.log(layers.softmax(logits)), states.finished, vocabulary)
        log_probs = layers.elementwise_add(x=log_probs, y=states.log_probs, axis=0)
        flat = [-1, self.beam_size * vocabulary]
        scores, found = layers.topk(input=layers.reshape(log_probs, flat), k=self.beam_size)
        beams = layers.elementwise_floordiv(found, size)
        tokens = layers.elementwise_mod(found, size)
        next_log_probs = self._gather(layers.reshape(log_probs, flat), found)
        cell_states = utils.map_structure(lambda x: self._gather(x, beams), next_cell_states)
        finished = self._gather(states.finished, beams)
        lengths = self._gather(states.lengths, beams)
        lengths = lengths + layers.cast(layers.logical_not(finished), states.lengths.dtype)
        finished = layers.logical_or(finished, layers.equal(tokens, self.end_token_tensor))
        return (
            self.OutputWrapper(scores, tokens, beams),
            self.StateWrapper(cell_states, next_log_probs, finished, lengths),
        )

    def finalize(self, outputs: Any, final_states: Any, sequence_lengths: Variable) -> Any:
        return gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states


def _outer_array(dtype: DTypeLike) -> Variable:
    """Create an array in the block that encloses the loop being built."""
    program = default_main_program()
    parent = program.current_block().parent
    assert parent is not None
    return parent.create_var(name=f"{unique_name.generate('array')}.out", type=VarType.LOD_TENSOR_ARRAY, dtype=dtype)


def dynamic_decode(
    decoder: Decoder,
    inits: object = None,
    max_step_num: int | None = None,
    output_time_major: bool = False,
    impute_finished: bool = False,
    is_test: bool = False,
    return_length: bool = False,
    **kwargs: object,
) -> Any:
    """Run a decoder until all rows are finished (or for max_step_num steps); return outputs and final states.

    Args:
        impute_finished: finished rows keep their states.
        is_test: keep no history of inputs and states, which rules out gradients.
        return_length: also return the lengths.
        kwargs: passed to decoder.step.
    """
    from fluidio import layers
    from fluidio.layers._rnn.cells import _kept, _swap_batch_and_time

    inputs, states, finished = decoder.initialize(inits)
    first_inputs, first_states = inputs, states
    finished.stop_gradient = True
    step = layers.fill_constant(shape=[1], dtype="int64", value=0)
    going = layers.logical_not(layers.reduce_all(finished))
    limit = None if max_step_num is None else layers.fill_constant(shape=[1], dtype="int64", value=max_step_num)
    loop = While(going, is_test=is_test)
    lengths = layers.cast(layers.zeros_like(finished), "int64")
    lengths.stop_gradient = True
    input_arrays: Any = None
    state_arrays: Any = None
    if not is_test:
        input_arrays = utils.map_structure(lambda x: array_write(x, step), inputs)
        state_arrays = utils.map_structure(lambda x: array_write(x, step), states)
    with loop.block():
        if not is_test:
            inputs = utils.map_structure(lambda a: array_read(a, step), input_arrays)
            states = utils.map_structure(lambda a: array_read(a, step), state_arrays)
        outputs, next_states, next_inputs, next_finished = decoder.step(step, inputs, states, **kwargs)
        next_finished = layers.logical_or(next_finished, finished)
        alive = layers.cast(layers.logical_not(finished), lengths.dtype)
        next_lengths = layers.elementwise_add(lengths, alive)
        if impute_finished:
            flags = layers.cast(layers.logical_not(finished), utils.flatten(states)[0].dtype)
            next_states = utils.map_structure(
                lambda old, new: _kept_if_float(old, new, flags, _kept), states, next_states
            )
        output_arrays = utils.map_structure(lambda x: _outer_array(x.dtype), outputs)
        utils.map_structure(lambda x, array: array_write(x, i=step, array=array), outputs, output_arrays)
        increment(x=step, value=1.0, in_place=True)
        if is_test:
            utils.map_structure(assign_to, next_inputs, first_inputs)
            utils.map_structure(assign_to, next_states, first_states)
        else:
            utils.map_structure(lambda x, array: array_write(x, i=step, array=array), next_inputs, input_arrays)
            utils.map_structure(lambda x, array: array_write(x, i=step, array=array), next_states, state_arrays)
        assign_to(next_finished, finished)
        assign_to(next_lengths, lengths)
        if limit is None:
            layers.logical_not(layers.reduce_all(finished), out=going)
        else:
            layers.logical_and(
                layers.logical_not(layers.reduce_all(finished)), layers.less_equal(step, limit), out=going
            )
    final_outputs = utils.map_structure(
        lambda array: tensor_array_to_tensor(array, axis=0, use_stack=True)[0], output_arrays
    )
    final_states = first_states if is_test else utils.map_structure(lambda a: array_read(a, step), state_arrays)
    if type(decoder).finalize is not Decoder.finalize:
        final_outputs, final_states = decoder.finalize(final_outputs, final_states, lengths)
    if not output_time_major:
        final_outputs = utils.map_structure(_swap_batch_and_time, final_outputs)
    return (final_outputs, final_states, lengths) if return_length else (final_outputs, final_states)


def _kept_if_float(old: Variable, new: Variable, flags: Variable, kept: Callable[..., Variable]) -> Variable:
    return kept(old, new, flags) if old.dtype in (VarType.FP32, VarType.FP64, VarType.FP16) else new
