"""DataFeeder turns samples into feeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import fluidio as fluid
from fluidio.testing import fresh

SENTENCES = st.lists(st.lists(st.integers(0, 99), max_size=4), min_size=1, max_size=4).filter(any)


def _feeder(*variables: Any) -> fluid.DataFeeder:
    return fluid.DataFeeder(list(variables), fluid.CPUPlace())


@given(SENTENCES)
def test_sequences_get_their_lod(sentences: list[list[int]]) -> None:
    with fresh():
        feeder = _feeder(fluid.layers.data("words", shape=[1], dtype="int64", lod_level=1))
        tensor = feeder.feed([(sentence,) for sentence in sentences])["words"]
    assert tensor.recursive_sequence_lengths() == [[len(sentence) for sentence in sentences]]
    assert np.array(tensor)[:, 0].tolist() == [word for sentence in sentences for word in sentence]
    assert tensor.has_valid_recursive_sequence_lengths()


@given(st.lists(SENTENCES, min_size=1, max_size=3))
def test_sequences_of_sequences_get_two_levels(paragraphs: list[list[list[int]]]) -> None:
    with fresh():
        feeder = _feeder(fluid.layers.data("words", shape=[1], dtype="int64", lod_level=2))
        tensor = feeder.feed([(paragraph,) for paragraph in paragraphs])["words"]
    assert tensor.recursive_sequence_lengths() == [
        [len(paragraph) for paragraph in paragraphs],
        [len(sentence) for paragraph in paragraphs for sentence in paragraph],
    ]
    assert tensor.has_valid_recursive_sequence_lengths()


def test_what_was_fed_can_be_run() -> None:
    x = fluid.layers.data("x", shape=[2])
    fed = _feeder(x).feed([([1, -2],)])
    (result,) = fluid.Executor(fluid.CPUPlace()).run(feed=fed, fetch_list=[fluid.layers.abs(x)])
    assert result.tolist() == [[1, 2]]
