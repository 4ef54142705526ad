"""StaticRNN: a recurrent block over tensors whose first dim is time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from fluidio.dtypes import VarType
from fluidio.layer_helper import LayerHelper
from fluidio.program import Block, Variable, unique_name
from fluidio.program.sub_blocks import outer_names, sub_block

__all__ = ["StaticRNN"]


class StaticRNN:
    """Run a block on each step of inputs [time, batch, ...].

    Example:
        >>> import fluidio as fluid
        >>> x = fluid.layers.data("x", [5, -1, 3], append_batch_size=False)
        >>> rnn = fluid.layers.StaticRNN()
        >>> with rnn.step():
        ...     word = rnn.step_input(x)
        ...     memory = rnn.memory(shape=[-1, 4], batch_ref=word)
        ...     hidden = fluid.layers.fc([word, memory], size=4, act="relu")
        ...     rnn.update_memory(memory, hidden)
        ...     rnn.step_output(hidden)
        >>> rnn().shape
        (5, -1, 4)
    """

    BEFORE_RNN_BLOCK = 0
    IN_RNN_BLOCK = 1
    AFTER_RNN_BLOCK = 2

    def __init__(self, name: str | None = None) -> None:
        self.helper = LayerHelper("static_rnn", name=name)
        self.memories: dict[str, list[Any]] = {}
        self.inputs: list[Variable] = []
        self.outputs: list[Variable] = []
        self.status = StaticRNN.BEFORE_RNN_BLOCK
        self.seq_len: int | None = None

    def _inside(self, method: str) -> None:
        if self.status != StaticRNN.IN_RNN_BLOCK:
            raise ValueError(f"StaticRNN.{method}() works only inside `with rnn.step():`")

    def _parent(self) -> Block:
        parent = self.helper.main_program.current_block().parent
        assert parent is not None
        return parent

    @contextlib.contextmanager
    def step(self) -> Iterator[None]:
        """Build the step."""
        with sub_block() as body:
            self.status = StaticRNN.IN_RNN_BLOCK
            yield
            self.status = StaticRNN.AFTER_RNN_BLOCK
            states = self._name_states()
        self._complete(body, states)

    def step_input(self, x: Variable) -> Variable:
        """Return the current step of an input [time, batch, ...]."""
        self._inside("step_input")
        if not isinstance(x, Variable):
            raise TypeError(f"StaticRNN.step_input takes a Variable, got {type(x).__name__}")
        steps = x.shape[0]
        if self.seq_len not in (None, steps) and steps != -1:
            raise ValueError(
                f"StaticRNN: all inputs must have the same number of steps; {x.name} has {steps}, an "
                f"earlier input {self.seq_len}"
            )
        self.seq_len = steps if self.seq_len is None else self.seq_len
        # The step has the name of the whole input, which it hides inside the block.
        step = self.helper.create_variable(name=x.name, dtype=x.dtype, shape=list(x.shape[1:]), type=x.type)
        self.inputs.append(x)
        return step

    def memory(
        self,
        init: Variable | None = None,
        shape: Sequence[int] | None = None,
        batch_ref: Variable | None = None,
        init_value: float = 0.0,
        init_batch_dim_idx: int = 0,
        ref_batch_dim_idx: int = 1,
    ) -> Variable:
        """Return a memory: the value that update_memory() set in the previous step; at first `init` or a constant."""
        self._inside("memory")
        if init is None:
            init = self._boot(shape, batch_ref, init_value, init_batch_dim_idx, ref_batch_dim_idx)
        before = self.helper.create_variable(
            name=unique_name.generate("@".join([self.helper.name, "mem"])), dtype=init.dtype, shape=init.shape
        )
        self.memories[before.name] = [init, before, None]
        return before

    def _boot(
        self, shape: Sequence[int] | None, batch_ref: Variable | None, value: float, axis: int, ref_axis: int
    ) -> Variable:
        if shape is None or batch_ref is None:
            raise ValueError(
                "StaticRNN.memory: without init, give both shape and batch_ref, the Variable whose batch size to take"
            )
        parent = self._parent()
        boot = parent.create_var(
            name=unique_name.generate("@".join([self.helper.name, "memory_boot"])),
            shape=shape,
            dtype=batch_ref.dtype,
            persistable=False,
        )
        parent.append_op(
            type="fill_constant_batch_size_like",
            inputs={"Input": [batch_ref]},
            outputs={"Out": [boot]},
            attrs={
                "value": float(value),
                "shape": list(boot.shape),
                "dtype": boot.dtype,
                "input_dim_idx": ref_axis,
                "output_dim_idx": axis,
            },
        )
        return boot

    def update_memory(self, mem: Variable, var: Variable) -> None:
        """Set a memory's value for the next step."""
        if not isinstance(mem, Variable) or not isinstance(var, Variable):
            raise TypeError("StaticRNN.update_memory takes two Variables: a memory and its next value")
        if mem.name not in self.memories:
            raise ValueError(
                f"StaticRNN.update_memory: {mem.name} is not a memory of this rnn: pass what memory() returned"
            )
        self.memories[mem.name][2] = var

    def step_output(self, o: Variable) -> None:
        """Mark a result of the step."""
        self._inside("step_output")
        if not isinstance(o, Variable):
            raise TypeError(f"StaticRNN.step_output takes a Variable, got {type(o).__name__}")
        named = self.helper.create_variable_for_type_inference(o.dtype)
        self.helper.append_op(
            type="rnn_memory_helper", inputs={"X": [o]}, outputs={"Out": named}, attrs={"dtype": o.dtype}
        )
        length = -1 if self.seq_len is None else self.seq_len
        whole = self._parent().create_var(name=named.name, shape=[length, *named.shape], dtype=named.dtype)
        self.outputs.append(whole)

    def output(self, *outputs: Variable) -> None:
        """Mark several results of the step."""
        for each in outputs:
            self.step_output(each)

    def _name_states(self) -> list[str]:
        names = []
        for _, before, updated in self.memories.values():
            if updated is None:
                raise AssertionError(
                    f"StaticRNN: the memory {before.name} never changes: call update_memory() for it in the block"
                )
            state = self.helper.create_variable_for_type_inference(updated.dtype)
            self.helper.append_op(
                type="rnn_memory_helper",
                inputs={"X": [updated]},
                outputs={"Out": [state]},
                attrs={"dtype": updated.dtype},
            )
            names.append(state.name)
        return names

    def _complete(self, body: Block, states: list[str]) -> None:
        parent = body.parent
        assert parent is not None
        reads, _ = outer_names(body)
        scopes = parent.create_var(type=VarType.STEP_SCOPES)
        parent.append_op(
            type="recurrent",
            inputs={
                "inputs": self.inputs,
                "initial_states": [init for init, _, _ in self.memories.values()],
                "parameters": [name for name in reads if parent._find_var_recursive(name) is not None],
            },
            outputs={"outputs": self.outputs, "step_scopes": [scopes]},
            attrs={
                "reverse": False,
                "has_states": bool(states),
                "ex_states": [before.name for _, before, _ in self.memories.values()],
                "states": states,
                "sub_block": body,
            },
        )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.status != StaticRNN.AFTER_RNN_BLOCK:
            raise ValueError("StaticRNN: its results are ready after the block has ended; call the rnn there")
        if not self.outputs:
            raise ValueError("StaticRNN: the block has no results: call step_output() or output() inside it")
        return self.outputs[0] if len(self.outputs) == 1 else self.outputs
