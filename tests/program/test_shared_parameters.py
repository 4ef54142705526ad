"""A parameter that several layers share by its name: the first one initialises it, the last one sets its attributes."""

from __future__ import annotations

import numpy as np
import pytest

import fluidio as fluid
from fluidio import layers


def _shared_twice() -> fluid.Program:
    """Build two layers with one weight: frozen and regularised in the first, trained at its own rate in the second."""
    fluid.default_startup_program().random_seed = 1
    x = layers.data("x", [4])
    frozen = fluid.ParamAttr(name="w", learning_rate=2.0, trainable=False, regularizer=fluid.regularizer.L2Decay(0.1))
    hidden = layers.fc(x, 4, param_attr=frozen, bias_attr=False)
    fluid.default_main_program().global_block().var("w").stop_gradient = True
    trained = fluid.ParamAttr(name="w", learning_rate=3.0, initializer=fluid.initializer.Constant(1.0))
    layers.fc(hidden, 4, param_attr=trained, bias_attr=False)
    return fluid.default_main_program()


def test_the_last_attributes_hold() -> None:
    (weight,) = _shared_twice().all_parameters()
    assert weight.trainable
    assert not weight.stop_gradient
    assert weight.optimize_attr == {"learning_rate": 3.0}
    assert weight.regularizer is None
    assert weight is fluid.default_main_program().global_block().var("w")


def test_training_gives_the_losses_of_the_original() -> None:
    loss = layers.mean(list(_shared_twice().list_vars())[-1])
    fluid.optimizer.SGD(0.1).minimize(loss)
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(fluid.default_startup_program())
    found = [exe.run(feed={"x": np.ones((2, 4), "float32")}, fetch_list=[loss])[0] for _ in range(3)]
    np.testing.assert_allclose(np.ravel(found), [0.23654523, 0.07921644, -0.01942089], rtol=1e-5)


def test_a_crf_weight_made_by_hand_takes_the_rate_of_the_layer() -> None:
    emission = layers.data("x", [5], lod_level=1)
    label = layers.data("y", [1], dtype="int64", lod_level=1)
    layers.create_parameter([7, 5], "float32", name="crfw")
    layers.linear_chain_crf(emission, label, param_attr=fluid.ParamAttr(name="crfw", learning_rate=0.2))
    layers.crf_decoding(emission, param_attr=fluid.ParamAttr(name="crfw"))  # only reads it
    (weight,) = fluid.default_main_program().all_parameters()
    assert weight.optimize_attr["learning_rate"] == 0.2


def test_a_second_startup_program_initialises_it_too() -> None:
    main, startup = _shared_twice(), fluid.Program()
    with fluid.program_guard(main, startup):
        layers.fc(main.global_block().var("x"), 4, param_attr="w", bias_attr=False)
    assert [op.type for op in startup.global_block().ops] == ["uniform_random"]
    assert [op.type for op in fluid.default_startup_program().global_block().ops] == ["uniform_random"]


def test_another_shape_or_dtype_is_refused() -> None:
    _shared_twice()
    with pytest.raises(ValueError, match=r"w already has shape \[4, 4\], but this layer needs \[3, 4\]"):
        layers.create_parameter([3, 4], "float32", name="w")
    with pytest.raises(ValueError, match="w already has dtype FP32, but this layer needs FP64"):
        layers.create_parameter([4, 4], "float64", name="w")
