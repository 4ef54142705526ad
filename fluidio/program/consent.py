"""Ops of a program parsed from bytes may not access files or functions without consent.

Users treat a model as data, but its ops may write anywhere. Programs built in this process are trusted; parsed ones
only with `allow_files=True`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fluidio.errors import EnforceNotMet

if TYPE_CHECKING:
    from fluidio.program.operator import Operator

__all__ = ["check_consent", "check_data_path", "inside"]


def check_consent(op: Operator, deed: str) -> None:
    """Raise unless an op of a parsed program may do something, "write x" for instance.

    Raises:
        EnforceNotMet: the program was loaded without allow_files=True.
    """
    if op.from_bytes:
        raise EnforceNotMet(
            f"the op {op.type} of a loaded program wants to {deed}. If you trust the origin of the program, "
            "pass allow_files=True to load_inference_model or Program.parse_from_string"
        )


def check_data_path(op: Operator, path: str) -> None:
    """Refuse a data file of a parsed program that is outside the current folder."""
    if op.from_bytes and ("://" in path or os.path.isabs(path) or ".." in path.replace("\\", "/").split("/")):
        check_consent(op, f"read {path}")


def inside(folder: str, name: str) -> str:
    """Return the path of a variable's file in a folder.

    Raises:
        ValueError: the name leads out of the folder.
    """
    path = os.path.normpath(os.path.join(folder, name))
    steps = os.path.normpath(name).replace("\\", "/").split("/")
    if os.path.isabs(name) or steps[0] in ("..", ".") or "\0" in name:
        raise ValueError(
            f"the variable {name!r} would be saved outside of {folder or '.'}: rename it, or pass filename="
        )
    return path
