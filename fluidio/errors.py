"""Every exception that fluidio raises on purpose.

    FluidioError
    ├── EnforceNotMet (RuntimeError)     a run-time check failed; Fluid's own name
    │   ├── EOFException                 the epoch is over: reset() the reader
    │   ├── DistributedError             a trainer is gone or does something different from the others
    │   │   └── NobodyCame               no other trainer started
    │   ├── FetchError (ValueError)      fetch_list names a variable that program or scope lack
    │   ├── OpError                      an op failed: names op, inputs and the line that built it
    │   └── ReaderError (ValueError)     a reader's source failed; its own exception is `__cause__`
    ├── RecordIOError (OSError)          bytes on disk are not what they should be
    │   ├── CutTailError                 the file ends in the middle of a chunk
    │   └── ForeignFileError             the file is something other than RecordIO
    ├── ConversionError (ValueError)     a row, a template or an earlier conversion is not valid
    ├── ModelError (ValueError)          a saved model is damaged, foreign, or cannot be exported
    ├── UnsafePickleError (ValueError)   a pickle asks for more than data
    ├── MissingDependencyError (ImportError)  an optional package is needed
    ├── NotHere (AttributeError, NotImplementedError)  a name that fluidio lacks
    └── DeviceError (RuntimeError)       a CUDA place was requested but is not available

Where Fluid raised a plain ValueError, TypeError or AssertionError, fluidio does too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

__all__ = [
    "ConversionError",
    "CutTailError",
    "DeviceError",
    "DistributedError",
    "EOFException",
    "EnforceNotMet",
    "FetchError",
    "FluidioError",
    "ForeignFileError",
    "MissingDependencyError",
    "ModelError",
    "NobodyCame",
    "NotHere",
    "OpError",
    "ReaderError",
    "RecordIOError",
    "UnsafePickleError",
    "missing_dependency",
    "not_supported",
]


class FluidioError(Exception):
    """The root of all errors that fluidio raises on purpose."""


class EnforceNotMet(FluidioError, RuntimeError):
    """A run-time check failed.

    Fluid: scripts of 2018 read `ex.message`, so it exists here.
    """

    @property
    def message(self) -> str:
        return str(self)


class EOFException(EnforceNotMet):
    """The reader has no next data: the epoch is over.

    Fluid: until 0.14 this was an EnforceNotMet, from 0.15 on a separate class. Here it is a subclass, so that
    loops of every era end.
    """

    def __init__(self, detail: str = "", *, reader: str | None = None, epoch: int | None = None) -> None:
        self.reader = reader
        self.epoch = epoch
        self.detail = detail
        super().__init__("There is no next data." + (f" {detail}" if detail else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return EOFException, (self.detail,), self.__dict__.copy()


class DistributedError(EnforceNotMet):
    """Trainers cannot continue together; the text names the trainer responsible and its host.

    Attributes: `trainers` and `hosts` of those to blame; empty where unknown.
    """

    def __init__(self, text: str, *, trainers: Iterable[int] = (), hosts: Iterable[str] = ()) -> None:
        self.trainers = list(trainers)
        self.hosts = list(hosts)
        super().__init__(text)


class NobodyCame(DistributedError):
    """No other trainer has joined the start of the training."""


class OpError(EnforceNotMet):
    """An op of a program failed; the text names the op, its inputs and the user's line that built it."""

    def __init__(self, text: str, *, op_type: str = "", site: str = "") -> None:
        self.op_type = op_type
        self.site = site
        super().__init__(text)


class FetchError(EnforceNotMet, ValueError):
    """`fetch_list` names a variable that the program lacks or that holds no data."""


class ReaderError(EnforceNotMet, ValueError):
    """A worker thread or process of a python reader failed; `__cause__` is the user's own exception.

    Fluid: 1.8 raised a bare ValueError in `multiprocess_reader`; elsewhere the program waited forever.
    """


class RecordIOError(FluidioError, OSError):
    """Bytes on disk are not what they should be.

    Attributes: `path`, `chunk` (number, from 0), `offset` (byte in the file), `expected`, `found`; None where unknown.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | os.PathLike[str] | None = None,
        chunk: int | None = None,
        offset: int | None = None,
        expected: object = None,
        found: object = None,
        hint: str = "",
    ) -> None:
        self.problem = problem
        self.path = None if path is None else os.fspath(path)
        self.chunk = chunk
        self.offset = offset
        self.expected = expected
        self.found = found
        self.hint = hint
        super().__init__(self._text())

    def _text(self) -> str:
        where = [self.path] if self.path else []
        if self.chunk is not None:
            where.append(f"chunk {self.chunk}" + (f" at byte {self.offset}" if self.offset is not None else ""))
        elif self.offset is not None:
            where.append(f"byte {self.offset}")
        text = ": ".join([*where, self.problem])
        return f"{text} ({self.hint})" if self.hint else text

    def __str__(self) -> str:
        return self._text()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_recordio_error, (type(self), self.__dict__.copy())


def _rebuild_recordio_error(kind: type[RecordIOError], state: dict[str, object]) -> RecordIOError:
    error = kind(str(state.get("problem", "")))
    error.__dict__.update(state)
    return error


class CutTailError(RecordIOError):
    """The file ends in the middle of a chunk: the writer was killed or the copy is incomplete."""


class ForeignFileError(RecordIOError):
    """The file is not RecordIO; the text says what it looks like."""


class ConversionError(FluidioError, ValueError):
    """Data cannot be converted; the text names the task and the row."""


class ModelError(FluidioError, ValueError):
    """A saved model is damaged, foreign, incomplete or cannot be exported; `.problems` are all the reasons."""

    def __init__(self, what: str, problems: Iterable[str] = ()) -> None:
        self.what = what
        self.problems = list(problems)
        super().__init__("\n".join([what + (":" if self.problems else ""), *(f"  {line}" for line in self.problems)]))

    def __reduce__(self) -> tuple[object, ...]:
        return ModelError, (self.what, self.problems)


class UnsafePickleError(FluidioError, ValueError):
    """A pickle asks for a class or function outside the allow-list; `allow_pickle=True` accepts it."""


class MissingDependencyError(FluidioError, ImportError):
    """An optional package is needed; the text names the pip line."""


class DeviceError(FluidioError, RuntimeError):
    """The requested device is not available on this machine; the text says what to do."""


def missing_dependency(package: str, extra: str, purpose: str) -> MissingDependencyError:
    """Return the error for a missing optional package: its purpose and the pip command that installs it."""
    return MissingDependencyError(f"{purpose} needs {package}: pip install 'fluidio[{extra}]'", name=package)


def not_supported(api: str, instead: str) -> NoReturn:
    """Raise the NotImplementedError for an API that fluidio lacks, naming the nearest thing that works."""
    raise NotImplementedError(f"{api} is not supported by fluidio: {instead}")


class NotHere(FluidioError, AttributeError, NotImplementedError):
    """A name that fluidio lacks; `.instead` says what to use.

    Both an AttributeError, so that `hasattr` and `getattr` with a default keep working, and a NotImplementedError.
    """

    def __init__(self, api: str, instead: str | Callable[[], str]) -> None:
        super().__init__(api)
        self.api = api
        self._instead = instead

    @property
    def instead(self) -> str:
        """What to use; a search for it happens only now, because `hasattr` does not need it."""
        if not isinstance(self._instead, str):
            self._instead = self._instead()
        return self._instead

    def __str__(self) -> str:
        return f"{self.api} is not supported by fluidio: {self.instead}"

    def __reduce__(self) -> Any:
        return type(self), (self.api, self.instead)
