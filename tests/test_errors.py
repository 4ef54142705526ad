"""One tree of errors; each survives a process boundary and says what to do."""

from __future__ import annotations

import pickle

import pytest

from fluidio import errors
from fluidio.errors import (
    CutTailError,
    EnforceNotMet,
    EOFException,
    FluidioError,
    OpError,
    RecordIOError,
    missing_dependency,
    not_supported,
)


def test_the_end_of_an_epoch_is_an_enforce_of_every_era() -> None:
    error = EOFException("reader r, epoch 2", reader="r", epoch=2)
    assert isinstance(error, EnforceNotMet) and isinstance(error, RuntimeError)
    assert error.message == str(error) == "There is no next data. reader r, epoch 2"
    assert str(EOFException()) == "There is no next data."


def test_a_record_error_names_file_chunk_and_byte() -> None:
    error = RecordIOError(
        "checksum wrong", path="a.recordio", chunk=17, offset=9, expected=1, found=2, hint="repair it"
    )
    assert str(error) == "a.recordio: chunk 17 at byte 9: checksum wrong (repair it)"
    assert str(RecordIOError("cut", offset=4)) == "byte 4: cut"
    assert str(RecordIOError("cut", path="f", chunk=1)) == "f: chunk 1: cut"
    assert isinstance(error, OSError)


@pytest.mark.parametrize(
    "error",
    [
        EOFException("after 3 batches", reader="r", epoch=2),
        OpError("mul failed", op_type="mul", site="a.py:3"),
        CutTailError("cut", path="a", chunk=1, offset=2, expected=3, found=4, hint="h"),
        missing_dependency("CuPy", "cuda12", "a CUDA place"),
    ],
)
def test_errors_survive_a_process_boundary(error: Exception) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))


def test_every_error_is_in_the_tree_and_in_its_drawing() -> None:
    kinds = [value for name, value in vars(errors).items() if isinstance(value, type) and name in errors.__all__]
    assert all(issubclass(kind, FluidioError) for kind in kinds)
    assert [kind.__name__ for kind in kinds if kind.__name__ not in (errors.__doc__ or "")] == []


def test_a_missing_package_names_the_pip_line() -> None:
    assert (
        str(missing_dependency("CuPy", "cuda12", "CUDAPlace(0)"))
        == "CUDAPlace(0) needs CuPy: pip install 'fluidio[cuda12]'"
    )


def test_what_is_not_supported_names_what_works() -> None:
    with pytest.raises(NotImplementedError, match="dygraph is not supported by fluidio: build a Program"):
        not_supported("dygraph", "build a Program")
