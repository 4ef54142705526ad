"""Read a program from ProgramDesc bytes."""

from __future__ import annotations

from typing import Any

from fluidio.dtypes import VarType
from fluidio.errors import EnforceNotMet
from fluidio.program.attr_types import AttrType
from fluidio.program.block import Block
from fluidio.program.collector import without_collections
from fluidio.program.op_def import find_op
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.variable import Variable
from fluidio.program.wire import Message, signed

__all__ = ["read_program"]

_DEEPEST = 64
_TOO_NEW = 2_000_000  # 1008005 is Fluid 1.8.5; until 1.5 the number was 0


@without_collections()
def read_program(data: bytes, what: str, allow_files: bool) -> Program:
    """Return the program; see proto.parse_program."""
    blocks, version = [], 0
    for number, value in Message(data, what).fields():
        if number == 1 and isinstance(value, Message):
            blocks.append(value)
        elif number in (2, 4) and isinstance(value, Message):
            version = next((signed(int(v)) for n, v in value.fields() if n == 1 and isinstance(v, int)), 0)
    if version >= _TOO_NEW:
        raise ValueError(f"the program was saved in format version {version}, which fluidio does not know\n")
    if not blocks:
        raise EnforceNotMet(f"cannot parse {what}: it has no block, so it is empty or in another format")
    program = Program()
    program.blocks = [Block(program, index) for index in range(len(blocks))]
    parsed = [list(message.fields()) for message in blocks]
    for block, fields, message in zip(program.blocks, parsed, blocks):
        _read_head(block, fields, message)
    for block, fields in zip(program.blocks, parsed):
        for number, value in fields:
            if number == 4 and isinstance(value, Message):
                op = _op(block, value)
                op.from_bytes = not allow_files
                block.ops.append(op)
    _check_nesting(program, Message(data, what))
    program.note_change()
    return program


def _check_nesting(program: Program, message: Message) -> None:
    """Raise for a block that contains itself, or for nesting too deep to run."""
    inner = [
        {value.idx for op in block.ops for value in op.attrs.values() if isinstance(value, Block)}
        for block in program.blocks
    ]
    level, depth = {0}, 0
    while level := set().union(*(inner[index] for index in level)):
        depth += 1
        if depth >= len(program.blocks):
            message.fail("a block contains itself")
        if depth > _DEEPEST:
            message.fail(f"more than {_DEEPEST} blocks are nested")


def _read_head(block: Block, fields: list[tuple[int, Any]], message: Message) -> None:
    count = len(block.program.blocks)
    block.parent_idx = -1
    for number, value in fields:
        if number == 1 and value != block.idx:
            message.fail(f"block {block.idx} calls itself number {value}")
        elif number == 2:
            block.parent_idx = _whole(message, value)
        elif number == 5:
            block.forward_block_idx = _whole(message, value)
        elif number == 3 and isinstance(value, Message):
            variable = _variable(block, value)
            block.vars[variable.name] = variable
    # A parent must come before its child, so that name lookup always ends.
    if not -1 <= block.parent_idx < max(block.idx, 1) or (block.idx == 0) != (block.parent_idx == -1):
        message.fail(f"block {block.idx} has parent {block.parent_idx}")
    if not -1 <= block.forward_block_idx < count:
        message.fail(f"block {block.idx} belongs to forward block {block.forward_block_idx} of {count}")


def _variable(block: Block, message: Message) -> Variable:
    name = ""
    options: dict[str, Any] = {"type": VarType.LOD_TENSOR}
    slots: list[Any] = []
    for number, value in message.fields():
        if number == 1 and isinstance(value, Message):
            name = value.text()
        elif number == 2 and isinstance(value, Message):
            slots = _var_type(value, options)
        elif number == 3:
            options["persistable"] = bool(value)
        elif number == 4:
            options["need_check_feed"] = bool(value)
    if not name:
        message.fail("a variable without a name")
    variable = Variable(block, name=name, **options)
    variable.is_data = variable.need_check_feed
    variable.reader_slots = slots
    return variable


def _var_type(message: Message, options: dict[str, Any]) -> list[Any]:
    slots: list[Any] = []
    for number, value in message.fields():
        if number == 1 and isinstance(value, int):
            options["type"] = _kind(message, value)
        elif number == 2 and isinstance(value, Message):
            options["dtype"], options["shape"] = _tensor_desc(value)
        elif number in (3, 4) and isinstance(value, Message):
            options["dtype"], options["shape"], options["lod_level"] = _lod_tensor(value)
        elif number == 5 and isinstance(value, Message):
            for inner, slot in value.fields():
                if inner == 1 and isinstance(slot, Message):
                    dtype, shape, level = _lod_tensor(slot)
                    slots.append((tuple(shape), dtype, level or 0))
    return slots


def _kind(message: Message, value: int) -> VarType:
    try:
        return VarType(value)
    except ValueError:
        message.fail(f"unknown variable type {value}")
        raise


def _lod_tensor(message: Message) -> tuple[VarType, list[int], int | None]:
    dtype, level = VarType.FP32, None
    shape: list[int] = []
    for number, value in message.fields():
        if number == 1 and isinstance(value, Message):
            dtype, shape = _tensor_desc(value)
        elif number == 2 and isinstance(value, int):
            level = value
    return dtype, shape, level


