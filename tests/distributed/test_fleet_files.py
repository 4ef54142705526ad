"""Fleet's checkpoints have Fluid's file names, on this machine or in a file system that a script describes."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.incubate.fleet import collective
from fluidio.incubate.fleet.file_system import BDFS, FS, LocalFS

NAME = "__paddle_fleet_checkpoint__"


class Elsewhere(LocalFS):
    """A file system whose files must be copied, and which notes that."""

    def __init__(self) -> None:
        self.copied: list[str] = []

    def upload(self, local_path: str, fs_path: str) -> None:
        self.copied.append(f"up {Path(fs_path).name}")
        shutil.copytree(local_path, fs_path)

    def download(self, fs_path: str, local_path: str) -> None:
        self.copied.append(f"down {Path(fs_path).name}")
        shutil.copytree(fs_path, local_path)

    def need_upload_download(self) -> bool:
        return True


@pytest.fixture
def training() -> tuple[collective.Collective, fluid.Executor, Any]:
    fleet = collective.Collective()
    fleet.init()
    x = fluid.layers.data("x", [2])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1, param_attr="w"))
    fleet.distributed_optimizer(fluid.optimizer.SGD(0.1)).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fleet.startup_program)
    variable = fluid.global_scope().find_var("w")
    assert variable is not None
    return fleet, exe, variable.get_tensor()


def test_the_files_have_the_names_of_1_8(training: Any, tmp_path: Path) -> None:
    fleet, exe, tensor = training
    fleet.save_check_point(exe, str(tmp_path), collective.TrainStatus(3))
    (folder,) = tmp_path.iterdir()
    assert folder.name == f"{NAME}.0"
    assert sorted(os.listdir(folder)) == ["_paddle_fleet_param__", "fleet_train_status"]
    assert (folder / "fleet_train_status").read_text() == '{"epoch_no": 3}'
    saved = np.array(tensor)
    (folder / "_paddle_fleet_param__").rename(folder / "__paddle_fleet_param__")  # our name for it before
    tensor.set(np.zeros((2, 1), "float32"), fluid.CPUPlace())
    assert fleet.load_check_point(exe, str(tmp_path), 0) == collective.TrainStatus(3)
    np.testing.assert_array_equal(np.array(tensor), saved)


def test_checkpoints_are_copied_to_and_from_another_file_system(training: Any, tmp_path: Path) -> None:
    fleet, exe, tensor = training
    fs, path, cache = Elsewhere(), str(tmp_path / "far" / "run"), str(tmp_path / "cache")
    for epoch in (0, 1):
        tensor.set(np.full((2, 1), epoch, "float32"), fluid.CPUPlace())
        fleet.save_check_point(exe, path, collective.TrainStatus(epoch), fs=fs, local_cache_path=cache)
    tensor.set(np.full((2, 1), 9, "float32"), fluid.CPUPlace())
    assert fleet.load_check_point(exe, path, 0, fs=fs, local_cache_path=cache) == collective.TrainStatus(1)
    assert np.array(tensor).tolist() == [[1.0], [1.0]]
    fleet.clean_redundant_check_points(path, fs=fs, checkpoint_num=1)
    assert fs.copied == [f"up {NAME}.0.tmp", f"up {NAME}.1.tmp", f"down {NAME}.1"]
    assert os.listdir(path) == [f"{NAME}.1"] and os.listdir(cache) == []


def test_a_save_that_fails_leaves_nothing(training: Any, tmp_path: Path) -> None:
    class Full(Elsewhere):
        def upload(self, local_path: str, fs_path: str) -> None:
            raise OSError("the disk is full")

    fleet, exe, _ = training
    with pytest.raises(OSError, match="full"):
        fleet.save_check_point(
            exe, str(tmp_path / "run"), collective.TrainStatus(0), fs=Full(), local_cache_path=str(tmp_path / "cache")
        )
    assert os.listdir(tmp_path / "run") == os.listdir(tmp_path / "cache") == []


def test_the_local_file_system_does_what_it_does_in_1_8(tmp_path: Path) -> None:
    assert importlib.import_module("fluidio.paddle.distributed.fs_wrapper").LocalFS is LocalFS
    fs, root = LocalFS(), str(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "f").touch()
    assert fs.list_dirs(f"{root}/a") == ["b"] and sorted(fs.ls_dir(f"{root}/a")) == ["b", "f"]
    assert fs.list_dirs(f"{root}/none") == [] and not fs.stat(f"{root}/none") and not fs.need_upload_download()
    fs.mkdir(f"{root}/m/n")
    fs.mkdir(f"{root}/m/n")
    with pytest.raises(AssertionError, match="already a file"):
        fs.mkdir(f"{root}/a/f")
    fs.mv(f"{root}/m", f"{root}/o")
    fs.rmr(f"{root}/o")
    fs.delete(f"{root}/a/f")
    fs.delete(f"{root}/a")
    fs.delete(f"{root}/none")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotImplementedError, match="LocalFS has no upload"):
        fs.upload("a", "b")
    with pytest.raises(NotImplementedError, match="FS has no stat"):
        FS().stat("x")


HADOOP = """#!/bin/sh
# A cluster whose files are under $CLUSTER.
echo "$*" >>"$CLUSTER.log"
shift 3
case "$1" in
-test) test "$2" "$CLUSTER$3" ;;
-ls) ls -l --time-style=long-iso "$CLUSTER$2" | sed -n "s|^\\([^t].*:[0-9]*\\) \\(.*\\)|\\1 $2/\\2|p" ;;
-put) cp -r "$2" "$CLUSTER$3" ;;
-get) cp -r "$CLUSTER$2" "$3" ;;
-mkdir) mkdir -p "$CLUSTER$3" ;;
-mv) mv "$CLUSTER$2" "$CLUSTER$3" ;;
-rm) [ "$2" = -r ] && rm -r "$CLUSTER$3" || rm "$CLUSTER$2" ;;
esac
"""


def test_checkpoints_are_kept_on_a_hadoop_cluster(
    training: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, exe, tensor = training
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "hadoop").write_text(HADOOP)
    (tmp_path / "bin" / "hadoop").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("CLUSTER", str(tmp_path / "cluster"))
    fs, cache = BDFS("hdfs://h:1", "me,secret"), str(tmp_path / "cache")
    for epoch in (0, 1):
        tensor.set(np.full((2, 1), epoch, "float32"), fluid.CPUPlace())
        fleet.save_check_point(exe, "/me/run 1", collective.TrainStatus(epoch), fs=fs, local_cache_path=cache)
    tensor.set(np.full((2, 1), 9, "float32"), fluid.CPUPlace())
    assert fleet.load_check_point(exe, "/me/run 1", 0, fs=fs, local_cache_path=cache) == collective.TrainStatus(1)
    assert np.array(tensor).tolist() == [[1.0], [1.0]]
    assert sorted(fs.ls_dir(f"/me/run 1/{NAME}.1")) == ["_paddle_fleet_param__", "fleet_train_status"]
    fleet.clean_redundant_check_points("/me/run 1", fs=fs)
    assert fs.ls_dir("/me/run 1") == [f"{NAME}.1"]
    called = (tmp_path / "cluster.log").read_text()
    assert called.startswith("fs -Dfs.default.name=hdfs://h:1 -Dhadoop.job.ugi=me,secret -test -e /me/run 1")
    fs.delete(f"/me/run 1/{NAME}.1/fleet_train_status")
    assert fs.list_dirs("/none") == [] and fs.ls_dir(f"/me/run 1/{NAME}.1") == ["_paddle_fleet_param__"]
    with pytest.raises(OSError, match="hadoop fs -mv /none /b failed with status 1: mv: "):
        fs.mv("/none", "/b")
