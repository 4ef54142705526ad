"""Sum small arrays over all trainers within an op."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidio.distributed import Intent, group, signature_of
from fluidio.ops.kernel import Call
from fluidio.tensor.array import Array

__all__ = ["sum_over_trainers"]


def sum_over_trainers(k: Call, arrays: Sequence[Array]) -> list[Array]:
    """Return the sums of arrays of one dtype, in one exchange."""
    sizes = [array.size for array in arrays]
    flat = np.concatenate([k.dev.download(array).reshape(-1) for array in arrays])
    trainers = group().meet(Intent.COLLECTIVE, signature_of([k.op.type, flat.size, flat.dtype.str]))
    trainers.all_reduce(flat).wait()
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    return [k.dev.upload(part).reshape(array.shape) for part, array in zip(parts, arrays)]
