"""Machine translation, small: GRU cells as encoder and decoder, trained by teacher forcing, decoded by beam search.

The language to learn: every word has another name, and the sentence is read from its end.

Run: python examples/machine_translation.py --epochs 12
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

import fluidio as fluid

START, END, WORDS = 0, 1, 12
LENGTH = 5
SIZE = 48


def pairs(count: int, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return sentences of five words and their translations."""
    source = np.random.default_rng(seed).integers(2, WORDS, (count, LENGTH))
    return source, 2 + (source[:, ::-1] - 2 + 3) % (WORDS - 2)


def encoder(source: Any) -> Any:
    """Return the state that holds the sentence."""
    embedded = fluid.embedding(source, size=[WORDS, SIZE], param_attr="source_table")
    cell = fluid.layers.GRUCell(hidden_size=SIZE, name="encoder")
    _, state = fluid.layers.rnn(cell=cell, inputs=embedded)
    return state


def decoder_parts() -> tuple[Any, Any, Any]:
    """Return embedding, cell and output layer, which training and inference share by their parameters' names."""

    def embed(x: Any) -> Any:
        return fluid.embedding(x, size=[WORDS, SIZE], param_attr="target_table")

    def output(x: Any) -> Any:
        return fluid.layers.fc(
            x, size=WORDS, num_flatten_dims=len(x.shape) - 1, param_attr="output_w", bias_attr="output_b"
        )

    return embed, fluid.layers.GRUCell(hidden_size=SIZE, name="decoder"), output


def train_network(source: Any) -> Any:
    """Return the mean cost of the next word, given the true words before it."""
    before = fluid.data(name="before", shape=[None, LENGTH + 1], dtype="int64")
    after = fluid.data(name="after", shape=[None, LENGTH + 1, 1], dtype="int64")
    embed, cell, output = decoder_parts()
    states, _ = fluid.layers.rnn(cell=cell, inputs=embed(before), initial_states=encoder(source))
    return fluid.layers.mean(fluid.layers.softmax_with_cross_entropy(logits=output(states), label=after))


def infer_network(source: Any, beam_size: int) -> Any:
    """Return the ids of the best translations, best first in the last axis."""
    embed, cell, output = decoder_parts()
    decoder = fluid.layers.BeamSearchDecoder(
        cell, start_token=START, end_token=END, beam_size=beam_size, embedding_fn=embed, output_fn=output
    )
    outputs, _ = fluid.layers.dynamic_decode(decoder=decoder, inits=encoder(source), max_step_num=LENGTH + 2)
    return outputs


def main() -> None:
    """Train, then translate what was not trained on."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--beam-size", type=int, default=3)
    options = parser.parse_args()

    train, startup, infer = fluid.Program(), fluid.Program(), fluid.Program()
    train.random_seed = startup.random_seed = 17
    with fluid.program_guard(train, startup), fluid.unique_name.guard():
        source = fluid.data(name="source", shape=[None, LENGTH], dtype="int64")
        cost = train_network(source)
        fluid.optimizer.Adam(learning_rate=0.01, grad_clip=fluid.clip.GradientClipByGlobalNorm(clip_norm=5.0)).minimize(
            cost
        )
    with fluid.program_guard(infer, fluid.Program()), fluid.unique_name.guard():
        source = fluid.data(name="source", shape=[None, LENGTH], dtype="int64")
        translations = infer_network(source, options.beam_size)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    sources, targets = pairs(1500, seed=1)
    for epoch in range(options.epochs):
        costs = []
        for start in range(0, len(sources), 50):
            rows = targets[start : start + 50]
            feed = {
                "source": sources[start : start + 50],
                "before": np.pad(rows, ((0, 0), (1, 0)), constant_values=START),
                "after": np.pad(rows, ((0, 0), (0, 1)), constant_values=END)[..., None],
            }
            costs.append(float(exe.run(train, feed=feed, fetch_list=[cost])[0]))
        if (epoch + 1) % 4 == 0:
            print(f"epoch {epoch + 1}: cost {np.mean(costs):.4f}")

    sources, targets = pairs(50, seed=2)
    (ids,) = exe.run(infer, feed={"source": sources}, fetch_list=[translations])
    best = ids[:, :LENGTH, 0]
    print(f"{sources[0].tolist()} -> {best[0].tolist()}, right: {targets[0].tolist()}")
    print(f"words right: {np.mean(best == targets):.3f}")


if __name__ == "__main__":
    main()
