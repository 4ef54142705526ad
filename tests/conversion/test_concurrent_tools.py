"""Several tools make one set at the same time, some of them die, others read: each record once, or an error."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fluidio
from fluidio.conversion.copying import copy
from fluidio.conversion.reshard import shuffle, split
from fluidio.errors import FluidioError
from fluidio.recordio import Writer
from tests.conversion.test_shard_sets import content_of, dying

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="platform: there is no fork")


def source(output: str, content: range) -> str:
    """Write records to a file of this process and return its path."""
    path = f"{os.path.dirname(output)}/source-{os.getpid()}"
    with Writer(path) as writer:
        for number in content:
            writer.write(str(number))
    return path


def copied(output: str, shards: int, content: range) -> None:
    """Make a set elsewhere and copy it."""
    folder = f"{os.path.dirname(output)}/folder-{os.getpid()}"
    os.makedirs(folder, exist_ok=True)
    made = split(source(output, content), f"{folder}/{os.path.basename(output)}", shards)
    copy(made, os.path.dirname(output))


MAKERS: dict[str, Callable[[str, int, range], Any]] = {
    "convert": lambda output, shards, content: fluidio.convert(
        os.path.dirname(output), lambda: iter(content), shards, os.path.basename(output)
    ),
    "split": lambda output, shards, content: split(source(output, content), output, shards),
    "shuffle": lambda output, shards, content: shuffle(source(output, content), output, shards),
    "cp": copied,
}


def started(steps: int, work: Callable[[], Any]) -> int:
    """Begin some work in a forked process that dies before step number `steps` on the disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        dying(steps, work)
    return child


@pytest.mark.parametrize("seed", range(8))
def test_each_record_once_or_an_error_with_tools_side_by_side(seed: int, tmp_path: Path) -> None:
    dice, output = random.Random(seed), str(tmp_path / "x")
    contents: list[list[int]] = []
    for _ in range(5):
        children = {}
        for _ in range(dice.randint(1, 3)):
            maker, shards = MAKERS[dice.choice(sorted(MAKERS))], dice.randint(1, 4)
            content = range(dice.randint(shards, 30))
            contents.append(list(content))
            steps = dice.choice([dice.randint(0, 40), 10**9])
            children[started(steps, lambda: maker(output, shards, content))] = list(content)  # noqa: B023
        check(output, contents)  # while they work
        ends = {child: os.waitpid(child, 0)[1] for child in children}
        there = check(output, contents)
        if any(status == 0 for status in ends.values()) and len(children) == 1:
            assert there == next(iter(children.values()))
    MAKERS["split"](output, 2, range(9))
    assert content_of(output) == list(range(9))


def check(output: str, contents: list[list[int]]) -> list[int] | None:
    """Read the set: it is one that somebody made, or there is an error, or a warning that shards were replaced."""
    try:
        found = content_of(output)
    except (FluidioError, OSError, UserWarning):
        return None
    assert found in contents
    return found
