"""The profiler times ops, prints its table and writes a trace; off, it is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import debugger, profiler
from fluidio.errors import OpError
from fluidio.flow.observer import OBSERVERS


def run_once() -> None:
    x = fluid.layers.data("x", [3])
    y = fluid.layers.fc(x, 2, act="relu")
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    exe.run(feed={"x": np.ones((4, 3), "float32")}, fetch_list=[y])


def test_the_table_and_the_trace_name_every_op(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep" / "trace.json"
    with profiler.profiler("All", "total", str(path)):
        run_once()
    out = capsys.readouterr().out
    assert "Profiling Report" in out and "Sorted by total" in out
    rows = [line.split() for line in out.splitlines() if line.startswith(("mul", "relu", "elementwise_add"))]
    assert {row[0]: row[1] for row in rows} == {"mul": "1", "relu": "1", "elementwise_add": "1"}
    totals = [float(line.split()[2]) for line in out.splitlines() if line[:1].islower() and len(line.split()) == 7]
    assert totals == sorted(totals, reverse=True)
    events = json.loads(path.read_text())["traceEvents"]
    assert [e["name"] for e in events][-3:] == ["mul", "elementwise_add", "relu"]
    assert events[-1]["args"]["output"] == "fc_0.tmp_2"
    assert all(e["ph"] == "X" and e["dur"] >= 0 for e in events)


def test_nobody_watches_the_ops_when_off(tmp_path: Path) -> None:
    assert not OBSERVERS.of_ops
    profiler.start_profiler("CPU")
    assert len(OBSERVERS.of_ops) == 1
    profiler.start_profiler("CPU")
    profiler.stop_profiler(profile_path=str(tmp_path / "p"))
    assert not OBSERVERS.all


def test_reset_forgets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profiler.start_profiler("CPU")
    run_once()
    profiler.reset_profiler()
    profiler.stop_profiler("calls", str(tmp_path / "p"))
    assert "mul" not in capsys.readouterr().out


def test_a_failing_op_is_explained_while_profiling(tmp_path: Path) -> None:
    x = fluid.layers.data("x", [3])
    y = fluid.layers.fc(x, 2)
    with profiler.profiler("CPU", profile_path=str(tmp_path / "p")), pytest.raises(OpError, match="startup program"):
        fluid.Executor(fluid.CPUPlace()).run(feed={"x": np.ones((4, 3), "float32")}, fetch_list=[y])
    assert not OBSERVERS.all


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: profiler.start_profiler("XPU"), "state must be"),
        (lambda: profiler.start_profiler("CPU", "Loud"), "tracer_option"),
        (lambda: profiler.stop_profiler("alphabet"), "sorted_key"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call()


def test_cuda_profiler_says_that_it_does_nothing() -> None:
    with pytest.warns(UserWarning, match="Nsight"), profiler.cuda_profiler("out.nvprof"):
        pass


def test_a_block_is_drawn_for_graphviz(tmp_path: Path) -> None:
    fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    path = tmp_path / "block.dot"
    debugger.draw_block_graphviz(fluid.default_main_program().global_block(), highlights=["x"], path=str(path))
    text = path.read_text()
    assert text.startswith("digraph G {") and text.rstrip().endswith("}")
    assert '"x" -> op_0;' in text and 'op_0 -> "fc_0.tmp_0";' in text
    assert [line for line in text.splitlines() if "red" in line and line.strip().startswith('"x"')]
    assert [line for line in text.splitlines() if "lightgrey" in line and "fc_0.w_0" in line]


def test_programs_become_short_lines() -> None:
    loss = fluid.layers.mean(fluid.layers.fc(fluid.layers.data("x", [3]), 2))
    fluid.optimizer.SGD(0.1).minimize(loss)
    main = fluid.default_main_program()
    for shape in (main, main.desc, main.desc.serialize_to_string()):
        lines = debugger.pprint_program_codes(shape).splitlines()
        assert lines[:2] == ["// block-0  parent--1", "// variables"]
        assert "Tensor fc_0.tmp_0 (tensor(type=float32, shape=[-1, 2]))" in lines
        assert not [line for line in lines if "mul_grad" in line]
    text = debugger.pprint_block_codes(main.global_block(), show_backward=True)
    assert "Out=['fc_0.tmp_0'] = mul(inputs={X=['x'], Y=['fc_0.w_0']})" in text
    assert "mul_grad" in text


def test_several_places_are_timed_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = fluid.layers.data("x", [3])
    y = fluid.layers.fc(x, 2, act="relu")
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    program = fluid.CompiledProgram(fluid.default_main_program()).with_data_parallel(places=fluid.cpu_places(2))
    with profiler.profiler("CPU", profile_path=str(tmp_path / "p")):
        exe.run(program, feed={"x": np.ones((4, 3), "float32")}, fetch_list=[y])
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("relu")]
    assert rows[0][1] == "2"
