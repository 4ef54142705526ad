"""DynamicRNN: a recurrent block over sequences of different lengths."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.layer_helper import LayerHelper
from fluidio.layers._control.loops import While, increment
from fluidio.layers._control.tensor_array import array_read, array_to_lod_tensor, array_write, shrink_memory
from fluidio.layers._create.tensors import fill_constant
from fluidio.program import Block, Variable, unique_name

__all__ = ["DynamicRNN"]


class DynamicRNN:
    """Run a block over the steps of sequences, longest first; each step covers the sequences that have not ended.

    Example:
        >>> import fluidio as fluid
        >>> words = fluid.layers.data("words", [8], lod_level=1)
        >>> rnn = fluid.layers.DynamicRNN()
        >>> with rnn.block():
        ...     word = rnn.step_input(words)
        ...     memory = rnn.memory(shape=[16])
        ...     hidden = fluid.layers.fc([word, memory], size=16, act="tanh")
        ...     rnn.update_memory(memory, hidden)
        ...     rnn.output(hidden)
        >>> last = fluid.layers.sequence_last_step(rnn())
    """

    BEFORE_RNN = 0
    IN_RNN = 1
    AFTER_RNN = 2

    def __init__(self, name: str | None = None) -> None:
        self.helper = LayerHelper("dynamic_rnn", name=name)
        self.status = DynamicRNN.BEFORE_RNN
        self.lod_rank_table: Variable | None = None
        self.max_seq_len: Variable | None = None
        self.step_idx: Any = None
        self.zero_idx: Variable | None = None
        self.cond = self.helper.create_variable_for_type_inference("bool")
        self.cond.stop_gradient = False
        self.while_op: While | None = None
        self.input_array: list[Variable] = []
        self.mem_dict: dict[str, Variable] = {}
        self.mem_link: list[tuple[Variable, Variable]] = []
        self.output_array: list[Variable] = []
        self.outputs: list[Variable] = []

    def _inside(self, method: str) -> None:
        if self.status != DynamicRNN.IN_RNN:
            raise ValueError(f"DynamicRNN.{method}() works only inside `with rnn.block():`")

    def _parent(self) -> Block:
        parent = self.helper.main_program.current_block().parent
        assert parent is not None
        return parent

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Build the step; may be called only once."""
        from fluidio.layers import less_than

        if self.status != DynamicRNN.BEFORE_RNN:
            raise ValueError("DynamicRNN: block() was already called; a DynamicRNN has one block")
        self.step_idx = fill_constant(shape=[1], dtype="int64", value=0, force_cpu=True)
        self.step_idx.stop_gradient = False
        self.status = DynamicRNN.IN_RNN
        self.cond._shape = (1,)
        self.while_op = While(self.cond)
        with self.while_op.block():
            yield
            if self.max_seq_len is None:
                raise ValueError("DynamicRNN: the block needs at least one step_input()")
            increment(x=self.step_idx, value=1.0, in_place=True)
            for new_memory, array in self.mem_link:
                array_write(x=new_memory, i=self.step_idx, array=array)
            less_than(x=self.step_idx, y=self.max_seq_len, force_cpu=True, cond=self.cond)
        self.status = DynamicRNN.AFTER_RNN
        assert self.lod_rank_table is not None
        for array in self.output_array:
            self.outputs.append(array_to_lod_tensor(x=array, table=self.lod_rank_table))

    def step_input(self, x: Variable, level: int = 0) -> Variable:
        """Return the current step of a sequence input; the first call fixes the sequences the block runs over."""
        self._inside("step_input")
        if not isinstance(x, Variable):
            raise TypeError(f"DynamicRNN.step_input takes a Variable, got {type(x).__name__}")
        parent = self._parent()
        if self.lod_rank_table is None:
            self._start(parent, x, level)
        array = parent.create_var(
            name=unique_name.generate("dynamic_rnn_input_array"), type=VarType.LOD_TENSOR_ARRAY, dtype=x.dtype
        )
        self.input_array.append(array)
        parent.append_op(
            type="lod_tensor_to_array", inputs={"X": x, "RankTable": self.lod_rank_table}, outputs={"Out": array}
        )
        return array_read(array=array, i=self.step_idx)

    def _start(self, parent: Block, x: Variable, level: int) -> None:
        self.lod_rank_table = parent.create_var(
            name=unique_name.generate("lod_rank_table"), type=VarType.LOD_RANK_TABLE
        )
        self.lod_rank_table.stop_gradient = True
        parent.append_op(
            type="lod_rank_table", inputs={"X": x}, outputs={"Out": self.lod_rank_table}, attrs={"level": level}
        )
        self.max_seq_len = parent.create_var(name=unique_name.generate("dynamic_rnn_max_seq_len"), dtype="int64")
        self.max_seq_len.stop_gradient = False
        parent.append_op(
            type="max_sequence_len", inputs={"RankTable": self.lod_rank_table}, outputs={"Out": self.max_seq_len}
        )
        self.cond.stop_gradient = True
        parent.append_op(
            type="less_than",
            inputs={"X": self.step_idx, "Y": self.max_seq_len},
            outputs={"Out": self.cond},
            attrs={"force_cpu": True},
        )

    def static_input(self, x: Variable) -> Variable:
        """Return an input that every step sees whole, without the sequences that have ended."""
        self._inside("static_input")
        if self.lod_rank_table is None:
            raise RuntimeError(
                "DynamicRNN: call step_input() before static_input(): it decides how many steps there are"
            )
        reordered = self._reordered(x, "dynamic_rnn_static_input_reordered")
        return shrink_memory(reordered, self.step_idx, self.lod_rank_table)

    def _reordered(self, x: Variable, prefix: str) -> Variable:
        parent = self._parent()
        reordered = parent.create_var(name=unique_name.generate(prefix), dtype=x.dtype)
        parent.append_op(
            type="reorder_lod_tensor_by_rank",
            inputs={"X": [x], "RankTable": [self.lod_rank_table]},
            outputs={"Out": [reordered]},
        )
        return reordered

    def memory(
        self,
        init: Variable | None = None,
        shape: Sequence[int] | None = None,
        value: float = 0.0,
        need_reorder: bool = False,
        dtype: DTypeLike = "float32",
    ) -> Variable:
        """Return a memory: the value update_memory() set in the previous step; at first `init`, or `value` in `shape`.

        Args:
            need_reorder: sort `init`, which has one row per sequence, like the sequences; needed unless the order
                of rows is irrelevant.
        """
        self._inside("memory")
        self._zero()
        if init is None:
            if shape is None:
                raise ValueError("DynamicRNN.memory: give init, a Variable with the first values, or shape")
            return self.memory(init=self._filled(shape, value, dtype))
        if self.lod_rank_table is None:
            raise ValueError(
                "DynamicRNN: call step_input() before memory(init=...): it decides the order of the sequences"
            )
        parent = self._parent()
        if need_reorder:
            init = self._reordered(init, "dynamic_rnn_mem_init_reordered")
        array = parent.create_var(
            name=unique_name.generate("dynamic_rnn_mem_array"), type=VarType.LOD_TENSOR_ARRAY, dtype=init.dtype
        )
        parent.append_op(type="write_to_array", inputs={"X": init, "I": self.zero_idx}, outputs={"Out": array})
        memory = array_read(array=array, i=self.step_idx)
        memory = shrink_memory(x=memory, i=self.step_idx, table=self.lod_rank_table)
        self.mem_dict[memory.name] = array
        return memory

    def _filled(self, shape: Sequence[int], value: float, dtype: DTypeLike) -> Variable:
        if not self.input_array:
            raise ValueError(
                "DynamicRNN: call step_input() before memory(shape=...): it decides how many sequences there are"
            )
        parent = self._parent()
        first = parent.create_var(name=unique_name.generate("in0"), dtype=self.input_array[0].dtype)
        parent.append_op(
            type="read_from_array", inputs={"X": [self.input_array[0]], "I": [self.zero_idx]}, outputs={"Out": [first]}
        )
        init = parent.create_var(name=unique_name.generate("mem_init"), dtype=dtype)
        parent.append_op(
            type="fill_constant_batch_size_like",
            inputs={"Input": [first]},
            outputs={"Out": [init]},
            attrs={"shape": [-1, *shape], "value": float(value), "dtype": to_vartype(dtype)},
        )
        return init

    def _zero(self) -> None:
        if self.zero_idx is None:
            parent = self._parent()
            self.zero_idx = parent.create_var(name=unique_name.generate("zero_idx"), dtype="int64")
            parent.append_op(
                type="fill_constant",
                outputs={"Out": [self.zero_idx]},
                attrs={"shape": [1], "dtype": VarType.INT64, "value": 0.0, "force_cpu": True},
            )

    def update_memory(self, ex_mem: Variable, new_mem: Variable) -> None:
        """Set a memory's value for the next step."""
        self._inside("update_memory")
        array = self.mem_dict.get(ex_mem.name)
        if array is None:
            raise ValueError(
                f"DynamicRNN.update_memory: {ex_mem.name} is not a memory of this rnn: pass what memory() returned"
            )
        if self.lod_rank_table is None:
            raise ValueError("DynamicRNN: call step_input() before update_memory()")
        self.mem_link.append((new_mem, array))

    def output(self, *outputs: Variable) -> None:
        """Mark results of the step; calling the rnn returns them as sequences."""
        self._inside("output")
        parent = self._parent()
        for each in outputs:
            array = parent.create_var(
                name=unique_name.generate("_".join([self.helper.name, "output_array", each.name])),
                type=VarType.LOD_TENSOR_ARRAY,
                dtype=each.dtype,
            )
            array_write(x=each, i=self.step_idx, array=array)
            self.output_array.append(array)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if self.status != DynamicRNN.AFTER_RNN:
            raise ValueError("DynamicRNN: its results are ready after the block has ended; call the rnn there")
        if not self.outputs:
            raise ValueError("DynamicRNN: the block has no results: call output() inside it")
        return self.outputs[0] if len(self.outputs) == 1 else self.outputs
