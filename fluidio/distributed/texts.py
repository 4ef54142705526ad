"""Exchange short texts between trainers."""

from __future__ import annotations

import numpy as np

from fluidio.distributed.communicator import Communicator
from fluidio.distributed.group import Group, Intent, signature_of

__all__ = ["gather_texts"]


def gather_texts(group: Group, text: str) -> dict[int, str]:
    """Return the texts of all trainers by trainer id; every trainer must call this."""
    trainers: Communicator = group.meet(Intent.COLLECTIVE, signature_of(["texts"]))
    mine = np.frombuffer(text.encode(), np.uint8)
    lengths = trainers.all_gather(np.array([len(mine)], np.int64))[:, 0]
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: len(mine)] = mine
    rows = trainers.all_gather(padded) if len(padded) else np.zeros((len(lengths), 0), np.uint8)
    members = zip(trainers.members, rows, lengths)
    return {member.trainer: row[:length].tobytes().decode() for member, row, length in members}
