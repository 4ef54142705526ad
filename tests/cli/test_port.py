"""`fluidio port` reports what a script needs and rewrites what is too old."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fluidio.cli import main
from fluidio.paddle.calls import find_uses
from fluidio.paddle.verdicts import judge

SCRIPT = """
import paddle
import paddle.fluid as fluid
from paddle.fluid.layers import fc as dense
x = fluid.layers.data(name='x', shape=[3])
y = dense(x, size=2)
z = fluid.layers.no_such_layer(y)
paddle.batch(None, 3)
print 'done'
"""


def test_uses_follow_the_imports() -> None:
    text = SCRIPT.replace("print 'done'", "")
    uses = find_uses(ast.parse(text))
    assert [(u.line, u.api) for u in uses] == [
        (4, "fluid.layers.fc"),
        (5, "fluid.layers.data"),
        (6, "fluid.layers.fc"),
        (7, "fluid.layers.no_such_layer"),
        (8, "paddle.batch"),
    ]
    assert uses[1].keywords == ("name", "shape")


@pytest.mark.parametrize(
    ("api", "status"),
    [
        ("fluid.layers.fc", "works"),
        ("fluid.core.EOFException", "works"),
        ("paddle.batch", "works"),
        ("fluid.layers.fcc", "missing"),
        ("fluid.no.such.module", "missing"),
    ],
)
def test_names_are_judged_by_looking_for_them(api: str, status: str) -> None:
    assert judge(api).status == status


def test_a_near_name_is_offered() -> None:
    assert "softmax" in judge("fluid.layers.softmaxx").note


def test_the_report_names_line_and_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    assert main(["port", str(script)]) == 0
    out = capsys.readouterr().out
    assert "4 works, 1 missing" in out
    assert "line 7: fluid.layers.no_such_layer missing" in out
    assert "Python 2: print" in out


def test_check_of_a_folder_fails_when_something_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(SCRIPT)
    (tmp_path / "b.py").write_text("import os\n")
    assert main(["port", "--check", str(tmp_path)]) == 1
    assert "2 files, 1 missing names" in capsys.readouterr().out


def test_the_rewritten_script_is_python_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, out = tmp_path / "train.py", tmp_path / "new.py"
    script.write_text(SCRIPT)
    assert main(["port", str(script), "-o", str(out)]) == 0
    compile(out.read_text(), "new.py", "exec")
    assert script.read_text() == SCRIPT


def test_no_python_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["port", str(tmp_path)]) == 2
    assert main(["port", str(tmp_path / "nothing.py")]) == 1
    assert "no such file" in capsys.readouterr().err
