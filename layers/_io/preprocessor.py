"""Preprocessor: a block of ops that runs on every item of a reader."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fluidio.dtypes import VarType
from fluidio.layers._io.reader_handle import attach_file_handle
from fluidio.program import Block, Variable, default_main_program, unique_name

__all__ = ["Preprocessor"]


class Preprocessor:
    """Runs ops on every item of a reader before delivering it.

    Example:
        >>> import fluidio as fluid
        >>> reader = fluid.layers.open_files(["a.recordio"], [(-1, 3)], [0], ["float32"])
        >>> scaling = fluid.layers.io.Preprocessor(reader)
        >>> with scaling.block():
        ...     (x,) = scaling.inputs()
        ...     scaling.outputs(fluid.layers.scale(x, scale=0.5))
        >>> reader = scaling()
    """

    BEFORE_SUB_BLOCK = 0
    IN_SUB_BLOCK = 1
    AFTER_SUB_BLOCK = 2

    def __init__(self, reader: Variable, name: str | None = None) -> None:
        self.underlying_reader = reader
        self.main_prog = default_main_program()
        self.reader: Variable = self.main_prog.current_block().create_var(
            name=name or unique_name.generate("create_custom_reader"), type=VarType.READER, persistable=True
        )
        self.reader.stop_gradient = True
        self.sub_block: Block | None = None
        self.source_var_names: list[str] | None = None
        self.sink_var_names: list[str] | None = None
        self.status = Preprocessor.BEFORE_SUB_BLOCK

    def _is_completed(self) -> bool:
        return bool(self.sub_block and self.source_var_names and self.sink_var_names)

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """Collect the ops of the `with` block; `inputs()` and `outputs()` must be called inside."""
        self.status = Preprocessor.IN_SUB_BLOCK
        self.sub_block = self.main_prog._create_block()
        try:
            yield
        finally:
            self.main_prog._rollback()
        self.status = Preprocessor.AFTER_SUB_BLOCK
        if not self._is_completed():
            raise RuntimeError("the Preprocessor is incomplete: call both inputs() and outputs() inside its block")

    def inputs(self) -> list[Variable]:
        """Return the variables of an item."""
        if self.status != Preprocessor.IN_SUB_BLOCK or self.sub_block is None:
            raise RuntimeError("Preprocessor.inputs() works only inside `with preprocessor.block():`")
        variables = [
            self.sub_block.create_var(
                name=unique_name.generate("preprocessor_source"),
                shape=shape,
                dtype=dtype,
                lod_level=level,
                persistable=False,
                stop_gradient=True,
            )
            for shape, dtype, level in self.underlying_reader.reader_slots
        ]
        self.source_var_names = [v.name for v in variables]
        return variables

    def outputs(self, *outs: Variable) -> None:
        """Say what the new reader delivers."""
        if self.status != Preprocessor.IN_SUB_BLOCK:
            raise RuntimeError("Preprocessor.outputs() works only inside `with preprocessor.block():`")
        self.sink_var_names = [v.name for v in outs]

    def __call__(self, *args: object, **kwargs: object) -> Variable:
        """Append the op and return the new reader."""
        if self.status != Preprocessor.AFTER_SUB_BLOCK:
            raise RuntimeError("Preprocessor: build its block first; calling it afterwards returns the new reader")
        self.main_prog.current_block().append_op(
            type="create_custom_reader",
            inputs={"UnderlyingReader": [self.underlying_reader]},
            outputs={"Out": [self.reader]},
            attrs={
                "sub_block": self.sub_block,
                "source_var_names": self.source_var_names,
                "sink_var_names": self.sink_var_names,
            },
        )
        self.reader.trainer_share = self.underlying_reader.trainer_share
        return attach_file_handle(self.reader)
