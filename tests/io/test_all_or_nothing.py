"""A process that dies while it saves leaves one generation whole, and the next one cleans up."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops.io import whole_files
from fluidio.recordio.files import part_files

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
DIED = 9


@pytest.fixture
def exe() -> fluid.Executor:
    return fluid.Executor(fluid.CPUPlace())


def network() -> Any:
    y = fluid.layers.fc(fluid.layers.fc(fluid.layers.data("x", [3]), 4), 2)
    fluid.optimizer.Adam(0.1).minimize(fluid.layers.mean(y))
    return y


def names() -> list[str]:
    return [v.name for v in fluid.default_main_program().list_vars() if v.persistable]


def fill(value: float) -> None:
    for name in names():
        tensor = fluid.global_scope().var(name).get_tensor()
        tensor.set(np.full(tensor.shape(), value, np.array(tensor).dtype), fluid.CPUPlace())


def generation() -> set[float]:
    return {float(each) for name in names() for each in np.array(fluid.global_scope().var(name).get_tensor()).flat}


def dies_after(steps: int, act: Callable[[], object]) -> bool:
    """Run `act` in a process that ends at its n-th operation on files, as if it were killed; False if it lived on."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == DIED
    left = steps

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(DIED)
            return function(*args, **kwargs)

        return call

    for name in ("replace", "unlink", "fsync", "open"):
        setattr(os, name, counted(getattr(os, name)))
    whole_files.__dict__["open"] = counted(open)
    try:
        act()
    except BaseException as error:
        sys.stderr.write(repr(error))
        os._exit(1)
    os._exit(0)


SAVERS: dict[str, Callable[[str, Any, Any], object]] = {
    "persistables": lambda path, exe, y: fluid.io.save_persistables(exe, path),
    "model": lambda path, exe, y: fluid.io.save_inference_model(path, ["x"], [y], exe, export_for_deployment=False),
    "save": lambda path, exe, y: fluid.io.save(fluid.default_main_program(), path + "/all"),
    "one file": lambda path, exe, y: fluid.io.save_persistables(exe, path, filename="all"),
}
LOADERS: dict[str, Callable[[str, Any], object]] = {
    "persistables": lambda path, exe: fluid.io.load_persistables(exe, path),
    "model": lambda path, exe: fluid.io.load_inference_model(path, exe, "__model__.main_program"),
    "save": lambda path, exe: fluid.io.load(fluid.default_main_program(), path + "/all", exe),
    "one file": lambda path, exe: fluid.io.load_persistables(exe, path, filename="all"),
}


@pytest.mark.parametrize("kind", SAVERS)
def test_a_crash_at_any_moment_leaves_one_generation(exe: fluid.Executor, tmp_path: Path, kind: str) -> None:
    y = network()
    exe.run(fluid.default_startup_program())
    fill(1)
    path = str(tmp_path)
    SAVERS[kind](path, exe, y)
    seen = set()
    fill(2)
    steps = 0
    while dies_after(steps, lambda: SAVERS[kind](path, exe, y)):
        fill(3)
        LOADERS[kind](path, exe)
        found = generation()
        assert len(found) == 1, f"two generations after {steps} steps: {found}"
        seen |= found
        fill(1)
        part_files._swept.clear()  # as in a new process
        SAVERS[kind](path, exe, y)
        assert not [file for file in os.listdir(path) if file.startswith(".")]
        fill(2)
        steps += 3 if steps > 6 and kind in ("persistables", "model") else 1
    assert seen == {1.0, 2.0}


def test_a_save_that_fails_leaves_what_was_there(
    exe: fluid.Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network()
    exe.run(fluid.default_startup_program())
    fill(1)
    fluid.io.save_persistables(exe, str(tmp_path))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    fill(2)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            fluid.io.save_persistables(exe, str(tmp_path))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_list_of_another_author_renames_nothing_outside(exe: fluid.Executor, tmp_path: Path) -> None:
    network()
    folder = tmp_path / "model"
    folder.mkdir()
    generation = "0" * 32
    (tmp_path / f".victim.fluidio-new-{generation}").write_bytes(b"evil")
    (tmp_path / "victim").write_bytes(b"good")
    for names in (["../victim"], [str(tmp_path / "victim")], [5], "x"):
        (folder / ".model.fluidio-commit").write_text(json.dumps({"generation": generation, "files": names}))
        with pytest.raises((ValueError, fluid.core.EnforceNotMet)):
            fluid.io.load_persistables(exe, str(folder))
        assert (tmp_path / "victim").read_bytes() == b"good"
    (folder / ".model.fluidio-commit").write_text("no json")
    with pytest.raises(ValueError, match="interrupted save"):
        fluid.io.load_persistables(exe, str(folder))


def test_variables_with_the_longest_names_are_saved(tmp_path: Path, exe: fluid.Executor) -> None:
    attr = fluid.ParamAttr(name="w" * 250)
    fluid.layers.fc(fluid.layers.data("x", [3]), 4, param_attr=attr)
    exe.run(fluid.default_startup_program())
    fill(3.0)
    for _ in range(2):
        fluid.io.save_persistables(exe, str(tmp_path / "model"))
    fill(1.0)
    fluid.io.load_persistables(exe, str(tmp_path / "model"))
    assert generation() == {3.0}
    assert sorted(os.listdir(tmp_path / "model")) == ["fc_0.b_0", "w" * 250]


def test_files_are_synced_one_by_one_or_together_but_all_of_them(
    exe: fluid.Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network()
    exe.run(fluid.default_startup_program())
    for slow in (0.0, 1.0):  # no sync, or every one, takes long enough to use threads
        monkeypatch.setattr(whole_files, "_SLOW_SYNC", -slow or 1e9)
        synced: list[int] = []
        monkeypatch.setattr(os, "fsync", lambda descriptor, synced=synced: synced.append(os.fstat(descriptor).st_ino))
        fluid.io.save_persistables(exe, str(tmp_path))
        assert {path.stat().st_ino for path in tmp_path.iterdir()} <= set(synced)


def test_nothing_is_synced_where_the_environment_says_so(
    exe: fluid.Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = network()
    exe.run(fluid.default_startup_program())
    monkeypatch.setenv("FLUIDIO_SYNC", "0")
    monkeypatch.setattr(os, "fsync", lambda descriptor: pytest.fail("synced"))
    for save in SAVERS.values():
        save(str(tmp_path / "model"), exe, y)
    assert len(os.listdir(tmp_path / "model")) > len(names())


def test_saving_and_loading_leave_the_variables_of_the_program_alone(exe: fluid.Executor, tmp_path: Path) -> None:
    network()
    exe.run(fluid.default_startup_program())
    main = fluid.default_main_program()
    before = [(v.block, v.op, v.persistable, v.stop_gradient) for v in main.list_vars()]
    for filename in (None, "all"):
        fluid.io.save_persistables(exe, str(tmp_path), filename=filename)
        fluid.io.load_persistables(exe, str(tmp_path), filename=filename)
    assert [(v.block, v.op, v.persistable, v.stop_gradient) for v in main.list_vars()] == before


def test_a_report_about_many_variables_names_some_of_them(exe: fluid.Executor, tmp_path: Path) -> None:
    for _ in range(6):
        network()
    with pytest.raises(fluid.core.EnforceNotMet, match=r"has no value yet(?s:.)*X: \d+ more") as failure:
        fluid.io.save_persistables(exe, str(tmp_path))
    assert len(str(failure.value).splitlines()) < 15
