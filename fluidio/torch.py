"""Data sets for `torch.utils.data.DataLoader` over RecordIO files (`pip install 'fluidio[torch]'`).

    from fluidio.torch import IterableRecords, Records

    loader = DataLoader(IterableRecords("train-*-of-*", batch_size=128, shuffle=True), batch_size=None, num_workers=2)
    loader = DataLoader(Records("train-*-of-*"), batch_size=128, shuffle=True)

A slot is a tensor; one with sequences is (tensor, offsets) in a batch, and just the tensor in a single record.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fluidio.errors import RecordIOError, missing_dependency
from fluidio.recordio import File, iter_batches
from fluidio.recordio.files.named import names_of
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.resumable import Batches
from fluidio.recordio.files.sidecar import open_index
from fluidio.recordio.format.tensor_codec import decode_record

try:
    import torch as _torch
    from torch.utils.data import Dataset, IterableDataset, get_worker_info
except ImportError as error:
    raise missing_dependency("PyTorch", "torch", "fluidio.torch") from error

torch: Any = _torch  # type checkers know different parts of it

__all__ = ["IterableRecords", "Records"]


class Records(Dataset[Any]):  # type: ignore[misc, unused-ignore]
    """A map-style data set: `data[i]` is record i as a tuple of tensors.

    Files are opened where they are read, so the data set can be sent to worker processes.

    Args:
        paths: a path, glob or URL, or a list of them.
        squeeze: drop the first dim of records with one row, so that the loader's own batching stacks rows.
        named: return dicts with the names from a manifest, strings as str or bytes.
    """

    def __init__(self, paths: object, *, squeeze: bool = True, named: bool = False) -> None:
        self._paths = expand(paths)
        self._names = names_of(self._paths) if named else None
        counts = [open_index(path).num_records for path in self._paths]
        self._ends = list(itertools.accumulate(counts))
        self._squeeze = squeeze
        self._files: dict[int, File] = {}

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"the data set has {len(self)} records and no record {index}")
        number = bisect.bisect_right(self._ends, index)
        before = self._ends[number - 1] if number else 0
        file = self._files.get(number)
        if file is None:
            file = self._files[number] = File(self._paths[number])
        record = file.get(index - before)
        try:
            tensors, _ = decode_record(record)
        except ValueError as error:
            hint = "pickled samples are read with reader.creator.recordio"
            raise RecordIOError(f"record {index - before}: {error}", path=self._paths[number], hint=hint) from error
        if self._names is None:
            return tuple(self._tensor(array, bool(lod)) for array, lod in tensors)
        named = self._names([(array, lod) if lod else array for array, lod in tensors])
        return {name: self._named(value) for name, value in named.items()}

    def _named(self, value: object) -> Any:
        if isinstance(value, list):
            return value[0] if len(value) == 1 else value  # a record has one string, or one list of strings
        return self._tensor(value[0], True) if isinstance(value, tuple) else self._tensor(value, False)

    def _tensor(self, array: Any, sequence: bool) -> Any:
        if self._squeeze and not sequence and len(array) == 1:
            array = array[0]
        return torch.from_numpy(np.ascontiguousarray(array))

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Return several records, as a DataLoader requests them for a batch."""
        return [self[index] for index in indices]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_files": {}}

    def close(self) -> None:
        """Close the files of this process; they open again when needed."""
        for file in self._files.values():
            file.close()
        self._files = {}


