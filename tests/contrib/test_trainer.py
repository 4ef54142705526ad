"""The Trainer and Inferencer of the 2018 book."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.contrib.trainer import Trainer

TRUE = np.array([[2.0], [-3.0]], "float32")


def inference() -> Any:
    return fluid.layers.fc(fluid.layers.data("x", [2]), 1)


def training() -> list[Any]:
    prediction = inference()
    y = fluid.layers.data("y", [1])
    loss = fluid.layers.mean(fluid.layers.square_error_cost(prediction, y))
    return [loss, prediction]


def batches() -> Iterator[list[tuple[Any, Any]]]:
    rng = np.random.default_rng(0)
    for _ in range(8):
        x = rng.normal(size=(5, 2)).astype("float32")
        yield list(zip(x, x @ TRUE))


def make(**options: Any) -> Trainer:
    return fluid.Trainer(
        train_func=training, optimizer_func=lambda: fluid.optimizer.SGD(0.1), place=fluid.CPUPlace(), **options
    )


def test_training_tells_of_epochs_and_steps_and_lowers_the_loss(tmp_path: Path) -> None:
    seen: list[str] = []
    losses: list[float] = []
    trainer = make()

    def handler(event: Any) -> None:
        seen.append(type(event).__name__)
        if isinstance(event, fluid.EndStepEvent):
            losses.append(float(event.metrics[0]))

    trainer.train(num_epochs=3, event_handler=handler, reader=batches, feed_order=["x", "y"])
    assert seen[:3] == ["BeginEpochEvent", "BeginStepEvent", "EndStepEvent"] and seen[-1] == "EndEpochEvent"
    assert seen.count("EndStepEvent") == 24
    assert losses[-1] < 0.05 * losses[0]
    mean_loss, _ = trainer.test(reader=batches, feed_order={"y": 1, "x": 0})
    assert mean_loss < 0.05 * losses[0]
    trainer.save_params(str(tmp_path / "params"))
    inferencer = fluid.Inferencer(infer_func=inference, param_path=str(tmp_path / "params"), place=fluid.CPUPlace())
    (out,) = inferencer.infer({"x": np.eye(2, dtype="float32")})
    np.testing.assert_allclose(out, TRUE, atol=0.3)
    with pytest.raises(ValueError, match="takes a dict"):
        inferencer.infer([1])  # type: ignore[arg-type]


def test_metrics_are_not_fetched_when_nobody_wants_them() -> None:
    got: list[list[Any]] = []

    def handler(event: Any) -> None:
        if isinstance(event, fluid.BeginStepEvent):
            event.fetch_metrics = False
        elif isinstance(event, fluid.EndStepEvent):
            got.append(event.metrics)

    make().train(1, handler, batches, ["x", "y"])
    assert got == [[]] * 8


def test_stop_ends_the_training() -> None:
    trainer = make()
    steps: list[int] = []

    def handler(event: Any) -> None:
        if isinstance(event, fluid.EndStepEvent):
            steps.append(event.step)
            if event.step == 2:
                trainer.stop()

    trainer.train(5, handler, batches, ["x", "y"])
    assert steps == [0, 1, 2]


def test_an_optimizer_object_of_0_12_is_taken() -> None:
    trainer = Trainer(train_func=training, optimizer=fluid.optimizer.SGD(0.1), place=fluid.CPUPlace())
    assert "sgd" in [op.type for op in trainer.train_program.global_block().ops]


def test_a_training_goes_on_from_its_newest_checkpoint(tmp_path: Path) -> None:
    config = fluid.CheckpointConfig(str(tmp_path), max_num_checkpoints=2, step_interval=2)
    trainer = make(checkpoint_config=config)

    def until_five(event: Any) -> None:
        if isinstance(event, fluid.EndStepEvent) and event.step == 5:
            trainer.stop()

    trainer.train(2, until_five, batches, ["x", "y"])
    assert len(list(tmp_path.iterdir())) == 2
    again = make(checkpoint_config=fluid.CheckpointConfig(str(tmp_path), step_interval=2))
    steps: list[tuple[int, int]] = []

    def note(event: Any) -> None:
        if isinstance(event, fluid.EndStepEvent):
            steps.append((event.epoch, event.step))

    again.train(2, note, batches, ["x", "y"])
    assert steps[0] == (0, 5) and steps[-1] == (1, 7)
    assert list(tmp_path.iterdir()) == []


def test_the_model_of_a_trainer_can_be_saved_for_inference(tmp_path: Path) -> None:
    trainer = make()
    trainer.save_inference_model(str(tmp_path), ["x"], [1])
    exe = fluid.Executor(fluid.CPUPlace())
    program, feeds, targets = fluid.io.load_inference_model(str(tmp_path), exe)
    (out,) = exe.run(program, feed={feeds[0]: np.ones((3, 2), "float32")}, fetch_list=targets)
    assert out.shape == (3, 1)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="CheckpointConfig"):
        make(checkpoint_config="here")
    with pytest.raises(AssertionError, match="above 0"):
        fluid.CheckpointConfig(step_interval=0)
    with pytest.raises(ValueError, match="the positions must be"):
        make().train(1, print, batches, {"x": 0, "y": 3})
    with pytest.warns(UserWarning, match="one place"):
        make(parallel=True)
