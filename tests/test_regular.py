"""Pipes and devices among the files of a foreign folder: refused or left aside, never waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import FluidioError, ModelError
from fluidio.models import open_model
from fluidio.recordio import File, Writer
from fluidio.recordio.files.notes import read_manifest
from fluidio.recordio.files.sidecar import sidecar_path
from fluidio.regular import open_regular

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="platform: no named pipes"),
    pytest.mark.timeout(30),
]
REFUSED = (OSError, FluidioError)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def folder(path: Path) -> None:
    path.mkdir()


ODD = [pipe, device, folder]


def test_a_file_and_a_link_to_one_are_opened(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").symlink_to("a")
    for name in ("a", "b"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"abc"
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "c")


@pytest.mark.parametrize("odd", ODD)
def test_others_are_refused_by_name(odd: Callable[[Path], None], tmp_path: Path) -> None:
    odd(tmp_path / "a")
    with pytest.raises(OSError, match=r"a pipe or a device|directory.*/a'"):
        open_regular(tmp_path / "a")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["__model__", "fc_0.w_0"])
def test_a_model_with_one_is_not_loaded(name: str, odd: Callable[[Path], None], tmp_path: Path) -> None:
    exe = fluid.Executor(fluid.CPUPlace())
    y = fluid.layers.fc(fluid.layers.data("x", [3]), 2)
    exe.run(fluid.default_startup_program())
    saved = str(tmp_path / "model")
    fluid.io.save_inference_model(saved, ["x"], [y], exe)
    os.unlink(tmp_path / "model" / name)
    odd(tmp_path / "model" / name)
    with pytest.raises(REFUSED):
        fluid.io.load_inference_model(saved, exe)
    if odd is not folder:  # which may well hold files of a model
        with pytest.raises(REFUSED):
            open_model(saved).raise_problems()


@pytest.mark.parametrize("odd", ODD)
def test_pickled_parameters_and_weights_are_not_either(odd: Callable[[Path], None], tmp_path: Path) -> None:
    odd(tmp_path / "a.pdparams")
    with pytest.raises(REFUSED):
        fluid.io.load_program_state(str(tmp_path / "a"))
    with pytest.raises((ModelError, OSError)):
        open_model(str(tmp_path / "a.pdparams")).raise_problems()


@pytest.mark.parametrize("odd", ODD)
def test_notes_beside_data(odd: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "x-00000-of-00000"
    with Writer(path) as writer:
        writer.write_block([np.arange(3)[:, None]])
    odd(Path(sidecar_path(path)))
    with File(path) as file:
        assert len(file) == 3
    odd(tmp_path / "x.manifest.json")
    with pytest.raises(REFUSED):
        read_manifest(str(tmp_path / "x"))
