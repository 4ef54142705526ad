"""The restricted unpickler: data comes through, anything else is refused."""

from __future__ import annotations

import collections
import contextlib
import io
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fluidio import pickles
from fluidio.errors import UnsafePickleError

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


class Marker:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.getpid, ()


@given(plain, st.sampled_from(PROTOCOLS))
def test_plain_data_comes_back_in_every_protocol(value: object, protocol: int) -> None:
    assert pickles.loads(pickle.dumps(value, protocol)) == value


@given(
    hnp.arrays(st.sampled_from(["u1", "<i8", ">i4", "<f4", "f8", "bool", "S3", "U2"]), hnp.array_shapes(min_dims=0)),
    st.sampled_from(PROTOCOLS),
)
def test_arrays_come_back_in_every_protocol(array: np.ndarray[Any, Any], protocol: int) -> None:
    for one in (array, array.copy(order="F")):
        got = pickles.loads(pickle.dumps(one, protocol))
        usual = pickle.loads(pickle.dumps(one, protocol))  # numpy turns foreign byte orders into its own
        assert got.dtype == usual.dtype and got.shape == array.shape
        assert got.tobytes() == usual.tobytes()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_scalars_structures_and_containers_come_back(protocol: int) -> None:
    value = {
        "scalars": [np.float32(1.5), np.int64(-3), np.bool_(True), np.float16(2)],
        "record": np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")]),
        "objects": np.array([[1, "x"], None], dtype=object),
        "ordered": collections.OrderedDict([("b", 1), ("a", 2)]),
        "counts": collections.defaultdict(int, {"a": 1}),
        "sets": [{1, 2}, frozenset({3}), bytearray(b"ab"), 3j],
        "type": np.float32,
    }
    got = pickles.loads(pickle.dumps(value, protocol))
    assert str(got) == str(value)
    assert type(got["scalars"][0]) is np.float32


def test_a_foreign_byte_order_does_not_reach_numpys_own_dtype() -> None:
    assert pickles.loads(pickle.dumps(np.dtype(">i4"), 2)) == np.dtype(">i4")
    assert np.zeros(1, "i4").dtype == np.dtype("<i4")


def test_python_2_byte_strings_follow_the_encoding() -> None:
    old = b"\x80\x02}U\x01kU\x01\xe9s."
    assert pickles.loads(old) == {"k": "é"}
    assert pickles.loads(old, encoding="bytes") == {b"k": b"\xe9"}


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
@pytest.mark.parametrize("encoding", ["latin1", "bytes"])
def test_arrays_written_by_old_and_new_numpy_are_read(module: str, encoding: pickles.Encoding) -> None:
    array = (
        f"c{module}\n_reconstruct\ncnumpy\nndarray\n".encode()
        + b"K\x00\x85U\x01b\x87R(K\x01K\x02\x85cnumpy\ndtype\nU\x02i2K\x00K\x01\x87R"
        + b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x04\x01\x00\x02\x00tb."
    )
    for allow in (False, True):
        assert pickles.loads(b"\x80\x02" + array, allow, encoding=encoding).tolist() == [1, 2]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_anything_else_is_refused_and_named(protocol: int) -> None:
    with pytest.raises(UnsafePickleError, match=r"batch 3: the pickle asks for \w+\.getpid.*allow_pickle=True"):
        pickles.loads(pickle.dumps([Marker()], protocol), source="batch 3")
    assert pickles.loads(pickle.dumps([Marker()], protocol), allow_pickle=True) == [os.getpid()]


@pytest.mark.parametrize("name", ["eval", "exec", "getattr", "__import__", "open", "str", "range", "type", "object"])
def test_builtins_that_are_not_data_are_refused(name: str) -> None:
    for module in ("builtins", "__builtin__"):
        with pytest.raises(UnsafePickleError):
            pickles.loads(f"c{module}\n{name}\n.".encode())


@pytest.mark.parametrize(
    "data",
    [
        b"cnumpy\nndarray\n(J\x00\x00\x00\x7f\x85tR.",  # ndarray((2130706432,))
        b"\x80\x03cbuiltins\nbytes\nJ\x00\x00\x00\x7f\x85R.",
        b"\x80\x03cbuiltins\nbytearray\nJ\x00\x00\x00\x7f\x85R.",
        b"\x80\x04\x8e" + struct.pack("<Q", 1 << 50) + b"abc.",  # BINBYTES8 of a petabyte
    ],
)
def test_short_pickles_cannot_ask_for_giant_memory(data: bytes) -> None:
    with pytest.raises((UnsafePickleError, pickle.UnpicklingError)):
        pickles.loads(data)
    with pytest.raises((UnsafePickleError, pickle.UnpicklingError)):
        pickles.load(io.BytesIO(data))


@given(st.data())
def test_damaged_pickles_give_one_of_three_errors_or_data(data: st.DataObject) -> None:
    whole = bytearray(pickle.dumps({"a": np.arange(6, dtype="i2"), "b": [1, "two", b"three"]}, 2))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    with contextlib.suppress(UnsafePickleError, pickle.UnpicklingError, EOFError):
        pickles.loads(bytes(whole[:cut]))


def test_load_reads_one_object_after_another(tmp_path: Path) -> None:
    path = tmp_path / "two.pickle"
    path.write_bytes(pickle.dumps([1]) + pickle.dumps({"a": 2}, 2))
    with path.open("rb") as file:
        assert pickles.load(file) == [1]
        assert pickles.load(file) == {"a": 2}
        with pytest.raises(EOFError, match=r"two\.pickle"):
            pickles.load(file)


def test_errors_of_classes_read_with_consent_stay_their_own() -> None:
    with pytest.raises(ModuleNotFoundError):
        pickles.loads(b"cno_such_module_at_all\nname\n.", allow_pickle=True)
