"""Group the rows of a tensor into sentences and paragraphs, and take them apart again.

Run: python examples/sequences.py
"""

from __future__ import annotations

import itertools

import numpy as np

from fluidio.places import CPUPlace
from fluidio.tensor import LoDTensor, create_lod_tensor


def sentences(tensor: LoDTensor) -> list[list[int]]:
    """Return the words of each sentence of a tensor with paragraphs (level 0) and sentences (level 1)."""
    words = np.array(tensor)[:, 0].tolist()
    offsets = tensor.lod()[-1]
    return [words[start:stop] for start, stop in itertools.pairwise(offsets)]


def main() -> None:
    """Print two paragraphs of two and one sentences, as lengths, offsets and words."""
    words = np.arange(9, dtype=np.int64).reshape(9, 1)
    tensor = create_lod_tensor(words, [[2, 1], [3, 2, 4]], CPUPlace())
    print("lengths ", tensor.recursive_sequence_lengths())
    print("offsets ", tensor.lod())
    print("sentences", sentences(tensor))


if __name__ == "__main__":
    main()
