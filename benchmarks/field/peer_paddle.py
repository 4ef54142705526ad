"""PaddlePaddle: the real Fluid 1.8.5, or a 3.x in static mode; the same program for both."""

import sys

import paddle
from shared import W1_BATCH, W1_COUNT, W1_RECORD, W5_STEPS, case, main, steps, w1_arrays, w5_batches

FLUID = hasattr(paddle, "fluid")
if FLUID:
    import paddle.fluid as fluid

    layers, Executor, CPUPlace = fluid.layers, fluid.Executor, fluid.CPUPlace
    EOF = fluid.core.EOFException
    data, startup = fluid.data, fluid.default_startup_program
else:
    paddle.enable_static()
    from paddle import static

    Executor, CPUPlace = static.Executor, paddle.CPUPlace
    EOF = paddle.base.core.EOFException
    data, startup = static.data, static.default_startup_program


def _mean(x):
    return layers.mean(x) if FLUID else paddle.mean(x)


def _loader(variables):
    made = (fluid.io if FLUID else paddle.io).DataLoader
    return made.from_generator(feed_list=variables, capacity=8, iterable=False)


@case("w5", "feed", "feed_cached", "start_eof", "start_eof_cached")
def w5(run):
    batches = w5_batches()
    x = data(name="x", shape=[None, 784], dtype="float32")
    loader = None
    if run.variant.startswith("start_eof"):
        loader = _loader([x])
        loader.set_batch_generator(lambda: ((batch,) for batch in batches))
    mean = _mean(x)
    exe = Executor(CPUPlace())
    exe.run(startup())
    cached = run.variant.endswith("cached")
    if loader is None:
        exe.run(feed={"x": batches[0]}, fetch_list=[mean], use_program_cache=cached)
        with run.timed():
            for batch in batches:
                exe.run(feed={"x": batch}, fetch_list=[mean], use_program_cache=cached)
        return steps(W5_STEPS)
    loader.start()
    count = 0
    with run.timed():
        try:
            while True:
                exe.run(fetch_list=[mean], use_program_cache=cached)
                count += 1
        except EOF:
            loader.reset()
    assert count == W5_STEPS
    return steps(W5_STEPS)


def _mlp(image, label):
    if FLUID:
        logits = layers.fc(layers.fc(image, 100, act="relu"), 10)
        loss = layers.mean(layers.softmax_with_cross_entropy(logits, label))
        fluid.optimizer.Adam(1e-3).minimize(loss)
    else:
        logits = static.nn.fc(static.nn.fc(image, 100, activation="relu"), 10)
        loss = paddle.mean(paddle.nn.functional.softmax_with_cross_entropy(logits, label))
        paddle.optimizer.Adam(1e-3).minimize(loss)
    return loss


@case("w7", "mlp", "mlp_cached")
def w7(run):
    """As scripts of the time run it; "cached" uses the program cache, which they had to enable explicitly."""
    x, y = w1_arrays(run.folder, None)
    image = data(name="image", shape=[None, 784], dtype="float32")
    label = data(name="label", shape=[None, 1], dtype="int64")
    loss = _mlp(image, label)
    exe = Executor(CPUPlace())
    exe.run(startup())
    main_program = fluid.default_main_program() if FLUID else static.default_main_program()
    cached = run.variant.endswith("cached")
    losses = []
    with run.timed():
        for start in range(0, W1_COUNT, W1_BATCH):
            feed = {"image": x[start : start + W1_BATCH], "label": y[start : start + W1_BATCH]}
            losses.append(exe.run(main_program, feed=feed, fetch_list=[loss], use_program_cache=cached)[0])
    assert losses[-1].mean() < losses[0].mean()
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("fluid185" if sys.version_info < (3, 8) else "paddle3")
