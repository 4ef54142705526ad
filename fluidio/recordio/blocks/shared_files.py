"""SharedFiles: lanes on the same file share its descriptor and the knowledge of its layout."""

from __future__ import annotations

from functools import partial

from fluidio.recordio.blocks.lane import Ahead, Lane
from fluidio.recordio.decode.block_reader import BlockReader
from fluidio.recordio.decode.buffers import Pool
from fluidio.recordio.files.tasks import Task
from fluidio.recordio.format.chunks import OnError

__all__ = ["SharedFiles"]


class SharedFiles:
    """Makes lanes from paths, streams and tasks. A file of tasks stays open until all of them end and another opens.

    Args:
        buffers: where memory comes from.
        on_error: see BlockReader, as for `verify_inner`.
    """

    def __init__(self, buffers: Pool, on_error: OnError, verify_inner: bool) -> None:
        self._buffers = buffers
        self._on_error: OnError = on_error
        self._verify_inner = verify_inner
        self._files: dict[str, BlockReader] = {}
        self._users: dict[str, int] = {}

    def lane(self, what: object, ahead: Ahead) -> Lane:
        """Return a lane on a file or a task."""
        if not isinstance(what, Task) or ahead == "one":  # lanes that are read one by one may be opened by any thread
            return Lane(what, partial(self._open, what), ahead=ahead)
        return Lane(what, partial(self._open_task, what), ahead=ahead, closes=partial(self._close_task, what.path))

    def _open(self, what: object, like: BlockReader | None = None) -> BlockReader:
        return BlockReader(
            what, on_error=self._on_error, verify_inner=self._verify_inner, buffers=self._buffers, like=like
        )

    def _open_task(self, task: Task) -> BlockReader:
        path = task.path
        if path not in self._files:
            for idle in [other for other in self._files if not self._users[other]]:
                self._files.pop(idle).close()
            self._files[path] = self._open(path)
            self._users[path] = 0
        self._users[path] += 1
        return self._open(task, self._files[path])

    def _close_task(self, path: str) -> None:
        self._users[path] -= 1

    def close(self) -> None:
        """Close all files."""
        for file in self._files.values():
            file.close()
        self._files.clear()
