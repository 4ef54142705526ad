"""The run page: losses, the pipeline and one sentence of advice; made at the end of a run, however it ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from fluidio.pages import page as pages
from fluidio.pages.advice import Measured, Queue, advise
from fluidio.pages.live import LiveLine
from fluidio.pages.recorder import Recorder

__all__ = ["advice_of", "report", "run_page", "watching"]


def run_page(trace: Mapping[str, Any], title: str = "") -> str:
    """Return the HTML page about a run, from the result of `Recorder.as_json`."""
    shown = {name: value for name, value in trace.items() if name != "curves"}
    shown["curves"] = {name: _without_values(curve) for name, curve in trace["curves"].items()}
    shown["advice"] = advice_of(trace)._asdict()
    return pages.page("run", title or _title(trace), shown)


def _title(trace: Mapping[str, Any]) -> str:
    command = trace.get("command") or [""]
    return os.path.basename(str(command[0])) or "run"


def _without_values(curve: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in curve.items() if name not in ("values", "steps")}


def advice_of(trace: Mapping[str, Any]) -> Any:
    """Return the advice for a recorded run."""
    described = dict(trace["measured"])
    described["queues"] = [Queue(**queue) for queue in described["queues"]]
    described["slowest_op"] = tuple(described["slowest_op"]) if described.get("slowest_op") else None
    return advise(Measured(**described))


@contextlib.contextmanager
def watching(page: str = "", record: str = "", *, live: bool = False) -> Iterator[Recorder]:
    """Observe the block, and write a page and a trace at its end, even after an error or Ctrl-C.

    Args:
        page: path of the HTML page; none if empty.
        record: path of the trace, which keeps every fetched number; none if empty.
        live: show a line in the terminal meanwhile.
    """
    recorder = Recorder(keep=bool(record))
    line = LiveLine(recorder, sys.stderr) if live else None
    recorder.start()
    if line is not None:
        line.start()
    try:
        yield recorder
    except BaseException as error:
        recorder.error = recorder.error or f"{type(error).__name__}: {error}"[:4000]
        raise
    finally:
        recorder.stop()
        if line is not None:
            line.stop()
        trace = recorder.as_json()
        if record:
            pages.write(record, pages.as_json(trace))
        if page:
            pages.write(page, run_page(trace))


@contextlib.contextmanager
def report(path: str | os.PathLike[str] = "", *, record: str | os.PathLike[str] = "") -> Iterator[Recorder]:
    """Observe what executors do inside the block, and write a page about it.

    Args:
        path: where the page goes; without it, show the returned object in a notebook.
        record: where a trace goes, for `fluidio view` and `fluidio trace diff`.

    Example:
        >>> with fluidio.report("run.html"):                                        # doctest: +SKIP
        ...     for batch in batches:
        ...         exe.run(main, feed=batch, fetch_list=[loss])
    """
    with watching(os.fspath(path), os.fspath(record)) as recorder:
        yield recorder
