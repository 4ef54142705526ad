"""The classic programs in examples/ learn what they are there to learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.examples.running import numbers, run_example

Run = Callable[..., list[str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Run:
    return lambda script, *arguments: run_example(monkeypatch, capfd, script, *arguments)


def test_fit_a_line_finds_the_line_and_infers_prices(run: Run) -> None:
    lines = run("fit_a_line.py", "--epochs", "10")
    assert len(lines) == 6
    assert numbers(lines[1])[-1] < 0.02
    assert all(abs(price - truth) < 0.5 for price, truth in map(numbers, lines[2:]))


@pytest.mark.parametrize(
    ("network", "source", "accuracy"),
    [("softmax", "loader", 0.85), ("mlp", "py_reader", 0.9), ("conv", "recordio", 0.9), ("mlp", "recordio", 0.9)],
)
def test_digits_are_recognised_from_every_source(run: Run, network: str, source: str, accuracy: float) -> None:
    lines = run("recognize_digits.py", "--network", network, "--source", source, "--epochs", "3")
    assert [numbers(line)[1] for line in lines] == [24, 24, 24]
    assert numbers(lines[-1])[-1] > accuracy


@pytest.mark.parametrize("network", ["resnet", "vgg"])
def test_pictures_are_classified(run: Run, network: str) -> None:
    lines = run("image_classification.py", "--network", network)
    assert numbers(lines[-1])[-1] > 0.8


def test_word2vec_completes_a_sentence(run: Run) -> None:
    lines = run("word2vec.py", "--epochs", "2")
    assert numbers(lines[1])[-1] < 0.05
    assert lines[2] == "dogs often guard the ... houses"
    assert lines[3].split()[-1] in ("always", "never")


def test_the_recommender_predicts_ratings(run: Run) -> None:
    lines = run("recommender_system.py", "--epochs", "3")
    assert numbers(lines[2])[-1] < 0.1 < numbers(lines[0])[-1]
    *_, predicted, given = numbers(lines[-1])
    assert abs(predicted - given) < 1


@pytest.mark.parametrize(("network", "epochs"), [("conv", "2"), ("lstm", "4")])
def test_sentiment_is_understood_from_recordio(run: Run, network: str, epochs: str) -> None:
    lines = run("understand_sentiment.py", "--network", network, "--epochs", epochs)
    assert lines[0] == "wrote 1000 and 200 reviews"
    assert numbers(lines[1])[1] == 32
    assert numbers(lines[-1])[-1] > 0.85


def test_roles_are_labelled(run: Run) -> None:
    lines = run("label_semantic_roles.py", "--epochs", "2")
    assert numbers(lines[-1])[-1] > 0.95


def test_sentences_are_translated_by_beam_search(run: Run) -> None:
    lines = run("machine_translation.py")
    assert numbers(lines[-1])[-1] > 0.85


def test_the_gan_draws_a_ring(run: Run) -> None:
    lines = run("gan.py")
    *_, radius, spread = numbers(lines[-1])
    assert 0.8 < radius < 1.2
    assert spread > 0.4
