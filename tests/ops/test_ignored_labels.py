"""Labels that are ignored, among the classes, below and above them; numbers of the real 1.8.5."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.ops.loss import cross_entropy

LOGITS = np.array(
    [[1.7641, 0.4002, 0.9787], [2.2409, 1.8676, -0.9773], [0.9501, -0.1514, -0.1032], [0.4106, 0.144, 1.4543]],
    "float32",
)
LOSSES = [0.5375, 0.0, 1.5728, 0.0]


def _run(layer: str, ignore: int, labels: list[int], **options: Any) -> Any:
    """Return the losses and the gradient of their sum, row i weighed with i + 1."""
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = fluid.layers.data("x", [len(labels), 3], append_batch_size=False, stop_gradient=False)
        y = fluid.layers.data("y", [len(labels), 1], dtype="int64", append_batch_size=False)
        w = fluid.layers.data("w", [len(labels), 1], append_batch_size=False)
        if layer == "cross_entropy":
            x = fluid.layers.softmax(x)
            loss = fluid.layers.cross_entropy(x, y, ignore_index=ignore)
        else:
            loss = fluid.layers.softmax_with_cross_entropy(x, y, ignore_index=ignore, **options)
        wanted = [loss, *fluid.gradients(fluid.layers.reduce_sum(loss * w), [x])]
        feed = {
            "x": LOGITS[: len(labels)],
            "y": np.array(labels, "int64").reshape(-1, 1),
            "w": np.arange(1, len(labels) + 1, dtype="float32").reshape(-1, 1),
        }
        return fluid.Executor(fluid.CPUPlace()).run(main, feed=feed, fetch_list=wanted)


@pytest.mark.parametrize("layer", ["cross_entropy", "softmax_with_cross_entropy"])
@pytest.mark.parametrize("ignore", [255, 3, 1, -1, -100])
def test_ignored_labels_cost_nothing(layer: str, ignore: int) -> None:
    loss, _ = _run(layer, ignore, [0, ignore, 2, ignore])
    np.testing.assert_allclose(loss.ravel(), LOSSES, atol=2e-4)
    assert not np.signbit(loss).any()


@pytest.mark.parametrize("ignore", [255, 3, 1, -1, -100])
def test_cross_entropy_gives_ignored_rows_no_gradient(ignore: int) -> None:
    _, gradient = _run("cross_entropy", ignore, [0, ignore, 2, ignore])
    assert not gradient[1].any() and not gradient[3].any()
    np.testing.assert_allclose([gradient[0, 0], gradient[2, 2]], [-1.7116, -14.4604], rtol=2e-3)


# The CPU kernel of 1.8.5 writes where the label leads to from the start of the row, in other rows, too.
GRADIENTS: dict[tuple[int, tuple[int, ...]], list[list[float]]] = {
    (3, (3, 3, 1)): [[0.5842, 0.1494, 0.2664], [0.1571, 0.7966, 0.0463], [-0.2155, -2.4069, 0.6224]],
    (-1, (0, -1, 2)): [[-0.4158, 0.1494, -1.7336], [1.1571, 0.7966, 0.0463], [1.7845, 0.5931, -2.3776]],
    (1, (0, 1, 2)): [[-0.4158, 0.1494, 0.2664], [1.1571, -1.2034, 0.0463], [1.7845, 0.5931, -2.3776]],
    (-100, (0, 1, -100)): [[-0.4158, 0.1494, 0.2664], [1.1571, -1.2034, 0.0463], [1.7845, 0.5931, 0.6224]],
}


@pytest.mark.parametrize(("ignore", "labels"), GRADIENTS)
def test_softmax_with_cross_entropy_gives_ignored_rows_the_gradient_of_the_original(
    ignore: int, labels: tuple[int, ...]
) -> None:
    _, gradient = _run("softmax_with_cross_entropy", ignore, list(labels))
    np.testing.assert_allclose(gradient, GRADIENTS[ignore, labels], atol=2e-4)


@pytest.mark.parametrize("ignore", [255, 3, 1, -1])
def test_the_right_gradient_leaves_ignored_rows_alone(ignore: int) -> None:
    _, gradient = _run("softmax_with_cross_entropy", ignore, [0, ignore, 2, ignore], right_gradient=True)
    expected = [[-0.4158, 0.1494, 0.2664], [0.0] * 3, [1.7845, 0.5931, -2.3776], [0.0] * 3]
    np.testing.assert_allclose(gradient, expected, atol=2e-4)


@pytest.mark.parametrize("right", [True, False])
def test_classes_may_lie_on_any_axis(right: bool) -> None:
    rng = np.random.RandomState(3)
    logits, labels = rng.rand(2, 3, 4, 5).astype("float32"), rng.choice([0, 1, 2, 7], (2, 1, 4, 5))
    found = []
    for axis in (1, 3):
        main = fluid.Program()
        with fluid.program_guard(main, fluid.Program()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            move = [0, 1, 2, 3] if axis == 1 else [0, 2, 3, 1]
            moved = np.ascontiguousarray(logits.transpose(move))
            ids = np.ascontiguousarray(labels.transpose(move))
            x = fluid.layers.data("x", list(moved.shape), append_batch_size=False, stop_gradient=False)
            y = fluid.layers.data("y", list(ids.shape), dtype="int64", append_batch_size=False)
            loss = fluid.layers.softmax_with_cross_entropy(x, y, ignore_index=7, axis=axis, right_gradient=right)
            wanted = [loss, *fluid.gradients(fluid.layers.reduce_sum(loss), [x])]
            result = fluid.Executor(fluid.CPUPlace()).run(main, feed={"x": moved, "y": ids}, fetch_list=wanted)
        found.append([np.asarray(value).transpose([0, 1, 2, 3] if axis == 1 else [0, 3, 1, 2]) for value in result])
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    if right:
        np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
    assert not found[0][0][labels == 7].any()


def test_a_label_out_of_range_behind_an_ignored_one_is_refused() -> None:
    with pytest.raises(fluid.core.EnforceNotMet, match="label 300 is out of range"):
        _run("cross_entropy", 255, [0, 255, 300])


def test_gradients_of_ignored_rows_are_told_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "_warned", False)
    main = fluid.Program()
    with fluid.program_guard(main, fluid.Program()):
        x = fluid.layers.data("x", [2, 3], append_batch_size=False, stop_gradient=False)
        y = fluid.layers.data("y", [2, 1], dtype="int64", append_batch_size=False)
        loss = fluid.layers.softmax_with_cross_entropy(x, y, ignore_index=1)
        wanted = fluid.gradients(fluid.layers.mean(loss), [x])
    exe, feed = fluid.Executor(fluid.CPUPlace()), {"x": LOGITS[:2], "y": np.array([[0], [1]])}
    with pytest.warns(UserWarning, match="right_gradient=True"):
        exe.run(main, feed=feed, fetch_list=wanted)
    exe.run(main, feed=feed, fetch_list=wanted)
