"""What every test gets: a clean state, no thread or child process left behind; and a list of skips at the end."""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import multiprocessing
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from fluidio.era import keep_era
from fluidio.ops.random import engine

# Parallel workers inherit this: tests are parallel by process, and BLAS threads that wait for a busy core are ten times
# slower than one thread.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Seconds that a thread or process which was told to end may take; a busy machine needs many.
_GRACE = float(os.environ.get("FLUIDIO_TEST_GRACE", "20"))
_HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")

_QUIET = [hypothesis.HealthCheck.too_slow]  # a busy machine is no reason to fail
hypothesis.settings.register_profile(
    "ci", max_examples=30, derandomize=True, deadline=None, database=None, suppress_health_check=_QUIET
)
hypothesis.settings.register_profile(
    "full", max_examples=300, deadline=None, print_blob=True, suppress_health_check=_QUIET
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def _leave_nothing_behind() -> Iterator[None]:
    """Run the test in fresh programs and scopes; fail it when a thread or child process outlives it."""
    threads, children = set(threading.enumerate()), _children()
    with keep_era(), _fresh():
        yield
    deadline = time.monotonic() + _GRACE
    if set(threading.enumerate()) - threads:
        gc.collect()  # programs are full of cycles; readers end their threads when they go
    for thread in set(threading.enumerate()) - threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    left = [thread.name for thread in set(threading.enumerate()) - threads]
    if left:
        pytest.fail(f"the test left threads behind: {sorted(left)}", pytrace=False)
    while (lost := _children() - children) and time.monotonic() < deadline:
        time.sleep(0.01)
    if lost:
        pytest.fail(f"the test left child processes behind: {sorted(map(_command, lost))}", pytrace=False)


@pytest.fixture(autouse=True)
def _same_numbers_in_every_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the test's name choose the seeds that the operating system would, so that a test cannot fail now and then."""
    seeds = random.Random(request.node.nodeid)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "urandom", seeds.randbytes)
        yield


def _fresh() -> contextlib.AbstractContextManager[Any]:
    if importlib.util.find_spec("fluidio.testing") is None:
        return contextlib.nullcontext()
    fresh: contextlib.AbstractContextManager[Any] = importlib.import_module("fluidio.testing").fresh()
    return fresh


def _children() -> set[int]:
    """Return the process ids of our children, without the helpers that multiprocessing keeps for the whole run."""
    found: set[int] = {child.pid for child in multiprocessing.active_children() if child.pid is not None}
    for tasks in Path("/proc/self/task").glob("*/children"):  # Linux; elsewhere only multiprocessing's are seen
        with contextlib.suppress(OSError):  # the thread of this entry has just ended
            found.update(map(int, tasks.read_text().split()))
    return {pid for pid in found if not any(helper in _command(pid) for helper in _HELPERS)}


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return f"process {pid}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow as well")
    parser.addoption(
        "--allowed-skips", metavar="FILE", help="fail when a test is skipped for a reason that no regex in FILE matches"
    )


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their length: compressed data may hold the time of day, and parallel workers must agree."""
    return f"{argname}-{len(val)}-bytes" if isinstance(val, bytes) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow, as .ci/full does"))


def _skips(config: pytest.Config) -> Counter[str]:
    """Return how many tests were skipped for each reason (expected failures are listed by pytest itself)."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    reports = reporter.stats.get("skipped", []) if reporter else []
    return Counter(
        str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr).removeprefix("Skipped: ")
        for report in reports
    )


def _unexpected(config: pytest.Config) -> list[str]:
    path = config.getoption("--allowed-skips")
    if path is None:
        return []
    lines = (line.split("#", 1)[0].strip() for line in Path(path).read_text("utf-8").splitlines())
    allowed = [re.compile(line) for line in lines if line]
    return [reason for reason in _skips(config) if not any(pattern.search(reason) for pattern in allowed)]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    on_worker = hasattr(session.config, "workerinput")
    if not on_worker and session.exitstatus == pytest.ExitCode.OK and _unexpected(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    skips, unexpected = _skips(config), _unexpected(config)
    terminalreporter.section("skipped groups")
    for reason, count in sorted(skips.items()):
        note = "  <- NOT ON THE LIST OF ALLOWED SKIPS" if reason in unexpected else ""
        terminalreporter.write_line(f"{count:5d}  {reason}{note}")
    if not skips:
        terminalreporter.write_line("none")
