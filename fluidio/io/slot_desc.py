"""A dataset's description of its files and slots, as protobuf text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fluidio.dtypes import VarType
from fluidio.program import Variable

__all__ = ["FeedDesc"]


@dataclass(frozen=True)
class FeedDesc:
    """The data feed of a dataset; `str()` returns the text."""

    name: str
    batch_size: int | None
    variables: Sequence[Variable]
    pipe_command: str
    extra: Mapping[str, str | int]

    def __str__(self) -> str:
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield f'name: "{self.name}"'
        if self.batch_size is not None:
            yield f"batch_size: {self.batch_size}"
        if self.variables:
            yield "multi_slot_desc {"
            for variable in self.variables:
                yield from ("  " + line for line in _slot(variable))
            yield "}"
        yield f'pipe_command: "{self.pipe_command}"'
        for key, value in self.extra.items():
            yield f'{key}: "{value}"' if isinstance(value, str) else f"{key}: {value}"


def _slot(variable: Variable) -> Iterator[str]:
    dense = variable.lod_level == 0
    yield "slots {"
    yield f'  name: "{variable.name}"'
    yield f'  type: "{"uint64" if variable.dtype == VarType.INT64 else "float"}"'
    if dense:
        yield "  is_dense: true"
    yield "  is_used: true"
    if dense:
        yield from (f"  shape: {size}" for size in variable.shape)
    yield "}"
