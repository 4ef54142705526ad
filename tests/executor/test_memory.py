"""Memory that one step frees serves the next."""

from __future__ import annotations

import subprocess
import sys

import pytest

STEPS = """
import resource
import numpy as np
import fluidio as fluid

x = fluid.layers.data("x", [1 << 20])
y = fluid.layers.softsign(fluid.layers.softsign(x))
total = fluid.layers.mean(y)
exe = fluid.Executor(fluid.CPUPlace())
feed = {"x": np.ones((16, 1 << 20), np.float32)}
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    exe.run(feed=feed, fetch_list=[total])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
def pages():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
before = pages()
exe.close()
print(before - pages())
"""


def _has_glibc() -> bool:
    return sys.platform == "linux" and hasattr(__import__("ctypes").CDLL(None), "gnu_get_libc_version")


@pytest.fixture(scope="module")
def numbers() -> list[int]:
    """Return the page faults of three steps with arrays of 64 MB, and the pages that closing the executor returns."""
    if not _has_glibc():
        pytest.skip("only glibc is told to keep memory")
    found = subprocess.run([sys.executable, "-c", STEPS], check=True, capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]


def test_large_arrays_of_later_steps_need_no_fresh_pages(numbers: list[int]) -> None:
    first, *later = numbers[:3]
    assert first > 100 and max(later) < 100  # one step has arrays of 16,384 small or 32 huge pages each


def test_closing_the_executor_returns_the_memory(numbers: list[int]) -> None:
    assert numbers[3] > 16384


def test_what_the_user_has_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from fluidio.executor import memory

    told: list[int] = []
    library = type("library", (), {"mallopt": lambda self, number, value: told.append(number)})()
    monkeypatch.setattr(memory, "_glibc", lambda: library)
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000")
    memory.keep_freed_memory.__wrapped__()
    assert told == []
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_")
    memory.keep_freed_memory.__wrapped__()
    assert len(told) == 2
