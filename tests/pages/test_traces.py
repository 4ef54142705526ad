"""Traces of two runs are compared: numbers that agree, part, or are missing; in the terminal and as a page."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.cli import main
from fluidio.errors import ModelError
from fluidio.pages.compares import compare_page
from fluidio.pages.page import write
from fluidio.pages.traces import compare, load_trace, relative
from fluidio.recordio import Writer
from fluidio.recordio.files.survey import survey
from tests.pages.browser import opened
from tests.pages.data_of import data_of


def trace(path: Path, values: Any) -> str:
    path.write_text(json.dumps(values))
    return str(path)


def test_runs_that_agree_are_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = trace(tmp_path / "a.json", [1.0, 0.5, 0.25]), trace(tmp_path / "b.json", [1.0, 0.5, 0.250001])
    assert main(["trace", "diff", one, other]) == 0
    assert capsys.readouterr().out == "loss: 3 values agree, the largest difference is 4e-06\n"


def test_runs_that_part_are_told_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = trace(tmp_path / "a.json", {"loss": [1.0, 0.5, 0.25], "acc": [0.1, 0.2, 0.3]})
    other = trace(tmp_path / "b.json", {"acc": [0.1, 0.2, 0.3], "loss": [1.0, 0.51, 0.35]})
    assert main(["trace", "diff", one, other]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("loss: diverges at step 1: 0.5 and 0.51; the largest difference is 0.29 at step 2")
    assert second.startswith("acc: 3 values agree")


def test_a_run_that_is_shorter_does_not_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "diff", trace(tmp_path / "a", [1.0, 2.0]), trace(tmp_path / "b", [1.0])]) == 1
    assert "one has 2 values, the other 1" in capsys.readouterr().out


def test_the_comparison_is_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["trace", "diff", trace(tmp_path / "a", [1.0]), trace(tmp_path / "b", [2.0]), "--json"])
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["step"], found["values"], found["largest"]) == (0, [1.0, 2.0], 0.5)


def test_nan_agrees_with_nan_alone() -> None:
    assert relative(float("nan"), float("nan")) == 0.0
    assert relative(float("nan"), 1.0) == float("inf")
    assert relative(float("inf"), float("inf")) == 0.0
    assert relative(1.0, 1.0 + 1e-8) == 0.0


def test_variables_of_other_names_are_compared_in_order(tmp_path: Path) -> None:
    one, other = load_trace(trace(tmp_path / "a", {"x": [1.0]})), load_trace(trace(tmp_path / "b", {"y": [1.0]}))
    (found,) = compare(one, other)
    assert (found.name, found.other_name, found.step) == ("x", "y", None)


@pytest.mark.parametrize("content", ["{", '{"a": 1}', '["x"]', "3"])
def test_what_is_no_trace_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ModelError, match="x.json is not"):
        load_trace(str(tmp_path / "x.json"))


def test_plain_numbers_alone_have_no_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", trace(tmp_path / "a.json", [1.0]), "--no-open"]) == 1
    assert "name a second trace" in capsys.readouterr().err


def fit(rate: float) -> None:
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        x = fluid.layers.data("x", [2])
        out = fluid.layers.fc(x, size=1, param_attr=fluid.initializer.Constant(0.5))
        loss = fluid.layers.mean(fluid.layers.square(out))
        fluid.optimizer.SGD(rate).minimize(loss)
        exe = fluid.Executor(fluid.CPUPlace())
        exe.run(fluid.default_startup_program())
        for _ in range(8):
            exe.run(feed={"x": np.ones((4, 2), np.float32)}, fetch_list=[loss])


def test_two_recorded_runs_are_shown_side_by_side(tmp_path: Path) -> None:
    for name, rate in (("slow", 0.01), ("fast", 0.02)):
        with fluid.report(record=tmp_path / f"{name}.json"):
            fit(rate)
    paths = [str(tmp_path / "slow.json"), str(tmp_path / "fast.json")]
    (found,) = compare(*map(load_trace, paths))
    assert found.step == 2  # the startup program is step 0, and the first loss is the same
    text = compare_page(paths)
    assert data_of(text)["compared"][0]["partings"][0]["step"] == 2
    write(tmp_path / "page.html", text)
    with opened(tmp_path / "page.html") as page:
        assert page.locator("[data-verdict=part]").inner_text().startswith("slow and fast diverge at step 2.")
        assert page.locator("[data-chart] path.line").count() == 3
        page.keyboard.press("l")
        assert page.locator("[data-chart] path.line").count() == 3


def test_the_recorder_for_the_original_runs_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "recorder"]) == 0
    (tmp_path / "recorder.py").write_text(capsys.readouterr().out)
    (tmp_path / "train.py").write_text(
        "import sys\nimport numpy as np\nimport paddle.fluid as fluid\n"
        "x = fluid.layers.data('x', [2])\ny = fluid.layers.mean(x)\nexe = fluid.Executor(fluid.CPUPlace())\n"
        "for n in range(int(sys.argv[1])):\n"
        "    exe.run(feed={'x': np.full((1, 2), n, 'float32')}, fetch_list=[y])\n"
    )
    words = ["-m", "fluidio", "run", "recorder.py", "trace.json", "train.py", "3"]
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    (curve,) = load_trace(str(tmp_path / "trace.json"))["curves"].values()
    assert curve == {"values": [0.0, 1.0, 2.0], "steps": [0, 1, 2]}


def test_objects_show_their_pages_in_a_notebook(tmp_path: Path) -> None:
    with Writer(str(tmp_path / "a.recordio")) as writer:
        writer.write(b"one record")
    with fluid.report() as run:
        fit(0.1)
    program = fluid.Program()
    with fluid.program_guard(program, fluid.Program()):
        fluid.layers.fc(fluid.layers.data("x", [2]), size=1)
    shown: list[Any] = [survey(str(tmp_path / "a.recordio")), program, run]
    for each, key in zip(shown, ("totals", "programs", "curves")):
        frame = each._repr_html_()
        inner = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" .*></iframe>', frame)
        assert inner is not None
        assert key in data_of(html.unescape(inner[1]))
    (tmp_path / "notebook.html").write_text(f"<body data-ready>{shown[1]._repr_html_()}</body>", encoding="utf-8")
    with opened(tmp_path / "notebook.html") as page:
        assert page.frame_locator("iframe").locator("g.node").first.is_visible()
