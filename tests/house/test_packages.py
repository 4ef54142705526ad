"""The packages on disk, in setup.cfg and behind the two links are the same."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import types

import pytest

from fluidio.names import table
from tests.house.repository import FOLDERS, ROOT, modules, packages, setup_cfg

EXTRAS = {
    "cupy",
    "cupyx",
    "pyarrow",
    "fsspec",
    "torch",
    "tensorflow",
    "fissix",
    "PIL",
    "matplotlib",
    "distributed",
    "mpi4py",
}


def test_setup_cfg_lists_the_packages_on_disk() -> None:
    listed = setup_cfg()["options"]["packages"].split()
    assert listed == sorted(packages())


def test_the_architecture_names_every_package() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = {name: name.split(".")[1] for name in packages() if name.count(".") == 1}
    assert [name for name, room in rooms.items() if f"`{room}/`" not in text] == []
    assert [name for name, folder in FOLDERS.items() if f"| `{folder.name}/` | `{name}` |" not in text] == []


def test_data_is_in_a_package_of_its_own_folder() -> None:
    listed = setup_cfg()["options.package_data"]
    assert [name for name in listed if name not in packages()] == []
    assert [
        name for name, globs in listed.items() if "/" in globs
    ] == []  # setuptools takes such folders for forgotten packages


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in modules().values()}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("name", ["layers", "executor"])
def test_the_link_leads_to_the_folder_at_the_top(name: str) -> None:
    link = ROOT / "fluidio" / name
    if (ROOT / "PKG-INFO").exists():  # an sdist has no links, and needs none once it is installed
        assert not os.path.lexists(link)
    elif link.is_symlink():
        assert os.readlink(link) == f"../{name}"
    else:  # what git writes where it makes no links, as on Windows
        assert link.read_text("utf-8") == f"../{name}"


def test_package_dir_leads_to_the_folders() -> None:
    lines = setup_cfg()["options"]["package_dir"].split("\n")
    mapped = {
        name.strip(): ROOT / folder.strip() for name, _, folder in (line.partition("=") for line in lines) if name
    }
    assert FOLDERS.items() <= mapped.items()
    assert {name: modules()[name].parent for name in mapped} == mapped


def _exports(name: str) -> bool:
    """Return whether a package's `__init__` holds more than its docstring."""
    return len(ast.parse(modules()[name].read_text("utf-8")).body) > 1


@pytest.mark.parametrize("name", [name for name in packages() if _exports(name)])
def test_dunder_all_is_sorted_and_is_what_is_visible(name: str) -> None:
    package = importlib.import_module(name)
    exported = list(package.__all__)
    assert len(exported) == len(set(exported))
    assert exported == sorted(exported, key=_order) or _is_joined(name)
    visible = {key for key, value in vars(package).items() if not key.startswith("_") and not _is_private(value)}
    absent = [key for key in exported if not hasattr(package, key)]
    assert absent == []
    assert [key for key in visible - {*exported, *_submodules(name)} if not _is_of_fluid(name, key)] == []


def _is_of_fluid(package: str, name: str) -> bool:
    """Return whether a package has a name because Fluid's module has it; it is kept once it was asked for."""
    return any(
        name in table.module(key).names() or table.has_module(table.key_of(f"{key}.{name}"))
        for key in table.keys_at(package)
    )


def _is_joined(name: str) -> bool:
    """Return whether `__all__` is the sum of the modules' own lists, which ruff keeps sorted."""
    return any(isinstance(node, ast.AugAssign) for node in ast.parse(modules()[name].read_text("utf-8")).body)


def _order(name: str) -> tuple[int, str]:
    """Sort as ruff's RUF022 does: constants, classes, functions."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2), name


def _is_private(value: object) -> bool:
    """Return whether a module-level value is no export: an imported module of others, the `annotations` feature."""
    if isinstance(value, types.ModuleType):
        return not value.__name__.startswith("fluidio")
    return type(value).__name__ == "_Feature"


def _submodules(package: str) -> set[str]:
    """Return the names that importing the package's own submodules leaves in it."""
    return {name.rpartition(".")[2] for name in modules() if name.rpartition(".")[0] == package}


def _imported(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_fluidio_imports_neither_cupy_nor_any_extra() -> None:
    assert _imported("import fluidio, fluidio.layers, fluidio.executor") & EXTRAS == set()


def test_importing_fluidio_leaves_slow_modules_of_the_standard_library_alone() -> None:
    slow = {"argparse", "asyncio", "ctypes", "email", "http", "ssl", "sqlite3", "unittest", "xml"}
    before = _imported("import numpy")
    assert (_imported("import numpy, fluidio") - before) & slow == set()


def test_the_command_line_starts_without_its_commands() -> None:
    code = "import sys, fluidio.cli; print(*[m for m in sys.modules if m.startswith('fluidio.cli.')])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["fluidio.cli.dispatch", "fluidio.cli.terminal"]
