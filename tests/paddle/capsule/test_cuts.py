"""Python 2 strings are cut and formatted by their bytes, whichever way is taken."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import fluidio.paddle.capsule as fluidio_capsule  # makes this module one of Python 2 for its strings
from fluidio.paddle.capsule.display import old_percent
from fluidio.paddle.capsule.old_strings import as_text, bytes_of

assert fluidio_capsule

PIECES = [
    b"a",
    b" ",
    b"\t",
    b"b ",
    "中".encode(),
    b"\xe4",
    b"\xb8",
    "\u3000".encode(),
    "\xa0".encode(),
    b",",
    b"\n",
    b"\x85",
]
strings = st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join)


def parts(value: Any) -> Any:
    return type(value)(map(bytes_of, value)) if isinstance(value, (list, tuple)) else bytes_of(value)


@given(strings.filter(lambda s: not s.isascii()), st.sampled_from([b" ", b"\t", b",", b" a", b"\xe4", "中".encode()]))
def test_text_is_cut_as_its_bytes_are(data: bytes, apart: bytes) -> None:
    text, at = as_text(data), as_text(apart)
    assert parts(text.strip()) == data.strip() and parts(text.lstrip()) == data.lstrip()
    assert parts(text.rstrip(at)) == data.rstrip(apart)
    assert parts(text.split()) == data.split()
    assert parts(text.split(at)) == data.split(apart) and parts(text.rsplit(at, 1)) == data.rsplit(apart, 1)
    assert parts(text.partition(at)) == data.partition(apart) and parts(text.rpartition(at)) == data.rpartition(apart)


@given(strings, st.integers(-9, 9), st.sampled_from(["%s", "%s|%d", "%6s %d", "%-5s%d", "%.2s%i", "%s %x"]))
def test_text_is_formatted_as_its_bytes_are(data: bytes, number: int, form: str) -> None:
    values = (data, number)[: form.count("%")]
    found: Any = old_percent(form, (as_text(data), number)[: len(values)])
    assert bytes_of(found) == form.encode() % values
