"""A pass over batches goes on where it was saved."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.recordio import Writer, iter_batches


@pytest.fixture
def files(tmp_path: Path) -> str:
    for number in range(3):
        with Writer(str(tmp_path / f"r-{number}"), max_num_records=8) as writer:
            writer.write_block([np.arange(number * 40, number * 40 + 40 - number).reshape(-1, 1)])
    return str(tmp_path / "r-*")


def labels(batches: Any) -> list[list[int]]:
    return [batch[0].ravel().tolist() for batch in batches]


@pytest.mark.parametrize("part", [None, (1, 3)])
@pytest.mark.parametrize("shuffle", [False, True, 16])
@pytest.mark.parametrize("taken", [0, 1, 3, 100])
def test_a_saved_pass_goes_on(files: str, shuffle: Any, taken: int, part: Any) -> None:
    options: dict[str, Any] = {"shuffle": shuffle, "seed": 3, "epoch": 2, "part": part}
    whole = labels(iter_batches(files, 7, **options))
    first = iter_batches(files, 7, **options)
    begun = list(itertools.islice(first, taken))
    state = json.loads(json.dumps(first.state_dict()))
    first.close()
    rest = iter_batches(files, 7, **options)
    rest.load_state_dict(state)
    assert labels(begun) + labels(rest) == whole


def test_a_state_of_another_order_is_refused(files: str) -> None:
    state = iter_batches(files, 7, seed=1).state_dict()
    with pytest.raises(ValueError, match="the state is of seed=1, these batches have seed=2"):
        iter_batches(files, 7, seed=2).load_state_dict(state)


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_torch_data_set_goes_on_in_the_middle_of_a_pass(files: str, shuffle: bool) -> None:
    pytest.importorskip("torch", reason="extra: torch is not installed")
    from fluidio.torch import IterableRecords

    data = IterableRecords(files, 7, shuffle=shuffle)
    passes = [labels(data) for _ in range(3)]
    again = IterableRecords(files, 7, shuffle=shuffle)
    assert labels(again) == passes[0]
    begun = iter(again)
    taken = [next(begun)[0].ravel().tolist() for _ in range(4)]
    state = json.loads(json.dumps(again.state_dict()))
    fresh = IterableRecords(files, 7, shuffle=shuffle)
    fresh.load_state_dict(state)
    assert taken + labels(fresh) == passes[1]
    assert labels(fresh) == passes[2]  # passes are counted on from there
