"""`core.Graph` and `core.Node`: a program as nodes of ops and variables, with a separate node for each write.

The graph works on a copy of the program. Nodes are created on demand, and `program` writes their state back: the ops in
an order that the links allow, and the variables that have a node.
"""

from __future__ import annotations

import enum
import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from fluidio.errors import EnforceNotMet
from fluidio.program.clone import clone_program
from fluidio.program.desc import OpDesc, ProgramDesc, VarDesc
from fluidio.program.op_def import EMPTY
from fluidio.program.operator import Operator
from fluidio.program.program import Program
from fluidio.program.var_desc import declare
from fluidio.program.variable import Variable

__all__ = ["Graph", "Node", "sorted_ops"]

CONTROL = "__control_var"


class _NodeType(enum.IntEnum):
    """What a node stands for."""

    Operation = 0
    Variable = 1


class Node:
    """An op, a variable between two writes, or a control variable, which only puts two ops in order."""

    Type = _NodeType

    def __init__(self, number: int, name: str, *, op: Operator | None = None, variable: Variable | None = None) -> None:
        self._number = number
        self._name = name
        self._op = op
        self._variable = variable
        self.inputs: list[Node] = []
        self.outputs: list[Node] = []

    def name(self) -> str:
        return self._op.type if self._op is not None else self._name

    def id(self) -> int:
        return self._number

    def node_type(self) -> _NodeType:
        return _NodeType.Operation if self.is_op() else _NodeType.Variable

    def is_op(self) -> bool:
        return self._op is not None

    def is_var(self) -> bool:
        return self._op is None

    def is_ctrl_var(self) -> bool:
        return self.is_var() and self._name.startswith(CONTROL)

    def op(self) -> OpDesc | None:
        return None if self._op is None else OpDesc(self._op)

    def var(self) -> VarDesc | None:
        return None if self._variable is None else VarDesc(self._variable)

    def append_input(self, node: Node) -> None:
        self.inputs.append(node)

    def append_output(self, node: Node) -> None:
        self.outputs.append(node)

    def remove_input(self, node: Node | int) -> None:
        self.inputs = _without(self.inputs, node)

    def remove_output(self, node: Node | int) -> None:
        self.outputs = _without(self.outputs, node)

    def clear_inputs(self) -> None:
        self.inputs = []

    def clear_outputs(self) -> None:
        self.outputs = []

    def __repr__(self) -> str:
        return f"Node({self._number}, {self.name()!r})"


def _without(nodes: list[Node], unwanted: Node | int) -> list[Node]:
    number = unwanted if isinstance(unwanted, int) else unwanted.id()
    return [node for node in nodes if node.id() != number]


