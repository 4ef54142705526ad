"""Wrong arguments of objects, refused as 1.8.5 refuses them, and small things its own tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.slim.quantization import QuantizationTransformPass
from fluidio.errors import EnforceNotMet
from fluidio.io import Dataset
from fluidio.transpiler import DistributeTranspilerConfig, HashName
from fluidio.transpiler.dispatcher import PSDispatcher

L = fluid.layers


@pytest.fixture(autouse=True)
def era_1_8() -> Iterator[None]:
    with fluid.use_era("1.8"):
        yield


@pytest.mark.parametrize(
    "initializer", [fluid.initializer.Uniform(), fluid.initializer.Normal(), fluid.initializer.Xavier()]
)
def test_whole_numbers_are_not_drawn(initializer: Any) -> None:
    block = fluid.Program().global_block()
    with pytest.raises(TypeError, match="must have dtype float16, float32 or float64, got int64"):
        block.create_parameter(name="p", shape=[2, 3], dtype="int64", initializer=initializer)


def test_files_need_a_folder_or_a_name(tmp_path: Path) -> None:
    exe = fluid.Executor(fluid.CPUPlace())
    with pytest.raises(ValueError, match="give dirname"):
        fluid.io.load_vars(exe, None, fluid.Program(), vars=[])
    out = L.fc(L.data("x", [2]), 1)
    with pytest.raises(TypeError, match="feeded_var_names must be a list"):
        fluid.io.save_inference_model(str(tmp_path), None, [out], exe)


def test_callbacks_of_an_optimizer_are_a_list() -> None:
    loss = L.mean(L.fc(L.data("x", [2]), 1))
    with pytest.raises(AssertionError, match="a list of functions"):
        fluid.optimizer.SGD(0.1).backward(loss, callbacks=3)


def test_a_loader_of_samples_needs_places() -> None:
    class Three(Dataset):
        def __getitem__(self, idx: int) -> Any:
            return np.zeros(2, "float32")

        def __len__(self) -> int:
            return 3

    with pytest.raises(AssertionError, match="places must be given"):
        fluid.io.DataLoader(Three(), feed_list=[L.data("x", [2])])


def test_an_op_without_its_input_is_refused() -> None:
    block = fluid.Program().global_block()
    out = block.create_var(name="out", dtype="float32")
    with pytest.raises(EnforceNotMet, match="input X must be given"):
        block.append_op(type="relu", outputs={"Out": [out]})


def test_a_test_program_has_no_seed() -> None:
    program = fluid.default_main_program()
    program.random_seed = 5
    assert (program.clone().random_seed, program.clone(for_test=True).random_seed) == (5, 0)


def test_only_some_ops_can_be_quantised() -> None:
    with pytest.raises(AssertionError, match="'nope' cannot be quantized"):
        QuantizationTransformPass(quantizable_op_type=["nope"])


def test_defaults_of_a_transpiler_are_those_of_its_class() -> None:
    assert DistributeTranspilerConfig.slice_var_up
    assert DistributeTranspilerConfig.min_block_size == 8192
    assert "min_block_size" not in vars(DistributeTranspilerConfig())
    assert PSDispatcher(["a:1"]).dispatch(["w"]) is None
    assert HashName(["a:1"]).dispatch(["w"]) == ["a:1"]


def test_small_helpers() -> None:
    x = L.data("x", [2])
    assert L.utils._contain_var([1, x])
    assert L.utils._is_symmetric_padding([1, 1, 2, 2], 2)
    assert not L.utils._is_symmetric_padding([1, 2, 2, 2], 2)
    assert fluid.io._clone_var_in_block_(fluid.Program().global_block(), x).persistable
    first = fluid.executor._get_strong_program_cache_key(fluid.default_main_program(), {"x": 1}, [x])
    assert first != fluid.executor._get_strong_program_cache_key(fluid.Program(), {"x": 1}, [x])


def test_a_metric_of_detections_appends_no_comparison() -> None:
    found, label, box = (L.data(name, [size], lod_level=1) for name, size in (("d", 6), ("l", 1), ("b", 4)))
    fluid.metrics.DetectionMAP(found, label, box, class_num=3)
    types = [op.type for op in fluid.default_main_program().global_block().ops]
    assert types == ["cast", "concat", "detection_map", "detection_map", "fill_constant"]
