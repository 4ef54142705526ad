"""A generative adversarial network: two programs that share parameters learn a ring of points from each other.

Run: python examples/gan.py --steps 600
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

import fluidio as fluid

NOISE, BATCH = 4, 128


def real_points(rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return points on a noisy circle of radius 1."""
    angles = rng.uniform(0, 2 * np.pi, BATCH)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1) + rng.normal(0, 0.05, (BATCH, 2))
    return points.astype("float32")


def generator(noise: Any) -> Any:
    """Turn noise into points."""
    hidden = fluid.layers.fc(noise, size=32, act="relu", param_attr="g_w1", bias_attr="g_b1")
    hidden = fluid.layers.fc(hidden, size=32, act="relu", param_attr="g_w2", bias_attr="g_b2")
    return fluid.layers.fc(hidden, size=2, param_attr="g_w3", bias_attr="g_b3")


def discriminator(points: Any) -> Any:
    """Say how real points look."""
    hidden = fluid.layers.fc(points, size=32, act="leaky_relu", param_attr="d_w1", bias_attr="d_b1")
    hidden = fluid.layers.fc(hidden, size=32, act="leaky_relu", param_attr="d_w2", bias_attr="d_b2")
    return fluid.layers.fc(hidden, size=1, param_attr="d_w3", bias_attr="d_b3")


def loss_against(logits: Any, value: float) -> Any:
    """Return the cost of saying `logits` where `value` is right."""
    truth = fluid.layers.fill_constant_batch_size_like(logits, shape=[-1, 1], dtype="float32", value=value)
    return fluid.layers.reduce_mean(fluid.layers.sigmoid_cross_entropy_with_logits(logits, truth))


def parameters(program: Any, prefix: str) -> list[str]:
    """Return the names of the parameters of one of the two networks."""
    return [p.name for p in program.global_block().all_parameters() if p.name.startswith(prefix)]


def main() -> None:
    """Let the two play, and look at the generated points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    options = parser.parse_args()

    d_program, g_program, startup = fluid.Program(), fluid.Program(), fluid.Program()
    d_program.random_seed = g_program.random_seed = startup.random_seed = 19
    with fluid.program_guard(d_program, startup):
        real = fluid.data(name="real", shape=[None, 2], dtype="float32")
        fake = fluid.data(name="fake", shape=[None, 2], dtype="float32")
        d_loss = loss_against(discriminator(real), 0.9) + loss_against(discriminator(fake), 0.0)
        fluid.optimizer.Adam(learning_rate=2e-3, beta1=0.5).minimize(d_loss, parameter_list=parameters(d_program, "d_"))
    with fluid.program_guard(g_program, startup):
        noise = fluid.data(name="noise", shape=[None, NOISE], dtype="float32")
        points = generator(noise)
        only_points = g_program.clone(for_test=True)
        g_loss = loss_against(discriminator(points), 1.0)
        fluid.optimizer.Adam(learning_rate=2e-3, beta1=0.5).minimize(g_loss, parameter_list=parameters(g_program, "g_"))

    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    rng = np.random.default_rng(1)

    def fresh_noise() -> npt.NDArray[np.float32]:
        return rng.normal(size=(BATCH, NOISE)).astype("float32")

    for step in range(options.steps):
        (made,) = exe.run(only_points, feed={"noise": fresh_noise()}, fetch_list=[points])
        (d_cost,) = exe.run(d_program, feed={"real": real_points(rng), "fake": made}, fetch_list=[d_loss])
        (g_cost,) = exe.run(g_program, feed={"noise": fresh_noise()}, fetch_list=[g_loss])
        if (step + 1) % 200 == 0:
            radius = np.linalg.norm(made, axis=1)
            print(
                f"step {step + 1}: d loss {float(d_cost):.3f}, g loss {float(g_cost):.3f}, "
                f"mean radius {radius.mean():.3f}, spread of x {made[:, 0].std():.3f}"
            )


if __name__ == "__main__":
    main()
