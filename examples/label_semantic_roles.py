"""Label semantic roles: a bidirectional LSTM under a conditional random field, decoded and counted in chunks.

Run: python examples/label_semantic_roles.py --epochs 3
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import paddle

NOUNS, VERBS, ARTICLES, OTHERS = range(12), range(12, 18), range(18, 21), range(21, 40)
WORDS = 40
# Chunks in IOB: B-A0, I-A0, B-A1, I-A1, B-V, I-V, O
CHUNK_TYPES, LABELS = 3, 7
OUTSIDE = 6


def sentences(count: int, seed: int) -> Any:
    """Return a reader of (words, mark of the verb, labels): who (A0), verb (V), whom (A1), with fillers between."""

    def read() -> Iterator[Any]:
        rng = np.random.default_rng(seed)

        def phrase(begin: int) -> tuple[list[int], list[int]]:
            return [int(rng.choice(ARTICLES)), int(rng.choice(NOUNS))], [begin, begin + 1]

        def filler() -> tuple[list[int], list[int]]:
            words = [int(word) for word in rng.choice(OTHERS, rng.integers(0, 3))]
            return words, [OUTSIDE] * len(words)

        for _ in range(count):
            passive = bool(rng.integers(2))  # the verbs' second half turns who and whom round
            verb = int(rng.choice(VERBS[3:] if passive else VERBS[:3]))
            first, second = (2, 0) if passive else (0, 2)
            parts = [filler(), phrase(first), filler(), ([verb], [4]), filler(), phrase(second), filler()]
            words = [word for part, _ in parts for word in part]
            yield words, [int(word == verb) for word in words], [label for _, part in parts for label in part]

    return read


def network(words: Any, mark: Any) -> Any:
    """Return the scores of the labels of each word."""
    embedded = [
        fluid.layers.embedding(input=words, size=[WORDS, 16], param_attr="word_table"),
        fluid.layers.embedding(input=mark, size=[2, 4], param_attr="mark_table"),
    ]
    features = []
    for reverse in (False, True):
        projected = fluid.layers.fc(input=embedded, size=4 * 16)
        hidden, _ = fluid.layers.dynamic_lstm(input=projected, size=4 * 16, is_reverse=reverse, all_gates=True)
        features += [projected, hidden]
    return fluid.layers.fc(input=features, size=LABELS)


def main() -> None:
    """Train, and count the chunks found after each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()

    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 13
    words = fluid.layers.data(name="word_data", shape=[1], dtype="int64", lod_level=1)
    mark = fluid.layers.data(name="mark_data", shape=[1], dtype="int64", lod_level=1)
    target = fluid.layers.data(name="target", shape=[1], dtype="int64", lod_level=1)
    features = network(words, mark)
    likelihood = fluid.layers.linear_chain_crf(
        input=features, label=target, param_attr=fluid.ParamAttr(name="crfw", learning_rate=1.0)
    )
    avg_cost = fluid.layers.mean(likelihood)
    decoded = fluid.layers.crf_decoding(input=features, param_attr=fluid.ParamAttr(name="crfw"))
    *_, inferred, labelled, correct = fluid.layers.chunk_eval(
        input=decoded, label=target, chunk_scheme="IOB", num_chunk_types=CHUNK_TYPES
    )
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(
        learning_rate=fluid.layers.exponential_decay(learning_rate=0.02, decay_steps=100, decay_rate=0.8)
    ).minimize(avg_cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(feed_list=[words, mark, target], place=fluid.CPUPlace())
    train, test = paddle.batch(sentences(600, seed=1), 20), paddle.batch(sentences(100, seed=2), 50)
    for epoch in range(options.epochs):
        costs = [float(exe.run(feed=feeder.feed(batch), fetch_list=[avg_cost])[0]) for batch in train()]
        chunks = fluid.metrics.ChunkEvaluator()
        for batch in test():
            chunks.update(*exe.run(test_program, feed=feeder.feed(batch), fetch_list=[inferred, labelled, correct]))
        precision, recall, f1 = (float(np.mean(value)) for value in chunks.eval())
        print(f"epoch {epoch}: cost {np.mean(costs):.4f}, precision {precision:.3f}, recall {recall:.3f}, F1 {f1:.3f}")


if __name__ == "__main__":
    main()
