"""What foreign files hold is shown on a terminal, and never obeyed by it."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

import fluidio as fluid
from fluidio.cli import main
from fluidio.cli.terminal import readable, readable_output
from fluidio.conversion import generate
from fluidio.recordio import Writer

HOSTILE = "e\x1b[31m\x9b\n\rX\u202eY"
TEMPLATE = """
def task_number():
    return 1

def dict_data(task):
    yield {"hostile": 1, "text": "t\\x1b[2J\\x9b\\u202e"}
"""


@pytest.fixture
def hostile_set(tmp_path: Path) -> str:
    (tmp_path / "template.py").write_text(TEMPLATE)
    generate(str(tmp_path / "template.py"), str(tmp_path / "set"), 1, workers=1)
    manifest = tmp_path / "set.manifest.json"
    described = json.loads(manifest.read_text())
    described["slots"][0]["name"] = HOSTILE
    manifest.write_text(json.dumps(described))
    return str(tmp_path / "set-00000-of-00000")


def assert_harmless(text: str) -> None:
    assert text
    assert text.replace("\n", "") == readable(text.replace("\n", ""))


@pytest.mark.parametrize(
    "command",
    ["inspect", "check", "records head", "records cat --json", "records sample", "records stats", "records count"],
)
def test_hostile_names_and_texts_are_shown(command: str, hostile_set: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), hostile_set]) == 0
    written = capsys.readouterr()
    assert_harmless(written.out + written.err)


def test_a_newline_in_a_name_makes_no_line(hostile_set: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["records", "head", hostile_set])
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_json_lines_stay_json(hostile_set: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["records", "cat", "--json", hostile_set])
    assert json.loads(capsys.readouterr().out) == {HOSTILE: 1, "text": "t\x1b[2J\x9b\u202e"}


def test_an_error_that_quotes_a_hostile_name_is_shown(hostile_set: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["records", "head", "--columns", "missing", hostile_set]) == 1
    assert_harmless(capsys.readouterr().err)


def test_a_hostile_model_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main_program, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main_program, startup):
        x = fluid.layers.data("x\x1b[31m\nz", [3])
        y = fluid.layers.fc(x, 2, param_attr="w\x1b[2J\x9b")
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    fluid.io.save_inference_model(str(tmp_path), [x.name], [y], exe, main_program)
    assert main(["model", "inspect", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert_harmless(out)
    assert "w\\u001b[2J\\u009b" in out


@pytest.mark.skipif(sys.platform != "linux", reason="file names that are not UTF-8")
def test_a_file_name_that_is_not_utf_8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.recordio")
    with Writer(path) as writer:
        writer.write(b"abc")
    assert main(["check", path]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith("\\udcff\\n.recordio: ok: 1 good record in 1 chunk")


def test_a_stream_without_such_letters_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(kept, "ascii", write_through=True))
    with readable_output():
        print("漢 a")
    assert kept.getvalue() == b"\\u6f22 a\n"
