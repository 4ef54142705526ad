"""Operator: one step of a program, with the names of its variables by slot, and its attributes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fluidio.era import era
from fluidio.errors import EnforceNotMet
from fluidio.program.attr_kinds import as_kept, typed
from fluidio.program.attr_rules import check_attrs
from fluidio.program.attr_values import as_stored
from fluidio.program.call_site import user_site
from fluidio.program.infer import InferContext
from fluidio.program.op_def import OpDef, OpSlot, find_op
from fluidio.program.op_proto import all_op_protos, find_proto
from fluidio.program.op_roles import OpRole
from fluidio.program.shape_rules import check_shapes
from fluidio.program.variable import Variable

if TYPE_CHECKING:
    from fluidio.flow.feed_queue import FeedQueue
    from fluidio.program.block import Block

__all__ = ["Operator"]

Arguments = Mapping[str, "Variable | str | Sequence[Variable | str] | None"]


class Operator:
    """One op of a block. Created by `block.append_op`, never directly."""

    OP_ROLE = "op_role"
    from_bytes = False
    """Whether it was parsed from untrusted bytes: see `consent`."""
    has_defaults = True
    """Attributes left out have their defaults; one that `core.OpDesc` makes has them after `check_attrs`."""
    OP_WITHOUT_KERNEL_SET = frozenset(
        [
            "c_comm_init",
            "c_gen_nccl_id",
            "c_sync_calc_stream",
            "c_sync_comm_stream",
            "checkpoint_notify",
            "conditional_block",
            "feed",
            "fetch",
            "fl_listen_and_serv",
            "gen_nccl_id",
            "go",
            "listen_and_serv",
            "ncclInit",
            "recurrent",
            "recv",
            "rnn_memory_helper_grad",
            "select",
            "send",
            "while",
        ]
    )

    def __init__(
        self,
        block: Block,
        desc: object = None,
        type: str | None = None,
        inputs: Arguments | None = None,
        outputs: Arguments | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        if type is None:
            raise ValueError("`type` to initialized an Operator can not be None.")
        if attrs is not None and not isinstance(attrs, Mapping):
            raise TypeError(f"attrs must be a dict, got {attrs!r}")
        self.block = block
        self.type = type
        self.site = user_site()
        self.is_target = False
        self.feed_queue: FeedQueue | None = None
        definition = self.definition
        carried = tuple(OpSlot(name, True, True) for name in definition.carried)
        needed = [slot.name for slot in definition.inputs if not slot.optional]
        if inputs is None and needed and era().checks_layer_arguments:
            raise EnforceNotMet(f"op {type}: input {needed[0]} must be given")
        self.slots_in = _arguments("Input", type, (*definition.inputs, *carried), inputs or {})
        self.slots_out = _arguments("Output", type, definition.outputs, outputs or {})
        self.attrs: dict[str, Any] = dict(definition.attrs)
        try:
            _check_required(type, attrs or {})
            self.attrs.update(_known(type, definition.attrs, _clean(attrs or {})))
        except EnforceNotMet as error:
            InferContext(self).fail(str(error))

    @classmethod
    def blank(cls, block: Block) -> Operator:
        """Return an op without type, arguments and attributes; `core.OpDesc` fills it in."""
        op = cls.__new__(cls)
        op.block, op.type, op.site, op.is_target, op.feed_queue = block, "", None, False, None
        op.slots_in, op.slots_out, op.attrs = {}, {}, {}
        op.has_defaults = False
        return op

    @property
    def definition(self) -> OpDef:
        """Return the definition of this op type; raise ValueError if there is none."""
        return find_op(self.type)

    def infer(self) -> None:
        """Describe the outputs from the inputs."""
        definition = self.definition
        if definition.infer is None:
            return
        context = InferContext(self)
        if not definition.raw:  # readers and control flow name what only the scope holds
            context.check_inputs(slot.name for slot in definition.inputs if not slot.optional)
        if era().checks_layer_arguments:
            check_attrs(context)
            check_shapes(context)
        try:
            definition.infer(context)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            context.fail(f"the inputs do not fit together: {type(error).__name__}: {error}", error)
        for slot, source in (definition.lods or {}).items():
            context.share_lod_level(slot, source)

    # -- names ----------------------------------------------------------------------------------------------

    def input(self, name: str) -> list[str]:
        return self.slots_in.get(name, [])

    def output(self, name: str) -> list[str]:
        return self.slots_out.get(name, [])

    @property
    def input_names(self) -> list[str]:
        """Return the slots of inputs in alphabetical order, empty ones of a forward op included, as Fluid does."""
        proto = all_op_protos().get(self.type) if self.has_defaults else None
        return sorted({*self.slots_in, *(slot.name for slot in (proto.inputs if proto else ()))})

    @property
    def output_names(self) -> list[str]:
        return sorted(self.slots_out)

    @property
    def input_arg_names(self) -> list[str]:
        return [name for slot in sorted(self.slots_in) for name in self.slots_in[slot]]

    @property
    def output_arg_names(self) -> list[str]:
        return [name for slot in sorted(self.slots_out) for name in self.slots_out[slot]]

    def rename(self, old: str, new: str, *, inputs: bool = True, outputs: bool = True) -> None:
        for wanted, slots in ((inputs, self.slots_in), (outputs, self.slots_out)):
            if wanted:
                for slot, names in slots.items():
                    slots[slot] = [new if name == old else name for name in names]
        self.block.program.note_change()

    def _rename_input(self, old: str, new: str) -> None:
        self.rename(old, new, outputs=False)

    def _rename_output(self, old: str, new: str) -> None:
        self.rename(old, new, inputs=False)

    # -- attributes -----------------------------------------------------------------------------------------

    def attr(self, name: str) -> Any:
        """Return an attribute, or the default that Fluid 1.8.5 gives it."""
        if not isinstance(name, str):
            raise TypeError(f"the name of an attribute must be a str, got {name!r}")
        attrs = self.attrs if name in self.attrs else self.all_attrs()
        if name not in attrs:
            raise EnforceNotMet(f"op {self.type} has no attribute {name}; it has {sorted(attrs)}")
        return as_stored(attrs[name])

    def has_attr(self, name: str) -> bool:
        return name in self.all_attrs()

    @property
    def attr_names(self) -> list[str]:
        return list(self.all_attrs())

    def all_attrs(self) -> dict[str, Any]:
        """Return all attributes, including those left at Fluid's defaults."""
        from fluidio.program.attr_defaults import full_attrs

        return {name: as_stored(value) for name, value in full_attrs(self).items()}

    def attr_type(self, name: str) -> Any:
        from fluidio.program.attr_types import attr_type

        return attr_type(self.type, name, self.attr(name))

    def _remove_attr(self, name: str) -> None:
        self.attrs.pop(name, None)
        self.block.program.note_change()

    def _set_attr(self, name: str, value: object) -> None:
        self.attrs[name] = as_kept(self.type, name, value)
        self.block.program._bump_details()

    set_attr = _update_desc_attr = _set_attr

    def _block_attr_id(self, name: str) -> int:
        return self._block_attr(name).idx

    def _block_attr(self, name: str) -> Block:
        if name not in self.attrs:
            raise EnforceNotMet(f"op {self.type} has no attribute {name}")
        block: Block = self.attrs[name]
        return block

    def _blocks_attr(self, name: str) -> list[Block]:
        return list(self.attrs[name])

    def _blocks_attr_ids(self, name: str) -> list[int]:
        return [block.idx for block in self.attrs[name]]

    @property
    def idx(self) -> int:
        return self.block.ops.index(self)

    @property
    def desc(self) -> Any:
        from fluidio.program.desc import OpDesc

        return OpDesc(self)

    def _has_kernel(self, op_type: str) -> bool:
        return op_type not in self.OP_WITHOUT_KERNEL_SET

    def _is_optimize_op(self) -> bool:
        return bool(int(self.attrs.get("op_role", 0)) & OpRole.Optimize)

    def to_string(self, throw_on_error: bool = True) -> str:
        """Return the OpDesc as text."""
        from fluidio.program.text_format import op_text

        return op_text(self)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        if era().repr_is_text:
            return self.to_string(True)
        return f"Operator({self.type}, {self.slots_in} -> {self.slots_out})"


