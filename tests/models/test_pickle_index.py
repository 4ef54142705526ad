"""Arrays of a pickled dict are found without being read, and everything else is left to the careful reader."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import pickles
from fluidio.errors import FluidioError
from fluidio.models import open_model
from fluidio.models.pickle_index import index_arrays

MODELS = Path(__file__).parent.parent / "data" / "models"


def _arrays() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "large": rng.normal(size=(70, 50)).astype(np.float32),
        "bytes": rng.integers(0, 256, 9000).astype(np.uint8),
        "small": np.arange(3),
        "empty": np.zeros((0, 4), np.float64),
        "scalar": np.array(2.5),
    }


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_arrays_of_every_protocol_are_found(protocol: int, tmp_path: Path) -> None:
    arrays = _arrays()
    (tmp_path / "m.pdparams").write_bytes(pickle.dumps(arrays, protocol))
    found = index_arrays(str(tmp_path / "m.pdparams"))
    if protocol == 5:
        assert found is None  # arrays are written in another way there
        found = open_model(str(tmp_path / "m.pdparams")).tensors
    assert found is not None and set(found) == set(arrays)
    for name, array in arrays.items():
        got = found[name].array()
        assert (got.dtype, got.shape, got.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert (found["large"].held is None) == (protocol < 5)


def test_what_1_8_5_saved_is_found() -> None:
    found = index_arrays(str(MODELS / "mlp_save" / "all.pdparams"))
    assert found is not None and len(found) == 4


@pytest.mark.parametrize("value", [["a"], {"f": print}, {"a": {"b": 1}}, {"a": np.asfortranarray(np.ones((90, 90)))}])
def test_other_pickles_are_left_to_the_careful_reader(value: Any, tmp_path: Path) -> None:
    (tmp_path / "m.pdparams").write_bytes(pickle.dumps(value, 2))
    assert index_arrays(str(tmp_path / "m.pdparams")) is None


def test_a_damaged_pickle_is_an_error_or_other_numbers_but_nothing_else(tmp_path: Path) -> None:
    whole = pickles.dumps(_arrays())
    rng = random.Random(3)
    for _ in range(300):
        damaged = bytearray(whole[: rng.randrange(1, len(whole))] if rng.random() < 0.3 else whole)
        damaged[rng.randrange(min(len(damaged), 400))] = rng.randrange(256)
        path = tmp_path / "m.pdparams"
        path.write_bytes(bytes(damaged))
        try:
            for tensor in open_model(str(path)).tensors.values():
                assert tensor.array().nbytes == tensor.nbytes <= 1 << 20
        except FluidioError:
            pass


@pytest.mark.parametrize("dim", [10**12, 2**61 + 1250])  # the second one times 8 is 10,000, modulo 2**64
def test_a_shape_that_its_bytes_do_not_fill_is_left_to_the_careful_reader(dim: int, tmp_path: Path) -> None:
    array = np.zeros((1250, 8), np.float32)
    whole = pickle.dumps({"w": array}, 2)
    shape = pickle.dumps(array.shape, 2)[2:-3]
    assert whole.count(shape) == 1
    path = tmp_path / "m.pdparams"
    path.write_bytes(whole.replace(shape, pickle.dumps((dim, 8), 2)[2:-3]))
    assert index_arrays(str(path)) is None
    found = open_model(str(path))
    assert not found.tensors and "damaged" in found.problems[0]
