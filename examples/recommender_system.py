"""Recommender system: two towers (user, film) and their cosine, on generated ratings.

Run: python examples/recommender_system.py --epochs 4
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

import fluidio as fluid
from fluidio import paddle

USERS, FILMS, JOBS, AGES, CATEGORIES, TITLE_WORDS = 40, 60, 5, 4, 6, 50
NAMES = ["user_id", "gender_id", "age_id", "job_id", "movie_id", "category_id", "movie_title", "score"]


def ratings(count: int, seed: int) -> Any:
    """Return a reader of ratings: a user likes the categories that belong to his job."""
    world = np.random.default_rng(0)
    genders, ages, jobs = (world.integers(n, size=USERS) for n in (2, AGES, JOBS))
    categories = [world.permutation(CATEGORIES)[: 1 + film % 3] for film in range(FILMS)]
    titles = [world.integers(TITLE_WORDS, size=2 + film % 4) for film in range(FILMS)]
    taste = world.uniform(-1, 1, (JOBS, CATEGORIES))

    def read() -> Iterator[Any]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            user, film = int(rng.integers(USERS)), int(rng.integers(FILMS))
            score = 3 + 2 * float(np.mean(taste[jobs[user], categories[film]])) + rng.normal(0, 0.1)
            yield (
                [user],
                [int(genders[user])],
                [int(ages[user])],
                [int(jobs[user])],
                [film],
                categories[film].tolist(),
                titles[film].tolist(),
                [float(np.clip(score, 1, 5))],
            )

    return read


def looked_up(name: str, count: int, size: int) -> tuple[Any, Any]:
    """Return an id's variable and a layer over its embedding."""
    number = fluid.data(name=name, shape=[None], dtype="int64")
    embedded = fluid.embedding(input=number, size=[count, size], param_attr=f"{name}_table", is_sparse=True)
    return number, fluid.layers.fc(input=embedded, size=16)


def user_tower() -> tuple[list[Any], Any]:
    """Return inputs and features of users."""
    sizes = {"user_id": (USERS, 16), "gender_id": (2, 8), "age_id": (AGES, 8), "job_id": (JOBS, 8)}
    pairs = [looked_up(name, *size) for name, size in sizes.items()]
    joined = fluid.layers.concat(input=[layer for _, layer in pairs], axis=1)
    return [number for number, _ in pairs], fluid.layers.fc(input=joined, size=32, act="tanh")


def film_tower() -> tuple[list[Any], Any]:
    """Return inputs and features of films: their id, their categories, and their titles by a convolution."""
    film, film_layer = looked_up("movie_id", FILMS, 16)
    category = fluid.data(name="category_id", shape=[None], dtype="int64", lod_level=1)
    table = fluid.embedding(input=category, size=[CATEGORIES, 16], is_sparse=True)
    category_layer = fluid.layers.sequence_pool(input=table, pool_type="sum")
    title = fluid.data(name="movie_title", shape=[None], dtype="int64", lod_level=1)
    words = fluid.embedding(input=title, size=[TITLE_WORDS, 16], is_sparse=True)
    title_layer = fluid.nets.sequence_conv_pool(input=words, num_filters=16, filter_size=3, act="tanh", pool_type="sum")
    joined = fluid.layers.concat(input=[film_layer, category_layer, title_layer], axis=1)
    return [film, category, title], fluid.layers.fc(input=joined, size=32, act="tanh")


def main() -> None:
    """Train, test, and predict one rating."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args()

    fluid.default_main_program().random_seed = fluid.default_startup_program().random_seed = 11
    users, user_features = user_tower()
    films, film_features = film_tower()
    rating = fluid.layers.scale(x=fluid.layers.cos_sim(X=user_features, Y=film_features), scale=5.0)
    score = fluid.data(name="score", shape=[None, 1], dtype="float32")
    cost = fluid.layers.mean(fluid.layers.square_error_cost(input=rating, label=score))
    test_program = fluid.default_main_program().clone(for_test=True)
    fluid.optimizer.Adam(learning_rate=0.01).minimize(cost)

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    feeder = fluid.DataFeeder(feed_list=[*users, *films, score], place=fluid.CPUPlace())
    train, test = paddle.batch(ratings(3000, seed=1), 50), paddle.batch(ratings(300, seed=2), 100)
    for epoch in range(options.epochs):
        costs = [float(exe.run(feed=feeder.feed(batch), fetch_list=[cost])[0]) for batch in train()]
        tests = [float(exe.run(test_program, feed=feeder.feed(batch), fetch_list=[cost])[0]) for batch in test()]
        print(f"epoch {epoch}: cost {np.mean(costs):.4f}, test cost {np.mean(tests):.4f}")

    row = next(ratings(1, seed=3)())
    feed = {
        name: fluid.create_lod_tensor(np.array(value, "int64"), [[len(value)]], fluid.CPUPlace())
        for name, value in zip(NAMES[:-1], row[:-1], strict=True)
    }
    inference = test_program._prune_with_input(NAMES[:-1], [rating])
    (guess,) = exe.run(inference, feed=feed, fetch_list=[rating], return_numpy=False)
    print(f"user {row[0][0]}, film {row[4][0]}: predicted {float(np.array(guess)[0, 0]):.2f}, given {row[7][0]:.2f}")


if __name__ == "__main__":
    main()
