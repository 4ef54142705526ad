"""Word vectors: an n-gram language model with shared embeddings on generated sentences.

Run: python examples/word2vec.py --epochs 4
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import paddle

SUBJECTS = ["cats", "dogs", "birds", "children"]
VERBS = {"cats": "chase", "dogs": "guard", "birds": "eat", "children": "like"}
OBJECTS = {"chase": "mice", "guard": "houses", "eat": "seeds", "like": "sweets"}
ADVERBS = ["often", "always", "never"]
WORDS = sorted({*SUBJECTS, *VERBS.values(), *OBJECTS.values(), *ADVERBS, "<e>", "the"})
INDEX = {word: number for number, word in enumerate(WORDS)}
N = 5


def grams(sentences: int, seed: int) -> Any:
    """Return a reader of 5-grams from sentences like "the cats often chase the mice <e>"."""

    def read() -> Iterator[Any]:
        rng = np.random.default_rng(seed)
        for _ in range(sentences):
            subject = SUBJECTS[rng.integers(len(SUBJECTS))]
            verb = VERBS[subject]
            text = ["the", subject, ADVERBS[rng.integers(3)], verb, "the", OBJECTS[verb], "<e>"]
            ids = [INDEX[word] for word in text]
            for start in range(len(ids) - N + 1):
                yield tuple(ids[start : start + N])

    return read


def network(words: list[Any], embedding_size: int) -> Any:
    """Predict the next word from four, all looked up in one table."""
    embedded = [
        fluid.layers.embedding(
            input=word, size=[len(WORDS), embedding_size], dtype="float32", is_sparse=True, param_attr="shared_w"
        )
        for word in words
    ]
    hidden = fluid.layers.fc(input=fluid.layers.concat(input=embedded, axis=1), size=64, act="sigmoid")
    return fluid.layers.fc(input=hidden, size=len(WORDS), act="softmax")


def nearest(word: str) -> str:
    """Return the word whose vector has the highest cosine with that of `word`."""
    table = np.array(fluid.global_scope().var("shared_w").get_tensor())
    table = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = table @ table[INDEX[word]]
    cosines[INDEX[word]] = -1
    return WORDS[int(np.argmax(cosines))]


def main() -> None:
    """Train, complete a sentence, and look at the vectors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--embedding", type=int, default=16)
    options = parser.parse_args()

    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 7
    random.seed(1)  # paddle.reader.shuffle draws from Python's own generator
    names = ["firstw", "secondw", "thirdw", "fourthw", "nextw"]
    words = [fluid.layers.data(name=name, shape=[1], dtype="int64") for name in names]
    predict = network(words[:-1], options.embedding)
    cost = fluid.layers.mean(fluid.layers.cross_entropy(input=predict, label=words[-1]))
    fluid.optimizer.Adagrad(learning_rate=0.1, regularization=fluid.regularizer.L2DecayRegularizer(1e-5)).minimize(cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(feed_list=words, place=fluid.CPUPlace())
    train = paddle.batch(paddle.reader.shuffle(grams(1000, seed=1), 1000), 50)
    for epoch in range(options.epochs):
        costs = [float(exe.run(feed=feeder.feed(batch), fetch_list=[cost])[0]) for batch in train()]
        print(f"epoch {epoch}: {len(costs)} steps, cost {np.mean(costs):.4f}")

    inference = fluid.default_main_program().clone(for_test=True)
    start = ["dogs", "often", "guard", "the"]
    feed: dict[str, Any] = {name: np.array([[INDEX[word]]]) for name, word in zip(names, start, strict=False)}
    feed["nextw"] = np.array([[0]])
    (scores,) = exe.run(inference, feed=feed, fetch_list=[predict])
    print(f"{' '.join(start)} ... {WORDS[int(np.argmax(scores))]}")
    print(f"nearest to often: {nearest('often')}")


if __name__ == "__main__":
    main()
