"""The inference API on a model of the real 1.8.5 gives its outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.inference import (
    AnalysisConfig,
    NativeConfig,
    PaddleBuf,
    PaddleDType,
    PaddleTensor,
    create_paddle_predictor,
)
from tests.io.networks import MODELS

MLP = str(MODELS / "mlp")


def data(case: str = "mlp") -> dict[str, Any]:
    with np.load(MODELS / f"{case}.npz") as held:
        return {name: held[name] for name in held.files}


def native() -> NativeConfig:
    config = fluid.core.NativeConfig()
    config.model_dir = MLP
    config.use_gpu = False
    config.specify_input_name = True
    made: NativeConfig = config
    return made


def analysis() -> AnalysisConfig:
    config = AnalysisConfig(MLP)
    config.disable_gpu()
    config.switch_specify_input_names(True)
    config.switch_ir_optim(False)
    config.enable_memory_optim()
    return config


@pytest.mark.parametrize("make", [native, analysis])
def test_tensors_go_in_and_out(make: Any) -> None:
    held = data()
    tensor = fluid.core.PaddleTensor()
    tensor.name = "x"
    tensor.shape = [4, 6]
    tensor.dtype = fluid.core.PaddleDType.FLOAT32
    tensor.data = fluid.core.PaddleBuf(held["in_x"].flatten())
    predictor = create_paddle_predictor(make())
    (out,) = predictor.run([tensor])
    assert (out.name, out.shape, out.dtype, out.lod) == (
        "save_infer_model/scale_0.tmp_0",
        [4, 3],
        PaddleDType.FLOAT32,
        [],
    )
    np.testing.assert_allclose(out.as_ndarray(), held["out"], rtol=1e-5)
    np.testing.assert_allclose(out.data.float_data(), held["out"].ravel(), rtol=1e-5)
    assert out.data.length() == 48
    (again,) = predictor.clone().run([PaddleTensor(held["in_x"])])
    np.testing.assert_array_equal(again.as_ndarray(), out.as_ndarray())


def test_zero_copy_ports() -> None:
    held = data("mlp_combined")
    folder = MODELS / "mlp_combined"
    config = AnalysisConfig(str(folder / "model"), str(folder / "params"))
    config.switch_use_feed_fetch_ops(False)
    predictor = create_paddle_predictor(config)
    predictor.get_input_tensor(predictor.get_input_names()[0]).copy_from_cpu(held["in_x"])
    predictor.zero_copy_run()
    out = predictor.get_output_tensor(predictor.get_output_names()[0])
    np.testing.assert_allclose(out.copy_to_cpu(), held["out"], rtol=1e-5)
    assert (out.shape(), str(out.type())) == ([4, 3], "PaddleDType.FLOAT32")


def test_a_config_answers_what_is_switched_on() -> None:
    config = AnalysisConfig("model")
    assert not config.tensorrt_engine_enabled()
    assert not config.mkldnn_enabled()
    assert config.memory_pool_init_size_mb() == 100
    config.enable_use_gpu(300, 0)
    assert config.memory_pool_init_size_mb() == 300


def test_sequences_keep_their_lod() -> None:
    held = data("text")
    config = AnalysisConfig(str(MODELS / "text" / "model"), str(MODELS / "text" / "params"))
    offsets = [np.concatenate([[0], np.cumsum(held["len_words"])]).tolist()]
    (out,) = create_paddle_predictor(config).run([PaddleTensor(held["in_words"], lod=offsets)])
    np.testing.assert_allclose(out.as_ndarray(), held["out"], rtol=1e-5)


def test_two_predictors_do_not_share_parameters_with_the_program() -> None:
    create_paddle_predictor(native())
    assert fluid.global_scope().find_var("fc_0.w_0") is None


def test_buffers_know_their_bytes() -> None:
    assert PaddleBuf([1, 2]).int64_data() == [1, 2]
    assert PaddleBuf([1.5]).tolist() == [1.5]
    assert PaddleBuf(8).length() == 8 and PaddleBuf().empty()
    assert PaddleBuf(np.array([3], "int32")).int32_data() == [3]
    with pytest.raises(ValueError, match="dtype must be float32"):
        PaddleBuf([1]).tolist("int8")
    with pytest.raises(TypeError, match="float32, int64 or int32"):
        PaddleTensor(np.ones(2, "float64"))


def test_mistakes_are_named() -> None:
    predictor = create_paddle_predictor(native())
    with pytest.raises(ValueError, match="takes 1 inputs"):
        predictor.run([])
    with pytest.raises(ValueError, match="no input 'y'"):
        predictor.get_input_tensor("y")
    with pytest.raises(ValueError, match="no output 'y'"):
        predictor.get_output_tensor("y")
    with pytest.raises(TypeError, match="NativeConfig or AnalysisConfig"):
        create_paddle_predictor("model")  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="tensorrt"):
        AnalysisConfig(MLP).enable_tensorrt_engine()


@pytest.fixture
def difference(tmp_path: Path) -> str:
    """A model of a - 2 * b."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), fluid.unique_name.guard():
        a, b = (fluid.data(name, [None, 1], "float32") for name in ("a", "b"))
        with pytest.warns(UserWarning, match="nothing to save"):
            fluid.io.save_inference_model(str(tmp_path), ["a", "b"], [a - 2.0 * b], fluid.Executor(), main)
    return str(tmp_path)


def _run(model: str, names: tuple[str, str], by_name: bool) -> float:
    config = AnalysisConfig(model)
    config.switch_specify_input_names(by_name)
    tensors = [PaddleTensor(np.array([[value]], "float32"), name) for name, value in zip(names, (1.0, 10.0))]
    (out,) = create_paddle_predictor(config).run(tensors)
    return float(out.as_ndarray()[0, 0])


@pytest.mark.parametrize("names", [("a", "b"), ("p", "q"), ("", ""), ("a", "a"), ("a", "")])
def test_tensors_are_taken_in_the_order_of_the_inputs(difference: str, names: tuple[str, str]) -> None:
    assert _run(difference, names, False) == -19


def test_names_in_another_order_are_ignored_with_a_warning(difference: str) -> None:
    with pytest.warns(UserWarning, match="taken by their position"):
        assert _run(difference, ("b", "a"), False) == -19


def test_tensors_are_taken_by_name_where_the_config_says_so(difference: str) -> None:
    assert _run(difference, ("b", "a"), True) == 8
    assert _run(difference, ("", ""), True) == -19
    with pytest.raises(ValueError, match="named 'p', 'q'; the model takes a, b"):
        _run(difference, ("p", "q"), True)


def test_a_predictor_describes_its_model(difference: str) -> None:
    predictor = create_paddle_predictor(AnalysisConfig(difference))
    assert predictor.get_input_tensor_shape() == {"a": [-1, 1], "b": [-1, 1]}
    assert fluid.Program.parse_from_string(predictor.get_serialized_program()).num_blocks == 1
