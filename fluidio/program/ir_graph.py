"""`fluid.framework.IrGraph`: a graph that passes and scripts change, with Python wrappers for its nodes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fluidio.dtypes import DTypeLike, VarType, to_vartype
from fluidio.errors import EnforceNotMet
from fluidio.program.desc import BlockDesc, OpDesc, ProgramDesc, VarDesc
from fluidio.program.ir_nodes import Graph, Node, _copy, sorted_ops
from fluidio.program.program import Program

__all__ = ["Graph", "IrGraph", "IrNode", "IrOpNode", "IrVarNode", "Node"]


class IrNode:
    """A node of an IrGraph."""

    def __init__(self, node: Node) -> None:
        if not isinstance(node, Node):
            raise AssertionError(f"expected a Node, got {type(node).__name__}")
        self.node = node

    def name(self) -> str:
        return self.node.name()

    def node_type(self) -> Any:
        return self.node.node_type()

    def var(self) -> VarDesc | None:
        return self.node.var()

    def op(self) -> OpDesc | None:
        return self.node.op()

    def id(self) -> int:
        return self.node.id()

    def is_op(self) -> bool:
        return self.node.is_op()

    def is_var(self) -> bool:
        return self.node.is_var()

    def is_ctrl_var(self) -> bool:
        return self.node.is_ctrl_var()

    def clear_inputs(self) -> None:
        self.node.clear_inputs()

    def clear_outputs(self) -> None:
        self.node.clear_outputs()

    def remove_input_by_id(self, node_id: int) -> None:
        self.node.remove_input(node_id)

    def remove_input(self, node: IrNode) -> None:
        self.node.remove_input(node.node)

    def append_input(self, node: IrNode) -> None:
        self.node.append_input(node.node)

    def remove_output_by_id(self, node_id: int) -> None:
        self.node.remove_output(node_id)

    def remove_output(self, node: IrNode) -> None:
        self.node.remove_output(node.node)

    def append_output(self, node: IrNode) -> None:
        self.node.append_output(node.node)

    @property
    def inputs(self) -> list[Any]:
        return [_face(node) for node in self.node.inputs]

    @property
    def outputs(self) -> list[Any]:
        return [_face(node) for node in self.node.outputs]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IrNode) and other.node is self.node

    def __hash__(self) -> int:
        return hash(id(self.node))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name()!r})"


class IrVarNode(IrNode):
    """A variable in a graph."""

    def __init__(self, node: Node) -> None:
        if not isinstance(node, Node) or not node.is_var():
            raise AssertionError("IrVarNode takes the Node of a variable")
        super().__init__(node)

    def _desc(self) -> VarDesc:
        found = self.node.var()
        if found is None:
            raise AssertionError(f"the node {self.name()} has no variable")
        return found

    def set_shape(self, shape: Sequence[int]) -> None:
        self._desc().set_shape(shape)

    def persistable(self) -> bool:
        return self._desc().persistable()

    def type(self) -> VarType:
        return self._desc().type()

    def dtype(self) -> VarType:
        return self._desc().dtype()

    def shape(self) -> Any:
        return self._desc().shape()


class IrOpNode(IrNode):
    """An op in a graph."""

    def __init__(self, node: Node) -> None:
        if not isinstance(node, Node) or not node.is_op():
            raise AssertionError("IrOpNode takes the Node of an op")
        super().__init__(node)

    def _desc(self) -> OpDesc:
        found = self.node.op()
        assert found is not None
        return found

    def op(self) -> OpDesc:
        return self._desc()

    def rename_input(self, old_input_name: str, new_input_name: str) -> None:
        self._desc()._rename_input(old_input_name, new_input_name)

    def rename_output(self, old_output_name: str, new_output_name: str) -> None:
        self._desc()._rename_output(old_output_name, new_output_name)

    def input(self, name: str) -> list[str]:
        return self._desc().input(name)

    def output(self, name: str) -> list[str]:
        return self._desc().output(name)

    def set_type(self, new_type: str) -> None:
        self._desc().set_type(new_type)

    def set_attr(self, name: str, val: object) -> None:
        _set_attr(self._desc(), name, val)

    def input_arg_names(self) -> list[str]:
        return self._desc().input_arg_names()

    def output_arg_names(self) -> list[str]:
        return self._desc().output_arg_names()


def _face(node: Node) -> IrNode:
    return IrOpNode(node) if node.is_op() else IrVarNode(node)


def _set_attr(desc: OpDesc, name: str, value: object) -> None:
    """Set an attribute; blocks are passed as descs."""
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], BlockDesc):
        desc.set_blocks_attr(name, value)
    elif isinstance(value, BlockDesc):
        desc.set_block_attr(name, value)
    else:
        desc._set_attr(name, value.serialize_to_string() if isinstance(value, ProgramDesc) else value)


class IrGraph:
    """A graph for passes: `pass.apply(graph)` changes it, `to_program()` gives the program."""

    def __init__(self, graph: Graph, for_test: bool = False) -> None:
        if not isinstance(graph, Graph):
            raise AssertionError(f"IrGraph takes a core.Graph, got {type(graph).__name__}")
        self.graph = graph
        self._for_test = for_test

    @property
    def program(self) -> Program:
        """Return the program that passes change."""
        return self.graph.program

    def is_test(self) -> bool:
        return self._for_test

    def clone(self) -> IrGraph:
        return IrGraph(self.graph.clone(), self._for_test)

    def to_program(self) -> Program:
        """Return a copy of the program as it is now."""
        self.graph.flush()
        return _copy(self.graph._program)

    # -- nodes --------------------------------------------------------------------------------------------------

    def all_nodes(self) -> set[IrNode]:
        return {IrNode(node) for node in self.graph.nodes()}

    def all_var_nodes(self) -> set[IrVarNode]:
        return {IrVarNode(node) for node in self.graph.nodes() if node.is_var()}

    def all_op_nodes(self) -> set[IrOpNode]:
        return {IrOpNode(node) for node in self.graph.nodes() if node.is_op()}

    def all_persistable_nodes(self) -> set[IrVarNode]:
        """Return the nodes of persistable variables."""
        found = (node for node in self.graph.nodes() if node.is_var())
        return {IrVarNode(node) for node in found if node._variable is not None and node._variable.persistable}

    def _find_node_by_name(self, nodes: Iterable[IrNode], node_name: str) -> Any:
        """Return the node of that name; AssertionError if none of `nodes` has it."""
        for node in nodes:
            if node.name() == node_name:
                return node
        raise AssertionError(f"no node is called {node_name!r}")

    def create_control_dep_var(self) -> IrVarNode:
        return IrVarNode(self.graph.create_control_dep_var())

    def create_persistable_node(self, name: str, var_type: VarType, shape: Sequence[int], var_dtype: Any) -> IrVarNode:
        """Add a node for a new persistable variable."""
        return self._create_var(name, var_type, shape, var_dtype, persistable=True)

    def create_var_node(self, name: str, var_type: VarType, shape: Sequence[int], var_dtype: Any) -> IrVarNode:
        """Add a node for a new variable."""
        return self._create_var(name, var_type, shape, var_dtype, persistable=False)

    def _create_var(
        self, name: str, kind: VarType, shape: Sequence[int], dtype: DTypeLike, *, persistable: bool
    ) -> IrVarNode:
        desc = VarDesc(name)
        desc.set_type(kind)
        desc.set_shape(shape)
        desc.set_dtype(to_vartype(dtype))
        desc.set_persistable(persistable)
        return IrVarNode(self.graph.create_var_node(desc))

    def create_var_node_from_desc(self, var_desc: VarDesc) -> IrVarNode:
        return IrVarNode(self.graph.create_var_node(var_desc))

    def create_op_node(
        self, op_type: str, attrs: Mapping[str, Any], inputs: Mapping[str, Any], outputs: Mapping[str, Any]
    ) -> IrOpNode:
        """Add a node for a new op; `link_to` joins it to its variables."""
        desc = OpDesc()
        desc.set_type(op_type)
        for name, value in attrs.items():
            self._update_desc_attr(desc, name, value)
        for set_slot, slots in ((desc.set_input, inputs), (desc.set_output, outputs)):
            for slot, nodes in slots.items():
                set_slot(slot, [node.name() for node in (nodes if isinstance(nodes, list) else [nodes])])
        return self.create_op_node_from_desc(desc)

    def create_op_node_from_desc(self, op_desc: OpDesc) -> IrOpNode:
        return IrOpNode(self.graph.create_op_node(op_desc))

    def _update_desc_attr(self, desc: OpDesc, name: str, val: object) -> None:
        _set_attr(desc, name, val)

    # -- links --------------------------------------------------------------------------------------------------

    def link_to(self, node_in: IrNode, node_out: IrNode) -> None:
        """Join two nodes of this graph."""
        self._check_here(node_in, node_out)
        node_in.append_output(node_out)
        node_out.append_input(node_in)

    def update_input_link(self, old_input_node: IrNode, new_input_node: IrNode, op_node: IrOpNode) -> None:
        """Make an op read another variable."""
        self._check_here(old_input_node, new_input_node, op_node)
        old_input_node.remove_output(op_node)
        op_node.remove_input(old_input_node)
        self.link_to(new_input_node, op_node)
        op_node.rename_input(old_input_node.name(), new_input_node.name())

    def update_output_link(self, old_output_node: IrNode, new_output_node: IrNode, op_node: IrOpNode) -> None:
        """Make an op write another variable."""
        self._check_here(old_output_node, new_output_node, op_node)
        old_output_node.remove_input(op_node)
        op_node.remove_output(old_output_node)
        self.link_to(op_node, new_output_node)
        op_node.rename_output(old_output_node.name(), new_output_node.name())

    def _check_here(self, *nodes: IrNode) -> None:
        for node in nodes:
            if self.graph.retrieve_node(node.id()) is not node.node:
                raise AssertionError(f"the graph does not contain the node {node.name()}")

    def safe_remove_nodes(self, remove_nodes: Any) -> None:
        """Remove nodes and their links."""
        nodes = remove_nodes if isinstance(remove_nodes, (set, frozenset, list, tuple)) else [remove_nodes]
        for face in nodes:
            node: Node = face.node
            for other in node.inputs:
                other.remove_output(node)
            for other in node.outputs:
                other.remove_input(node)
            if self.graph.retrieve_node(node.id()) is not None:
                self.graph.remove_node(node)

    def resolve_hazard(self) -> None:
        """Order ops that rewrite a variable after those that read its earlier value."""
        versions: dict[str, list[Node]] = {}
        for node in sorted(self.graph.nodes(), key=Node.id):
            if node.is_var() and not node.is_ctrl_var():
                versions.setdefault(node.name(), []).append(node)
        made = {name: [n for i, n in enumerate(found) if n.inputs or not i] for name, found in versions.items()}
        self.graph.resolve_hazard(made)

    # -- the whole graph ----------------------------------------------------------------------------------------

    def has_circle(self) -> bool:
        try:
            sorted_ops(self.graph.nodes())
        except EnforceNotMet:
            return True
        return False

    def graph_num(self) -> int:
        """Return the number of connected components of the graph."""
        left = self.graph.nodes()
        count = 0
        while left:
            count += 1
            border = [left.pop()]
            while border:
                node = border.pop()
                near = {other for other in (*node.inputs, *node.outputs) if other in left}
                left -= near
                border.extend(near)
        return count

    def topology_sort(self) -> list[IrOpNode]:
        """Return the ops in an order that the links allow."""
        return [IrOpNode(node) for node in sorted_ops(self.graph.nodes())]

    def build_adjacency_list(self) -> dict[IrNode, set[IrNode]]:
        """Return for each op the ops that produce its inputs."""
        return {
            IrOpNode(op): {IrOpNode(made) for value in op.inputs for made in value.inputs}
            for op in sorted_ops(self.graph.nodes())
        }

    def draw(self, save_path: str, name: str, marked_nodes: Any = None, remove_ctr_var: bool = True) -> None:
        """Write the graph as `NAME.dot` in a folder."""
        nodes = [n for n in self.graph.nodes() if not (remove_ctr_var and n.is_ctrl_var())]
        marked = {face.node for face in marked_nodes or ()}
        lines = [f'  n{n.id()} [label="{n.name()}"{_style(n, n in marked)}];' for n in sorted(nodes, key=Node.id)]
        here = set(nodes)
        lines += [f"  n{n.id()} -> n{other.id()};" for n in nodes for other in n.outputs if other in here]
        os.makedirs(save_path, exist_ok=True)
        with open(os.path.join(save_path, f"{name}.dot"), "w", encoding="utf-8") as out:
            out.write("\n".join([f'digraph "{name}" {{', *lines, "}"]) + "\n")


def _style(node: Node, is_marked: bool) -> str:
    shape = ", shape=box" if node.is_op() else ""
    return shape + (', style=filled, fillcolor="yellow"' if is_marked else "")
