"""Pickles that were made to do harm: refused, or data, in little time and memory."""

from __future__ import annotations

import contextlib
import pickle
import random
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fluidio import pickles
from fluidio.errors import UnsafePickleError
from tests.pickles import programs

REFUSED = (UnsafePickleError, pickle.UnpicklingError)
ARRAY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"


def dtype(code: bytes, state: bytes) -> bytes:
    return b"cnumpy\ndtype\nU" + bytes([len(code)]) + code + b"K\x00K\x01\x87R" + state


def usual_state(order: bytes = b"<", size: int = -1, flags: int = 0) -> bytes:
    tail = b"".join(b"J" + struct.pack("<i", number) for number in (size, -1, flags))
    return b"(K\x03U\x01" + order + b"NNN" + tail + b"tb"


def array(shape: bytes, kind: bytes, raw: bytes) -> bytes:
    return b"\x80\x02" + ARRAY + b"(K\x01" + shape + kind + b"\x89" + raw + b"tb."


def pointer(raw: bytes = b"A" * 8) -> bytes:
    return b"U" + bytes([len(raw)]) + raw


def test_the_helpers_of_these_tests_write_sound_pickles() -> None:
    got = pickles.loads(array(b"K\x02\x85", dtype(b"f4", usual_state()), pointer()))
    assert got.dtype == np.float32 and got.shape == (2,)


@pytest.mark.parametrize(
    "kind",
    [
        dtype(b"O8", usual_state(b"|")),  # objects in raw bytes
        dtype(b"O8", usual_state(b"|", flags=0)),  # ... without the flag that says so
        dtype(b"f8", b"(K\x03U\x01<NU\x01a\x85}U\x01a" + dtype(b"O8", b"") + b"K\x00\x86sK\x08K\x08K\x00tb"),
        dtype(b"V8", b"(K\x03U\x01|" + dtype(b"O8", b"") + b"K\x01\x85\x86NNK\x08K\x08K\x00tb"),
        dtype(b"i8", usual_state(b"<", size=1 << 20)),  # each item beyond the data
        dtype(b"V8", b"(K\x03U\x01|NU\x01a\x85}U\x01a" + dtype(b"f8", b"") + b"M\x00\x10\x86sK\x08K\x08K\x00tb"),
    ],
    ids=["objects", "objects without their flag", "object field", "object subarray", "large items", "far field"],
)
def test_no_dtype_makes_pointers_of_bytes(kind: bytes) -> None:
    try:
        got = pickles.loads(array(b"K\x01\x85", kind, pointer()))
    except REFUSED:
        return
    assert got.dtype == np.dtype("i8") and got.nbytes == 8  # a size that a number does not have is not believed


def test_an_array_of_objects_needs_as_many_as_its_shape_says() -> None:
    objects = dtype(b"O8", usual_state(b"|", flags=63))
    assert pickles.loads(array(b"K\x01\x85", objects, b"]Na")).tolist() == [None]
    with pytest.raises(REFUSED):
        pickles.loads(array(b"M\x00\x10\x85", objects, b"]Na"))


@pytest.mark.parametrize(
    "shape",
    [b"K\x00\x8a\x08" + b"\x00" * 7 + b"\x40\x86", b"J\xff\xff\xff\xff\x85", b"\x88\x85", b"N\x85", b"]"],
    ids=["0 x 2**62", "-1", "True", "None", "list"],
)
def test_a_shape_is_a_tuple_of_sizes_that_exist(shape: bytes) -> None:
    with pytest.raises(REFUSED):
        pickles.loads(array(shape, dtype(b"f8", usual_state()), b"U\x00"))


def test_items_of_no_bytes_are_not_free() -> None:
    with pytest.raises(UnsafePickleError, match="no bytes"):
        pickles.loads(array(b"J\x00\x00\x00\x7f\x85", dtype(b"S0", usual_state(b"|", 0)), b"U\x00"))


@pytest.mark.parametrize(
    "name", [b"_codecs\nencode", b"numpy\ndtype", b"numpy.core.multiarray\nscalar", b"builtins\nset"]
)
@pytest.mark.parametrize("state", [b"}U\x0c__defaults__Ns", b"N}U\x0c__defaults__Ns\x86"])
def test_what_is_named_cannot_be_changed(name: bytes, state: bytes) -> None:
    with pytest.raises(REFUSED):
        pickles.loads(b"\x80\x02c" + name + b"\n" + state + b"b.")
    assert pickles.loads(pickle.dumps({1, 2}, 2)) == {1, 2}


