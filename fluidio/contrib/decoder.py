"""`contrib.decoder`: one cell for training over DynamicRNN and for beam search in a loop (2018)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fluidio import layers
from fluidio.dtypes import DTypeLike, VarType
from fluidio.layer_helper import LayerHelper
from fluidio.program import Variable, default_main_program, unique_name

__all__ = ["BeamSearchDecoder", "InitState", "StateCell", "TrainingDecoder"]


class InitState:
    """The first value of a state: a Variable, or a constant with as many rows as `init_boot`."""

    def __init__(
        self,
        init: Variable | None = None,
        shape: Any = None,
        value: float = 0.0,
        init_boot: Variable | None = None,
        need_reorder: bool = False,
        dtype: DTypeLike = "float32",
    ) -> None:
        if init is None:
            if init_boot is None:
                raise ValueError(
                    "InitState: without init, pass init_boot, the Variable whose batch size the state takes"
                )
            init = layers.fill_constant_batch_size_like(input=init_boot, value=value, shape=shape, dtype=dtype)
        self._init = init
        self._need_reorder = need_reorder

    @property
    def value(self) -> Variable:
        return self._init

    @property
    def need_reorder(self) -> bool:
        return self._need_reorder


class _Memory:
    """A state that a DynamicRNN keeps."""

    def __init__(self, rnn: Any, init: InitState) -> None:
        self._rnn = rnn
        self._memory = rnn.memory(init=init.value, need_reorder=init.need_reorder)

    def read(self) -> Variable:
        value: Variable = self._memory
        return value

    def update(self, value: Variable) -> None:
        self._rnn.update_memory(self._memory, value)


class _Array:
    """A state that the beam search loop keeps in an array, with its own counter."""

    def __init__(self, name: str, block: Any, init: InitState) -> None:
        parent = block.program.block(block.parent_idx)
        self._counter = parent.create_var(
            name=unique_name.generate("array_state_counter"), dtype="int64", shape=[1], stop_gradient=True
        )
        self._array = parent.create_var(
            name=unique_name.generate("array_state_array"), type=VarType.LOD_TENSOR_ARRAY, dtype=init.value.dtype
        )
        parent.append_op(
            type="fill_constant",
            outputs={"Out": [self._counter]},
            attrs={"shape": [1], "dtype": self._counter.dtype, "value": 0.0, "force_cpu": True},
        )
        inputs = {"X": [init.value], "I": [self._counter]}
        parent.append_op(type="write_to_array", inputs=inputs, outputs={"Out": [self._array]})

    def read(self) -> Variable:
        return layers.array_read(array=self._array, i=self._counter)

    def update(self, value: Variable) -> None:
        layers.increment(x=self._counter, value=1, in_place=True)
        layers.array_write(value, i=self._counter, array=self._array)


class StateCell:
    """One step of a decoder: inputs, states, and the function that updates them.

    Args:
        inputs: the names of inputs, with None where they come step by step.
        states: the names of states with their first values.
        out_state: the state that is the output of a step.
    """

    def __init__(
        self, inputs: Mapping[str, Any], states: Mapping[str, InitState], out_state: str, name: str | None = None
    ) -> None:
        self._helper = LayerHelper("state_cell", name=name)
        for key, state in states.items():
            if not isinstance(state, InitState):
                raise ValueError(f"StateCell: the state {key!r} must be an InitState, got {type(state).__name__}")
        if out_state not in states:
            raise ValueError(f"StateCell: out_state {out_state!r} is not one of the states {sorted(states)}")
        self._initial = dict(states)
        self._inputs: dict[str, Any] = dict(inputs)
        self._current: dict[str, Variable] = {}
        self._kept: dict[str, _Memory | _Array] = {}
        self._updater: Callable[[StateCell], None] | None = None
        self._out_state = out_state
        self._decoder: Any = None

    def _enter(self, decoder: object) -> None:
        if self._decoder is not None:
            raise ValueError("this StateCell already belongs to a decoder: make one for each decoder")
        self._decoder = decoder

    def _leave(self) -> None:
        self._decoder = None
        self._kept, self._current = {}, {}

    def get_state(self, state_name: str) -> Variable:
        """Return the value of a state in this step."""
        if state_name not in self._initial:
            raise ValueError(f"StateCell: there is no state {state_name!r}; it has {sorted(self._initial)}")
        if state_name not in self._current:
            if self._decoder is None:
                raise ValueError(f"StateCell: the state {state_name!r} can be read only inside a decoder's block")
            kept = self._decoder._keep(state_name, self._initial[state_name])
            self._kept[state_name] = kept
            self._current[state_name] = kept.read()
        return self._current[state_name]

    def get_input(self, input_name: str) -> Variable:
        """Return the value of an input in this step."""
        value = self._inputs.get(input_name)
        if value is None:
            raise ValueError(
                f"StateCell: the input {input_name!r} is unknown or has no value yet; there are {sorted(self._inputs)}"
            )
        found: Variable = value
        return found

    def set_state(self, state_name: str, state_value: Variable) -> None:
        """Set the value of a state in this step; `update_states` carries it into the next one."""
        self._current[state_name] = state_value

    def state_updater(self, updater: Callable[[StateCell], None]) -> Callable[[StateCell], None]:
        """Register the decorated function to compute the states of a step."""
        self._updater = updater
        return updater

    def compute_state(self, inputs: Mapping[str, object]) -> None:
        """Compute the states of a step from these inputs."""
        if self._updater is None:
            raise ValueError("StateCell has no updater: decorate a function with @state_cell.state_updater")
        for name, value in inputs.items():
            if name not in self._inputs:
                raise ValueError(f"StateCell: there is no input {name!r}; it has {sorted(self._inputs)}")
            self._inputs[name] = value
        self._updater(self)

    def update_states(self) -> None:
        """Carry the states into the next step."""
        for name, kept in self._kept.items():
            kept.update(self._current[name])

    def out_state(self) -> Variable:
        """Return the state that is the output."""
        return self._current[self._out_state]


class TrainingDecoder:
    """Runs a cell over the reference sequences.

    decoder = TrainingDecoder(cell)
    with decoder.block():
        word = decoder.step_input(embedding)
        decoder.state_cell.compute_state(inputs={"x": word})
        decoder.output(layers.fc(decoder.state_cell.get_state("h"), size=words, act="softmax"))
        decoder.state_cell.update_states()
    scores = decoder()
    """

    def __init__(self, state_cell: StateCell, name: str | None = None) -> None:
        self._helper = LayerHelper("training_decoder", name=name)
        self._rnn = layers.DynamicRNN()
        self._state_cell = state_cell
        self._state_cell._enter(self)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Hold the ops of one step."""
        with self._rnn.block():
            yield
        self._state_cell._leave()

    @property
    def state_cell(self) -> StateCell:
        return self._state_cell

    @property
    def dynamic_rnn(self) -> Any:
        return self._rnn

    @property
    def type(self) -> int:
        return 0

    def _keep(self, name: str, init: InitState) -> _Memory:
        return _Memory(self._rnn, init)

    def step_input(self, x: Variable) -> Variable:
        """Return one row of each sequence in each step."""
        value: Variable = self._rnn.step_input(x)
        return value

    def static_input(self, x: Variable) -> Variable:
        """Return the same value in every step."""
        value: Variable = self._rnn.static_input(x)
        return value

    def output(self, *outputs: Variable) -> None:
        """Mark what the decoder returns."""
        self._rnn.output(*outputs)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Return the outputs of all steps."""
        return self._rnn(*args, **kwargs)


class BeamSearchDecoder:
    """Runs a cell in a loop that keeps the best partial sentences.

    `decode()` builds the usual loop; `ids, scores = decoder()` are the sentences found.
    """

    def __init__(
        self,
        state_cell: StateCell,
        init_ids: Variable,
        init_scores: Variable,
        target_dict_dim: int,
        word_dim: int,
        input_var_dict: Mapping[str, Variable] | None = None,
        topk_size: int = 50,
        sparse_emb: bool = True,
        max_len: int = 100,
        beam_size: int = 1,
        end_id: int = 1,
        name: str | None = None,
    ) -> None:
        self._helper = LayerHelper("beam_search_decoder", name=name)
        self._counter = layers.zeros(shape=[1], dtype="int64")
        self._counter.stop_gradient = True
        self._max_len, limit = [layers.fill_constant([1], "int64", max_len) for _ in range(2)]
        self._cond = layers.less_than(self._counter, limit)
        self._while = layers.While(self._cond)
        self._state_cell = state_cell
        self._state_cell._enter(self)
        self._first: Variable | None = None
        self._arrays: dict[str, Variable] = {}
        self._links: list[tuple[Variable, Variable]] = []
        self._ids_array: Variable | None = None
        self._scores_array: Variable | None = None
        self._init = (init_ids, init_scores)
        self._size = [target_dict_dim, word_dim]
        self._inputs = dict(input_var_dict or {})
        self._topk, self._beam, self._end = topk_size, beam_size, end_id
        self._sparse = sparse_emb

    @property
    def state_cell(self) -> StateCell:
        return self._state_cell

    @property
    def type(self) -> int:
        return 1

    def _keep(self, name: str, init: InitState) -> _Array:
        return _Array(name, default_main_program().current_block(), init)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Hold the ops of one step; at its end the arrays get the values passed to `update_array`, unless stopped."""
        with self._while.block():
            yield
            with layers.Switch() as switch, switch.case(self._cond):
                layers.increment(x=self._counter, value=1.0, in_place=True)
                for value, array in self._links:
                    layers.array_write(x=value, i=self._counter, array=array)
                layers.less_than(x=self._counter, y=self._max_len, cond=self._cond)
        self._state_cell._leave()

    def early_stop(self) -> None:
        """End the loop with this step."""
        layers.fill_constant(shape=[1], value=0, dtype="bool", force_cpu=True, out=self._cond)

    def read_array(self, init: Variable, is_ids: bool = False, is_scores: bool = False) -> Variable:
        """Return what the previous step wrote; `init` in the first step."""
        if is_ids and is_scores:
            raise ValueError(
                "BeamSearchDecoder.read_array: pass is_ids or is_scores, not both: an array holds one or the other"
            )
        if not isinstance(init, Variable):
            raise TypeError(f"BeamSearchDecoder.read_array: init must be a Variable, got {type(init).__name__}")
        block = default_main_program().current_block()
        parent = block.program.block(block.parent_idx)
        array = parent.create_var(
            name=unique_name.generate("beam_search_decoder_array"), type=VarType.LOD_TENSOR_ARRAY, dtype=init.dtype
        )
        if self._first is None:
            self._first = parent.create_var(
                name=unique_name.generate("fill_constant") + ".tmp_0", dtype="int64", shape=[1], stop_gradient=True
            )
            attrs = {"shape": [1], "dtype": self._first.dtype, "value": 0.0, "force_cpu": True}
            parent.append_op(type="fill_constant", outputs={"Out": [self._first]}, attrs=attrs)
        inputs = {"X": [init], "I": [self._first]}
        parent.append_op(type="write_to_array", inputs=inputs, outputs={"Out": [array]})
        if is_ids:
            self._ids_array = array
        elif is_scores:
            self._scores_array = array
        value = layers.array_read(array=array, i=self._counter)
        self._arrays[value.name] = array
        return value

    def update_array(self, array: Variable, value: Variable) -> None:
        """Let the next step read `value` where this one read `array`."""
        if not isinstance(array, Variable) or not isinstance(value, Variable):
            raise TypeError(
                "BeamSearchDecoder.update_array takes two Variables: what read_array() returned and its next value"
            )
        if array.name not in self._arrays:
            raise ValueError(
                "BeamSearchDecoder.update_array: the first argument must be a Variable that read_array() returned"
            )
        self._links.append((value, self._arrays[array.name]))

    def decode(self) -> None:
        """Build the loop: embed the last words, compute the states, keep the best partial sentences."""
        with self.block():
            ids = self.read_array(init=self._init[0], is_ids=True)
            scores = self.read_array(init=self._init[1], is_scores=True)
            words = layers.embedding(input=ids, size=self._size, dtype="float32", is_sparse=self._sparse)
            carried, feed = self._expanded_inputs(scores)
            cell = self._state_cell
            for name in cell._initial:
                cell.set_state(name, layers.sequence_expand(cell.get_state(name), scores))
            for name in cell._inputs:
                feed.setdefault(name, words)
            cell.compute_state(inputs=feed)
            best_ids, best_scores = self._search(ids, scores)
            with layers.Switch() as switch:
                with switch.case(layers.is_empty(best_ids)):
                    self.early_stop()
                with switch.default():
                    cell.update_states()
                    self.update_array(ids, best_ids)
                    self.update_array(scores, best_scores)
                    for name, value in carried.items():
                        self.update_array(value, feed[name])

    def _expanded_inputs(self, scores: Variable) -> tuple[dict[str, Variable], dict[str, Variable]]:
        """Return the inputs shared by all steps, as stored and as expanded to the partial sentences."""
        kept, feed = {}, {}
        for name, variable in self._inputs.items():
            if name not in self._state_cell._inputs:
                raise ValueError(
                    f"BeamSearchDecoder: the state cell has no input {name!r}; it has "
                    f"{sorted(self._state_cell._inputs)}"
                )
            kept[name] = self.read_array(init=variable)
            feed[name] = layers.sequence_expand(kept[name], scores)
        return kept, feed

    def _search(self, ids: Variable, scores: Variable) -> tuple[Variable, Variable]:
        state = layers.lod_reset(x=self._state_cell.out_state(), y=scores)
        chances = layers.fc(input=state, size=self._size[0], act="softmax")
        top_scores, top_ids = layers.topk(chances, k=self._topk)
        total = layers.elementwise_add(x=layers.log(top_scores), y=layers.reshape(scores, shape=[-1]), axis=0)
        found: Any = layers.beam_search(ids, scores, top_ids, total, self._beam, end_id=1, level=0)
        return found[0], found[1]

    def __call__(self) -> Any:
        """Return the sentences found and their scores."""
        if self._ids_array is None or self._scores_array is None:
            raise ValueError(
                "BeamSearchDecoder: there is nothing to decode: call decode(), or mark arrays with is_ids and is_scores"
            )
        return layers.beam_search_decode(
            ids=self._ids_array, scores=self._scores_array, beam_size=self._beam, end_id=self._end
        )
