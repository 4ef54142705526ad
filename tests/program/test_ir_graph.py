"""Graphs of nodes: what passes and scripts see of a program, and what becomes of their changes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import core
from fluidio.errors import EnforceNotMet
from fluidio.framework import IrGraph
from fluidio.program.core_functions import infer_no_need_buffer_slots, prune, prune_backward, topology_sort
from fluidio.program.ir_graph import IrNode, IrOpNode, IrVarNode, Node


def trained() -> Any:
    x = fluid.data("x", [None, 4])
    loss = fluid.layers.mean(fluid.layers.fc(x, 2, act="relu"))
    fluid.optimizer.SGD(0.1).minimize(loss)
    return loss


def graph_of(program: Any = None) -> IrGraph:
    return IrGraph(core.Graph((program or fluid.default_main_program()).desc))


def test_every_write_of_a_variable_is_a_node() -> None:
    trained()
    graph = graph_of()
    names = Counter(node.name() for node in graph.all_var_nodes() if not node.is_ctrl_var())
    assert names["fc_0.w_0"] == 2  # before and after sgd
    assert names["fc_0.tmp_0"] == 1
    assert [op.name() for op in graph.topology_sort()] == [op.type for op in fluid.default_main_program().block(0).ops]
    assert (graph.has_circle(), graph.graph_num()) == (False, 1)
    assert {node.name() for node in graph.all_persistable_nodes()} == {"fc_0.w_0", "fc_0.b_0", "learning_rate_0"}


def test_an_update_comes_behind_what_reads_the_old_value() -> None:
    trained()
    graph = graph_of()
    before = graph.build_adjacency_list()
    (update,) = (op for op in before if op.name() == "sgd" and "fc_0.w_0" in op.op().output("ParamOut"))  # type: ignore[union-attr]
    assert "mul" in {op.name() for op in before[update]}


def test_a_program_goes_through_a_graph_unchanged() -> None:
    loss = trained()
    main = fluid.default_main_program()
    back = graph_of().to_program()
    assert [op.type for op in back.block(0).ops] == [op.type for op in main.block(0).ops]
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    weights: Any = fluid.global_scope().find_var("fc_0.w_0")
    weights.get_tensor().set(np.ones([4, 2], "float32"), fluid.CPUPlace())  # relu lets something through
    feed = {"x": np.ones([2, 4], "float32")}
    (first,) = exe.run(main, feed=feed, fetch_list=[loss.name])
    (second,) = exe.run(back, feed=feed, fetch_list=[loss.name])
    assert second < first


def test_an_op_is_put_between_a_variable_and_its_reader() -> None:
    x = fluid.data("x", [2, 2])
    out = fluid.layers.relu(x)
    graph = graph_of()
    source = graph._find_node_by_name(graph.all_var_nodes(), "x")
    reader = source.outputs[0]
    made = graph.create_var_node("x.scaled", source.type(), source.shape(), source.dtype())
    op = graph.create_op_node("scale", {"scale": 2.0}, {"X": source}, {"Out": made})
    graph.link_to(source, op)
    graph.link_to(op, made)
    graph.update_input_link(source, made, reader)
    program = graph.to_program()
    assert [(op.type, op.input("X")) for op in program.block(0).ops] == [("scale", ["x"]), ("relu", ["x.scaled"])]
    exe = fluid.Executor(fluid.CPUPlace())
    (got,) = exe.run(program, feed={"x": np.eye(2, dtype="float32")}, fetch_list=[out.name])
    np.testing.assert_array_equal(got, 2 * np.eye(2))


def test_nodes_that_are_taken_out_are_gone_from_the_program() -> None:
    kept = fluid.layers.relu(fluid.data("x", [2, 2]))
    fluid.layers.softmax(kept)
    graph = graph_of()
    graph.safe_remove_nodes(graph._find_node_by_name(graph.all_op_nodes(), "softmax"))
    assert [op.type for op in graph.to_program().block(0).ops] == ["relu"]
    graph.create_persistable_node("w", core.VarDesc.VarType.LOD_TENSOR, [3], "float32")
    assert graph.to_program().block(0).var("w").shape == (3,)


def test_ops_that_wait_for_each_other_are_a_circle() -> None:
    fluid.layers.relu(fluid.layers.relu(fluid.data("x", [2])))
    graph = graph_of()
    first, second = graph.topology_sort()
    graph.link_to(second.outputs[0], first)
    assert graph.has_circle()
    with pytest.raises(EnforceNotMet, match="cycle"):
        graph.to_program()


def test_faces_of_nodes_check_what_they_stand_for() -> None:
    fluid.layers.relu(fluid.data("x", [2]))
    graph = graph_of()
    op = graph.topology_sort()[0]
    (value,) = op.inputs
    for wrong in (
        lambda: IrGraph(3),  # type: ignore[arg-type]
        lambda: IrNode(3),  # type: ignore[arg-type]
        lambda: IrVarNode(op.node),
        lambda: IrOpNode(value.node),
        lambda: graph._find_node_by_name(graph.all_nodes(), "nowhere"),
    ):
        with pytest.raises(AssertionError):
            wrong()
    assert (op.is_op(), value.is_var(), value.shape()) == (True, True, [2])
    assert op.node_type() == Node.Type.Operation
    assert value.inputs == []


def test_a_graph_is_drawn_to_a_dot_file(tmp_path: Path) -> None:
    fluid.layers.relu(fluid.data("x", [2]))
    graph = graph_of()
    graph.draw(str(tmp_path), "net", graph.all_op_nodes())
    text = (tmp_path / "net.dot").read_text()
    assert text.count("->") == 2
    assert "yellow" in text


def test_descs_are_pruned_by_the_functions_of_core() -> None:
    trained()
    desc = fluid.default_main_program().desc
    forward, blocks = prune_backward(desc)
    types = [forward.block(0).op(i).type() for i in range(forward.block(0).op_size())]  # type: ignore[union-attr]
    assert (types, blocks) == (["mul", "elementwise_add", "relu", "mean"], {0: 0})
    part, _ = prune(desc, set(), [[0, 1]])
    assert part.block(0).op_size() == 2  # type: ignore[union-attr]
    with pytest.raises(EnforceNotMet, match="an op that the program does not have"):
        prune(desc, set(), [[0, 99]])


def test_inputs_that_matter_by_their_shape_alone_are_known() -> None:
    assert infer_no_need_buffer_slots("elementwise_add_grad", {}, {}, {}) == {"X", "Y"}
    assert infer_no_need_buffer_slots("mul", {}, {}, {}) == set()


def test_core_has_the_nodes_and_functions() -> None:
    fluid.layers.relu(fluid.data("x", [2]))
    graph = core.Graph(fluid.default_main_program().desc)
    assert [node.name() for node in topology_sort(graph)] == ["relu"]
    graph.set("answer", 42)
    assert graph.has("answer")
    assert graph.get_int("answer") == 42
    graph.erase("answer")
    with pytest.raises(EnforceNotMet, match="answer"):
        graph.get_int("answer")
