"""Pickles that are read in C give what the stand-ins make of them, and no pickle is taken that those refuse."""

from __future__ import annotations

import collections
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluidio.pickles import loads, quick
from fluidio.pickles.opcodes import scan
from tests.fuzz.mutators import mutated

pytestmark = pytest.mark.skipif(quick.compiled is None, reason="there was no C compiler when fluidio was installed")

CODES = ["?", "i1", "i2", "<i4", ">i8", "u1", "u2", "f2", "<f4", ">f4", "f8", "c8", "c16"]
_shared = np.arange(5.0)
_list: list[Any] = [1]
USUAL: list[Any] = [
    *(np.arange(6).astype(code).reshape(2, 3) for code in CODES),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.array(3.5),
    (np.zeros(784, "f4"), 3),
    [np.arange(400), _shared, _shared],
    {"x": np.ones(3), 5: [None, True, False, -1, 255, 256, 65536, -(2**31), 2**40, -(2**62), 0.1, "é", b"abc"]},
    ((), [], {}, [[(1,), {"a": {}}]], "a" * 300, b"b" * 300, [_list, _list]),
]
UNUSUAL: list[Any] = [
    np.zeros((0, 3)),
    np.array(["a", "bc"]),
    np.zeros(2, [("a", "i4")]),
    np.array([None, 1], object),
    np.float32(1),
    np.dtype("f4"),
    collections.OrderedDict(a=1),
    {(1, 2): 3},
    {1, 2},
    2**100,
    1 + 2j,
]
PICKLES = [pickle.dumps(value, protocol) for value in USUAL + UNUSUAL for protocol in (2, 3, 4, 5)]


def told(value: Any) -> Any:
    """Return something that is equal for values that are alike to the last bit."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        flags = value.flags.c_contiguous, value.flags.f_contiguous, value.flags.writeable
        return "array", value.dtype.str, value.shape, flags, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [told(item) for item in value]
    if isinstance(value, dict):
        return type(value).__name__, [(told(key), told(item)) for key, item in value.items()]
    return type(value).__name__, repr(value)


def by_stand_ins(data: bytes) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quick, "compiled", None)
        return told(loads(data))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_usual_values_are_read_in_c_and_alike(protocol: int) -> None:
    for value in USUAL:
        data = pickle.dumps(value, protocol)
        found = quick.read(data)
        assert found is not None, value
        assert told(found[0]) == by_stand_ins(data)
        assert told(found[0]) == told(pickle.loads(data))


def test_bytes_that_later_protocols_know_are_read_in_c() -> None:
    for value, protocol in ((b"", 3), (bytearray(b"xy"), 5), (b"x" * 70_000, 4)):
        assert quick.read(pickle.dumps(value, protocol)) == (value,)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_others_are_left_to_the_stand_ins(protocol: int) -> None:
    for value in UNUSUAL:
        data = pickle.dumps(value, protocol)
        assert quick.read(data) is None, value
        assert told(loads(data)) == by_stand_ins(data)


def test_what_is_shared_stays_shared() -> None:
    for protocol in (2, 3, 4, 5):
        loop: list[Any] = [_shared, _shared, _list, _list]
        loop.append(loop)
        found = loads(pickle.dumps(loop, protocol))
        assert found[0] is found[1] and found[2] is found[3] and found[4] is found


@given(st.integers(0, 2**32))
def test_whatever_is_taken_is_what_the_stand_ins_make(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(20):
        data = mutated(chance.choice(PICKLES), PICKLES, chance)
        try:
            scan(data)
        except ValueError:
            continue
        found = quick.read(data)
        if found is not None:
            try:
                same = told(found[0])
            except RecursionError:
                continue  # a list inside itself
            assert same == by_stand_ins(data)


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04cnumpy\nndarray\n.",  # a name as a value
        b"\x80\x04cnumpy\ndtype\n\x8c\x02O8\x85R.",
        b"\x80\x04cposix\nsystem\n\x8c\x02ls\x85R.",
        b"\x80\x04cnumpy\ndtype\n\x8c\x02f4\x85R(K\x03\x8c\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb.",
        # an array of four bytes that says it has a million; one whose dtype has no state; one that is never filled
        b"\x80\x03cnumpy.core.numeric\n_frombuffer\n(C\x04abcdcnumpy\ndtype\nX\x02\x00\x00\x00f4\x85R"
        b"(K\x03X\x01\x00\x00\x00<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbJ\x00\x00\x10\x00\x85X\x01\x00\x00\x00CtR.",
        b"\x80\x03cnumpy.core.numeric\n_frombuffer\n(C\x04abcdcnumpy\ndtype\nX\x02\x00\x00\x00f4\x85RK\x01\x85"
        b"X\x01\x00\x00\x00CtR.",
        b"\x80\x03cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R.",
        b"\x80\x03(" + b"N" * 2000 + b"t",
        b"\x80\x03h\x00.",
        b"\x80\x03q\x05.",
        b"\x80\x03",
        b"",
    ],
)
def test_it_gives_up_on_what_is_no_usual_pickle(data: bytes) -> None:
    assert quick.read(data) is None


def test_many_unfinished_things_take_little_memory() -> None:
    data = b"\x80\x03cnumpy\nndarray\nq\x00" + b"h\x00\x85" * 200_000 + b"."
    assert quick.read(data) is None
