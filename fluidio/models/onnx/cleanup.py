"""Drop nodes and constants that no output needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["without_unused"]


def without_unused(nodes: list[Any], initializers: list[Any], outputs: Iterable[str]) -> tuple[list[Any], list[Any]]:
    """Return the nodes and constants that the outputs need, in order."""
    needed = set(outputs)
    kept = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            kept.append(node)
            needed |= _reads(node)
    return kept[::-1], [tensor for tensor in initializers if tensor.name in needed]


def _reads(node: Any) -> set[str]:
    """Return the values a node reads, including those read in bodies of loops and branches."""
    found = set(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            for inner in attribute.g.node:
                found |= _reads(inner)
            found |= {output.name for output in attribute.g.output}
    return found
