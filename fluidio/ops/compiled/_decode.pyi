"""Loops over sequences in C; the module may be missing."""

from typing_extensions import Buffer

def distances(guesses: Buffer, guess_at: Buffer, truths: Buffer, truth_at: Buffer, out: Buffer, /) -> None: ...
def tags(emission: Buffer, transition: Buffer, offsets: Buffer, out: Buffer, /) -> None: ...
def leaders(
    total: Buffer, ended: Buffer, offsets: Buffer, beam: int, rows: Buffer, columns: Buffer, counts: Buffer, /
) -> None: ...
def chunks(
    guesses: Buffer,
    truths: Buffer,
    offsets: Buffer,
    excluded: Buffer,
    scheme: tuple[int, int, int, int],
    counts: Buffer,
    /,
) -> None: ...
