"""Find the tables of a program that can be divided among trainers, and make the program divide them.

Lookups stay unchanged: their kernel detects a divided table. So a pruned, cloned or saved program runs anywhere.
Updates work on this trainer's part of the table and of its accumulators.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass

from fluidio.dtypes import VarType, to_numpy
from fluidio.program import Block, Operator, OpRole, Program

__all__ = ["DividedTable", "divide_tables", "divided_names", "tables_of"]

_LOOKUPS = ("lookup_table", "lookup_table_v2")
_ROW_BY_ROW = ("sgd", "momentum", "adagrad", "adam", "rmsprop", "ftrl", "adamax", "decayed_adagrad", "adadelta")
_LARGE = 1 << 30  # bytes


@dataclass(frozen=True)
class DividedTable:
    """A table that is divided: its parameter, its gradient, and the accumulators of its update."""

    name: str
    gradient: str
    accumulators: tuple[str, ...]
    update: Operator

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.accumulators)


def large() -> int:
    """Return the size in bytes from which a sparse table is divided (FLUIDIO_DIVIDE_TABLES)."""
    text = os.environ.get("FLUIDIO_DIVIDE_TABLES", "")
    if not text:
        return _LARGE
    if not text.isdigit():
        raise ValueError(f"FLUIDIO_DIVIDE_TABLES={text!r}: expected a number of bytes")
    return int(text)


def tables_of(program: Program) -> list[DividedTable]:
    """Return the tables to divide: sparse ones with `is_distributed=True`, and large ones."""
    block = program.global_block()
    found: dict[str, DividedTable] = {}
    for op in block.ops:
        if op.type in _LOOKUPS and op.attrs["is_sparse"] and op.input("W")[0] not in found:
            name = op.input("W")[0]
            table = block.var(name)
            size = math.prod(table.shape) * to_numpy(table.dtype).itemsize
            if not op.attrs["is_distributed"] and size < large():
                continue
            divided, reason = _divided(program, block, name)
            if divided is not None:
                found[name] = divided
            elif op.attrs["is_distributed"]:
                warnings.warn(f"embedding {name}: every trainer holds the whole table, as {reason}", stacklevel=5)
    return list(found.values())


def _divided(program: Program, block: Block, name: str) -> tuple[DividedTable | None, str]:
    """Return how a table is divided, or why it is not."""
    update = None
    for inner in program.blocks:
        for op in inner.ops:
            if name not in op.input_arg_names and name not in op.output_arg_names:
                continue
            if op.type in _LOOKUPS or op.type.removesuffix("_grad") in _LOOKUPS:
                if inner is not block or not op.attrs["is_sparse"]:
                    return None, f"{op.type} in a sub-block, or a dense gradient, needs all of it"
            elif op.type in _ROW_BY_ROW and update is None:
                update = op
            else:
                return None, f"{op.type} needs all of it"
    if update is None:
        return None, "it is not trained"
    gradient = update.input("Grad")[0]
    users = [op for op in block.ops if gradient in op.input_arg_names]
    if users != [update] or block.var(gradient).type is not VarType.SELECTED_ROWS:
        return None, "its gradient is clipped, decayed or used otherwise"
    shape = tuple(block.var(name).shape)
    inputs = [n for n in update.input_arg_names if n not in (name, gradient)]
    alike = tuple(n for n in inputs if tuple(block.var(n).shape) == shape and shape != (1,))
    return DividedTable(name, gradient, alike, update), ""


def divide_tables(program: Program, startup: Program, tables: list[DividedTable]) -> None:
    """Make updates work on parts of tables, and the startup program initialise only these."""
    block = program.global_block()
    role = {"op_role": int(OpRole.Optimize)}
    for table in tables:
        parts = [_part(block, name) for name in table.names]
        update, position = table.update, block.ops.index(table.update)
        for name, part in zip(table.names, parts):
            update.rename(name, part)
        names = list(table.names)
        block._insert_op(position + 1, "keep_parts", {"X": names, "Parts": parts}, {}, dict(role))
        inputs = {"X": names, "Grad": [table.gradient]}
        outputs = {"Out": [table.gradient], "Parts": parts}
        block._insert_op(position, "exchange_parts", inputs, outputs, dict(role))
        for name in table.names:
            _begin(startup.global_block(), name)
    program.note_change()


def divided_names(program: Program) -> set[str]:
    """Return the names of divided tables, of their parts and of their gradients."""
    ops = [op for op in program.global_block().ops if op.type == "exchange_parts"]
    return {name for op in ops for name in (*op.input_arg_names, *op.output_arg_names)}


def _part(block: Block, name: str) -> str:
    whole = block.var(name)
    shape = [-1, *whole.shape[1:]]
    return block.create_var(name=f"{name}@PART", shape=shape, dtype=whole.dtype, persistable=False).name


def _begin(block: Block, name: str) -> None:
    """Make a startup program initialise only this trainer's rows; constants and uniforms are drawn for these alone."""
    made = [op for op in block.ops if name in op.output_arg_names]
    variable = block.var(name)
    attrs: dict[str, object] = {"shape": list(variable.shape), "dtype": variable.dtype}
    position = len(block.ops)
    if len(made) == 1 and not made[0].input_arg_names:
        op = made[0]
        simple = op.type == "fill_constant" or (op.type == "uniform_random" and not op.attrs["diag_num"])
        if simple:
            position = block.ops.index(op)
            kept = ("value", "str_value", "min", "max", "seed")
            attrs.update({key: op.attrs[key] for key in kept if key in op.attrs}, kind=op.type)
            block._remove_op(position)
    block._insert_op(position, "divide_table", {}, {"Out": [name]}, attrs)
