"""The names of Fluid's passes, as scripts ask a BuildStrategy for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fluidio as fluid
from fluidio.errors import EnforceNotMet
from fluidio.executor.pass_builder import get_pass
from fluidio.program.ir_graph import Graph


def names(**fields: Any) -> list[str]:
    strategy = fluid.BuildStrategy()
    for name, value in fields.items():
        setattr(strategy, name, value)
    return [one.type() for one in strategy._finalize_strategy_and_create_passes().all_passes()]


def test_the_passes_of_a_strategy_are_those_of_1_8_5() -> None:
    usual = names()
    assert usual == [
        "coalesce_grad_tensor_pass",
        "add_reader_dependency_pass",
        "all_reduce_mode_multi_devices_pass",
        "fuse_all_reduce_op_pass",
        "all_reduce_deps_pass",
        "modify_op_lock_and_record_event_pass",
        "multi_devices_check_pass",
    ]
    assert names(fuse_elewise_add_act_ops=True) == ["fuse_elewise_add_act_pass", *usual]
    assert names(reduce_strategy=fluid.BuildStrategy.ReduceStrategy.Reduce) == [
        "add_reader_dependency_pass",
        "reduce_mode_multi_devices_pass",
        "modify_op_lock_and_record_event_pass",
        "multi_devices_check_pass",
    ]
    assert names(debug_graphviz_path="/tmp/g")[::6] == ["graph_viz_pass", "multi_devices_print_pass"]


def test_passes_are_added_and_taken_out() -> None:
    builder = fluid.BuildStrategy()._finalize_strategy_and_create_passes()
    count = len(builder.all_passes())
    assert builder.append_pass("fuse_elewise_add_act_pass").type() == "fuse_elewise_add_act_pass"
    builder.insert_pass(0, "graph_viz_pass").set("graph_viz_path", "/tmp/g")
    assert builder.all_passes()[0].has("graph_viz_path")
    builder.remove_pass(0)
    assert len(builder.all_passes()) == count + 1
    for wrong in (lambda: builder.remove_pass(99), lambda: builder.append_pass("no_such_pass")):
        with pytest.raises(EnforceNotMet):
            wrong()


def test_ways_to_reduce_print_as_in_fluid() -> None:
    strategy = fluid.BuildStrategy()
    assert str(strategy.reduce_strategy) == "ReduceStrategy.AllReduce"
    assert str(strategy.gradient_scale_strategy) == "GradientScaleStrategy.CoeffNumDevice"


def test_a_strategy_whose_passes_were_made_takes_no_other_values() -> None:
    strategy = fluid.BuildStrategy()
    strategy._finalize_strategy_and_create_passes()
    with pytest.raises(EnforceNotMet, match="reduce_strategy can no longer be changed"):
        strategy.reduce_strategy = fluid.BuildStrategy.ReduceStrategy.Reduce
    assert strategy.reduce_strategy == fluid.BuildStrategy.ReduceStrategy.AllReduce


def test_the_drawing_pass_draws(tmp_path: Path) -> None:
    fluid.layers.relu(fluid.layers.data("x", [2]))
    graph = Graph(fluid.default_main_program().desc)
    drawing = get_pass("graph_viz_pass")
    with pytest.raises(EnforceNotMet, match="graph_viz_path"):
        drawing.apply(graph)
    drawing.set("graph_viz_path", str(tmp_path / "graph.dot"))
    drawing.apply(graph)
    assert "relu" in (tmp_path / "graph.dot").read_text()
    drawing.erase("graph_viz_path")
    assert not drawing.has("graph_viz_path")
