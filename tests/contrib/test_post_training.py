"""Models quantized after training: what 1.8.5 saves, it computes and it finds in distributions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.slim.divergence import kl_threshold
from fluidio.contrib.slim.quantization import PostTrainingQuantization, WeightQuantization
from tests.contrib import quantized_models as models

REAL = json.loads(Path("tests/data/observed/post_training.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("float32"))
    with fluid.scope_guard(fluid.Scope()):
        models.build(fluid, folder)
    return folder


@pytest.fixture(autouse=True)
def own_scope() -> Iterator[None]:
    with fluid.scope_guard(fluid.Scope()), fluid.unique_name.guard():
        yield


def quantized(saved: str, target: Path, **options: Any) -> dict[str, Any]:
    options.setdefault("batch_size", 5)
    if "batch_generator" not in options:
        options["sample_generator"] = models.samples
    work = PostTrainingQuantization(fluid.Executor(fluid.CPUPlace()), model_dir=saved, **options)
    work.quantize()
    work.save_quantized_model(str(target))
    return models.describe(fluid, str(target))


def check(found: dict[str, Any], real: dict[str, Any]) -> None:
    """Compare names exactly and numbers closely."""
    if "ops" in real:
        assert [" ".join([kind, ",".join(ins), ",".join(outs)]) for kind, ins, outs in found["ops"]] == real["ops"]
    attrs = [[i, noted] for i, noted in enumerate(found["attrs"]) if noted]
    assert [[i, sorted(noted)] for i, noted in attrs] == [[i, sorted(noted)] for i, noted in real["attrs"]]
    for (_, ours), (_, theirs) in zip(attrs, real["attrs"], strict=True):
        for name, value in theirs.items():
            assert ours[name] == (value if isinstance(value, str) else pytest.approx(value, rel=1e-5)), name
    for name, (dtype, shape, total) in real["values"].items():
        assert found["values"][name] == [dtype, shape, pytest.approx(total, rel=1e-5)], name
    assert len(found["scales"]) == len(real.get("scales", []))
    for ours, theirs in zip(found["scales"], real.get("scales", []), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)
    if "out" in real:
        np.testing.assert_allclose(found["out"], real["out"], rtol=1e-5)


@pytest.mark.parametrize("case", models.CASES)
def test_a_quantized_model_is_that_of_1_8_5(case: str, saved: str, tmp_path: Path) -> None:
    check(quantized(saved, tmp_path / "int8", **models.CASES[case]), REAL["models"][case])


def test_batches_and_files_give_the_same(saved: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    options: dict[str, Any] = {"is_use_cache_file": True, "cache_dir": str(cache), "batch_generator": models.batches}
    check(quantized(saved, tmp_path / "int8", **options), REAL["models"]["kl"])
    assert list(cache.iterdir()) == []


def test_the_scope_may_be_another_than_the_current(saved: str, tmp_path: Path) -> None:
    check(quantized(saved, tmp_path / "int8", scope=fluid.Scope()), REAL["models"]["kl"])
    assert fluid.global_scope().find_var("c1.w_0") is None


@pytest.mark.parametrize("case", models.WEIGHT_CASES)
def test_weights_are_stored_as_1_8_5_stores_them(case: str, saved: str, tmp_path: Path) -> None:
    options = models.WEIGHT_CASES[case]
    WeightQuantization(saved).quantize_weight_to_int(str(tmp_path), generate_test_model=True, **options)
    files = options.get("save_model_filename"), options.get("save_params_filename")
    for folder in ("quantized_model", "test_model"):
        check(models.describe(fluid, str(tmp_path / folder), *files), REAL["models"][f"{case}/{folder}"])


@pytest.mark.parametrize("case", models.WEIGHT_CASES)
def test_a_model_of_whole_numbers_runs(case: str, saved: str, tmp_path: Path) -> None:
    options = {**models.WEIGHT_CASES[case], "save_model_filename": None, "save_params_filename": None}
    WeightQuantization(saved).quantize_weight_to_int(str(tmp_path), **options)
    exe = fluid.Executor(fluid.CPUPlace())
    program, _, targets = fluid.io.load_inference_model(str(tmp_path / "quantized_model"), exe)
    (out,) = exe.run(program, feed={"img": models.PICTURES}, fetch_list=targets)
    np.testing.assert_allclose(out, REAL["models"][f"{case}/test_model"]["out"], rtol=1e-5)


def test_a_weight_of_two_ops_and_a_channel_of_zeros(tmp_path: Path) -> None:
    x = fluid.data("x", [-1, 2])
    shared = fluid.ParamAttr(name="w")
    out = fluid.layers.fc(fluid.layers.fc(x, 2, param_attr=shared, bias_attr=False), 2, param_attr=shared)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    weight = np.array([[1.27, 0.0], [-0.5, 0.0]], "float32")
    fluid.global_scope().var("w").get_tensor().set(weight, fluid.CPUPlace())
    fluid.io.save_inference_model(str(tmp_path / "model"), ["x"], [out], exe)
    WeightQuantization(str(tmp_path / "model")).quantize_weight_to_int(str(tmp_path))
    program, *_ = fluid.io.load_inference_model(str(tmp_path / "quantized_model"), exe)
    assert np.array(fluid.global_scope().var("w").get_tensor()).tolist() == [[127, 0], [-50, 0]]
    scales = [op.attr("w_quant_scale") for op in program.global_block().ops if op.type == "mul"]
    assert scales == [pytest.approx([0.01, 0.0])] * 2


def test_distributions_are_cut_where_1_8_5_cuts_them() -> None:
    makers: list[Any] = [
        lambda g, n: g.normal(0, 1, n),
        lambda g, n: g.exponential(2, n),
        lambda g, n: np.maximum(g.normal(0, 1, n), 0),
        lambda g, n: g.standard_cauchy(n),
        lambda g, n: g.uniform(3, 4, n),
        lambda g, n: np.tanh(g.normal(0, 3, n)),
        lambda g, n: np.full(n, 0.7),
        lambda g, n: np.r_[g.normal(0, 0.01, n), 5.0],
    ]
    found = {}
    for seed in range(40):
        drawn = np.random.RandomState(seed)
        count = int(drawn.randint(1, 3000))
        found[str(seed)] = kl_threshold(np.abs(makers[seed % 8](drawn, count).astype("float32")))
    assert found == pytest.approx(REAL["kl"], rel=1e-5)


def test_wrong_arguments_are_named(saved: str, tmp_path: Path) -> None:
    exe = fluid.Executor(fluid.CPUPlace())
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("executor", {"executor": None}),
        ("model_dir", {"model_dir": None}),
        ("batch_size", {"batch_size": 0}),
        ("algo", {"algo": "direct"}),
        ("activation_quantize_type", {"activation_quantize_type": "channel_wise_abs_max"}),
        ("weight_quantize_type", {"weight_quantize_type": "range_abs_max"}),
        ("quantizable_op_type", {"quantizable_op_type": ["lstm"]}),
    ]
    for name, given in wrong:
        with pytest.raises(AssertionError, match=name):
            PostTrainingQuantization(**{"executor": exe, "model_dir": saved, **given})
    with pytest.raises(AssertionError, match="batch_size is 50"):
        quantized(saved, tmp_path, batch_size=50)
    for name, value in (("weight_bits", 4), ("weight_quantize_type", "KL"), ("quantizable_op_type", ["matmul"])):
        with pytest.raises(AssertionError, match=name):
            WeightQuantization(saved).quantize_weight_to_int(str(tmp_path), **{name: value})  # type: ignore[arg-type]
