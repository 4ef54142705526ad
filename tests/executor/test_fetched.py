"""Fetched arrays: numbers where scripts expect numbers, arrays everywhere else."""

from __future__ import annotations

import numpy as np
import pytest

from fluidio.executor.fetched import FetchedArray


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "std", "var", "prod", "argmax", "any", "all"])
def test_what_is_computed_of_all_elements_has_the_type_that_a_plain_array_gives(name: str) -> None:
    plain = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    fetched = plain.view(FetchedArray)
    assert type(getattr(fetched, name)()) is type(getattr(plain, name)())
    assert type(getattr(np, name)(fetched)) is type(getattr(np, name)(plain))
    assert repr(getattr(fetched, name)()) == repr(getattr(plain, name)())


def test_arithmetic_keeps_arrays_of_one_element_convertible() -> None:
    loss = np.array([2.5], np.float32).view(FetchedArray)
    assert (float(loss * 2), "%.1f" % np.sqrt(loss * 2.5), int(loss)) == (5.0, "2.5", 2)
    assert type(loss.reshape(1, 1).sum(axis=0)) is FetchedArray


def test_a_number_stays_one() -> None:
    number = np.array(3.0, np.float32).view(FetchedArray)
    assert isinstance(number + np.float32(1), np.floating)
