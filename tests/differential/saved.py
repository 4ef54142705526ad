"""Save what a case has trained, load it again and run it. Read by Python 3.7 as well."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.differential.describe import describe
from tests.differential.tensors import encode

__all__ = ["digests", "run_saved", "value_of"]


def value_of(value: Any) -> Any:
    """Write a fetched value as plain data: a tensor, or a list of them."""
    if isinstance(value, (list, tuple)) or type(value).__name__ == "LoDTensorArray":
        return [value_of(one) for one in value]
    if not value._is_initialized():
        return encode(np.zeros(0), value.recursive_sequence_lengths())
    return encode(np.array(value), value.recursive_sequence_lengths())


def digests(save: Callable[[str], Any], without: str = "") -> dict[str, str]:
    """Return the digest of each file that `save` writes to a folder."""
    folder = tempfile.mkdtemp()
    try:
        save(folder)
        files = sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names)
        return {os.path.relpath(path, folder): _digest(path) for path in files if os.path.basename(path) != without}
    finally:
        shutil.rmtree(folder)


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha1(file.read()).hexdigest()


def run_saved(fluid: Any, exe: Any, asked: Any, main: Any, handles: Any, feed: Any, result: Any) -> None:
    """Save a model for inference, load it into another scope, describe it and run it."""
    folder = tempfile.mkdtemp()
    try:
        fluid.io.save_inference_model(folder, asked["feeds"], [handles[asked["target"]]], exe, main)
        result["files"] = sorted(os.listdir(folder))
        with fluid.scope_guard(fluid.Scope()):
            program, feeds, fetch = fluid.io.load_inference_model(folder, exe)
            result["inference"] = describe(program)
            result["names"]["inference"] = " ".join([*feeds, *(var.name for var in fetch)])
            given = {name: feed[name] for name in feeds}
            for number, value in enumerate(exe.run(program, feed=given, fetch_list=fetch, return_numpy=False)):
                result["values"]["inference %d" % number] = value_of(value)
    finally:
        shutil.rmtree(folder)
