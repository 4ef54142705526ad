"""Block: variables and operators in order; a program's body, or the body of a loop or branch inside it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fluidio.current import Current
from fluidio.dtypes import VarType
from fluidio.era import era
from fluidio.program.infer import InferContext
from fluidio.program.name_scopes import scope_path
from fluidio.program.op_def import EMPTY
from fluidio.program.operator import Operator
from fluidio.program.variable import Parameter, Variable, check_text_options
from fluidio.program.writers import Writers

if TYPE_CHECKING:
    from fluidio.program.program import Program

__all__ = ["Block", "op_device"]

op_device = Current("")
"""The device that `fluid.device_guard` sets for ops being created."""


class Block:
    """Block number `idx` of a program; names not found here are looked up in the parent block."""

    def __init__(self, program: Program, idx: int, parent_idx: int = -1) -> None:
        self.program = program
        self.idx = idx
        self.parent_idx = parent_idx
        self.forward_block_idx = -1
        self.backward_block_idx = -1
        self.vars: dict[str, Variable] = {}
        self.ops: list[Operator] = []
        self.removed_vars: list[str] = []
        self.writers = Writers(self)

    @property
    def parent(self) -> Block | None:
        return None if self.parent_idx < 0 else self.program.blocks[self.parent_idx]

    def _sync_with_cpp(self) -> None:
        """Do nothing: block and desc are the same object."""

    def _copy_param_info_from(self, other: Block) -> None:
        """Make the variables that are parameters in another block parameters here too."""
        from fluidio.program.clone import copy_variable

        if not isinstance(other, Block):
            raise TypeError(f"_copy_param_info_from takes a Block, got {type(other).__name__}")
        for parameter in other.iter_parameters():
            if parameter.name not in self.vars:
                raise ValueError(
                    f"_copy_param_info_from: this block has no variable {parameter.name}, which is a "
                    "parameter of the other"
                )
            self.vars[parameter.name] = copy_variable(parameter, self)
        self.program.note_change()

    def _set_forward_block_idx(self, idx: int) -> None:
        self.forward_block_idx = idx

    @property
    def desc(self) -> Any:
        from fluidio.program.desc import BlockDesc

        return BlockDesc(self)

    # -- variables ----------------------------------------------------------------------------------------------

    def var(self, name: str) -> Variable:
        """Return the variable of this block; raise ValueError if there is none."""
        if not isinstance(name, str):
            raise TypeError(f"Block.var: the name of a variable must be a str, got {type(name).__name__}")
        try:
            return self.vars[name]
        except KeyError:
            raise ValueError(f"this block has no variable {name!r}") from None

    def has_var(self, name: str) -> bool:
        return name in self.vars

    def _find_var_recursive(self, name: str) -> Variable | None:
        block: Block | None = self
        while block is not None:
            found = block.vars.get(name)
            if found is None and block.forward_block_idx >= 0:
                # The body of a gradient loop sees the variables of the loop it belongs to.
                found = self.program.blocks[block.forward_block_idx].vars.get(name)
            if found is not None:
                return found
            block = block.parent
        return None

    def _var_recursive(self, name: str) -> Variable:
        found = self._find_var_recursive(name)
        if found is None:
            raise ValueError(f"neither this block nor an outer one has a variable {name!r}")
        return found

    var_recursive = _var_recursive

    def has_var_recursive(self, name: str) -> bool:
        return self._find_var_recursive(name) is not None

    def all_parameters(self) -> list[Parameter]:
        return [v for v in self.vars.values() if isinstance(v, Parameter)]

    def iter_parameters(self) -> Any:
        return iter(self.all_parameters())

    def create_var(self, *, name: str | None = None, initializer: Any = None, **options: Any) -> Variable:
        """Create a variable, or return the existing one of that name after checking that the two match."""
        if name is not None and not isinstance(name, (str, bytes)):
            raise AttributeError(
                f"Block.create_var: name must be a str, got {type(name).__name__} {name!r}, which has no 'encode'"
            )
        if name is not None and name in self.vars:
            existing = self.vars[name]
            existing._meets(
                options.get("type", existing.type),
                options.get("shape"),
                options.get("dtype"),
                options.get("lod_level"),
                options.get("persistable"),
            )
            variable = existing
        else:
            variable = Variable(self, name=name, **options)
            self.program._bump_details()
        # Fluid: a variable declared twice is initialised twice, a parameter once.
        if initializer is not None:
            initializer(variable, self)
        return variable

    def create_parameter(self, *shape_dtype_type: Any, initializer: Any = None, **options: Any) -> Parameter:
        """Create a parameter in the global block; an initializer appends its op here unless there already is one."""
        options.update(zip(("shape", "dtype", "type"), shape_dtype_type))
        existing = self.program.global_block().vars.get(options.get("name", ""))
        if existing is not None:
            existing._meets(existing.type, options.get("shape"), options.get("dtype"), options.get("lod_level"), None)
        parameter = Parameter(self.program.global_block(), **options)
        self.program._bump_details()
        if initializer is not None:
            self._initialise(parameter, initializer)
        return parameter

    def _initialise(self, parameter: Parameter, initializer: Any) -> None:
        count = self.writers.count(parameter.name)
        if count > 1:
            existing = [op for op in self.ops if parameter.name in op.output_arg_names]
            raise RuntimeError(
                f"{count} ops initialize the parameter {parameter.name}, only one may: "
                f"{', '.join(op.type for op in existing)}"
            )
        if not count:
            initializer(parameter, self)

    def _rename_var(self, name: str, new_name: str) -> Variable:
        if name not in self.vars:
            raise ValueError(f"this block has no variable {name!r}")
        self.rename_vars({name: new_name})
        return self.vars[new_name]

    rename_var = _rename_var

    def rename_vars(self, names: Mapping[str, str], *, everywhere: bool = False) -> None:
        """Rename variables, in the ops of this block or, with `everywhere`, of all blocks that see them.

        Fluid: `_rename_var` does not change the ops of other blocks.
        """
        for old, new in names.items():
            variable = self.vars.pop(old)
            variable.name = new
            self.vars[new] = variable
        for block in self.program.blocks if everywhere else [self]:
            seen = names if block is self else {old: new for old, new in names.items() if old not in block.vars}
            for op in block.ops:
                for name in {*op.input_arg_names, *op.output_arg_names} & seen.keys():
                    op.rename(name, seen[name])
        self.program.note_change()

    def _remove_var(self, name: str) -> None:
        del self.vars[name]
        self.program.note_change()

    def _clone_variable(self, variable: Variable, force_persistable: bool = True) -> Variable:
        """Declare another block's variable here, a parameter as a plain variable."""
        if not isinstance(variable, Variable):
            raise AssertionError(f"_clone_variable() takes a Variable, got {variable!r}")
        from fluidio.program.clone import declare_again

        twin = declare_again(variable, self)
        if force_persistable and variable.type is not VarType.READER:
            twin._persistable = twin.states_persistable = True
        self.vars[twin.name] = twin
        self.program.note_change()
        return twin

    clone_variable = _clone_variable

    # -- operators ----------------------------------------------------------------------------------------------

    def append_op(
        self, type: str | None = None, inputs: object = None, outputs: object = None, attrs: object = None, **_: object
    ) -> Operator:
        """Append an op and describe its outputs; dygraph's arguments (`stop_gradient`) are ignored."""
        return self._insert(len(self.ops), type, inputs, outputs, attrs)

    def _prepend_op(
        self, type: str | None = None, inputs: object = None, outputs: object = None, attrs: object = None, **_: object
    ) -> Operator:
        return self._insert(0, type, inputs, outputs, attrs)

    prepend_op = _prepend_op

    def _insert_op(
        self,
        index: int,
        type: str | None = None,
        inputs: object = None,
        outputs: object = None,
        attrs: object = None,
        **_: object,
    ) -> Operator:
        return self._insert(index, type, inputs, outputs, attrs)

    insert_op = _insert_op

    def _insert(self, index: int, type: str | None, inputs: Any, outputs: Any, attrs: Any) -> Operator:
        op = Operator(self, None, type, inputs, outputs, attrs)
        if attrs:
            _check_attrs(op, attrs)
        op.attrs.setdefault("op_role", self.program._op_role)
        if self.program._op_role_var:
            op.attrs.setdefault("op_role_var", list(self.program._op_role_var))
        op.attrs.setdefault("op_namescope", scope_path())
        if op_device.get():
            op.attrs.setdefault("op_device", op_device.get())
        for name in op.output_arg_names:
            if name != EMPTY and self._find_var_recursive(name) is None:
                self.create_var(name=name)
        op.infer()
        for name in op.output_arg_names:
            variable = self._find_var_recursive(name)
            if variable is not None:
                variable.op = op
        is_counted = self.writers.is_current()
        self.ops.insert(index, op)
        self.program.note_change()
        if is_counted:
            self.writers.add(op)
        return op

    def _remove_op(self, index: int) -> None:
        if index < 0:
            raise TypeError(f"the index of an op must not be negative, got {index}")
        if index >= len(self.ops):
            raise IndexError(f"block {self.idx} has {len(self.ops)} ops and no index {index}")
        del self.ops[index]
        self.program.note_change()

    remove_op = _remove_op

    def _slice_ops(self, start: int, end: int) -> list[Operator]:
        return self.ops[start:end]

    def to_string(self, throw_on_error: bool = True, with_details: bool = False) -> str:
        """Return the BlockDesc as text; `with_details` adds the properties of variables that only Python has."""
        from fluidio.program.text_format import block_text

        check_text_options(throw_on_error, with_details)
        return block_text(self, with_details)

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        if era().repr_is_text:
            return self.to_string(True)
        return f"Block({self.idx}, {len(self.vars)} vars, {len(self.ops)} ops)"


def _check_attrs(op: Operator, attrs: Mapping[str, Any]) -> None:
    """Raise for text in place of a number, and warn about attributes that no op has.

    Fluid: an attribute that the op does not have is dropped. One that other ops have (use_cudnn, is_test) is not a
    mistake, because layers pass it to many ops.
    """
    from fluidio.program.attr_types import attr_names

    known = op.definition.attrs
    for name, value in attrs.items():
        if name not in known:
            if name not in attr_names() and not name.startswith(("_", "@", "op_", "fluidio_")):
                import difflib  # slow to import, and seldom needed

                near = difflib.get_close_matches(name, known, 2, 0.6)
                hint = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known) or 'none'}"
                warnings.warn(f"op {op.type} has no attribute {name!r}: it is ignored; {hint}", stacklevel=4)
        elif isinstance(value, str) and isinstance(known[name], (int, float)):
            InferContext(op).fail(f"attribute {name} is {value!r}; a number was expected")
