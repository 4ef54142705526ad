"""The scan of the opcodes, in C and in Python."""

from __future__ import annotations

import io
import pickle
import random

import pytest

from fluidio.pickles import opcodes
from tests.pickles import programs

needs_c = pytest.mark.skipif(opcodes.compiled is None, reason="there was no C compiler when fluidio was installed")


def outcome(data: bytes) -> int | str:
    try:
        return opcodes.scan(data)
    except ValueError as error:
        return str(error)


def without_c(data: bytes) -> int | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opcodes, "compiled", None)
        return outcome(data)


@pytest.mark.parametrize("data", programs.WHOLE)
def test_a_sound_pickle_ends_where_it_ends(data: bytes) -> None:
    assert outcome(data) == without_c(data) == len(data)
    assert outcome(data + b"more") == without_c(data + b"more") == len(data)


def test_long_lists_are_not_deep() -> None:
    data = pickle.dumps([[1, (2, {"a": 3})]] * 10_000 + [[i] for i in range(100_000)])
    assert outcome(data) == len(data)


@needs_c
def test_both_scans_find_the_same() -> None:
    seen = set()
    for seed in range(3_000):
        make = (programs.mutated, programs.program, programs.valid_program)[seed % 3]
        data = make(random.Random(seed))
        assert outcome(data) == without_c(data), data
        seen.add(type(outcome(data)))
    assert seen == {int, str}


@needs_c
@pytest.mark.parametrize("levels", [200, 300])
def test_depth_is_counted_alike(levels: int) -> None:
    for nest in (b"\x85", b"\x86", b"]\x94(h\x00e\x85"):
        data = b"\x80\x04)" + (nest if nest != b"\x86" else b"N\x86") * levels + b"."
        assert outcome(data) == without_c(data)


def test_a_frame_holds_whole_opcodes() -> None:
    """The unpickler skips the rest of a frame that ends inside an opcode, and runs what looked like text."""
    hidden = b"r\xff\xff\xff\x0fK\x07"  # a memo number that takes gigabytes
    data = b"\x80\x04\x95" + (5).to_bytes(8, "little") + b"N\x8c\x0aab" + b"01234567U\x07" + hidden + b"."
    harmless = data.replace(hidden, b"K\x05" * 3 + b"N")
    assert pickle.load(io.BytesIO(harmless)) is None  # the last of the hidden opcodes
    for wrong in (data, harmless, b"\x80\x04" + 2 * (b"\x95" + (12).to_bytes(8, "little")) + b"N0" * 6 + b"N."):
        assert outcome(wrong) == without_c(wrong) == "an opcode does not end where its frame does"
    long = pickle.dumps([b"x" * 200_000, "y" * 100_000, list(range(50_000))], 4)
    assert outcome(long) == without_c(long) == len(long)
