"""Describe a file that is not what was expected."""

from __future__ import annotations

import os

from fluidio.regular import open_regular

__all__ = ["what_it_is"]

_BEGINNINGS = [
    (b"PK\x03\x04", "a ZIP archive (an .npz or a PyTorch file?)"),
    (b"\x93NUMPY", "a NumPy array (.npy)"),
    (b"\x1f\x8b", "gzip: unpack it first"),
    (b"\x89HDF", "HDF5 (Keras?)"),
    (b"\x80\x02", "a pickle"),
    (b"\x80\x03", "a pickle"),
    (b"\x80\x04", "a pickle"),
    (b"\x89PNG", "a PNG picture"),
    (b"\x04\x03\x02\x01", "RecordIO data"),
    (b"<", "a text (HTML or XML)"),
    (b"version https://git-lfs", "a pointer of Git LFS: fetch the real file"),
]


def what_it_is(path: str) -> str:
    """Return a few words about a file: empty, damaged, or of a different kind."""
    try:
        size = os.path.getsize(path)
        with open_regular(path) as file:
            head = file.read(64)
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if not size:
        return "the file is empty"
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning):
            return f"this is {kind}"
    if head[8:9] == b"{":
        return "this may be a safetensors file"
    if head[:1] == b"\x08" and b"onnx" in head.lower():
        return "this may be an ONNX model"
    return "damaged or of another kind"
