"""Packages that `pip install --target FOLDER` put beside a script are not the user's own modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluidio.paddle.libraries import builds_on_paddle
from fluidio.paddle.sources import is_users


def _package(folder: Path, name: str, text: str, required: str = "") -> str:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)
    (folder / f"{name}-1.0.dist-info").mkdir()
    (folder / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Name: {name}\n{required}\n")
    (folder / f"{name}-1.0.dist-info" / "RECORD").write_text(f"{name}/__init__.py,sha256=0,1\n")
    return str(folder / name / "__init__.py")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "packages").mkdir()
    return tmp_path / "packages"


def test_a_recorded_package_is_not_the_users(folder: Path) -> None:
    assert not is_users(_package(folder, "arrays", "x = 1\n"))


def test_a_recorded_package_that_needs_paddle_is_as_old_as_the_script(folder: Path) -> None:
    path = _package(folder, "layers_of_old", "x = 1\n", "Requires-Dist: paddlepaddle")
    assert not is_users(path)
    assert builds_on_paddle(path)


def test_a_recorded_package_of_paddles_authors_is_as_old_as_the_script(folder: Path) -> None:
    path = _package(folder, "agents", "x = 1\n", "Home-page: https://github.com/PaddlePaddle/agents")
    assert builds_on_paddle(path)


def test_a_module_of_a_recorded_package_that_imports_paddle_is_as_old_as_the_script(folder: Path) -> None:
    start = Path(_package(folder, "agents", "x = 1\n"))
    module = start.with_name("model.py")
    module.write_text("import os\nfrom paddle import fluid\n")
    assert not builds_on_paddle(str(start))
    assert builds_on_paddle(str(module))


def test_what_lies_beside_recorded_packages_is_the_users(folder: Path) -> None:
    _package(folder, "arrays", "x = 1\n")
    (folder / "train.py").write_text("import arrays\n")
    assert is_users(str(folder / "train.py"))
