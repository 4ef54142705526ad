"""`core.ProgramDesc` and `core.BlockDesc`: programs as Fluid's C++ exposed them, for code that edits them directly."""

from __future__ import annotations

from fluidio.program.block import Block
from fluidio.program.op_desc import OpDesc
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.var_desc import VarDesc, as_name, declare

__all__ = ["BlockDesc", "OpDesc", "ProgramDesc", "VarDesc"]


class BlockDesc:
    """`block.desc`."""

    def __init__(self, block: Block) -> None:
        self._block = block

    @property
    def id(self) -> int:
        return self._block.idx

    @property
    def parent(self) -> int:
        return self._block.parent_idx

    def get_forward_block_idx(self) -> int:
        return self._block.forward_block_idx

    def _set_forward_block_idx(self, idx: int) -> None:
        self._block.forward_block_idx = idx

    # -- ops --------------------------------------------------------------------------------------------------------

    def op_size(self) -> int:
        return len(self._block.ops)

    def op(self, index: int) -> OpDesc:
        return OpDesc(self._block.ops[index])

    def append_op(self) -> OpDesc:
        """Append an op without type and return its description."""
        return self._insert_op(len(self._block.ops))

    def _prepend_op(self) -> OpDesc:
        return self._insert_op(0)

    def _insert_op(self, index: int) -> OpDesc:
        op = Operator.blank(self._block)
        self._block.ops.insert(index, op)
        self._block.program.note_change()
        return OpDesc(op)

    def _remove_op(self, start: int, end: int) -> None:
        del self._block.ops[start:end]
        self._block.program.note_change()

    # -- variables --------------------------------------------------------------------------------------------------

    def var(self, name: str | bytes) -> VarDesc:
        """Return the variable of this block, creating it if absent."""
        found = self._block.vars.get(as_name(name))
        if found is None:
            found = self._block.vars[as_name(name)] = declare(self._block, as_name(name))
            self._block.program.note_change()
        return VarDesc(found)

    def find_var(self, name: str | bytes) -> VarDesc | None:
        found = self._block.vars.get(as_name(name))
        return None if found is None else VarDesc(found)

    def find_var_recursive(self, name: str | bytes) -> VarDesc | None:
        found = self._block._find_var_recursive(as_name(name))
        return None if found is None else VarDesc(found)

    def has_var(self, name: str | bytes) -> bool:
        return as_name(name) in self._block.vars

    def has_var_recursive(self, name: str | bytes) -> bool:
        return self.find_var_recursive(name) is not None

    def all_vars(self) -> list[VarDesc]:
        return [VarDesc(v) for v in self._block.vars.values()]

    def _rename_var(self, name: str | bytes, new_name: str | bytes) -> None:
        self._block._rename_var(as_name(name), as_name(new_name))

    def _remove_var(self, name: str | bytes) -> None:
        if self._block.has_var(as_name(name)):
            self._block._remove_var(as_name(name))

    def serialize_to_string(self) -> bytes:
        """Return the BlockDesc message as bytes."""
        from fluidio.program.proto import serialize_block

        return serialize_block(self._block)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockDesc) and other._block is self._block

    def __hash__(self) -> int:
        return hash(id(self._block))


class ProgramDesc:
    """`program.desc`; `core.ProgramDesc()` is empty, `core.ProgramDesc(bytes)` is parsed."""

    def __init__(self, program: Program | ProgramDesc | bytes | None = None) -> None:
        self._program: Program = _program_of(program)

    def num_blocks(self) -> int:
        return self._program.num_blocks

    def block(self, index: int) -> BlockDesc | None:
        """Return a block; None if there is none."""
        return BlockDesc(self._program.blocks[index]) if 0 <= index < self._program.num_blocks else None

    def append_block(self, parent: BlockDesc) -> BlockDesc:
        """Add a sub-block of `parent`."""
        block = Block(self._program, self._program.num_blocks, parent.id)
        self._program.blocks.append(block)
        self._program.note_change()
        return BlockDesc(block)

    def flush(self) -> None:
        """Do nothing: bytes are created on request."""

    def _version(self) -> int:
        return self._program.desc_version

    def _set_version(self, version: int = 1008005) -> None:
        self._program.desc_version = version

    def get_feed_target_names(self) -> list[str]:
        """Return the names that the feed ops fill, by column."""
        return [op.output("Out")[0] for op in self._ends("feed")]

    def get_fetch_target_names(self) -> list[str]:
        """Return the names that the fetch ops read, by column."""
        return [op.input("X")[0] for op in self._ends("fetch")]

    def _ends(self, kind: str) -> list[Operator]:
        ops = [op for op in self._program.global_block().ops if op.type == kind]
        return sorted(ops, key=lambda op: int(op.attrs.get("col", 0)))

    def parse_from_string(self, data: bytes) -> None:
        """Replace the program with the one in ProgramDesc bytes."""
        parsed = Program.parse_from_string(data)
        self._program.blocks = parsed.blocks
        for block in parsed.blocks:
            block.program = self._program
        self._program.note_change()

    def serialize_to_string(self) -> bytes:
        """Return the ProgramDesc bytes that Fluid writes to `__model__`."""
        from fluidio.program.proto import serialize_program

        return serialize_program(self._program)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProgramDesc) and other._program is self._program

    def __hash__(self) -> int:
        return hash(id(self._program))


def _program_of(source: Program | ProgramDesc | bytes | None) -> Program:
    if isinstance(source, bytes):
        return Program.parse_from_string(source)
    if isinstance(source, ProgramDesc):
        return source._program.clone()
    return Program() if source is None else source