class IterableRecords(IterableDataset[Any]):  # type: ignore[misc, unused-ignore]
    """An iterable data set of whole batches; use it with `DataLoader(..., batch_size=None)`.

    Every worker of the DataLoader, in every rank, reads its own part; together they read everything once. Each pass has
    its own order: passes are counted, in worker processes too, and `set_epoch` sets the count.

    Args:
        paths: a path, glob or URL, or a list of them.
        batch_size: records in a batch.
        shuffle: True, or the number of records in a window, as in `recordio.iter_batches`.
        seed: decides the order, together with the number of the pass.
        drop_last: drop a last batch (of each worker) that is not full.
        rank, world_size: part of a distributed job; by default torch.distributed's.
        named: yield dicts with the names from a manifest, strings as lists of str or bytes.
        workers: the `num_workers` of the DataLoader, for `len` and `state_after`.
    """

    def __init__(
        self,
        paths: object,
        batch_size: int,
        *,
        shuffle: bool | int = False,
        seed: int = 0,
        drop_last: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        named: bool = False,
        workers: int = 0,
    ) -> None:
        super().__init__()
        if (rank is None) != (world_size is None) or (rank is not None and not 0 <= rank < (world_size or 0)):
            raise ValueError(
                f"pass rank and world_size together, with rank below world_size; got rank {rank} and "
                f"world_size {world_size}"
            )
        self._paths = expand(paths)
        self._batch_size, self._shuffle, self._seed, self._drop_last = batch_size, shuffle, seed, drop_last
        self._names = names_of(self._paths) if named else None
        self._workers = workers
        self._place = None if rank is None or world_size is None else (rank, world_size)
        self._sender: tuple[int, int] | None = None
        self._current: Batches | None = None
        self._saved: list[dict[str, Any]] | None = None
        self._saved_count = 0  # the pass it is for
        self._passes = torch.zeros(1 + _PARTS, dtype=torch.int64).share_memory_()  # persistent workers see changes
        self._parts = torch.zeros(1, dtype=torch.int64).share_memory_()  # how many parts the last pass has, 0 before

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of the next pass; later ones follow it."""
        self._passes[1:] = 0
        self._passes[0] = epoch

    def __getstate__(self) -> dict[str, Any]:
        # A spawned worker does not know torch.distributed; it takes the rank of the process that sent the data set.
        return self.__dict__ | {"_sender": _rank(), "_current": None}

    def _part(self) -> tuple[int, int]:
        """Return which part of how many this process reads."""
        worker = get_worker_info()
        if worker is None:
            return self._place or _rank() or (0, 1)
        rank, world = self._place or _rank() or self._sender or (0, 1)
        return rank * worker.num_workers + worker.id, world * worker.num_workers

    def _next_epoch(self, part: int) -> int:
        """Return the number of this pass and count it; each part counts separately, with the same result."""
        cell = 1 + part % _PARTS
        count = int(self._passes[cell])
        self._passes[cell] = count + 1
        return int(self._passes[0]) + count

    def __len__(self) -> int:
        """Return how many batches this rank has in a pass; a worker counts its own.

        How records are divided into batches depends on the number of workers: set `workers=` to the DataLoader's
        `num_workers`.
        """
        places = self._places() if get_worker_info() is None else [self._part()]
        return sum(self._batches(0, place).total for place in places)

    def state_dict(self) -> dict[str, Any]:
        """Return the position in this pass, in the process that reads; torchdata's `StatefulDataLoader` calls it."""
        if self._current is not None:
            return self._current.state_dict()
        if get_worker_info() is None and int(self._passes[1:].sum()):
            raise RuntimeError(
                "this data set is read by worker processes, which alone know their positions: use "
                "state_after(batches), or StatefulDataLoader of torchdata"
            )
        part, parts = self._part()
        return self._batches(int(self._passes[0]) + int(self._passes[1 + part % _PARTS]), (part, parts)).state_dict()

    def state_after(self, batches: int) -> list[dict[str, Any]]:
        """Return the states of this rank's workers after a DataLoader has delivered `batches` batches of this pass.

        Workers read ahead, so the loop has to count. Add up the lists of all ranks before `load_state_dict`.

        Raises:
            ValueError: the DataLoader has another number of workers than `workers=` says.
        """
        _, parts = self._places()[0]
        if (read := int(self._parts)) not in (0, parts):
            real = read * max(1, self._workers) // parts
            raise ValueError(f"the DataLoader reads with {real} workers: pass workers={real} to IterableRecords, too")
        found = [self._at(place) for place in self._places()]
        left = [each.total - each.state_dict()["batches"] for each in found]
        return [each.state_after(taken) for each, taken in zip(found, _in_turn(batches, left))]

    def _at(self, place: tuple[int, int]) -> Batches:
        """Return the batches of a part from the start of the current pass."""
        begun = int(self._passes[1 + place[0] % _PARTS])
        batches = self._batches(int(self._passes[0]) + max(0, begun - 1), place)
        if self._saved is not None and begun - 1 <= self._saved_count:
            batches.load_state_dict(_own(self._saved, place))
        return batches

    def _places(self) -> list[tuple[int, int]]:
        """Return the parts of this rank's workers."""
        rank, world = self._part()
        workers = max(1, self._workers)
        return [(rank * workers + number, world * workers) for number in range(workers)]

    def load_state_dict(self, state: object) -> None:
        """Let the next pass resume after the last batch of a saved one, in its order.

        Args:
            state: of this process or worker; or a list with the states of all workers of all ranks, or the result of
                `StatefulDataLoader.state_dict()`: these may be read by a different number of workers and ranks.
        """
        states = _states(state)
        if not states:
            raise ValueError("the argument contains no state of a data set")
        epoch = int(states[0]["epoch"])
        worker = get_worker_info()
        if worker is None and all(each.get("ended") for each in states):
            self.set_epoch(epoch + 1)
            self._saved = None
            return
        self._saved = states
        if worker is None:
            self.set_epoch(epoch)
            self._saved_count = 0
        else:
            self._saved_count = epoch - int(self._passes[0])
            self._passes[1 + self._part()[0] % _PARTS] = self._saved_count

    def __iter__(self) -> Iterator[Any]:
        part, parts = self._part()
        self._parts[0] = parts
        saved = self._saved
        if saved is not None and int(self._passes[1 + part % _PARTS]) != self._saved_count:
            saved = self._saved = None  # it was for the previous pass
        batches = self._current = self._batches(self._next_epoch(part), (part, parts))
        if saved is not None:
            batches.load_state_dict(_own(saved, (part, parts)))
        for batch in batches:
            if self._names is None:
                yield tuple(_tensors(slot) for slot in batch)
            else:
                named = self._names(batch)
                yield {name: v if isinstance(v, list) else _tensors(v) for name, v in named.items()}

    def _batches(self, epoch: int, part: tuple[int, int]) -> Batches:
        return iter_batches(
            self._paths,
            self._batch_size,
            shuffle=self._shuffle,
            seed=self._seed,
            epoch=epoch,
            drop_last=self._drop_last,
            part=part,
        )