class Graph:
    """A copy of a program, as nodes. Only the main block is taken apart; ops keep the blocks they run."""

    def __init__(self, desc: ProgramDesc | Program) -> None:
        self._program = _copy(desc if isinstance(desc, Program) else desc._program)
        self._nodes: dict[int, Node] | None = None
        self._numbers = itertools.count()
        self._attrs: dict[str, Any] = {}

    @property
    def program(self) -> Program:
        """Return the program, for passes that change it; existing nodes are then out of date."""
        self.flush()
        self._nodes = None
        return self._program

    def clone(self) -> Graph:
        self.flush()
        return Graph(self._program)

    def origin_program_desc(self) -> ProgramDesc:
        self.flush()
        return ProgramDesc(self._program)

    def flush(self) -> None:
        """Update the program from the nodes."""
        if self._nodes is None:
            return
        block = self._program.global_block()
        block.ops = [node._op for node in sorted_ops(self._nodes.values()) if node._op is not None]
        kept = {node._variable.name: node._variable for node in self._nodes.values() if node._variable is not None}
        block.vars = {name: kept[name] for name in [*filter(kept.__contains__, block.vars), *kept]}
        self._program.note_change()

    # -- nodes --------------------------------------------------------------------------------------------------

    def nodes(self) -> set[Node]:
        return set(self._made().values())

    def _made(self) -> dict[int, Node]:
        if self._nodes is None:
            self._nodes = {}
            self._build()
        return self._nodes

    def _add(self, name: str, *, op: Operator | None = None, variable: Variable | None = None) -> Node:
        node = Node(next(self._numbers), name, op=op, variable=variable)
        self._made()[node.id()] = node
        return node

    def _build(self) -> None:
        block = self._program.global_block()
        versions: defaultdict[str, list[Node]] = defaultdict(list)
        for op in block.ops:
            node = self._add(op.type, op=op)
            for name in dict.fromkeys(op.input_arg_names):
                if not versions[name]:
                    versions[name].append(self._add(name, variable=block._find_var_recursive(name)))
                _link(versions[name][-1], node)
            for name in dict.fromkeys(op.output_arg_names):
                if name != EMPTY:
                    versions[name].append(self._add(name, variable=block._find_var_recursive(name)))
                    _link(node, versions[name][-1])
        self.resolve_hazard(versions)

    def resolve_hazard(self, versions: dict[str, list[Node]] | None = None) -> None:
        """Use control variables to order each write of a variable after all writes and reads of its previous value."""
        for found in (versions or {}).values():
            for old, new in itertools.pairwise(found):
                for earlier in [*old.inputs[:1], *old.outputs]:
                    writer = new.inputs[0]
                    if earlier is not writer and not set(earlier.outputs) & set(writer.inputs):
                        between = self.create_control_dep_var()
                        _link(earlier, between)
                        _link(between, writer)

    def create_control_dep_var(self) -> Node:
        self._made()
        return self._add(f"{CONTROL}@{next(self._numbers)}")

    def create_empty_node(self, name: str, type: _NodeType = _NodeType.Variable) -> Node:
        return self._add(name)

    def create_var_node(self, desc: VarDesc) -> Node:
        """Add a node for a variable that `desc` describes."""
        block = self._program.global_block()
        source = desc._variable
        found = block.vars.get(source.name)
        if found is None:
            found = declare(block, source.name)
            found.__dict__.update({k: v for k, v in source.__dict__.items() if k not in ("block", "op", "name")})
            block.vars[found.name] = found
        return self._add(found.name, variable=found)

    def create_op_node(self, desc: OpDesc) -> Node:
        """Add a node for an op that `desc` describes; `link` joins it to its variables."""
        op = Operator.blank(self._program.global_block())
        OpDesc(op).copy_from(desc)
        OpDesc(op).check_attrs()
        op.attrs.setdefault("op_role", 0)
        return self._add(op.type, op=op)

    def remove_node(self, node: Node) -> Node:
        return self._made().pop(node.id())

    def retrieve_node(self, number: int) -> Node | None:
        return self._made().get(number)

    def release_nodes(self) -> list[Node]:
        """Remove all nodes."""
        found = list(self._made().values())
        self._nodes = {}
        return found

    # -- attributes ---------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        return name in self._attrs

    def set(self, name: str, value: object) -> None:
        """Store a value with the graph."""
        self._attrs[name] = value

    set_not_owned = set

    def erase(self, name: str) -> None:
        self._attrs.pop(name, None)

    def _get(self, name: str) -> Any:
        if name not in self._attrs:
            raise EnforceNotMet(f"the graph has no attribute {name!r}")
        return self._attrs[name]

    get_bool = get_double = get_float = get_int = get_string = get_marked_nodes = _get


def _copy(program: Program) -> Program:
    twin = clone_program(program, for_test=False)
    twin.random_seed = program.random_seed
    return twin


def _link(source: Node, target: Node) -> None:
    source.append_output(target)
    target.append_input(source)


def sorted_ops(nodes: Iterable[Node]) -> list[Node]:
    """Return the op nodes in an order that the links allow, as close to their numbers as possible.

    An op that was added later comes before the first op that needs it.
    """
    ops = [node for node in nodes if node.is_op()]
    before = {op: {made for value in op.inputs for made in value.inputs if made is not op} for op in ops}
    after: defaultdict[Node, list[Node]] = defaultdict(list)
    for op, makers in before.items():
        for maker in makers:
            after[maker].append(op)
    keys = _keys(ops, after)
    waiting = {op: sum(1 for maker in makers if maker in before) for op, makers in before.items()}
    ready = [(keys[op], op.id(), op) for op in ops if not waiting[op]]
    heapq.heapify(ready)
    found = []
    while ready:
        op = heapq.heappop(ready)[2]
        found.append(op)
        for later in after[op]:
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, (keys[later], later.id(), later))
    if len(found) < len(ops):
        raise EnforceNotMet(
            f"the graph has a cycle: {len(ops) - len(found)} of its {len(ops)} ops need each other's outputs"
        )
    return found


def _keys(ops: list[Node], after: dict[Node, list[Node]]) -> dict[Node, int]:
    """Return the preferred position of each op: by its number, but before the ops that need it."""
    keys = {op: op.id() for op in ops}
    changed = True
    while changed:
        changed = False
        for op in reversed(ops):
            wanted = min((keys[later] for later in after.get(op, ()) if later in keys), default=keys[op])
            if wanted < keys[op]:
                keys[op], changed = wanted, True
    return keys