def test_dicts_get_no_attributes() -> None:
    with pytest.raises(REFUSED):
        pickles.loads(b"\x80\x02ccollections\nOrderedDict\n)R}U\x05itemsNsb.")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02Nr\xff\xff\xff\x0f.",
        b"\x80\x02Np268435455\n.",
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 50) + b"abc.",
        b"\x80\x04\x95" + struct.pack("<Q", 1 << 50) + b"N.",
        b"\x80\x05\x96" + struct.pack("<Q", 1 << 33) + b"abc.",
        b"\x80\x02\x8b" + struct.pack("<i", (1 << 31) - 1) + b"abc.",
    ],
    ids=["memo", "memo in text", "bytes", "frame", "bytearray", "integer"],
)
def test_a_number_in_a_short_pickle_takes_no_memory(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(pickle.UnpicklingError):
            pickles.loads(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_pickler_that_has_written_others_may_count_on() -> None:
    assert pickles.loads(b"\x80\x02]r\x00\x80\x00\x00K\x01a.") == [1]


def test_tuples_inside_each_other_do_not_overflow_the_stack() -> None:
    deep = b")" + b"\x85" * 300_000
    for data in (deep, b"}" + deep + b"Ns", b"\x8f(" + deep + b"\x90"):
        with pytest.raises(pickle.UnpicklingError, match="too deeply"):
            pickles.loads(b"\x80\x04" + data + b".")


def test_lists_hide_no_depth_from_the_scan() -> None:
    """Each list is empty when it is last looked at, and is a tuple's only item a moment later."""
    step = b"](\x940cbuiltins\ntuple\nh\x00\x85R"
    with pytest.raises(REFUSED):
        pickles.loads(b"\x80\x04" + step + b".")


def test_one_long_list_is_not_copied_again_and_again() -> None:
    items = b"]\x94(" + b"N" * 100_000 + b"e0"
    copies = b"cbuiltins\nset\n\x940(" + b"cbuiltins\nlist\nh\x00\x85R" * 2_000 + b"l."
    with pytest.raises(UnsafePickleError, match="copies more"):
        pickles.loads(b"\x80\x04" + items + copies)


def test_one_array_is_not_copied_again_and_again() -> None:
    raw = b"\x8e" + struct.pack("<Q", 1 << 20) + bytes(1 << 20) + b"\x940"
    swapped = b"cnumpy\ndtype\nC\x02f4K\x00K\x01\x87R" + usual_state(b">") + b"\x940"
    one = ARRAY + b"(K\x01J" + struct.pack("<i", 1 << 18) + b"\x85h\x01\x89h\x00tb"
    assert len(pickles.loads(b"\x80\x04" + raw + swapped + b"(" + one + b"l.")) == 1
    with pytest.raises(UnsafePickleError, match="copies more"):
        pickles.loads(b"\x80\x04" + raw + swapped + b"(" + one * 1000 + b"l.")


def test_arrays_of_arrays_end_somewhere() -> None:
    objects = b"cnumpy\ndtype\nC\x02O8K\x00K\x01\x87R" + usual_state(b"|", flags=63)
    parts = [b"\x80\x04" + objects + b"\x940" + ARRAY + b"\x94"]
    # Array i is filled with array i + 1 before that one is filled, so no opcode sees more than three levels.
    for number in range(2, 3000):
        parts.append(b"(K\x01K\x01\x85h\x00\x89]" + ARRAY + b"\x94atb0j" + struct.pack("<I", number))
    parts.append(b"(K\x01K\x01\x85h\x00\x89]Natb0h\x01.")
    with pytest.raises(UnsafePickleError, match="arrays of arrays"):
        pickles.loads(b"".join(parts))


def shared_tuples(levels: int) -> bytes:
    return b"\x80\x04)" + b"".join(b"\x94h" + bytes([level]) + b"\x86" for level in range(levels)) + b"."


def test_a_preview_does_not_explode() -> None:
    value = pickles.loads(shared_tuples(40))
    assert len(pickles.preview(value)) == 100
    lists: list[Any] = []
    lists.append(lists)
    objects = np.empty(2, object)
    objects[0] = value
    for odd in (lists, 1 << 100_000, "x" * 10**7, [value] * 3, {1: {2: value}}, objects):
        assert len(pickles.preview(odd)) <= 100


@pytest.mark.parametrize("value", [[1, "a", b"b", None, 2.5], (1,), (), {"a": (1, 2)}, {3}, np.arange(3), [[]]])
def test_a_preview_of_something_small_is_its_repr(value: object) -> None:
    assert pickles.preview(value) == repr(value)


def attack(make: Callable[[random.Random], bytes], seeds: range) -> int:
    read = 0
    for seed in seeds:
        data = make(random.Random(seed))
        with contextlib.suppress(*REFUSED, EOFError):
            pickles.preview(pickles.loads(data))
            read += 1
    return read


@pytest.mark.parametrize("make", [programs.mutated, programs.program, programs.valid_program])
def test_random_pickles_give_data_or_one_of_our_errors(make: Callable[[random.Random], bytes]) -> None:
    assert attack(make, range(2_000))


@pytest.mark.slow
@pytest.mark.parametrize("make", [programs.mutated, programs.program, programs.valid_program])
def test_many_random_pickles_give_data_or_one_of_our_errors(make: Callable[[random.Random], bytes]) -> None:
    assert attack(make, range(2_000, 8_000))
