"""Places, and what stands for a GPU where there is none."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from fluidio import places
from fluidio.errors import DeviceError, EnforceNotMet
from fluidio.places import CPUPlace, CUDAPinnedPlace, CUDAPlace, Place


@pytest.fixture
def cpu_for_cuda() -> Iterator[None]:
    places.use_cpu_for_cuda(True)
    yield
    places.use_cpu_for_cuda(False)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "get_cuda_device_count", lambda: 0)


@pytest.mark.parametrize(
    ("place", "text", "number"),
    [(CUDAPlace(3), "CUDAPlace(3)", 0), (CPUPlace(), "CPUPlace", 1), (CUDAPinnedPlace(), "CUDAPinnedPlace", 2)],
)
def test_places_have_fluids_text_and_number(place: Any, text: str, number: int) -> None:
    assert (str(place), place._type()) == (text, number)
    tagged = Place()
    tagged.set_place(place)
    assert (tagged._type(), tagged._equals(place)) == (number, True)
    assert (tagged.is_gpu_place(), tagged.is_cpu_place(), tagged.is_cuda_pinned_place()) == (
        number == 0,
        number == 1,
        number == 2,
    )


def test_equal_places_are_equal_and_hash_alike() -> None:
    assert CPUPlace() == CPUPlace() and CPUPlace()._equals(CPUPlace())
    assert {CUDAPlace(0), CUDAPlace(0), CUDAPlace(1), CPUPlace()} == {CPUPlace(), CUDAPlace(1), CUDAPlace(0)}
    assert CPUPlace() != CUDAPinnedPlace()


def test_only_a_gpu_has_a_device_id() -> None:
    place = Place()
    place.set_place(CUDAPlace(2))
    assert (place.gpu_device_id(), CUDAPlace(2).get_device_id()) == (2, 2)
    place.set_place(CPUPlace())
    with pytest.raises(EnforceNotMet, match="CPUPlace is not a CUDAPlace"):
        place.gpu_device_id()


def test_a_negative_device_is_refused() -> None:
    with pytest.raises(EnforceNotMet, match=r"CUDAPlace\(-1\): there is no such GPU"):
        CUDAPlace(-1)
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        CUDAPlace(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "place"), [("cpu", CPUPlace()), ("GPU:1", CUDAPlace(1)), ("cuda", CUDAPlace(0))])
def test_strings_name_places(text: str, place: Any) -> None:
    assert places.unwrap(text) == place


@pytest.mark.parametrize("bad", ["tpu", "cuda:x", None, 3, Place()])
def test_what_is_no_place_is_a_type_error(bad: object) -> None:
    with pytest.raises(TypeError, match="expected a place"):
        places.unwrap(bad)


def test_cpu_places_follow_the_argument_then_cpu_num_then_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CPU_NUM", raising=False)
    assert len(places.cpu_places()) == 1
    monkeypatch.setenv("CPU_NUM", "3")
    assert len(places.cpu_places()) == 3
    assert places.cpu_places(2) == [CPUPlace(), CPUPlace()]
    assert places.cuda_pinned_places(2) == [CUDAPinnedPlace(), CUDAPinnedPlace()]


@pytest.mark.parametrize("bad", ["many", "0", ","])
def test_a_wrong_cpu_num_is_named(monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("CPU_NUM", bad)
    with pytest.raises(ValueError, match=r"CPU_NUM='many'|at least one place"):
        places.cpu_places()


def test_cuda_places_follow_the_argument_then_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAGS_selected_gpus", "1, 3")
    assert places.cuda_places() == [CUDAPlace(1), CUDAPlace(3)]
    assert places.cuda_places(2) == [CUDAPlace(2)]
    assert places.cuda_places([0, 1]) == [CUDAPlace(0), CUDAPlace(1)]


@pytest.mark.usefixtures("no_gpu")
def test_no_gpu_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLAGS_selected_gpus", raising=False)
    assert not places.is_compiled_with_cuda()
    with pytest.raises(DeviceError, match="--device cpu"):
        places.cuda_places()


@pytest.mark.parametrize(
    ("module", "reason"),
    [(None, "CuPy is missing: pip install 'fluidio[cuda12]'"), (ModuleType("cupy"), "no CUDA device is visible")],
)
@pytest.mark.usefixtures("no_gpu")
def test_cuda_places_say_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType | None, reason: str
) -> None:
    monkeypatch.delenv("FLAGS_selected_gpus", raising=False)
    monkeypatch.setitem(sys.modules, "cupy", module)
    with pytest.raises(DeviceError, match=re.escape(f"cuda_places(): {reason}") + ".*--device cpu"):
        places.cuda_places()


@pytest.mark.usefixtures("cpu_for_cuda")
def test_cuda_can_mean_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLAGS_selected_gpus", raising=False)
    assert places.cuda_means_cpu()
    assert places.cuda_places() == [CPUPlace()]
    assert places.cuda_places([0, 1]) == [CPUPlace(), CPUPlace()]
    assert (places.get_cuda_device_count(), places.is_compiled_with_cuda()) == (0, False)


@pytest.mark.usefixtures("cpu_for_cuda")
def test_a_tensor_set_on_cuda_then_stays_on_the_cpu() -> None:
    from fluidio.tensor import LoDTensor

    tensor = LoDTensor()
    tensor.set([1.0], CUDAPlace(0))
    assert tensor._place() == CPUPlace()
