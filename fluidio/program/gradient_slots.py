"""The slots that gradient ops of Fluid 1.8.5 list even when they are empty, from one table."""

from __future__ import annotations

import functools
from pathlib import Path

__all__ = ["empty_gradient_slots"]


@functools.cache
def empty_gradient_slots() -> dict[str, tuple[list[str], list[str]]]:
    """Return {forward op type: (input slots, output slots)} of its gradient op."""
    text = Path(__file__).with_name("gradient_slots.txt").read_text("utf-8")
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            op, _, slots = line.partition(":")
            inputs, _, outputs = slots.partition(">")
            found[op] = (inputs.split(), outputs.split())
    return found
