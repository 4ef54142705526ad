"""MXNet's .rec files of images."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.conversion.export import export
from fluidio.conversion.formats import mxnet
from fluidio.errors import ConversionError
from fluidio.recordio import load
from fluidio.recordio.files.notes import slots_beside

MAGIC = struct.pack("<I", 0xCED7230A)


def framed(record: bytes) -> bytes:
    """Return a record as dmlc writes it: cut where the magic word stands at a multiple of four bytes."""
    cuts = [at for at in range(0, len(record) - 3, 4) if record[at : at + 4] == MAGIC]
    starts, stops = [0, *(cut + 4 for cut in cuts)], [*cuts, len(record)]
    out = b""
    for number, (start, stop) in enumerate(zip(starts, stops)):
        kind = 0 if not cuts else 1 if not number else 3 if number == len(cuts) else 2
        part = record[start:stop]
        out += MAGIC + struct.pack("<I", kind << 29 | len(part)) + part + bytes(-len(part) % 4)
    return out


def image(index: int, data: bytes, label: float | list[float]) -> bytes:
    several = label if isinstance(label, list) else []
    head = struct.pack("<IfQQ", len(several), 0.0 if isinstance(label, list) else label, index, 0)
    return head + struct.pack(f"<{len(several)}f", *several) + data


def test_images_come_in_with_label_and_number(tmp_path: Path) -> None:
    images = [image(n, b"\xff\xd8\xff" + bytes([n]) * n, n / 2) for n in range(5)]
    (tmp_path / "a.rec").write_bytes(b"".join(map(framed, images)))
    (path,) = export(str(tmp_path / "a.rec"), "recordio", str(tmp_path / "out"))
    label, number, picture = load(path)
    assert label.data.reshape(-1).tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert number.data.reshape(-1).tolist() == [0, 1, 2, 3, 4]
    assert picture.lod[0].tolist() == [0, 3, 7, 12, 18, 25]
    slots = slots_beside(path)
    assert slots is not None and [(slot.name, slot.kind) for slot in slots] == [
        ("label", "scalar"),
        ("id", "int"),
        ("image", "bytes"),
    ]


def test_several_labels_are_a_sequence(tmp_path: Path) -> None:
    images = [image(7, b"abc", [1.0, 2.0, 3.0]), image(8, b"", [4.0])]
    (tmp_path / "a.rec").write_bytes(b"".join(map(framed, images)))
    (path,) = export(str(tmp_path / "a.rec"), "recordio", str(tmp_path / "out"))
    label, _, picture = load(path)
    assert label.data.reshape(-1).tolist() == [1, 2, 3, 4] and label.lod[0].tolist() == [0, 3, 4]
    assert picture.data.tobytes() == b"abc"


@given(st.lists(st.lists(st.sampled_from([MAGIC, b"abcd", b"x"]), max_size=6).map(b"".join), max_size=5))
def test_records_that_hold_the_magic_word_come_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("rec") / "a.rec"
    path.write_bytes(b"".join(map(framed, records)))
    assert list(mxnet.read_records(str(path))) == records


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x0a\x23", "the file ends inside a record"),
        (b"12345678", "but begins with 0x34333231"),
        (b"\4\3\2\1" + bytes(16), "as Paddle has it, so pass --from recordio"),
        (MAGIC + struct.pack("<I", 1 << 28), "claims 268435456 bytes, but only 0 are left"),
        (MAGIC + struct.pack("<I", 1 << 29), "ends between its parts"),
        (MAGIC + struct.pack("<I", 3 << 29), "parts are out of order"),
        (framed(b"short"), "the header of an image alone has 24"),
        (framed(struct.pack("<IfQQ", 9, 0, 0, 0)), "claims 9 labels"),
    ],
)
def test_damage_is_told(data: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "a.rec").write_bytes(data)
    with pytest.raises(ConversionError, match=problem):
        export(str(tmp_path / "a.rec"), "recordio", str(tmp_path / "out"))


def test_the_format_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "a.rec").write_bytes(framed(image(0, b"", 1.0)))
    with pytest.raises(ConversionError, match="does not write it"):
        export(str(tmp_path / "a.rec"), "mxnet", str(tmp_path / "out"))
