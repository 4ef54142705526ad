"""Fleet's checkpoints: numbered folders that hold parameters and the epoch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from fluidio import io
from fluidio.incubate.fleet.file_system import FS, LocalFS
from fluidio.program import Program

if TYPE_CHECKING:
    from fluidio.executor import Executor


__all__ = ["TrainStatus", "clean_checkpoints", "load_checkpoint", "save_checkpoint"]

_FOLDER = re.compile(r"__paddle_fleet_checkpoint__\.(\d+)$")
_PARAMETERS, _STATUS = "_paddle_fleet_param__", "fleet_train_status"
_OWN_PARAMETERS = "__paddle_fleet_param__"  # fluidio's name for the file up to 1.0.0rc1


class TrainStatus:
    """The progress of training: the last finished epoch."""

    def __init__(self, epoch_no: int = -1) -> None:
        self._epoch_no = epoch_no

    def next(self) -> int:
        """Return the epoch to continue with."""
        return self._epoch_no + 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrainStatus) and self._epoch_no == other._epoch_no

    def __hash__(self) -> int:
        return hash(self._epoch_no)


def save_checkpoint(
    executor: Executor, path: str, status: TrainStatus, program: Program, fs: FS, cache: str = ".cache"
) -> None:
    """Save to a folder with the next number, which appears when it is complete."""
    if not fs.stat(path):
        fs.mkdir(path)
    number = max(_numbers(fs, path), default=-1) + 1
    complete = _folder(path, number)
    begun = f"{complete}.tmp"
    away = fs.need_upload_download()
    here = f"{_folder(cache, number)}.saved_cache" if away else begun
    LocalFS().delete(here)
    LocalFS().mkdir(here)
    try:
        io.save_persistables(executor, here, program, _PARAMETERS)
        Path(here, _STATUS).write_text(json.dumps({"epoch_no": status._epoch_no}))
        if away:
            fs.delete(begun)
            fs.upload(here, begun)
        fs.mv(begun, complete)
    finally:
        LocalFS().delete(here)


def load_checkpoint(
    executor: Executor, path: str, program: Program, fs: FS, cache: str = ".cache", trainer: int = 0
) -> TrainStatus | None:
    """Load the checkpoint with the highest number."""
    numbers = _numbers(fs, path)
    if not numbers:
        return None
    folder, away = _folder(path, max(numbers)), fs.need_upload_download()
    if not away:
        return _load(executor, folder, program)
    here = f"{_folder(cache, max(numbers))}.load_cache.{trainer}"
    LocalFS().delete(here)
    try:
        fs.download(folder, here)
        return _load(executor, here, program)
    finally:
        LocalFS().delete(here)


def _load(executor: Executor, folder: str, program: Program) -> TrainStatus:
    names = (name for name in (_PARAMETERS, _OWN_PARAMETERS) if Path(folder, name).exists())
    io.load_persistables(executor, folder, program, next(names, _PARAMETERS))
    return TrainStatus(int(json.loads(Path(folder, _STATUS).read_text())["epoch_no"]))


def clean_checkpoints(path: str, kept: int, fs: FS) -> None:
    """Remove all but the last checkpoints."""
    for number in sorted(_numbers(fs, path))[: -kept if kept > 0 else None]:
        fs.rmr(_folder(path, number))


def _folder(root: str, number: int) -> str:
    return f"{root}/__paddle_fleet_checkpoint__.{number}"


def _numbers(fs: FS, path: str) -> list[int]:
    names = fs.list_dirs(path) if fs.stat(path) else []
    return [int(found[1]) for found in map(_FOLDER.match, names) if found]
