"""Two trainers in two network namespaces, the link between them cut: an error on both sides, in time."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.distributed.jobs import Job, fluidio_run, needs_torch, paddle_variables

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, needs_torch]
LIMIT = 12.0
LATE = 30.0  # seconds that the end of a process may take beyond the limit, on a busy machine


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def inside(namespace: str, *words: str) -> list[str]:
    return ["ip", "netns", "exec", namespace, *words]


@pytest.fixture
def namespaces() -> Iterator[list[str]]:
    """Two namespaces with a link between them, addresses 10.77.0.1 and 10.77.0.2."""
    names = [f"fluidio-{os.getpid()}-{side}" for side in "ab"]
    ends = [f"fl{os.getpid() % 100000}{side}" for side in "ab"]
    try:
        ip("netns", "add", names[0])
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("network namespaces cannot be made here")
    try:
        ip("netns", "add", names[1])
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for number, (name, end) in enumerate(zip(names, ends), 1):
            ip("link", "set", end, "netns", name)
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", end)
            ip("-n", name, "link", "set", end, "name", "link0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@pytest.mark.parametrize("side", [0, 1])
def test_a_cut_link_is_an_error_on_both_sides_within_the_limit(
    side: int, namespaces: list[str], tmp_path: Path
) -> None:
    endpoints = ["10.77.0.1:7164", "10.77.0.2:7164"]
    with Job() as job:
        for trainer, name in enumerate(namespaces):
            env = {**paddle_variables(trainer, endpoints), "FLUIDIO_TIMEOUT": f"{LIMIT:g}"}
            job.start(inside(name, *fluidio_run("uneven.py", tmp_path, "1000000,1000000")), env)
        await_file(tmp_path / "trainer-1.npy")
        ip("-n", namespaces[side], "link", "set", "link0", "down")
        begin = time.monotonic()
        ended = job.wait(120)
        assert time.monotonic() - begin < LIMIT + LATE
    for trainer, one in enumerate(ended):
        assert one.status == 1, one.output
        assert "DistributedError" in one.output and f"trainer {1 - trainer} on" in one.output
        assert "has not applied this step" in one.output


def await_file(path: Path) -> None:
    deadline = time.monotonic() + 100
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