def _arguments(kind: str, type: str, slots: tuple[OpSlot, ...], given: Arguments) -> dict[str, list[str]]:
    if not isinstance(given, Mapping):
        raise TypeError(f"op {type}: {kind.lower()}s must be a dict of slots and Variables, got {given!r}")
    found: dict[str, list[str]] = {}
    known = set()
    for slot in slots:
        known.add(slot.name)
        value = given.get(slot.name)
        if era().checks_layer_arguments:
            _check_given(kind, type, slot, given)
        if isinstance(value, list) and len(value) > 1 and not slot.many:
            raise ValueError(f"op {type}: {kind.lower()} {slot.name} takes one variable, got {len(value)}")
        names = _names(value)
        if kind == "Input" and isinstance(value, list) and not value and not slot.optional:
            raise EnforceNotMet(f"op {type}: input {slot.name} is an empty list; it needs at least one Variable")
        if not names and not slot.optional:
            if kind == "Input":
                raise AssertionError(f"op {type}: input {slot.name} is missing")
            raise ValueError(f"op {type}: output {slot.name} is missing; the op needs {[s.name for s in slots]}")
        if len(names) > 1 and not slot.many:
            raise ValueError(f"op {type}: {kind.lower()} {slot.name} takes one variable, got {len(names)}")
        if names or value is not None:
            found[slot.name] = names
    unknown = [name for name, value in given.items() if name not in known and _names(value)]
    if unknown and _declares_none(type, unknown):
        warnings.warn(
            f"op {type} has no {kind.lower()} {unknown}, so it is ignored; it has {sorted(known)}", stacklevel=5
        )
    elif unknown:
        raise ValueError(f"op {type} has no {kind.lower()} {unknown}; it has {sorted(known)}")
    return found


