"""What layers and executors take: sizes, shapes, what to feed and to fetch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fluidio.program.variable import Variable
from fluidio.tensor import LoDTensor
from fluidio.tensor.array import Array

__all__ = ["Fed", "Feed", "FetchList", "ShapeLike", "Sizes"]

Fed = Array | LoDTensor | Sequence[object] | float
"""One fed value."""

Feed = Mapping[str, Fed] | Sequence[Mapping[str, Fed]] | None
"""Values by the name of their variable; a list has one such table for each place."""

FetchList = Sequence[Variable | str | Sequence[Variable | str]] | Variable | str | None
"""What to return of a run."""

Sizes = int | Sequence[int] | Sequence[Sequence[int]]
"""One size for all dims, or one for each."""

ShapeLike = Sequence[int | Variable] | Variable
"""A shape, known when the program is built or, in part or whole, only when it runs."""
