"""Word vectors whose table is divided among the trainers.

Skip-gram with negative sampling on sentences that are made up: words of one topic occur together. The table of words
lives split over the trainers, each has every n-th row; it is saved as one file, which one process can load.

Run:
    python examples/distributed/word2vec.py                               (one process)
    torchrun --nproc-per-node 2 examples/distributed/word2vec.py          (or mpiexec -n 2 python ...)
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio.distributed import export_paddle_variables, trainer_count

WORDS, TOPICS, WIDTH, NEGATIVES = 400, 8, 16, 4


def batches(steps: int, size: int) -> Iterator[dict[str, Any]]:
    """Yield centre words, words next to them, and words from anywhere."""
    rng = np.random.default_rng(1)
    for _ in range(steps):
        topic = rng.integers(0, TOPICS, (size, 1))
        centre, near = (topic + TOPICS * rng.integers(0, WORDS // TOPICS, (size, 1)) for _ in range(2))
        yield {"centre": centre, "near": near, "far": rng.integers(0, WORDS, (size, NEGATIVES))}


def build(rate: float) -> Any:
    """Build the model and return its loss."""
    layers = fluid.layers
    names = ("centre", "near", "far")
    centre, near, far = (layers.data(n, [1 if n != "far" else NEGATIVES], dtype="int64") for n in names)

    def vectors(ids: Any, count: int, table: str) -> Any:
        flat = layers.reshape(ids, [-1, 1])
        attr = fluid.ParamAttr(name=table, initializer=fluid.initializer.Uniform(-0.1, 0.1, seed=5))
        found = layers.embedding(flat, [WORDS, WIDTH], is_sparse=True, is_distributed=True, param_attr=attr)
        return layers.reshape(found, [-1, count, WIDTH])

    word = vectors(centre, 1, "words")
    right = layers.reduce_sum(vectors(near, 1, "contexts") * word, dim=2)
    wrong = layers.reduce_sum(vectors(far, NEGATIVES, "contexts") * word, dim=2)
    score = layers.reduce_mean(layers.logsigmoid(right)) + layers.reduce_mean(layers.logsigmoid(wrong * -1.0))
    loss = layers.mean(score * -1.0)
    fluid.optimizer.Adagrad(rate).minimize(loss)
    return loss


def likeness(table: Any) -> float:
    """Return how much more alike two words of one topic are than any two: the difference of mean cosines."""
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosine = unit @ unit.T
    same = np.equal.outer(np.arange(WORDS) % TOPICS, np.arange(WORDS) % TOPICS)
    return float(cosine[same].mean() - cosine.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=256, help="of all trainers together")
    parser.add_argument("--model", default="", help="save the table of words in this folder")
    args = parser.parse_args()
    export_paddle_variables()
    trainer, trainers = trainer_count()
    loss = build(0.2)
    program, startup = fluid.default_main_program(), fluid.default_startup_program()
    if trainers > 1:
        config = fluid.DistributeTranspilerConfig()
        config.mode = "nccl2"
        fluid.DistributeTranspiler(config).transpile(trainer, trainers=trainers)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    begin, end = args.batch * trainer // trainers, args.batch * (trainer + 1) // trainers
    last: Any = [float("nan")]
    for feed in batches(args.steps, args.batch):
        last = exe.run(program, feed={name: ids[begin:end] for name, ids in feed.items()}, fetch_list=[loss])
    if trainer == 0:
        held: Any = fluid.global_scope().find_var("words")
        table = np.array(held.get_tensor())  # of all trainers
        if args.model:
            fluid.io.save_params(exe, args.model, program)
        print(f"loss {float(last[0]):.3f}, words of one topic are more alike by {likeness(table):.2f}")
    exe.close()


if __name__ == "__main__":
    main()