def _check_given(kind: str, type: str, slot: OpSlot, given: Arguments) -> None:
    """Refuse arguments that Fluid 1.8 does not accept as variables: None in a list, and any tuple."""
    value = given.get(slot.name)
    if kind == "Output":
        if not slot.optional and slot.name in given and (value is None or _is_none_in_a_list(value)):
            raise AttributeError(f"op {type}: output {slot.name} is None, which has no 'name': pass a Variable")
    elif not _is_argument(value) or (_is_none_in_a_list(value) and not slot.optional):
        raise TypeError(f"op {type}: {slot.name} must be a Variable, a name or a list of them, got {value!r}")


def _is_argument(value: object) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(item is None or isinstance(item, (Variable, str, bytes)) for item in items)


def _is_none_in_a_list(value: object) -> bool:
    return isinstance(value, list) and len(value) == 1 and value[0] is None


def _declares_none(type: str, names: Sequence[str]) -> bool:
    """Return whether Fluid's op lacks these slots too; it ignores arguments for them."""
    proto = find_proto(type)
    return proto is not None and not {slot.name for slot in (*proto.inputs, *proto.outputs)} & set(names)


def _names(value: object) -> list[str]:
    if value is None or _is_none_in_a_list(value):
        return []
    if isinstance(value, (list, tuple)):  # a nested list: a layer received a list in place of one Variable
        return [_name(v) for item in value for v in (item if isinstance(item, list) else [item])]
    return [_name(value)]


def _name(value: object) -> str:
    if isinstance(value, Variable):
        return value.name
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, str):
        return value
    raise TypeError(f"an input or output of an op must be a Variable or a name, got {type(value).__name__}")


def _known(type: str, own: Mapping[str, object], given: dict[str, Any]) -> dict[str, Any]:
    """Drop attributes that the op does not have; a gradient op has what its forward op was given."""
    proto = find_proto(type)
    if proto is None:
        return _plain(given)
    names = {attr.name for attr in proto.attrs}
    ours = ("_", "@", "op_", "fluidio_")
    kept = {name: v for name, v in given.items() if name in names or name in own or name.startswith(ours)}
    return _plain(typed(type, kept))


def _check_required(type: str, given: Mapping[str, object]) -> None:
    """Raise for an attribute without default that is given as None, or is missing and not a list."""
    proto = all_op_protos().get(type) if era().checks_layer_arguments else None
    for attr in proto.attrs if proto is not None else ():
        missing = attr.default is None and given.get(attr.name) is None
        if missing and (attr.name in given or not attr.type.name.endswith("S")):
            raise EnforceNotMet(f"attribute {attr.name} must be given")


def _clean(attrs: Mapping[str, object]) -> dict[str, Any]:
    """Drop attributes given as None."""
    return {name: value for name, value in attrs.items() if value is not None}


def _plain(attrs: dict[str, Any]) -> dict[str, Any]:
    """Convert NumPy scalars to Python ones."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in attrs.items()}
