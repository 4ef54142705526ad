"""`import paddle.fluid` finds fluidio, and only while the hook is installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator

import pytest

import fluidio
from fluidio.paddle import hook


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    hook.install_as_paddle()
    yield
    hook.uninstall()


def test_paddle_fluid_is_fluidio_itself() -> None:
    assert importlib.import_module("paddle.fluid") is fluidio


def test_classes_are_the_same_under_both_names() -> None:
    assert importlib.import_module("paddle.fluid.core").LoDTensor is fluidio.LoDTensor


def test_the_module_keeps_its_own_spec() -> None:
    importlib.import_module("paddle.fluid.layers")
    assert fluidio.layers.__spec__ is not None and fluidio.layers.__spec__.name == "fluidio.layers"


def test_submodules_of_layers_resolve() -> None:
    assert importlib.import_module("paddle.fluid.layers.nn") is importlib.import_module("fluidio.layers.nn")


def test_a_missing_module_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"paddle\.fluid\.no_such_thing.*fluidio"):
        importlib.import_module("paddle.fluid.no_such_thing")


def test_uninstall_forgets_paddle() -> None:
    importlib.import_module("paddle.fluid")
    hook.uninstall()
    assert not any(name.partition(".")[0] == "paddle" for name in sys.modules)


def test_a_paddle_imported_before_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    hook.uninstall()
    monkeypatch.setitem(sys.modules, "paddle", type(sys)("paddle"))
    with pytest.raises(ImportError, match="already imported"):
        hook.install_as_paddle()


def test_the_library_behind_core_has_its_own_name() -> None:
    assert importlib.import_module("paddle.fluid.core_avx") is fluidio.core
