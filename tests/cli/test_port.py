"""`fluidio port` reports what a script needs and rewrites what is too old."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fluidio.cli import main
from fluidio.cli.port import verdict_on
from fluidio.paddle.calls import Use, find_uses

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
        ("fluid.core.EOFException", "differs"),
        ("paddle.batch", "works"),
        ("fluid.layers.fcc", "raises"),
        ("fluid.no.such.module", "raises"),
    ],
)
def test_names_are_judged_by_looking_for_them(api: str, status: str) -> None:
    assert verdict_on(Use(1, api)).status == status


def test_what_differs_says_how() -> None:
    verdict = verdict_on(Use(1, "fluid.set_flags", called=True))
    assert verdict.status == "differs" and "no effect" in verdict.note


def test_an_unknown_keyword_is_named() -> None:
    assert "sizes" in verdict_on(Use(1, "fluid.layers.fc", ("input", "sizes"), True)).note


def test_an_imported_module_that_is_not_here_is_reported() -> None:
    uses = find_uses(ast.parse("import paddle.fluid.dygraph.nn as nn"))
    verdict = verdict_on(uses[0])
    assert verdict.status == "raises" and "static programs" in verdict.note


def test_a_near_name_is_offered() -> None:
    assert "softmax" in verdict_on(Use(1, "fluid.layers.softmaxx")).note


def test_the_report_names_line_and_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    assert main(["port", str(script)]) == 0
    out = capsys.readouterr().out
    assert "4 works, 1 raises" in out
    assert "line 7: fluid.layers.no_such_layer raises" in out
    assert "Python 2: old syntax" in out


def test_check_of_a_folder_fails_when_something_would_raise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.py").write_text(SCRIPT)
    (tmp_path / "b.py").write_text("import os\n")
    assert main(["port", "--check", str(tmp_path)]) == 1
    assert "2 files, 1 calls that raise" in capsys.readouterr().out


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


def test_a_script_in_another_encoding_is_rewritten_in_utf_8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "old.py"
    script.write_bytes(
        "#!/usr/bin/python\n# -*- coding: gb2312 -*-\nname = u'书'\nprint len('书'), name\n".encode("gbk")
    )
    assert main(["port", str(script), "-o", str(tmp_path / "new.py")]) == 0
    text = (tmp_path / "new.py").read_text("utf-8")
    assert "coding: utf-8 -*-" in text and "name = u'书'" in text and "b'\\xca\\xe9'" in text
    assert ast.parse(text.encode("utf-8"))
    capsys.readouterr()
