"""Build LoDTensors from lists and arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fluidio.places import PlaceLike
from fluidio.tensor.lod_tensor import LoDTensor

__all__ = ["create_lod_tensor", "create_random_int_lodtensor"]


def create_lod_tensor(data: object, recursive_seq_lens: Sequence[Sequence[int]], place: PlaceLike) -> LoDTensor:
    """Return a LoDTensor of `data` whose rows are grouped by `recursive_seq_lens`.

    Args:
        data: a LoDTensor, an ndarray of all rows, or a list of sequences (one level), flattened to [N, 1].
        recursive_seq_lens: lengths for each level, outermost first.

    Example:
        >>> from fluidio.places import CPUPlace
        >>> create_lod_tensor(np.zeros((5, 3), "float32"), [[2, 3]], CPUPlace()).lod()
        [[0, 2, 5]]
    """
    if isinstance(data, LoDTensor):
        return create_lod_tensor(np.array(data), recursive_seq_lens, place)
    if isinstance(data, list):
        found = [[len(sequence) for sequence in data]]
        if [list(level) for level in recursive_seq_lens] != found:
            raise AssertionError(
                f"create_lod_tensor: the lists in data have lengths {found}, but recursive_seq_lens says "
                f"{recursive_seq_lens}"
            )
        flat = np.concatenate([np.asarray(sequence) for sequence in data], axis=0) if data else np.zeros(0)
        return create_lod_tensor(flat.reshape([*flat.shape, 1]), recursive_seq_lens, place)
    if isinstance(data, np.ndarray):
        tensor = LoDTensor()
        tensor.set(data, place)
        tensor.set_recursive_sequence_lengths(recursive_seq_lens)
        return tensor
    raise TypeError(f"create_lod_tensor: data must be a LoDTensor, a NumPy array or a list, got {type(data).__name__}")


def create_random_int_lodtensor(
    recursive_seq_lens: Sequence[Sequence[int]], base_shape: Sequence[int], place: PlaceLike, low: int, high: int
) -> LoDTensor:
    """Return int64 rows of `base_shape`, uniform in low..high (both included), grouped by `recursive_seq_lens`."""
    if not isinstance(base_shape, (list, tuple)):
        raise AssertionError(f"create_random_int_lodtensor: base_shape must be a list, got {type(base_shape).__name__}")
    shape = [sum(recursive_seq_lens[-1]), *base_shape]
    data = np.random.randint(low, high + 1, shape).astype("int64")
    return create_lod_tensor(data, recursive_seq_lens, place)
