"""Helpers that choose the next input of a BasicDecoder: given tokens, the best ones, or sampled ones."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from fluidio.layers import utils
from fluidio.layers._rnn.decode import Decoder
from fluidio.program import Variable

__all__ = ["BasicDecoder", "DecodeHelper", "GreedyEmbeddingHelper", "SampleEmbeddingHelper", "TrainingHelper"]


class DecodeHelper:
    """Base class: initialize, sample and next_inputs."""

    def initialize(self) -> Any:
        """Return the initial inputs and which rows are finished."""
        raise NotImplementedError(f"{type(self).__name__} must define initialize()")

    def sample(self, time: Variable, outputs: Variable, states: Any) -> Variable:
        """Return the token of each row."""
        raise NotImplementedError(f"{type(self).__name__} must define sample()")

    def next_inputs(self, time: Variable, outputs: Variable, states: object, sample_ids: Variable) -> Any:
        """Return which rows are finished, the next inputs and the next states."""
        raise NotImplementedError(f"{type(self).__name__} must define next_inputs()")


class TrainingHelper(DecodeHelper):
    """Read given inputs [batch, time, ...], step by step."""

    def __init__(self, inputs: Any, sequence_length: Variable, time_major: bool = False) -> None:
        self.inputs = inputs
        self.sequence_length = sequence_length
        self.time_major = time_major
        # One step of zeros after the end, because the last step reads a next input too.
        self.inputs_ = utils.map_structure(self._padded, inputs)

    def _padded(self, x: Variable) -> Variable:
        from fluidio.layers import pad

        after = [0, 1] + [0, 0] * (len(x.shape) - 1) if self.time_major else [0, 0, 0, 1] + [0, 0] * (len(x.shape) - 2)
        return pad(x, paddings=after)

    def initialize(self) -> Any:
        from fluidio.layers import equal, fill_constant

        zero = fill_constant(shape=[1], dtype=self.sequence_length.dtype, value=0)
        finished = equal(self.sequence_length, zero)
        first = utils.map_structure(lambda x: x[0] if self.time_major else x[:, 0], self.inputs)
        return first, finished

    def sample(self, time: Variable, outputs: Variable, states: Any) -> Variable:
        from fluidio.layers import argmax

        return argmax(outputs, axis=-1)

    def next_inputs(self, time: Variable, outputs: Variable, states: object, sample_ids: Variable) -> Any:
        from fluidio.layers import cast, less_equal

        time = cast(time, "int32")
        if self.sequence_length.dtype != time.dtype:
            self.sequence_length = cast(self.sequence_length, time.dtype)
        following = time + 1
        finished = less_equal(self.sequence_length, following)
        return finished, utils.map_structure(lambda x: self._step(x, following), self.inputs_), states

    def _step(self, x: Variable, at: Variable) -> Variable:
        from fluidio.layers import slice, squeeze

        axes = [0 if self.time_major else 1]
        return squeeze(slice(x, axes=axes, starts=[at], ends=[at + 1]), axes=axes)


class GreedyEmbeddingHelper(DecodeHelper):
    """Read the best token of the previous step."""

    def __init__(self, embedding_fn: Callable[[Variable], Variable], start_tokens: Variable, end_token: int) -> None:
        from fluidio.layers import fill_constant

        self.embedding_fn = embedding_fn
        self.start_tokens = start_tokens
        self.end_token = fill_constant(shape=[1], dtype="int64", value=end_token)

    def initialize(self) -> Any:
        from fluidio.layers import fill_constant_batch_size_like

        finished = fill_constant_batch_size_like(input=self.start_tokens, shape=[-1], dtype="bool", value=0)
        return self.embedding_fn(self.start_tokens), finished

    def sample(self, time: Variable, outputs: Variable, states: Any) -> Variable:
        from fluidio.layers import argmax

        return argmax(outputs, axis=-1)

    def next_inputs(self, time: Variable, outputs: Variable, states: object, sample_ids: Variable) -> Any:
        from fluidio.layers import equal

        return equal(sample_ids, self.end_token), self.embedding_fn(sample_ids), states


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Read a token sampled from the previous step's distribution."""

    def __init__(
        self,
        embedding_fn: Callable[[Variable], Variable],
        start_tokens: Variable,
        end_token: int,
        softmax_temperature: float | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding_fn, start_tokens, end_token)
        self.softmax_temperature = softmax_temperature
        self.seed = seed

    def sample(self, time: Variable, outputs: Variable, states: Any) -> Variable:
        from fluidio.layers import cast, sampling_id, scale, softmax

        logits = outputs
        if self.softmax_temperature is not None:
            logits = scale(outputs, scale=1.0 / self.softmax_temperature)
        return cast(sampling_id(softmax(logits), seed=self.seed or 0, dtype="int64"), "int64")


class BasicDecoder(Decoder):
    """Run a cell on the inputs that a helper chooses."""

    OutputWrapper = collections.namedtuple("OutputWrapper", ("cell_outputs", "sample_ids"))

    def __init__(self, cell: Any, helper: DecodeHelper, output_fn: Callable[[Any], Any] | None = None) -> None:
        self.cell = cell
        self.helper = helper
        self.output_fn = output_fn

    def initialize(self, initial_cell_states: object) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        inputs, finished = self.helper.initialize()
        return inputs, initial_cell_states, finished

    def step(self, time: Variable, inputs: Any, states: Any, **kwargs: Any) -> Any:
        outputs, next_states = self.cell(inputs, states, **kwargs)
        if self.output_fn is not None:
            outputs = self.output_fn(outputs)
        chosen = self.helper.sample(time=time, outputs=outputs, states=next_states)
        chosen.stop_gradient = True
        finished, next_inputs, next_states = self.helper.next_inputs(
            time=time, outputs=outputs, states=next_states, sample_ids=chosen
        )
        return self.OutputWrapper(outputs, chosen), next_states, next_inputs, finished
