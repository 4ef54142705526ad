"""Every module of Fluid can be imported, under `paddle` and under `fluidio`, with all its names or advice."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import fluidio
from fluidio.errors import MissingDependencyError, NotHere
from fluidio.names import table
from fluidio.names.find import has
from fluidio.names.modules_here import MadeModule
from fluidio.paddle import hook
from tests.names.public_names import recorded, working

MODULES = table.modules()


@pytest.fixture(autouse=True)
def paddle() -> Iterator[None]:
    hook.install_as_paddle()
    yield
    hook.uninstall()


def imported(key: str) -> ModuleType:
    return importlib.import_module(f"paddle.{key}" if key.startswith("fluid") else key)


def test_the_table_holds_what_1_8_5_has() -> None:
    assert len([key for key in MODULES if table.module(key).exported or table.module(key).others]) > 180
    assert len(table.module("fluid.layers").exported) == 355  # one of the 356 stands there twice
    assert len(table.module("fluid").exported) == 74


@pytest.mark.parametrize("key", MODULES)
def test_a_module_imports_under_both_names(key: str) -> None:
    module = imported(key)
    inside = "fluidio" if key == "fluid" else f"fluidio.{key.removeprefix('fluid.')}"
    again = importlib.import_module(inside)
    if key in ("fluid.dataset", "fluid.reader"):  # paddle.dataset and paddle.reader have these names in fluidio
        assert table.keys_at(again.__name__)[1] == key
    else:
        assert again is module


def table_name(key: str, name: str) -> str:
    """Return the name under which Fluid defined what a module has under another."""
    return table.module(key).taken.get(name, (key, name))[1]


@pytest.mark.parametrize("key", MODULES)
def test_every_name_of_a_module_is_there_or_comes_with_advice(key: str) -> None:
    module = imported(key)
    for name in sorted(table.module(key).names()):
        if has(key, name):
            assert getattr(module, name) is not NotImplemented
        else:
            with pytest.raises(NotHere, match=f"{table_name(key, name)} is not supported by fluidio: .{{8}}"):
                getattr(module, name)()


@pytest.mark.parametrize("key", [key for key in MODULES if table.module(key).exported])
def test_a_star_brings_what_fluid_exports(key: str) -> None:
    space: dict[str, object] = {}
    name = f"paddle.{key}" if key.startswith("fluid") else key
    exec(f"from {name} import *", space)
    is_made = isinstance(imported(key), MadeModule)
    expected = {word for word in table.module(key).exported if is_made or has(key, word)}
    assert expected - set(space) <= {"dygraph"}  # it can be imported, and has nothing


@pytest.mark.parametrize("key", [key for key in MODULES if not table.module(key).exported])
def test_a_star_works_where_fluid_exports_nothing_in_particular(key: str) -> None:
    exec(f"from {'paddle.' if key.startswith('fluid') else ''}{key} import *", {})


def test_a_star_of_layers_brings_no_module() -> None:
    space: dict[str, object] = {}
    exec("from paddle.fluid.layers import *", space)
    assert [name for name, value in space.items() if isinstance(value, ModuleType)] == []
    assert {"fc", "open_files", "rnn"} <= set(space)


@pytest.mark.parametrize("name", ["cli", "names", "conversion", "ops", "executor.plan", "layers._math", "no_such"])
def test_what_fluid_never_had_is_no_module_of_paddle(name: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=rf"paddle\.fluid\.{name}"):
        importlib.import_module(f"paddle.fluid.{name}")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("paddle.fluid.incubate.fleet.parameter_server.pslib", "closed library; .* has a fleet with the same methods"),
        ("paddle.fluid.distributed.downpour", "closed library"),
        ("paddle.nn", r"Paddle 2\.x names are not part of it"),
        ("paddle.fluid.no_such", "fluidio port --check"),
    ],
)
def test_a_module_that_is_not_here_says_what_to_use(name: str, advice: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=advice):
        importlib.import_module(name)


@pytest.mark.parametrize(
    ("module", "name", "home"),
    [
        ("paddle.fluid.layers", "core", "fluid.core"),
        ("paddle.fluid.layers.nn", "LayerHelper", "fluid.layer_helper.LayerHelper"),
        ("paddle.fluid.layers.detection", "ssd_loss", "fluid.layers.ssd_loss"),
        ("paddle.fluid.layers.loss", "warpctc", "fluid.layers.warpctc"),
        ("paddle.fluid.layers.nn", "roi_pool", "fluid.layers.roi_pool"),
        ("paddle.fluid.layers.rnn", "RNNCell", "fluid.layers.RNNCell"),
        ("paddle.fluid.layers.tensor", "Variable", "fluid.framework.Variable"),
        ("paddle.fluid.executor", "global_scope", "fluid.global_scope"),
        ("paddle.fluid.dataset", "DatasetFactory", "fluid.DatasetFactory"),
        ("paddle.fluid.reader", "PyReader", "fluid.io.PyReader"),
        ("paddle.fluid.contrib.memory_usage_calc", "memory_usage", "fluid.contrib.memory_usage"),
        ("paddle.fluid.transpiler.ps_dispatcher", "RoundRobin", "fluid.RoundRobin"),
        ("paddle.v2.fluid.layers", "fc", "fluid.layers.fc"),
    ],
)
def test_a_name_is_the_same_object_wherever_fluid_has_it(module: str, name: str, home: str) -> None:
    expected: object = fluidio
    for part in home.split(".")[1:]:
        expected = getattr(expected, part)
    space: dict[str, object] = {}
    exec(f"from {module} import {name}", space)
    assert space[name] is expected


def test_modules_of_version_2_need_no_import_of_their_own() -> None:
    """Scripts of 2018 said `import paddle.v2 as paddle` and then `paddle.dataset.mnist`."""
    v2 = importlib.import_module("paddle.v2")
    assert v2.dataset.mnist.train is importlib.import_module("paddle.dataset.mnist").train
    assert v2.fluid.layers.fc is fluidio.layers.fc and v2.reader.shuffle is fluidio.reader.shuffle


@pytest.mark.parametrize("key", table.hidden_modules())
def test_importing_a_module_leaves_the_function_of_its_name_alone(key: str) -> None:
    parent, _, last = key.rpartition(".")
    before = getattr(imported(parent), last, None)
    imported(key)
    importlib.import_module(f"fluidio.{key.removeprefix('fluid.')}")
    assert getattr(imported(parent), last, None) is before


def test_data_sets_and_slot_data_share_a_name_in_fluidio_only() -> None:
    assert fluidio.dataset.mnist is importlib.import_module("paddle.dataset.mnist")
    assert fluidio.dataset.DatasetFactory is fluidio.DatasetFactory
    assert not hasattr(importlib.import_module("paddle.fluid.dataset"), "mnist")


def test_a_missing_dependency_is_not_a_missing_module(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fluidio.average", "paddle.fluid.average"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delitem(vars(fluidio), "average", raising=False)
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        importlib.import_module("paddle.fluid.average")
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        _ = fluidio.average


def test_an_extra_that_is_not_installed_says_its_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "fluidio.torch", raising=False)
    with pytest.raises(MissingDependencyError, match="pip install"):
        importlib.import_module("fluidio.torch")


def test_asking_for_a_name_that_is_not_there_loads_nothing() -> None:
    before = set(sys.modules)
    assert not hasattr(fluidio, "no_such_name_at_all")
    assert set(sys.modules) - before == set()


def test_no_name_that_worked_has_disappeared() -> None:
    now = working()
    lost = {key: sorted(names - now.get(key, set())) for key, names in recorded().items()}
    assert {key: names for key, names in lost.items() if names} == {}
    assert sum(map(len, recorded().values())) > 900


def test_a_value_that_changes_is_looked_up_each_time() -> None:
    names = importlib.import_module("paddle.fluid.unique_name")
    before = names.generator
    with names.guard():
        assert names.generator is not before
    assert names.generator is before
