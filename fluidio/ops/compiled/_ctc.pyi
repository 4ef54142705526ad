"""Connectionist temporal classification in C; the module may be missing."""

from typing_extensions import Buffer

def paths(
    scores: Buffer,
    classes: int,
    first: Buffer,
    stride: int,
    times: Buffer,
    labels: Buffer,
    label_at: Buffer,
    blank: int,
    shares: Buffer,
    loss: Buffer,
    threads: int,
    /,
) -> None: ...
