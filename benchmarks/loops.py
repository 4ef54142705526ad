"""What a loop costs: a step of recurrent programs beside the same one unrolled."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import fluidio as fluid

STEPS, BATCH, SIZE = 20, 32, 128
Body = Callable[[Any, Any], Any]


def cell(x: Any, state: Any) -> Any:
    """Return the next state; the layers share their parameters by name."""
    both = fluid.layers.concat([x, state], axis=1)
    gate = fluid.layers.fc(both, SIZE, act="sigmoid", param_attr="gate_w", bias_attr="gate_b")
    new = fluid.layers.fc(both, SIZE, act="tanh", param_attr="new_w", bias_attr="new_b")
    return gate * state + new


def unrolled(x: Any) -> Any:
    """Return the last state, computed by one op after the other."""
    state = fluid.layers.fill_constant([BATCH, SIZE], "float32", 0.0)
    for step in range(STEPS):
        state = cell(fluid.layers.slice(x, [0], [step], [step + 1])[0], state)
    return state


def static_rnn(x: Any) -> Any:
    """Return the last state of a StaticRNN."""
    rnn = fluid.layers.StaticRNN()
    with rnn.step():
        now = rnn.step_input(x)
        state = rnn.memory(shape=[-1, SIZE], batch_ref=now)
        new = cell(now, state)
        rnn.update_memory(state, new)
        rnn.step_output(new)
    return rnn()[STEPS - 1]


def while_loop(x: Any) -> Any:
    """Return the last state of a while_loop."""
    layers = fluid.layers
    limit = layers.fill_constant([1], "int64", STEPS)
    start = layers.fill_constant([1], "int64", 0)
    state = layers.fill_constant([BATCH, SIZE], "float32", 0.0)
    state.stop_gradient = False

    def body(step: Any, state: Any) -> list[Any]:
        now = layers.reshape(layers.gather(x, step), [BATCH, SIZE])
        return [layers.increment(step), cell(now, state)]

    return layers.while_loop(lambda step, state: layers.less_than(step, limit), body, [start, state])[1]


def dynamic_rnn(x: Any) -> Any:
    """Return the last state of a DynamicRNN over sequences of one length."""
    layers = fluid.layers
    rows = layers.reshape(layers.transpose(x, [1, 0, 2]), [BATCH * STEPS, SIZE])
    rows = layers.lod_reset(rows, target_lod=[STEPS * i for i in range(BATCH + 1)])
    rnn = layers.DynamicRNN()
    with rnn.block():
        now = rnn.step_input(rows)
        state = rnn.memory(shape=[SIZE])
        new = cell(now, state)
        rnn.update_memory(state, new)
        rnn.output(new)
    return layers.sequence_last_step(rnn())


def made(build: Callable[[Any], Any]) -> Callable[[], Any]:
    """Return a training step of a program."""
    main, startup, scope = fluid.Program(), fluid.Program(), fluid.Scope()
    main.random_seed = startup.random_seed = 1
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        x = fluid.layers.data("x", [STEPS, BATCH, SIZE], append_batch_size=False)
        loss = fluid.layers.mean(build(x))
        fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"x": np.random.default_rng(0).standard_normal((STEPS, BATCH, SIZE), dtype=np.float32)}
    exe.run(startup, scope=scope)
    return lambda: exe.run(main, feed=feed, fetch_list=[loss], scope=scope)[0]


def main() -> None:
    """Measure alternately and print the medians."""
    builds = (unrolled, static_rnn, while_loop, dynamic_rnn)
    steps = [made(build) for build in builds]
    first = [float(step()[0]) for step in steps]
    assert max(first) - min(first) < 1e-5, first
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(60):
        for step, found in zip(steps, times):
            began = time.perf_counter()
            step()
            found.append(time.perf_counter() - began)
    base = float(np.median(times[0]))
    for build, found in zip(builds, times):
        median = float(np.median(found))
        print(f"{build.__name__:12s} {1000 * median:7.2f} ms  {median / base:5.2f} x the unrolled program")


if __name__ == "__main__":
    main()
