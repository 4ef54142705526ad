"""OpenFiles: the records of many files, decoded by several threads in an order that never depends on them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

import numpy as np

from fluidio.errors import EnforceNotMet
from fluidio.executor.readers.base import Reader, Spec
from fluidio.executor.readers.blocks import BlockBuffer
from fluidio.executor.readers.crew import Crew
from fluidio.executor.readers.file import describe_file, open_blocks
from fluidio.recordio import BlockReader, RecordBlock

__all__ = ["OpenFiles"]

Read = Future[RecordBlock | None]
_OPEN = 256  # files that are open at a time, at most; the process may not have many more


class _File:
    """One file of an epoch: opened for its first chunk, closed behind its last."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._blocks: BlockReader | None = None

    def read(self) -> RecordBlock | None:
        if self._blocks is None:
            self._blocks = open_blocks(self._path)
        block = self._blocks.read()
        if block is None:
            self.close()
        return block

    def close(self) -> None:
        if self._blocks is not None:
            self._blocks.close()


class OpenFiles(Reader):
    """Reads files side by side or one after another.

    Args:
        paths: the files; all are looked at once, so that a missing one is noticed by the startup program.
        threads: threads that read and decode.
        side_by_side: a chunk of each file in turn (a fixed round-robin, of 256 files at most); otherwise file after
            file, in list order.
        arrival: give out whatever is ready first: quicker when files differ, never the same order twice.
        shuffle_files: another order of the files in each epoch, from the seed.

    The order of the records follows from the files, the seed and the epoch alone, unless `arrival` is set.
    """

    def __init__(
        self,
        name: str,
        paths: Sequence[str],
        threads: int = 1,
        side_by_side: bool = False,
        *,
        arrival: bool = False,
        shuffle_files: bool = False,
        seed: int = 0,
        spec: Spec = (),
    ) -> None:
        super().__init__(name, spec)
        if not paths:
            raise EnforceNotMet(f"open_files {name}: No file to be read!")
        self._paths = list(paths)
        self._threads = max(1, threads)
        self._active = min(len(self._paths), _OPEN) if side_by_side or arrival else 1
        self._arrival = arrival
        self._shuffle = shuffle_files
        self._seed = seed
        for path in self._paths:
            open_blocks(path).close()
        self._crew: Crew[RecordBlock | None] = Crew(name, self._threads)
        self._queued: deque[_File] = deque()  # files that have not begun
        self._turn: deque[_File] = deque()  # begun files whose next chunk nobody has asked for yet
        self._reads: deque[tuple[_File, Read]] = deque()
        self._buffer = BlockBuffer()
        self._begin()

    def _block(self, most: int) -> RecordBlock | None:
        return self._buffer.take(most, self._refill)

    def _refill(self) -> RecordBlock | None:
        while self._reads:
            file, read = self._pop()
            block = read.result()
            if block is not None:
                self._turn.append(file)
            elif self._queued:
                self._turn.append(self._queued.popleft())
            self._ask()
            if block is not None:
                return block
        self._crew.stop()
        return None

    def _pop(self) -> tuple[_File, Read]:
        if self._arrival:
            done = wait([read for _, read in self._reads], return_when=FIRST_COMPLETED).done
            ready = next(pair for pair in self._reads if pair[1] in done)
            self._reads.remove(ready)
            return ready
        return self._reads.popleft()

    def _ask(self) -> None:
        """Keep the threads busy: one read for each file at most, and one more than there are threads."""
        while self._turn and len(self._reads) <= self._threads:
            file = self._turn.popleft()
            self._reads.append((file, self._crew.submit(file.read)))

    def _begin(self) -> None:
        files = [_File(path) for path in self._paths]
        if self._shuffle:
            rng = np.random.default_rng((self._seed, self.epoch))
            files = [files[i] for i in rng.permutation(len(files))]
        self._turn = deque(files[: self._active])
        self._queued = deque(files[self._active :])
        self._ask()  # reading begins with the startup program

    def _stop(self) -> None:
        self._crew.stop()
        for file in [*self._turn, *(file for file, _ in self._reads)]:
            file.close()
        self._turn.clear()
        self._reads.clear()
        self._buffer.clear()

    def stats(self) -> dict[str, Any]:
        return {**super().stats(), "files": len(self._paths), "threads": self._threads, "reads": len(self._reads)}

    def fingerprint(self) -> list[Any]:
        if self._arrival:
            raise EnforceNotMet(
                f"open_files {self.name}: deterministic=False gives records as they arrive, an order that cannot be "
                "saved and resumed"
            )
        order = [self._active > 1, self._shuffle, self._seed]
        return [["files", [describe_file(path) for path in self._paths], order]]