def _tensor_desc(message: Message) -> tuple[VarType, list[int]]:
    dtype = VarType.FP32
    dims: list[int] = []
    for number, value in message.fields():
        if number == 1 and isinstance(value, int):
            dtype = _kind(message, value)
        elif number == 2:
            dims += [_whole(message, v) for v in (value.varints() if isinstance(value, Message) else [value])]
    return dtype, dims


def _op(block: Block, message: Message) -> Operator:
    type_ = ""
    slots: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
    attrs: dict[str, Any] = {}
    for number, value in message.fields():
        if not isinstance(value, Message):
            continue
        if number in (1, 2):
            slot, names = _arguments(value)
            slots[number - 1][slot] = names
        elif number == 3:
            type_ = value.text()
        elif number == 4:
            name, content = _attr(block.program, value)
            attrs[name] = content
    if not type_:
        message.fail("an op without a type")
    if not isinstance(attrs.get("op_role", 0), int) or not isinstance(attrs.get("op_role_var", []), list):
        message.fail(f"an op {type_} whose op_role or op_role_var is of another type")
    definition = find_op(type_)
    known = {slot.name for slot in definition.outputs}
    # Extra outputs of other versions (shapes for the gradient, masks) are not computed here.
    outputs = {slot: names for slot, names in slots[1].items() if slot in known}
    inputs = slots[0]
    if type_.endswith("_grad"):
        taken = {*(slot.name for slot in definition.inputs), *definition.carried}
        inputs = {slot: names for slot, names in inputs.items() if slot in taken}
    try:
        op = Operator(block, None, type_, inputs, outputs, attrs)
    except (ValueError, NotImplementedError, EnforceNotMet):
        raise
    except Exception as error:  # from checks intended for building ops
        raise EnforceNotMet(f"cannot parse {message.what}: {type(error).__name__}: {error}") from error
    op.site = None
    op.has_defaults = False  # the bytes tell all there is
    # In the order of the bytes, with what tools noted on the op: scales of int8 models, for example.
    op.attrs = {**{name: op.attrs.get(name, content) for name, content in attrs.items()}, **op.attrs}
    for name in op.output_arg_names:
        variable = block._find_var_recursive(name)
        if variable is not None:
            variable.op = op
    return op


def _arguments(message: Message) -> tuple[str, list[str]]:
    slot = ""
    names: list[str] = []
    for number, value in message.fields():
        if isinstance(value, Message):
            if number == 1:
                slot = value.text()
            elif number == 2:
                names.append(value.text())
    return slot, names


_ONE = {
    3: AttrType.INT,
    4: AttrType.FLOAT,
    5: AttrType.STRING,
    10: AttrType.BOOLEAN,
    12: AttrType.BLOCK,
    13: AttrType.LONG,
}
_MANY = {
    6: AttrType.INTS,
    7: AttrType.FLOATS,
    8: AttrType.STRINGS,
    11: AttrType.BOOLEANS,
    14: AttrType.BLOCKS,
    15: AttrType.LONGS,
}
_EMPTY: dict[AttrType, Any] = {
    AttrType.INT: 0,
    AttrType.FLOAT: 0.0,
    AttrType.STRING: "",
    AttrType.BOOLEAN: False,
    AttrType.LONG: 0,
}


def _attr(program: Program, message: Message) -> tuple[str, Any]:
    name, kind = "", AttrType.INT
    one: Any = None
    many: list[Any] = []
    for number, value in message.fields():
        if number == 1 and isinstance(value, Message):
            name = value.text()
        elif number == 2 and isinstance(value, int):
            if value > AttrType.LONGS:
                message.fail(f"attribute {name!r} has the unknown type {value}")
            kind = AttrType(value)
        elif number in _ONE:
            one = _scalar(program, message, _ONE[number], value)
        elif number in _MANY:
            many += _list(program, message, _MANY[number], value)
    if kind in _MANY.values():
        return name, many
    return name, _EMPTY.get(kind) if one is None else one


def _list(program: Program, message: Message, kind: AttrType, value: object) -> list[Any]:
    if not isinstance(value, Message) or kind is AttrType.STRINGS:
        return [_scalar(program, message, AttrType[kind.name.removesuffix("S")], value)]
    if kind is AttrType.FLOATS:
        return value.floats()
    return [_scalar(program, message, AttrType[kind.name.removesuffix("S")], v) for v in value.varints()]


def _scalar(program: Program, message: Message, kind: AttrType, value: Any) -> Any:
    if (kind is AttrType.STRING) != isinstance(value, Message):
        message.fail(f"an attribute of type {kind.name} in another form")
    if kind is AttrType.STRING:
        return value.text()
    if kind is AttrType.FLOAT:
        return float(value)
    if kind is AttrType.BOOLEAN:
        return bool(value)
    value = _whole(message, value)
    if kind is AttrType.BLOCK:
        if not 0 <= value < len(program.blocks):
            message.fail(f"an attribute names block {value} of {len(program.blocks)}")
        return program.blocks[value]
    return value


def _whole(message: Message, value: Any) -> int:
    """Return the signed number of a field that must hold one."""
    if not isinstance(value, int):
        message.fail("a number in another form")
    return signed(value)
