"""`fluidio inspect` calls slots by their names, shows text and pictures, and a set of shards on one screen."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.conversion import generate
from fluidio.conversion.pictures import picture
from fluidio.recordio import Writer
from tests.conversion.templates import write

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 32, 20) + bytes(9)
TEMPLATE = f"""
PNG = {PNG!r}

def task_number():
    return 4

def dict_data(task):
    for n in range(5):
        yield {{"label": n, "name": f"é{{n}}", "picture": PNG}}
"""


@pytest.fixture
def data(tmp_path: Path) -> str:
    generate(write(tmp_path, TEMPLATE), str(tmp_path / "x"), 4, workers=1)
    return str(tmp_path / "x-*-of-*")


def test_a_set_is_shown_on_a_screen_with_names_and_text(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", data]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 24
    assert "slot 0   label: int64 (1, 1)" in out
    assert f"record 1: label=1, name='é1', picture=PNG 32x20 ({len(PNG)} bytes)" in out
    assert "total    4 shards like this one: 20 records (5 in each)" in out


@pytest.mark.parametrize("name", ["a-{:05d}-of-00039", "part[1]-{}.recordio"])
def test_many_files_are_shown_on_a_screen_with_a_call_that_opens_them(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = sorted(str(tmp_path / name.format(number)) for number in range(40))
    for path in paths:
        with Writer(path) as writer:
            writer.write_block([np.zeros((2, 1), np.int64)])
    assert main(["inspect", *paths]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 24
    assert "40 shards like" in out or "40 files like" in out
    reader = out[out.index("import glob") :]
    opened: list[list[str]] = []
    layers = SimpleNamespace(open_files=lambda filenames, **_: opened.append(filenames))
    exec(reader, {"fluid": SimpleNamespace(layers=layers)})
    assert opened == [paths]


def test_json_is_complete(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", data, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == 4
    assert all(each["names"] == ["label", "name", "picture"] and each["records"] == 5 for each in found)


@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "BMP"])
def test_sizes_of_pictures_are_those_of_pillow(format: str) -> None:
    image: Any = pytest.importorskip("PIL.Image", reason="extra: PIL is not installed")
    out = io.BytesIO()
    image.new("RGB", (37, 21)).save(out, format)
    assert picture(out.getvalue()) == f"{format} 37x21"
    assert all(picture(out.getvalue()[:n]) in (None, format, f"{format} 37x21") for n in range(60))
