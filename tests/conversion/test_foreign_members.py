"""Samples of tar files and examples of TFRecord files that others made: each is a record, whole, or refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import recordio
from fluidio.conversion.export import export
from fluidio.conversion.formats import tfrecord
from fluidio.errors import ConversionError

JPG = b"\xff\xd8\xff"


def packed(folder: Path, members: list[tuple[str, bytes]], link: str = "") -> str:
    path = folder / "a.tar"
    with tarfile.open(path, "w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        if link:
            info = tarfile.TarInfo(link)
            info.type, info.linkname = tarfile.LNKTYPE, members[0][0]
            tar.addfile(info)
    return str(path)


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(array))
    return out.getvalue()


def count(folder: Path, source: str) -> int:
    return sum(len(recordio.File(path)) for path in export(source, "recordio", str(folder / "out")))


def test_samples_of_several_folders_are_several_records(tmp_path: Path) -> None:
    assert count(tmp_path, packed(tmp_path, [(f"{name}/img.jpg", JPG + name.encode()) for name in "abcd"])) == 4


def test_what_other_systems_leave_is_no_sample(tmp_path: Path) -> None:
    members = [("0.jpg", JPG), ("._1.jpg", b"junk"), ("./1.jpg", JPG), (".DS_Store", b"junk")]
    assert count(tmp_path, packed(tmp_path, members)) == 2


REFUSED = {
    "twice": [("0.jpg", JPG), ("0.jpg", JPG + b"2")],
    "which the first record lacks": [("0.jpg", JPG), ("1.jpg", JPG), ("1.cls", b"5")],
    "expected int": [("0.cls", b"5"), ("1.cls", b"x")],
    "expected str": [("0.txt", b"text"), ("1.txt", b"\xff\xfe")],
    "expected array": [("0.a.npy", npy([1.5])), ("1.a.bin", b"x")],
    "is int64 in the first": [("0.a.npy", npy([1])), ("1.a.npy", npy([3.7]))],
    "is float32 in the first": [("0.a.npy", npy(np.array([1], "f4"))), ("1.a.npy", npy([0.1]))],
    "cannot hold": [("0.cls", b"1"), ("1.cls", b"9" * 30)],
}


@pytest.mark.parametrize("why", REFUSED)
def test_samples_that_would_change_or_get_lost_are_refused(why: str, tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match=why):
        count(tmp_path, packed(tmp_path, REFUSED[why]))


def test_links_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="1.jpg is a link"):
        count(tmp_path, packed(tmp_path, [("0.jpg", JPG)], link="1.jpg"))


def test_values_that_fit_are_converted(tmp_path: Path) -> None:
    assert (
        count(tmp_path, packed(tmp_path, [("0.a.npy", npy([1.5])), ("1.a.npy", npy([3])), ("2.a.npy", npy([np.nan]))]))
        == 3
    )


def ints(name: str, *values: int) -> bytes:
    return tfrecord._feature(name, 3, tfrecord.varints(np.array(values)))


def floats(name: str, *values: float) -> bytes:
    return tfrecord._feature(name, 2, np.array(values, "<f4").tobytes())


EXAMPLES = {
    "which the first record lacks": [[ints("a", 1)], [ints("a", 1), ints("b", 2)]],
    "is int64 in the first": [[ints("a", 1)], [floats("a", 3.5)]],
    "expected int64": [[ints("a", 1)], [tfrecord._features_of_strings("a", [b"12345678"])]],
}


@pytest.mark.parametrize("why", EXAMPLES)
def test_examples_that_would_change_or_get_lost_are_refused(why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"".join(tfrecord.frame(tfrecord.example(features)) for features in EXAMPLES[why]))
    with pytest.raises(ConversionError, match=why):
        count(tmp_path, str(path))
