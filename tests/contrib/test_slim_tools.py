"""slim's tools: graphs, pruned channels, distillation, searches and configurations, with the values of 1.8.5."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.slim.core import ConfigFactory, Context, Strategy
from fluidio.contrib.slim.distillers import FSPDistiller, L2Distiller, SoftLabelDistiller
from fluidio.contrib.slim.graph import GraphWrapper, SlimGraphExecutor
from fluidio.contrib.slim.prune import StructurePruner
from fluidio.contrib.slim.searching import ControllerServer, EvolutionaryController, SAController, SearchAgent

L = fluid.layers


def _network() -> GraphWrapper:
    x = L.data("x", [1, 8, 8])
    hidden = L.batch_norm(L.conv2d(x, 4, 3, act="relu"))
    predicted = L.fc(L.pool2d(hidden, 2, "max", 2), 10, act="softmax")
    loss = L.mean(predicted)
    return GraphWrapper(fluid.default_main_program(), {"x": "x"}, {"loss": loss.name, "out": predicted.name})


def test_a_graph_knows_what_is_around_an_op() -> None:
    graph = _network()
    conv = next(op for op in graph.ops() if op.type() == "conv2d")
    assert [v.name() for v in conv.inputs("Filter")] == ["conv2d_0.w_0"]
    assert [op.type() for op in graph.next_ops(conv)] == ["elementwise_add"]
    assert [op.type() for op in graph.pre_ops(graph.next_ops(conv)[0])] == ["conv2d"]
    assert [v.name() for v in graph.get_param_by_op(conv)] == ["conv2d_0.w_0"]
    weight = graph.var("conv2d_0.w_0")
    assert (weight.inputs(), weight.outputs()) == ([conv], [])
    assert graph.is_parameter(weight)
    assert graph.is_persistable(weight)
    assert not conv.is_bwd_op()
    assert not conv.is_opt_op()
    with pytest.raises(ValueError, match="no variable 'nope'"):
        graph.var("nope")


def test_a_graph_counts_its_work() -> None:
    graph = _network()
    assert (graph.flops(only_conv=True), graph.numel_params()) == (2592.0, 426)
    assert graph.flops() == 3104.0


def test_a_graph_runs_trains_and_is_saved(tmp_path: Path) -> None:
    graph = _network()
    exe = SlimGraphExecutor(fluid.CPUPlace())
    exe.exe.run(fluid.default_startup_program())
    scope = fluid.global_scope()
    trained = graph.get_optimize_graph(fluid.optimizer.SGD(0.1), fluid.CPUPlace(), scope)
    feed = {"x": np.ones((2, 1, 8, 8), "float32")}
    loss, _ = exe.run(trained, scope, feed)
    assert loss == pytest.approx(0.1)
    trained.save_persistables(str(tmp_path), exe.exe)
    scope.var("fc_0.b_0").get_tensor().set(np.full(10, 7, "float32"), fluid.CPUPlace())
    trained.load_persistables(str(tmp_path), exe.exe)
    assert np.array(scope.var("fc_0.b_0").get_tensor()).max() < 7
    graph.save_infer_model(str(tmp_path / "model"), exe.exe, (["x"], ["out"]))
    assert (tmp_path / "model" / "__model__.infer").exists()


def test_channels_with_small_weights_are_pruned() -> None:
    pruner = StructurePruner({"conv": 1, "*": 0}, {"*": "l1_norm"})
    weights = np.random.RandomState(0).randn(6, 4, 3, 3).astype("float32")
    assert pruner.cal_pruned_idx("other", weights, 0.5).tolist() == [1, 3, 5]
    assert pruner.cal_pruned_idx("conv", weights, 0.5).tolist() == [3, 2]
    assert pruner.cal_pruned_idx("conv", weights, 0.9, axis=0).tolist() == [1, 3, 5, 4, 0]
    matrix = np.arange(6.0).reshape(3, 2)
    assert pruner.prune_tensor(matrix, [0, 2], 0).tolist() == [[2, 3]]
    assert pruner.prune_tensor(matrix, [0], 1, lazy=True).tolist() == [[0, 1], [0, 3], [0, 5]]
    with pytest.raises(ValueError, match="only 'l1_norm'"):
        StructurePruner({"*": 0}, {"*": "median"}).cal_pruned_idx("a", weights, 0.5)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda a, b: L2Distiller(a, b, 0.5), "l2loss_"),
        (lambda a, b: SoftLabelDistiller(a, b), "soft_label_loss_"),
    ],
)
def test_distillers_add_their_loss_to_the_loss(make: Any, key: str) -> None:
    graph = _network()
    first = graph.out_nodes["loss"]
    made = make(graph.out_nodes["out"], graph.out_nodes["out"]).distiller_loss(graph)
    assert made.out_nodes["loss"] != first
    assert any(name.startswith(key) for name in made.out_nodes)


def test_flows_between_layers_are_compared() -> None:
    graph = _network()
    pair = [("conv2d_0.tmp_0", "conv2d_0.tmp_1")]
    made = FSPDistiller(pair, pair).distiller_loss(graph)
    assert [op.type() for op in made.ops()].count("fsp") == 2
    assert "fsp_distillation_loss" in made.out_nodes


def test_annealing_draws_the_tokens_of_1_8_5() -> None:
    np.random.seed(0)
    controller = SAController([3, 4, 5], 0.85, 1024, 300)
    controller.reset([3, 4, 5], [0, 1, 2])
    drawn = []
    for step in range(8):
        drawn.append(controller.next_tokens())
        np.random.seed(step)
        controller.update(drawn[-1], sum(drawn[-1]) / 10)
    assert drawn[:4] == [[0, 3, 2], [0, 1, 2], [0, 1, 1], [1, 1, 1]]
    np.random.seed(3)
    constrained = SAController([3, 4, 5], 0.85, 1024, 5)
    constrained.reset([3, 4, 5], [0, 1, 2], lambda tokens: tokens[0] == 0)
    found = [constrained.next_tokens() for _ in range(5)]
    assert found == [[0, 3, 2], [0, 1, 3], [0, 3, 2], [0, 3, 2], [0, 1, 2]]
    assert "_constrain_func" not in constrained.__getstate__()
    with pytest.raises(TypeError, match="call reset"):
        SAController().next_tokens()
    with pytest.raises(NotImplementedError, match="Abstract"):
        EvolutionaryController().next_tokens()


def test_agents_search_through_a_server() -> None:
    np.random.seed(0)
    controller = SAController([3, 4, 5], 0.85, 1024, 300)
    controller.reset([3, 4, 5], [0, 1, 2])
    server = ControllerServer(controller, ("127.0.0.1", 0), 3, None, "key")
    server.start()
    try:
        agent = SearchAgent("127.0.0.1", server.port(), "key")
        assert agent.next_tokens() == [0, 3, 2]
        assert agent.update([0, 1, 1], 0.5) == [0, 1, 0]
        assert (controller._reward, controller._tokens) == (0.5, [0, 1, 1])
        with pytest.raises(ValueError, match="wrong key"):
            SearchAgent("127.0.0.1", server.port(), "other").update([1, 1, 1], 0.9)
        with socket.create_connection((server.ip(), server.port())) as connection:
            connection.sendall(b"nonsense")
            assert connection.recv(10) == b""
        assert agent.next_tokens()
    finally:
        server.close()


def test_strategies_share_a_context(tmp_path: Path) -> None:
    strategy = Strategy(1, 5)
    assert (strategy.start_epoch, strategy.end_epoch, strategy.__getstate__()) == (1, 5, {})
    context = Context(fluid.CPUPlace(), fluid.global_scope())
    strategy.on_epoch_begin(context)
    context.put("a", 3)
    assert (context.get("a"), context.get("b")) == (3, None)
    context.eval_results["top1"] = [0.2, 0.2001]
    assert context.eval_converged("top1")
    assert not context.eval_converged("top5")
    context.to_file(str(tmp_path / "context"))
    again = Context(fluid.CPUPlace(), fluid.global_scope())
    again.from_file(str(tmp_path / "context"))
    assert again.eval_results == context.eval_results


def test_a_configuration_names_objects(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="extra: yaml is not installed")
    path = tmp_path / "config.yaml"
    path.write_text(
        "version: 1.0\n"
        "distillers:\n  d1: {class: L2Distiller, student_feature_map: a, teacher_feature_map: b}\n"
        "strategies:\n  s1: {class: DistillationStrategy, distillers: [d1], start_epoch: 1, end_epoch: 3}\n"
        "compressor:\n  epoch: 4\n  strategies: [s1]\n"
    )
    made = ConfigFactory(str(path))
    strategy = made.instance("s1")
    assert (made.version, made.compressor["epoch"], made.compressor["strategies"]) == (1, 4, [strategy])
    assert [type(each).__name__ for each in strategy.distillers] == ["L2Distiller"]
    assert made.instance("nope") is None
    path.write_text("strategies:\n  s: {class: AutoPruneStrategy}\n")
    with pytest.raises(KeyError, match="AutoPruneStrategy"):
        ConfigFactory(str(path))
