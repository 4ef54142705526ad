"""Checkpoints: everything needed to resume training, saved in one call, completely or not at all."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fluidio.distributed import group
from fluidio.distributed.rewrite import sharing_program
from fluidio.distributed.texts import gather_texts
from fluidio.errors import EnforceNotMet
from fluidio.executor import Executor
from fluidio.flow.runtime_reader import ReaderState
from fluidio.io.loading import load_persistables
from fluidio.io.predicates import is_persistable
from fluidio.io.saving import save_persistables
from fluidio.program import Program, Variable, default_main_program

__all__ = ["Checkpoints", "Saved"]

_NAME = re.compile(r"(?:checkpoint|\.replaced)-(\d+)$")
_VALUES, _STATE = "persistables", "state.json"


@dataclass(frozen=True)
class Saved:
    """A loaded checkpoint: the number of completed steps, and the script's notes."""

    step: int
    note: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class SavesPlace(Protocol):
    """An object whose position can be saved with a checkpoint, such as a file reader."""

    def state_dict(self) -> ReaderState: ...

    def load_state_dict(self, state: ReaderState) -> None: ...


def _saves_place(reader: object) -> SavesPlace:
    if not isinstance(reader, SavesPlace):
        raise TypeError(f"Checkpoints: {reader} has no position to save, because it does not read files")
    return reader


class Checkpoints:
    """The last checkpoints of a training run, in numbered folders.

    A checkpoint holds parameters, optimizer state and learning-rate counters (all persistable variables of the
    program), the positions of readers, and the states of Python's and NumPy's random generators. With several trainers,
    all make the same calls: the first writes and reads, and the others need no access to its disk. A folder appears
    only when it is complete.

    Args:
        exe: the executor.
        folder: where the checkpoints are.
        program: the program being trained; the default one if None.
        readers: file readers whose positions are saved too. A different number of trainers may resume those of
            `open_files(..., trainers=)`.
        keep: how many checkpoints to keep.

    Example:
        >>> checkpoints = fluid.io.Checkpoints(exe, "run-1", readers=[reader])        # doctest: +SKIP
        >>> saved = checkpoints.resume()                                              # doctest: +SKIP
        >>> for step in range(saved.step if saved else 0, 1000):                      # doctest: +SKIP
        ...     exe.run(fetch_list=[loss])
        ...     checkpoints.save(step + 1)
    """

    def __init__(
        self,
        exe: Executor,
        folder: str | os.PathLike[str],
        program: Program | None = None,
        *,
        readers: Sequence[Variable | SavesPlace] = (),
        keep: int = 3,
    ) -> None:
        if keep < 1:
            raise ValueError(f"Checkpoints: keep must be at least 1, got {keep}")
        self._exe = exe
        self._folder = Path(folder)
        self._program = program if program is not None else default_main_program()
        self._readers = [_saves_place(reader) for reader in readers]
        self._keep = keep

    def save(self, step: int, **note: object) -> None:
        """Save a checkpoint of this step, together with the script's notes as JSON."""
        randoms = gather_texts(group(), json.dumps(_random_state()))
        if not _is_first():
            return
        state = {
            "step": int(step),
            "note": note,
            "readers": [reader.state_dict() for reader in self._readers],
            "random": {str(trainer): json.loads(text) for trainer, text in randoms.items()},
        }
        self._write(int(step), json.dumps(state))
        for old in self._steps()[: -self._keep]:
            shutil.rmtree(self._stored(old), ignore_errors=True)

    def resume(self) -> Saved | None:
        """Resume from the last checkpoint and return it; None if there is none.

        Call it after running the startup program.
        """
        found = self._read() if _is_first() else ""
        texts = gather_texts(group(), found)
        text = texts[min(texts)]
        if not text:
            return None
        state = json.loads(text)
        self._share_values()
        if len(state["readers"]) != len(self._readers):
            raise EnforceNotMet(
                f"Checkpoints: {self._folder} holds the positions of {len(state['readers'])} readers, but "
                f"{len(self._readers)} readers were passed"
            )
        for reader, place in zip(self._readers, state["readers"]):
            reader.load_state_dict(place)
        _set_random_state(state["random"].get(str(_trainer())))
        return Saved(state["step"], state["note"])

    # -- folders ----------------------------------------------------------------------------------------------------

    def _path(self, step: int) -> Path:
        return self._folder / f"checkpoint-{step:010d}"

    def _aside(self, step: int) -> Path:
        """Return where the checkpoint of a step is while another one takes its place."""
        return self._folder / f".replaced-{step:010d}"

    def _stored(self, step: int) -> Path:
        path = self._path(step)
        return path if path.exists() else self._aside(step)

    def _steps(self) -> list[int]:
        names = os.listdir(self._folder) if self._folder.is_dir() else []
        return sorted({int(match[1]) for match in map(_NAME.match, names) if match})

    def _write(self, step: int, state: str) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for left in self._folder.glob(".unfinished-*"):  # from a killed process
            shutil.rmtree(left, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".unfinished-", dir=self._folder))
        try:
            save_persistables(self._exe, str(unfinished), self._program, _VALUES)
            (unfinished / _STATE).write_text(state)
            for path in unfinished.iterdir():
                _sync(path)
            if self._path(step).exists():
                shutil.rmtree(self._aside(step), ignore_errors=True)
                os.rename(self._path(step), self._aside(step))
            os.rename(unfinished, self._path(step))
            _sync(self._folder)
            shutil.rmtree(self._aside(step), ignore_errors=True)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise

    def _read(self) -> str:
        """Load the values of the last checkpoint and return its state; "" if there is none."""
        steps = self._steps()
        if not steps:
            return ""
        path = self._stored(steps[-1])
        load_persistables(self._exe, str(path), self._program, _VALUES)
        return (path / _STATE).read_text()

    def _share_values(self) -> None:
        """Give all trainers the values that the first one has loaded."""
        if group().size > 1:
            names = sorted(v.name for v in self._program.list_vars() if is_persistable(v))
            self._exe.run(sharing_program(self._program, names))


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _trainer() -> int:
    trainers = group().communicator
    return trainers.members[trainers.rank].trainer


def _is_first() -> bool:
    return group().communicator.rank == 0


def _random_state() -> dict[str, Any]:
    name, keys, *rest = np.random.get_state(legacy=True)
    return {"python": random.getstate(), "numpy": [name, np.asarray(keys).tolist(), *rest]}


def _set_random_state(state: dict[str, Any] | None) -> None:
    if state is not None:
        version, numbers, gauss = state["python"]
        random.setstate((version, tuple(numbers), gauss))
        name, keys, *rest = state["numpy"]
        np.random.set_state((name, np.array(keys, np.uint32), *rest))
