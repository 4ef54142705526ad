"""npz files that lie about sizes, grow without end, are encrypted or hold something else."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import recordio
from fluidio.conversion.export import export
from fluidio.errors import ConversionError, ModelError
from fluidio.models.npz import read_npz
from fluidio.recordio.files.zipped_arrays import read_array, read_zipped_arrays


def zipped(shape: Any, data: bytes, descr: Any = "<f4", name: str = "a.npy") -> bytes:
    """Return an npz of one array whose head says what it likes."""
    head, file = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": descr, "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, head.getvalue() + data)
    return file.getvalue()


def encrypted(data: bytes) -> bytes:
    """Return a zip file whose members claim to be encrypted."""
    out = bytearray(data)
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        out[out.index(mark) + at] |= 1
    return bytes(out)


def other(name: str) -> bytes:
    """Return a zip file that holds no array."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, b"text")
    return file.getvalue()


def test_plain_arrays_are_read() -> None:
    assert read_zipped_arrays(io.BytesIO(zipped((2,), bytes(8))))["a"].tolist() == [0, 0]
    assert read_zipped_arrays(io.BytesIO(zipped((), bytes(4))))["a"].shape == ()
    assert read_zipped_arrays(io.BytesIO(zipped((0, 3), b"")))["a"].shape == (0, 3)


BAD = {
    "more items than bytes": zipped((10**11,), b"abcd"),
    "too many items for a number": zipped((1 << 62, 4), b"abcd"),
    "a negative dim": zipped((-1, 4), b"abcd"),
    "items without bytes": zipped((10**11,), b"", "<U0"),
    "objects": zipped((1,), b"abcdefgh", "|O"),
    "an encrypted file": encrypted(zipped((1,), b"abcd")),
    "something other than an array": other("a.txt"),
    "a single array": np.lib.format.magic(1, 0),
}


@pytest.mark.parametrize("what", BAD)
def test_others_are_refused(what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(BAD[what])
    with pytest.raises(ModelError, match=r"a\.npz"):
        read_npz(str(path))
    with pytest.raises(ConversionError, match=r"a\.npz"):
        export(str(path), "recordio", str(tmp_path / "out"))


def test_a_member_grows_up_to_the_limit_of_a_chunk(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(zipped((1 << 18,), bytes(1 << 20)))
    assert read_npz(str(path))["a"].nbytes == 1 << 20
    before = recordio.set_chunk_limit(1 << 19)
    try:
        with pytest.raises(ModelError, match="set_chunk_limit"):
            read_npz(str(path))
    finally:
        recordio.set_chunk_limit(before)


def npy(shape: Any, data: bytes, descr: Any = "<f4") -> bytes:
    """Return an npy file whose head says what it likes."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": descr, "fortran_order": False, "shape": shape})
    return head.getvalue() + data


BAD_ARRAYS = {
    "more items than bytes": npy((10**11,), b"abcd"),
    "objects": npy((1,), b"abcdefgh", "|O"),
    "no dtype but a comma": npy((1,), b"abcd", ",f"),
    "text": b"text",
    "nothing": b"",
}


@pytest.mark.parametrize("what", BAD_ARRAYS)
def test_a_bad_array_is_refused_wherever_it_comes_from(what: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_array(BAD_ARRAYS[what])
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        member = tarfile.TarInfo("x.npy")
        member.size = len(BAD_ARRAYS[what])
        tar.addfile(member, io.BytesIO(BAD_ARRAYS[what]))
    with pytest.raises(ConversionError, match=r"a\.tar"):
        export(str(tmp_path / "a.tar"), "recordio", str(tmp_path / "made"))


def test_a_single_array_is_no_npz() -> None:
    with pytest.raises(ValueError, match="a single array"):
        read_zipped_arrays(io.BytesIO(npy((1,), b"abcd")))
