"""The passes run on a plan after its ops are bound: small functions from steps to steps, in this order.

FLUIDIO_PASSES switches them for debugging: "none", or the names of those to run, separated by commas.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from fluidio.executor.bind import Step
from fluidio.executor.passes.chains import fuse_chains
from fluidio.executor.passes.constants import fold_constants
from fluidio.executor.passes.in_place import in_place
from fluidio.executor.passes.norm_relu import fuse_norm_relu, fuse_relu_norm_grad
from fluidio.executor.passes.shapes import keep_shapes
from fluidio.executor.passes.unwanted import leave_out_unwanted
from fluidio.executor.passes.uses import Facts, Pass

__all__ = ["PASSES", "optimised"]

PASSES: dict[str, Pass] = {
    "unwanted": leave_out_unwanted,
    "constants": fold_constants,
    "shapes": keep_shapes,
    "norm_relu": fuse_norm_relu,
    "relu_norm_grad": fuse_relu_norm_grad,
    "chains": fuse_chains,
    "in_place": in_place,
}


def _chosen() -> Sequence[str]:
    given = os.environ.get("FLUIDIO_PASSES", "all")
    if given == "all":
        return list(PASSES)
    names = [name.strip() for name in given.split(",") if name.strip() not in ("", "none")]
    for name in names:
        if name not in PASSES:
            raise ValueError(
                f"FLUIDIO_PASSES contains {name!r}; it takes all, none or names from this list: {', '.join(PASSES)}"
            )
    return [name for name in PASSES if name in names]


def optimised(steps: list[Step], facts: Facts) -> list[Step]:
    """Return steps that compute the same with less work; the given steps are not modified."""
    for name in _chosen():
        steps = PASSES[name](steps, facts)
    return steps
