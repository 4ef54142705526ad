"""Processes that are killed at any moment while they write: what was finished stays, nothing is doubled.

    python -m tests.fuzz.kills WORK FOLDER [--count 100] [--seed 0]

Each kill forks twice: the first process works for ever and says what is finished until it is killed, the second looks
at what is left, as a new process would, and finishes the work.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial

from tests.fuzz import kill_works

LATEST = 0.12  # seconds from the beginning of the work to the kill


def kill_many(work: str, folder: str, seeds: range) -> None:
    """Kill some work once for each seed, all in one folder; only what the work may leave stays there."""
    run, check, leaves = kill_works.WORK[work]
    for seed in seeds:
        said = _killed(partial(run, folder, _say), random.Random(f"{work} {seed}"))
        problem = in_a_fork(partial(look, check, folder, said, leaves))
        if problem:
            raise AssertionError(f"{work}, seed {seed}, {said} finished: {problem}")


def look(check: Callable[[str, int], None], folder: str, said: int, leaves: Callable[[str], set[str]]) -> None:
    check(folder, said)
    left = {name for name in os.listdir(folder) if name.startswith(".")} - leaves(folder)
    assert not left, f"left behind: {sorted(left)}"


def _say(number: int) -> None:
    os.write(1, b"%d\n" % number)


def _killed(run: Callable[[], None], chance: random.Random) -> int:
    """Kill a process that runs, and return the last number that it said; it says -1 when it begins."""
    hear, say = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.dup2(say, 1)
        _leave(run)
    os.close(say)
    with open(hear, "rb") as file:
        begun = file.readline()
        time.sleep(chance.random() * LATEST)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        heard = begun + file.read()  # to the end: no process of the work may outlive it
    return int(heard.rpartition(b"\n")[0].split()[-1])


def in_a_fork(look: Callable[[], None]) -> str:
    """Return what a process of its own finds wrong, "" for nothing."""
    hear, say = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(say, 2)
        _leave(look)
    os.close(say)
    with open(hear, "rb") as file:
        text = file.read().decode(errors="replace")
    return text if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) else ""


def _leave(run: Callable[[], None]) -> None:
    status = 1
    try:
        run()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=kill_works.WORK)
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    kill_works.warm_up()
    kill_many(given.work, given.folder, range(given.seed, given.seed + given.count))


if __name__ == "__main__":
    main()
