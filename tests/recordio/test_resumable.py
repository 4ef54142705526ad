"""A pass over batches goes on where it was saved."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
    with pytest.raises(ValueError, match="saved with seed=1, but these batches have seed=2"):
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


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_pass_goes_on_in_any_number_of_parts(files: str, data: st.DataObject) -> None:
    """Each record comes once, whatever the numbers of parts before and after each interruption."""
    shuffle = data.draw(st.sampled_from([False, True, 16]))
    states: list[Any] = []
    found: list[int] = []
    for parts in data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)):
        found, states = one_run(files, parts, shuffle, found, states, lambda: data.draw(st.integers(0, 4)))
    parts = data.draw(st.integers(1, 5))
    found, _ = one_run(files, parts, shuffle, found, states, lambda: 1000)
    assert sorted(found) == sorted(itertools.chain(*labels(iter_batches(files, 7))))


def one_run(
    files: str, parts: int, shuffle: Any, found: list[int], states: list[Any], take: Callable[[], int]
) -> tuple[list[int], list[Any]]:
    """Read some batches in each part and return what was read so far and the states."""
    saved = []
    for number in range(parts):
        part = (number, parts) if parts > 1 else None
        batches = iter_batches(files, 7, shuffle=shuffle, seed=3, part=part)
        if states:
            batches.load_state_dict(states)
        count, left = take(), batches.total - batches.state_dict()["batches"]
        later = batches.state_after(count)
        taken = labels(itertools.islice(batches, count))
        assert len(taken) == min(count, left)
        assert later["batches"] == batches.state_dict()["batches"]
        found = [*found, *itertools.chain(*taken)]
        saved.append(json.loads(json.dumps(batches.state_dict())))
        batches.close()
    return found, saved


def test_the_states_of_all_parts_are_needed(files: str) -> None:
    states = [iter_batches(files, 7, part=(number, 3)).state_dict() for number in range(3)]
    for wrong in (states[:2], [*states, states[0]], []):
        with pytest.raises(ValueError, match="expected the states of all parts"):
            iter_batches(files, 7, part=(0, 2)).load_state_dict(wrong)
    with pytest.raises(
        ValueError, match="the state was saved with part=\\[1, 3\\], but these batches have part=\\[1, 2\\]"
    ):
        iter_batches(files, 7, part=(1, 2)).load_state_dict(states[1])


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("part", [None, (0, 3), (2, 3)])
def test_the_number_of_batches_is_known(files: str, part: Any, drop_last: bool) -> None:
    batches = iter_batches(files, 7, part=part, drop_last=drop_last)
    assert batches.total == len(labels(batches))