_PARTS = 4095
"""Parts with a count of their own; more of them share, and may then repeat an order or leave one out."""


def _in_turn(batches: int, counts: list[int]) -> list[int]:
    """Return how many batches each worker delivered: one each in turn, skipping workers that have ended."""
    taken = [0] * len(counts)
    while batches > 0 and taken != counts:
        for number, count in enumerate(counts):
            if batches and taken[number] < count:
                taken[number] += 1
                batches -= 1
    return taken


def _own(states: list[dict[str, Any]], place: tuple[int, int]) -> Any:
    """Return the state of a part if it is present, else all states, to be shared out."""
    return next((each for each in states if each.get("part") == list(place)), states)


def _states(state: Any) -> list[dict[str, Any]]:
    """Return the workers' states in the result of a loader or a data set."""
    if not isinstance(state, Mapping):
        return [dict(each) for each in state]
    if "_snapshot" not in state:
        return [dict(state)]
    if state.get("_steps_since_snapshot"):
        raise ValueError("the state is older than the last batch: use StatefulDataLoader(snapshot_every_n_steps=1)")
    workers = state["_snapshot"].get("_worker_snapshots", {})
    return [dict(each["dataset_state"]) for each in workers.values()]


def _rank() -> tuple[int, int] | None:
    """Return the rank of this process and the size of its world, if torch.distributed knows."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    return torch.distributed.get_rank(), torch.distributed.get_world_size()


def _tensors(slot: object) -> Any:
    if not isinstance(slot, tuple):
        return torch.from_numpy(np.ascontiguousarray(slot))
    array, lod = slot
    return torch.from_numpy(np.ascontiguousarray(array)), tuple(torch.from_numpy(level.copy()) for level in lod)
