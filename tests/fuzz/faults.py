"""A disk that fails: writes and syncs raise EIO or ENOSPC from some call on, or take half of what they are given.

    python -m tests.fuzz.faults WORK FOLDER [--kind EIO] [--count 20] [--seed 0]

Builds `faults.c`, puts it in front of the C library, and runs the works of `kill_works`: they fail with an error of the
system, what was finished is there, and the next run, on a sound disk, cleans up.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from fluidio.errors import FluidioError
from tests.fuzz import kill_works
from tests.fuzz.kills import in_a_fork, look
from tests.fuzz.targets import ROOT

KINDS = ("EIO", "ENOSPC", "SHORT")
_ROUNDS = 3


class _Enough(Exception):
    """The work has been done often enough."""


def can_build() -> bool:
    """Return whether there is a compiler, and a system that knows LD_PRELOAD."""
    return sys.platform.startswith("linux") and shutil.which("gcc") is not None


def start(work: str, folder: str, kind: str, count: int, seed: int = 0) -> subprocess.CompletedProcess[str]:
    """Run some work on a failing disk, in a process of its own."""
    with tempfile.TemporaryDirectory() as built:
        library = f"{built}/faults.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, str(ROOT / "faults.c"), "-ldl"], check=True)
        command = [sys.executable, "-m", "tests.fuzz.faults", work, folder, f"--kind={kind}", f"--count={count}"]
        environment = {**os.environ, "LD_PRELOAD": library}
        return subprocess.run(
            [*command, f"--seed={seed}"], cwd=ROOT.parents[1], env=environment, capture_output=True, text=True
        )


def fail_many(work: str, folder: str, kind: str, seeds: range) -> None:
    """Let some work fail once for each seed, at one of its calls."""
    run, check, leaves = kill_works.WORK[work]
    kill_works.warm_up()
    for seed in seeds:
        after = random.Random(f"{work} {seed}").randrange(60)
        said = Path(folder).parent / "said"
        problem = in_a_fork(partial(_work, run, folder, kind, after, said))
        problem = problem or in_a_fork(partial(look, check, folder, int(said.read_text()), leaves))
        if problem:
            raise AssertionError(f"{work}, {kind} after {after} calls (seed {seed}): {problem}")


def _work(run: kill_works.Run, folder: str, kind: str, after: int, said: Path) -> None:
    said.write_text("-1")

    def say(number: int) -> None:
        said.write_text(str(number))
        if number >= _ROUNDS - 1:
            raise _Enough

    os.environ.update(FAULT_UNDER=os.path.realpath(folder), FAULT_AFTER=str(after), FAULT_KIND=kind)
    try:
        run(folder, say)
    except _Enough:
        return
    except (OSError, FluidioError):
        if kind == "SHORT":
            raise  # nothing is wrong with a short write
    finally:
        del os.environ["FAULT_KIND"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=kill_works.WORK)
    parser.add_argument("folder")
    parser.add_argument("--kind", choices=KINDS, default="EIO")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if "LD_PRELOAD" not in os.environ:
        done = start(given.work, given.folder, given.kind, given.count, given.seed)
        sys.exit(done.stderr or 0)
    fail_many(given.work, given.folder, given.kind, range(given.seed, given.seed + given.count))


if __name__ == "__main__":
    main()
