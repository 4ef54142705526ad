"""The life of a reader: which events are legal when."""

import itertools

import pytest

from fluidio.errors import EnforceNotMet
from fluidio.flow.lifecycle import Event, State, step


@pytest.mark.parametrize("state", [s for s in State if s is not State.CLOSED])
def test_reset_is_legal_in_every_state_and_may_be_repeated(state: State) -> None:
    assert step(step(state, Event.RESET), Event.RESET) is State.IDLE


@pytest.mark.parametrize("state", [s for s in State if s is not State.CLOSED])
def test_start_begins_an_epoch_from_every_state(state: State) -> None:
    assert step(state, Event.START) is State.RUNNING


def test_reading_before_start_says_what_to_do() -> None:
    with pytest.raises(EnforceNotMet, match=r"reader train is not started: call start\(\)"):
        step(State.IDLE, Event.READ, "train")


def test_the_end_stays_the_end() -> None:
    assert step(step(State.ENDED, Event.READ), Event.END) is State.ENDED


@pytest.mark.parametrize("event", [e for e in Event if e is not Event.CLOSE])
def test_nothing_wakes_a_closed_reader(event: Event) -> None:
    with pytest.raises(EnforceNotMet, match="is closed"):
        step(State.CLOSED, event)


def test_every_pair_has_an_answer() -> None:
    for state, event in itertools.product(State, Event):
        try:
            assert isinstance(step(state, event), State)
        except EnforceNotMet as error:
            assert str(error)
