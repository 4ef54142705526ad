"""Random numbers are those of the real Fluid 1.8.5 on the CPU, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers as L
from fluidio.dtypes import VarType

DATA = Path(__file__).parent.parent / "data" / "random"
VECTORS: dict[str, dict[str, Any]] = json.loads((DATA / "vectors.json").read_text())
WITH_OP = sorted(key for key, entry in VECTORS.items() if "op" in entry and entry["op"] != "assign_value")
DROPOUTS = sorted(key for key in VECTORS if key.startswith("dropout/"))


@pytest.fixture(scope="module")
def vectors() -> dict[str, Any]:
    with np.load(DATA / "vectors.npz") as found:
        return {key: found[key] for key in found.files}


def run(out: Any, feed: Any = None) -> Any:
    exe = fluid.Executor(fluid.CPUPlace())
    return exe.run(fluid.default_main_program(), feed=feed, fetch_list=[out])[0]


def assert_equal(found: Any, wanted: Any, normal: bool) -> None:
    assert found.dtype == wanted.dtype
    if normal and wanted.dtype == np.float32:
        # The C library's logf differs from a rounded double logarithm in a few places.
        np.testing.assert_array_max_ulp(found, wanted, maxulp=3)
        assert (found == wanted).mean() > 0.98
    else:
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("key", WITH_OP)
def test_an_initial_value_is_that_of_the_real_framework(key: str, vectors: dict[str, Any]) -> None:
    entry = VECTORS[key]
    block = fluid.default_main_program().global_block()
    out = block.create_var(name="out", dtype=entry["attrs"]["dtype"], persistable=True)
    block.append_op(type=entry["op"], outputs={"Out": [out]}, attrs=entry["attrs"])
    found = run(out)
    wanted = vectors[key.replace("/", "|")]
    if key.startswith("big/"):
        found = found.reshape(-1)[: wanted.size]
    assert_equal(found, wanted, entry["op"] == "gaussian_random")


@pytest.mark.parametrize("key", DROPOUTS)
def test_dropout_keeps_what_the_real_framework_keeps(key: str, vectors: dict[str, Any]) -> None:
    entry = VECTORS[key]
    parts: dict[str, Any] = {name: vectors.get(f"{key.replace('/', '|')}|{name}") for name in ("x", "y", "mask", "gx")}
    fluid.default_main_program().random_seed = entry["program_seed"]
    x = L.data("x", list(parts["x"].shape), append_batch_size=False, stop_gradient=False)
    y = L.dropout(
        x, entry["p"], is_test=entry["is_test"], seed=entry["layer_seed"], dropout_implementation=entry["impl"]
    )
    op = fluid.default_main_program().global_block().ops[-1]
    assert (op.attr("seed"), op.attr("fix_seed")) == (entry["seed_attr"], entry["fix_seed"])
    fetch: list[Any] = [y]
    if parts["mask"] is not None:
        fetch.append(op.output("Mask")[0])
    exe = fluid.Executor(fluid.CPUPlace())
    for _ in range(2):
        found = exe.run(feed={"x": parts["x"]}, fetch_list=fetch)
        np.testing.assert_array_equal(found[0], parts["y"])
        if parts["mask"] is not None:
            assert found[1].dtype == np.uint8
            np.testing.assert_array_equal(found[1], parts["mask"])


def test_dropout_without_a_seed_draws_a_new_mask_each_time() -> None:
    x = L.fill_constant([1000], "float32", 1.0)
    y = L.dropout(x, 0.5)
    first, second = run(y), run(y)
    assert not np.array_equal(first, second)
    assert 0.4 < first.mean() < 0.6


def test_the_gradient_of_dropout_goes_through_its_mask(vectors: dict[str, Any]) -> None:
    fluid.default_main_program().random_seed = 90
    x = L.data("x", [6, 50], append_batch_size=False, stop_gradient=False)
    y = L.dropout(x, 0.3)
    (gx,) = fluid.gradients([L.reduce_sum(L.square(y))], [x])
    np.testing.assert_array_equal(run(gx, {"x": vectors["dropout|p30_down|x"]}), vectors["dropout|p30_down|gx"])


def test_layers_with_a_seed_draw_the_real_numbers(vectors: dict[str, Any]) -> None:
    like = L.fill_constant([3, 1], "float32", 0.0)
    cases = {
        "uniform_seed3": L.uniform_random([4, 5], min=-2.0, max=3.0, seed=3),
        "gauss_seed3": L.gaussian_random([4, 5], mean=1.0, std=2.0, seed=3),
        "uniform_bsl_seed3": L.uniform_random_batch_size_like(like, [-1, 6], seed=3),
        "gauss_bsl_seed3": L.gaussian_random_batch_size_like(like, [-1, 6], seed=3),
        "sampling_seed3": L.sampling_id(L.fill_constant([5, 4], "float32", 0.25), seed=3),
    }
    exe = fluid.Executor(fluid.CPUPlace())
    for key, found in zip(cases, exe.run(fetch_list=list(cases.values()))):
        assert_equal(found, vectors[f"ops|{key}"], "gauss" in key)


def test_random_crop_moves_its_seed_on(vectors: dict[str, Any]) -> None:
    x = L.data("x", [2, 3, 8, 8], append_batch_size=False)
    out = L.random_crop(x, [3, 5, 5], seed=3)
    image = np.arange(2 * 3 * 8 * 8, dtype=np.float32).reshape(2, 3, 8, 8)
    first, second = run(out, {"x": image}), run(out, {"x": image})
    np.testing.assert_array_equal(first, vectors["ops|crop_seed3"])
    np.testing.assert_array_equal(second, vectors["ops|crop_seed3|second"])


@pytest.mark.parametrize(
    ("kind", "attrs"),
    [
        ("assign_value", {"int32_values": [1, 2]}),
        ("gaussian_random", {}),
        ("truncated_gaussian_random", {}),
        ("randint", {"low": 0, "high": 3}),
    ],
)
def test_the_declared_dtype_stays(kind: str, attrs: dict[str, object]) -> None:
    block = fluid.Program().global_block()
    made = block.create_var(name="made", dtype="int64")
    block.append_op(type=kind, outputs={"Out": [made]}, attrs={"shape": [2], "dtype": VarType.INT32, **attrs})
    assert (made.dtype, made.shape) == (VarType.INT64, (2,))
