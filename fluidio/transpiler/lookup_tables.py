"""`fluid.distribute_lookup_table`: find the table of a program that is divided among many machines."""

from __future__ import annotations

from fluidio.program import Operator, Program, Variable

__all__ = [
    "LOOKUP_TABLE_TYPE",
    "find_distributed_lookup_table",
    "find_distributed_lookup_table_inputs",
    "find_distributed_lookup_table_outputs",
]

LOOKUP_TABLE_TYPE = "lookup_table"
_TYPES = (LOOKUP_TABLE_TYPE, "lookup_table_v2")  # Fluid: only the first was looked for


def find_distributed_lookup_table(program: Program) -> str | None:
    """Return the name of the table that `embedding(is_distributed=True)` uses; None if there is none.

    Raises:
        RuntimeError: there are several such tables.
    """
    marked = {op.input("W")[0]: op for op in _lookups(program) if op.attrs.get("is_distributed")}
    if len(marked) > 1:
        raise RuntimeError(f"only one table can be distributed, but several embeddings are marked: {', '.join(marked)}")
    return next(iter(marked), None)


def find_distributed_lookup_table_inputs(program: Program, table_name: str) -> list[Variable]:
    """Return the variables with the ids that are looked up in a table."""
    return _variables(program, table_name, "Ids")


def find_distributed_lookup_table_outputs(program: Program, table_name: str) -> list[Variable]:
    """Return the variables with the rows that are looked up in a table."""
    return _variables(program, table_name, "Out")


def _lookups(program: Program) -> list[Operator]:
    return [op for op in program.global_block().ops if op.type in _TYPES]


def _variables(program: Program, table: str, slot: str) -> list[Variable]:
    lookups = [op for op in _lookups(program) if op.input("W")[0] == table]
    names = [name for op in lookups for name in (op.output(slot) if slot == "Out" else op.input(slot))]
    return [program.global_block().var(name) for name in names]
