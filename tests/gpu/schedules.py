"""The ways in which a GPU may take its time."""

from __future__ import annotations

from typing import Any

SCHEDULES = ["slow copies", "slow kernels", "jitter", "lazy"]


def slow_down(sim: Any, how: str, microseconds: int = 300) -> None:
    """Let the simulator's copies or kernels, or both at random, take longer; or everything come as late as it may."""
    if how == "lazy":
        sim.schedule("lazy")
    else:
        copy, kernel, jitter = (microseconds * (how == name) for name in ("slow copies", "slow kernels", "jitter"))
        sim.delays(copy=copy, kernel=kernel // 3, jitter=jitter, seed=microseconds)
