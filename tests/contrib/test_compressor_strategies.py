"""The Compressor quantises and learns from a teacher, with the losses of Fluid 1.8.5."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.slim import Compressor

LOSSES_OF_1_8_5 = {
    "distilled": [4.207735, 4.255216, 3.91017, 3.752046, 3.442683, 3.193492, 3.074358, 3.421169],
    "quantised": [2.366338, 2.278553, 2.185842, 2.371664, 2.26031, 2.252558, 2.09262, 2.404725],
}
"""Four of an epoch; the quantised ones are rounded in the second."""

DISTILLED = {
    "distillers": {
        "map": {
            "class": "L2Distiller",
            "teacher_feature_map": "teacher_conv.tmp_0",
            "student_feature_map": "conv2d_1.tmp_0",
        },
        "section": {
            "class": "FSPDistiller",
            "teacher_pairs": [["teacher_conv.tmp_0", "teacher_conv2.tmp_0"]],
            "student_pairs": [["conv2d_1.tmp_0", "conv2d_2.tmp_0"]],
        },
        "labels": {
            "class": "SoftLabelDistiller",
            "teacher_feature_map": "teacher_fc.tmp_1",
            "student_feature_map": "fc_0.tmp_1",
            "distillation_loss_weight": 0.001,
        },
    },
    "strategies": {
        "learn": {"class": "DistillationStrategy", "distillers": ["map", "section", "labels"], "end_epoch": 2}
    },
}


@pytest.fixture(autouse=True)
def _era() -> Iterator[None]:
    with fluid.use_era("1.8"):
        yield


def _net(image: Any, prefix: str | None = None) -> Any:
    def name(part: str) -> str | None:
        return prefix and prefix + part

    layers = fluid.layers
    hidden = layers.conv2d(image, 4, 3, padding=1, act="relu", bias_attr=False, name=name("0"))
    hidden = layers.conv2d(hidden, 8, 3, padding=1, bias_attr=False, name=name("conv"))
    hidden = layers.conv2d(layers.relu(hidden), 8, 3, padding=1, bias_attr=False, name=name("conv2"))
    pooled = layers.pool2d(layers.relu(hidden), pool_type="avg", global_pooling=True)
    return layers.fc(pooled, 10, act="softmax", name=name("fc"))


def _batches() -> Iterator[list[tuple[Any, int]]]:
    draw = np.random.RandomState(0)
    samples = [(draw.rand(1, 12, 12).astype("float32"), int(draw.randint(10))) for _ in range(32)]
    return (samples[start : start + 8] for start in range(0, 32, 8))


def _teacher(exe: fluid.Executor) -> fluid.Program:
    teacher, startup = fluid.Program(), fluid.Program()
    startup.random_seed = 3
    with fluid.program_guard(teacher, startup):
        _net(fluid.layers.data("image", [1, 12, 12]), "teacher_")
    exe.run(startup)
    return teacher.clone(for_test=True)


def _compressor(minimised: bool) -> Compressor:
    main, startup = fluid.default_main_program(), fluid.default_startup_program()
    startup.random_seed = main.random_seed = 2
    image, label = fluid.layers.data("image", [1, 12, 12]), fluid.layers.data("label", [1], dtype="int64")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(_net(image), label))
    test = main.clone()
    rate = fluid.layers.piecewise_decay([6], [0.05, 0.005])
    optimizer: Any = fluid.optimizer.Momentum(rate, 0.9, regularization=fluid.regularizer.L2Decay(4e-5))
    if minimised:
        optimizer.minimize(loss)
        optimizer = None
    exe = fluid.Executor(fluid.CPUPlace())
    exe.run(startup)
    feeds, fetches = [("image", "image"), ("label", "label")], [("loss", loss.name)]
    return Compressor(
        fluid.CPUPlace(),
        fluid.global_scope(),
        main,
        train_reader=_batches,
        train_feed_list=feeds,
        train_fetch_list=fetches,
        eval_program=test,
        eval_reader=_batches,
        eval_feed_list=feeds,
        eval_fetch_list=fetches,
        teacher_programs=() if minimised else [_teacher(exe)],
        train_optimizer=optimizer,
        distiller_optimizer=fluid.optimizer.Momentum(0.01, 0.9),
        log_period=1,
    )


def _losses(caplog: pytest.LogCaptureFixture) -> list[float]:
    found = (re.match(r"epoch:.*= \[([\d.]+)", message) for message in caplog.messages)
    return [float(match[1]) for match in found if match]


@pytest.fixture
def heard(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    logger = logging.getLogger("fluidio.contrib.slim.compressor")
    logger.addHandler(caplog.handler)
    yield caplog
    logger.removeHandler(caplog.handler)


def test_a_network_learns_from_its_teacher_and_alone_afterwards(heard: pytest.LogCaptureFixture) -> None:
    task = _compressor(minimised=False)
    task.config({"compressor": {"epoch": 3, "strategies": ["learn"]}, **DISTILLED})
    task.run()
    losses = _losses(heard)
    np.testing.assert_allclose(losses[:8], LOSSES_OF_1_8_5["distilled"], rtol=1e-5)
    assert len(losses) == 12 and max(losses[8:]) < 2.6
    assert "fsp_distillation_loss" in heard.messages[0]


def test_rounding_begins_in_its_epoch_and_models_are_saved(tmp_path: Path, heard: pytest.LogCaptureFixture) -> None:
    task = _compressor(minimised=True)
    options = {
        "class": "QuantizationStrategy",
        "start_epoch": 1,
        "end_epoch": 1,
        "activation_quantize_type": "moving_average_abs_max",
        "save_in_nodes": ["image"],
        "save_out_nodes": ["fc_0.tmp_2"],
        **{f"{kind}_model_save_path": str(tmp_path / kind) for kind in ("float", "int8", "mobile")},
    }
    task.config({"compressor": {"epoch": 2, "strategies": ["round"]}, "strategies": {"round": options}})
    task.run()
    np.testing.assert_allclose(_losses(heard), LOSSES_OF_1_8_5["quantised"], rtol=1e-4)
    for kind in ("float", "int8", "mobile"):
        assert {path.name for path in (tmp_path / kind).iterdir()} == {"model", "weights"}


def test_training_goes_on_with_the_teacher_after_a_checkpoint(tmp_path: Path, heard: pytest.LogCaptureFixture) -> None:
    task = _compressor(minimised=False)
    task.config({"compressor": {"epoch": 1, "checkpoint_path": str(tmp_path), "strategies": ["learn"]}, **DISTILLED})
    task.run()
    task.epoch = 2
    task.run()
    np.testing.assert_allclose(_losses(heard), LOSSES_OF_1_8_5["distilled"], rtol=1e-5)


def test_a_distiller_of_another_class_is_named() -> None:
    wrong = {**DISTILLED, "distillers": {"map": {"class": "Guess"}}}
    with pytest.raises(ValueError, match="distiller map: .* got Guess"):
        _compressor(minimised=True).config({"compressor": {"epoch": 1, "strategies": ["learn"]}, **wrong})
