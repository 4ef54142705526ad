"""Attack the parsers of foreign bytes for as long as you like.

    python -m tests.fuzz.run [TARGET ...] [--count 20000] [--seed 0]
    python -m tests.fuzz.guided TARGET             guided by coverage

Half of the inputs have repaired checksums. A find is any exception that a parser is not allowed to raise, five seconds
of work for one input (a minute of waiting), or more memory than 64 MB; the input is kept in tests/fuzz/corpus/TARGET.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.fuzz.mutators import mutated
from tests.fuzz.targets import ROOT, TARGETS, corpus, repaired

LONGEST = 5  # seconds of work for one input; a busy machine may take longer for it
PATIENCE = 60  # seconds, for one that waits
MEMORY = 64 << 20


def inputs(name: str, seeds: range) -> Iterator[bytes]:
    """Yield one input for each seed: a mutated good one, with repaired checksums every other time."""
    good = [*TARGETS[name].seeds(), *corpus(name)]
    for seed in seeds:
        chance = random.Random(seed)
        data = mutated(chance.choice(good), good, chance)
        yield repaired(name, data) if seed % 2 else data


def attack(name: str, seeds: range) -> int:
    """Attack one target and return how many inputs it took for good."""
    taken = 0
    for data in inputs(name, seeds):
        with _kept(name, data), _timed():
            taken += TARGETS[name].attack(data)
    return taken


@contextlib.contextmanager
def _kept(name: str, data: bytes) -> Iterator[None]:
    """Keep the input that makes a find."""
    try:
        yield
    except BaseException:
        path = keep(name, data)
        sys.stderr.write(f"find: {path}\n")
        raise


def keep(name: str, data: bytes) -> Path:
    """Write an input into the corpus of its target."""
    folder = ROOT / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return path


@contextlib.contextmanager
def _timed() -> Iterator[None]:
    def late(*_: Any) -> None:
        raise TimeoutError(f"more than {LONGEST} seconds of work, or {PATIENCE} of waiting, for one input")

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, LONGEST), signal.ITIMER_REAL: (signal.SIGALRM, PATIENCE)}
    before = {number: signal.signal(number, late) for number, _ in timers.values()}
    for timer, (_, seconds) in timers.items():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def _limit_memory() -> None:
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help=", ".join(TARGETS))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.targets or TARGETS:
        TARGETS[name].attack(TARGETS[name].seeds()[0])  # everything is imported before memory is limited
    _limit_memory()
    for name in options.targets or TARGETS:
        taken = attack(name, range(options.seed, options.seed + options.count))
        print(f"{name}: {options.count} inputs, {taken} taken for good, no find", flush=True)


if __name__ == "__main__":
    main()
