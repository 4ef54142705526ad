"""examples/recordio_guide.py and examples/async_reading.py learn, and print what they did."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.examples.running import run_example


def test_the_recordio_guide_trains_and_shares_files(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    lines = run_example(monkeypatch, capfd, "recordio_guide.py", "--epochs", "2")
    assert lines[0] == "wrote 1797 records"
    first, second = (float(line.split()[-1]) for line in lines[1:3])
    assert second < first < 1.2
    assert lines[3] == "wrote 1797 records into 5 files"
    records = [int(number) for line in lines[4:] for number in re.findall(r"(\d+) records", line)]
    assert len(records) == 2
    assert sum(records) == 1797


@pytest.mark.parametrize("iterable", ["0", "1"])
@pytest.mark.parametrize("generator", ["sample", "sample_list", "batch"])
def test_the_async_guide_trains_and_tests_for_ten_epochs(
    monkeypatch: pytest.MonkeyPatch, capfd: Any, iterable: str, generator: str
) -> None:
    lines = run_example(monkeypatch, capfd, "async_reading.py", "--iterable", iterable, "--generator", generator)
    assert len(lines) == 10
    assert all("12 + 6 steps" in line for line in lines)
    losses = [float(line.split("test loss ")[1]) for line in lines]
    assert losses[-1] < 0.6 < losses[0]
