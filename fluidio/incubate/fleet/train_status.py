"""Fleet's checkpoints: numbered folders that hold parameters and the epoch."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fluidio import io
from fluidio.program import Program

if TYPE_CHECKING:
    from fluidio.executor import Executor


__all__ = ["TrainStatus", "clean_checkpoints", "load_checkpoint", "save_checkpoint"]

_FOLDER = re.compile(r"__paddle_fleet_checkpoint__\.(\d+)$")
_PARAMETERS, _STATUS = "__paddle_fleet_param__", "fleet_train_status"


class TrainStatus:
    """How far training is: the last epoch that was finished."""

    def __init__(self, epoch_no: int = -1) -> None:
        self._epoch_no = epoch_no

    def next(self) -> int:
        """Return the epoch to go on with."""
        return self._epoch_no + 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TrainStatus) and self._epoch_no == other._epoch_no

    def __hash__(self) -> int:
        return hash(self._epoch_no)


def save_checkpoint(executor: Executor, path: str, status: TrainStatus, program: Program) -> None:
    """Save in a folder with the next number; it appears when it is whole."""
    root = Path(path)
    root.mkdir(parents=True, exist_ok=True)
    number = max(_numbers(root), default=-1) + 1
    folder = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=root))
    try:
        io.save_persistables(executor, str(folder), program, _PARAMETERS)
        (folder / _STATUS).write_text(json.dumps({"epoch_no": status._epoch_no}))
        os.rename(folder, root / f"__paddle_fleet_checkpoint__.{number}")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def load_checkpoint(executor: Executor, path: str, program: Program) -> TrainStatus | None:
    """Load the checkpoint with the highest number."""
    root = Path(path)
    numbers = _numbers(root)
    if not numbers:
        return None
    folder = root / f"__paddle_fleet_checkpoint__.{max(numbers)}"
    io.load_persistables(executor, str(folder), program, _PARAMETERS)
    return TrainStatus(int(json.loads((folder / _STATUS).read_text())["epoch_no"]))


def clean_checkpoints(path: str, kept: int) -> None:
    """Remove all checkpoints but the last ones."""
    root = Path(path)
    for number in sorted(_numbers(root))[: -kept if kept > 0 else None]:
        shutil.rmtree(root / f"__paddle_fleet_checkpoint__.{number}")


def _numbers(root: Path) -> list[int]:
    names = [entry.name for entry in root.iterdir()] if root.is_dir() else []
    return [int(found[1]) for found in map(_FOLDER.match, names) if found]
