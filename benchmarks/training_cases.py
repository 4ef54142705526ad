"""Programs that `training.py` times, written for Fluid 1.8.5 and fluidio alike (also for old Pythons).

    python training_cases.py CASE       (then as `training_serve.py` says)

Each case is a function that returns (loss, batches): add yours to CASES.
More of them are in `training_models.py`, `image_cases.py` and `legacy_cases.py`.
"""

import os
import sys

if os.environ.get("FLUID_UNDER_TEST") == "paddle":
    import paddle.fluid as fluid
else:
    import fluidio as fluid

import image_cases
import legacy_cases
import numpy as np
from training_models import MODELS
from training_serve import serve


def mlp():
    """784-100-10 on batches of 128, Adam."""
    x = fluid.layers.data(name="x", shape=[784], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="int64")
    hidden = fluid.layers.fc(input=x, size=100, act="relu")
    prob = fluid.layers.fc(input=hidden, size=10, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prob, label=y))
    fluid.optimizer.Adam(learning_rate=0.001).minimize(loss)
    rng = np.random.RandomState(0)
    batches = [
        {"x": rng.rand(128, 784).astype("float32"), "y": rng.randint(0, 10, (128, 1)).astype("int64")} for _ in range(8)
    ]
    return loss, batches


def lenet():
    """Two blocks of convolution and pooling on 28 x 28 images, batches of 64, Adam."""
    image = fluid.layers.data(name="image", shape=[1, 28, 28], dtype="float32")
    y = fluid.layers.data(name="y", shape=[1], dtype="int64")
    conv = fluid.layers.conv2d(input=image, num_filters=20, filter_size=5, act="relu")
    pool = fluid.layers.pool2d(input=conv, pool_size=2, pool_stride=2, pool_type="max")
    conv = fluid.layers.conv2d(input=pool, num_filters=50, filter_size=5, act="relu")
    pool = fluid.layers.pool2d(input=conv, pool_size=2, pool_stride=2, pool_type="max")
    prob = fluid.layers.fc(input=pool, size=10, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prob, label=y))
    fluid.optimizer.Adam(learning_rate=0.001).minimize(loss)
    rng = np.random.RandomState(0)
    batches = [
        {"image": rng.rand(64, 1, 28, 28).astype("float32"), "y": rng.randint(0, 10, (64, 1)).astype("int64")}
        for _ in range(4)
    ]
    return loss, batches


def words(batch, shortest, longest, vocabulary):
    """Return the input variables of a text classifier and four batches of sentences of different lengths."""
    word = fluid.layers.data(name="word", shape=[1], dtype="int64", lod_level=1)
    y = fluid.layers.data(name="y", shape=[1], dtype="int64")
    rng = np.random.RandomState(0)
    batches = []
    for _ in range(4):
        lengths = rng.randint(shortest, longest, batch).tolist()
        ids = rng.randint(0, vocabulary, (sum(lengths), 1)).astype("int64")
        text = fluid.create_lod_tensor(ids, [lengths], fluid.CPUPlace())
        batches.append({"word": text, "y": rng.randint(0, 2, (batch, 1)).astype("int64")})
    return word, y, batches


def lstm():
    """The book's stacked LSTM: three layers, hidden size 128, batches of 32 sentences of 10 to 100 words, Adam."""
    word, y, batches = words(32, 10, 100, 5000)
    embedded = fluid.layers.embedding(input=word, size=[5000, 128])
    projected = fluid.layers.fc(input=embedded, size=512)
    hidden, _ = fluid.layers.dynamic_lstm(input=projected, size=512)
    inputs = [projected, hidden]
    for layer in range(2, 4):
        projected = fluid.layers.fc(input=inputs, size=512)
        hidden, _ = fluid.layers.dynamic_lstm(input=projected, size=512, is_reverse=layer % 2 == 0)
        inputs = [projected, hidden]
    pooled = [fluid.layers.sequence_pool(input=i, pool_type="max") for i in inputs]
    prob = fluid.layers.fc(input=pooled, size=2, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prob, label=y))
    fluid.optimizer.Adam(learning_rate=0.002).minimize(loss)
    return loss, batches


def text_conv():
    """The book's text convolution: embedding and two sequence_conv_pool, batches of 32 sentences, Adam."""
    word, y, batches = words(32, 10, 100, 5000)
    embedded = fluid.layers.embedding(input=word, size=[5000, 128])
    pooled = [
        fluid.nets.sequence_conv_pool(input=embedded, num_filters=32, filter_size=n, act="tanh", pool_type="sqrt")
        for n in (3, 4)
    ]
    prob = fluid.layers.fc(input=pooled, size=2, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(input=prob, label=y))
    fluid.optimizer.Adam(learning_rate=0.002).minimize(loss)
    return loss, batches


CASES = {"mlp": mlp, "lenet": lenet, "lstm": lstm, "text_conv": text_conv}


def make():
    """Return a step of the case that the command line names."""
    fluid.default_startup_program().random_seed = fluid.default_main_program().random_seed = 1
    name = sys.argv[1]
    loss, batches = (
        CASES[name]() if name in CASES else dict(MODELS, **legacy_cases.CASES, **image_cases.CASES)[name](fluid)
    )
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    program, fetched = fluid.default_main_program(), [loss]
    if isinstance(loss, fluid.Program):
        program, fetched = loss, []
    done = [0]

    def step():
        exe.run(program, feed=batches[done[0] % len(batches)], fetch_list=fetched)
        done[0] += 1

    return step


if __name__ == "__main__":
    serve(make)
