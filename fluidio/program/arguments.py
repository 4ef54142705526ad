"""Argument types of layers and executors: sizes, shapes, feeds and fetches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fluidio.program.operator import Arguments
from fluidio.program.variable import Variable
from fluidio.tensor import LoDTensor
from fluidio.tensor.array import Array

__all__ = ["Arguments", "Attrs", "Fed", "Feed", "FetchList", "ShapeLike", "Sizes"]

Attrs = Mapping[str, object]
"""Attributes of an op by name: numbers, words, lists of these, blocks."""

Fed = Array | LoDTensor | Sequence[object] | float
"""One fed value."""

Feed = Mapping[str, Fed] | Sequence[Mapping[str, Fed]] | None
"""Values by the name of their variable; a list has one such table for each place."""

FetchList = Sequence[Variable | str | Sequence[Variable | str]] | Variable | str | None
"""The values a run should return."""

Sizes = int | Sequence[int] | Sequence[Sequence[int]]
"""One size for all dims, or one for each."""

ShapeLike = Sequence[int | Variable] | Variable
"""A shape, known when the program is built or, in part or whole, only when it runs."""
