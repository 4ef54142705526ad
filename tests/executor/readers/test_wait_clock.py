"""WaitClock judges an epoch by the share of it that was waiting."""

from fluidio.executor.readers.wait_clock import WaitClock


def epoch(clock: WaitClock, wait: float, step: float, count: int = 100) -> str:
    now = 50.0
    for _ in range(count):
        clock.note(now, now + wait)
        now += wait + step
    return clock.verdict(now, "train")


def test_an_epoch_of_waiting_is_told_once() -> None:
    clock = WaitClock()
    assert "waited for reader train during 75% of the epoch (9 of 12 s)" in epoch(clock, 0.09, 0.03)
    assert epoch(clock, 0.09, 0.03) == ""


def test_a_busy_program_and_a_short_epoch_say_nothing() -> None:
    clock = WaitClock()
    assert epoch(clock, 0.03, 0.09) == ""
    assert epoch(clock, 0.009, 0.003) == ""
    assert epoch(clock, 0.09, 0.03) != ""
