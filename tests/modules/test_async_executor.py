"""`fluid.AsyncExecutor` trains on files of slots as `train_from_dataset` does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fluidio as fluid

DESC = """
name: "MultiSlotDataFeed"
batch_size: 2
multi_slot_desc {
  slots { name: "words" type: "uint64" is_dense: false is_used: true }
  slots { name: "ignored" type: "float" is_dense: false is_used: false }
  slots { name: "label" type: "uint64" is_dense: false is_used: true }
}
"""
TEXT = "2 1 3 1 0.5 1 0\n1 4 3 0.1 0.2 0.3 1 1\n3 0 2 4 1 0.5 1 1\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[fluid.DataFeedDesc, list[str]]:
    (tmp_path / "data.proto").write_text(DESC)
    (tmp_path / "part-0").write_text(TEXT)
    (tmp_path / "part-1").write_text(TEXT)
    return fluid.DataFeedDesc(str(tmp_path / "data.proto")), [str(tmp_path / "part-0"), str(tmp_path / "part-1")]


def network() -> tuple[list[fluid.Variable], fluid.Variable]:
    fluid.default_startup_program().random_seed = 1
    words = fluid.layers.data("words", [1], dtype="int64", lod_level=1)
    label = fluid.layers.data("label", [1], dtype="int64", lod_level=1)
    emb = fluid.layers.embedding(words, [5, 3], param_attr="emb")
    out = fluid.layers.fc(fluid.layers.sequence_pool(emb, "sum"), 2, act="softmax")
    loss = fluid.layers.mean(fluid.layers.cross_entropy(out, label))
    fluid.optimizer.SGD(0.5).minimize(loss)
    return [words, label], loss


def table() -> np.ndarray:
    return np.array(fluid.global_scope().var("emb").get_tensor())


def test_the_files_train_the_program(files: tuple[fluid.DataFeedDesc, list[str]]) -> None:
    _, loss = network()
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    first = table()
    fluid.AsyncExecutor(fluid.CPUPlace()).run(fluid.default_main_program(), *files, 2, [loss])
    changed = np.abs(table() - first).sum(axis=1) > 0
    assert changed.all()  # each id is in the files


def test_fetched_values_are_printed_for_debugging(
    files: tuple[fluid.DataFeedDesc, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    _, loss = network()
    fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
    fluid.AsyncExecutor().run(None, files[0], files[1][0], 1, loss, debug=True)
    assert capsys.readouterr().out.count(loss.name) == 4  # two batches, title and name


def test_wrong_arguments_are_refused(files: tuple[fluid.DataFeedDesc, list[str]]) -> None:
    (words, _), _ = network()
    executor = fluid.AsyncExecutor()
    with pytest.raises(ValueError, match="CPU only"):
        fluid.AsyncExecutor(fluid.CUDAPlace(0))
    with pytest.raises(ValueError, match="data_feed"):
        executor.run(None, None, files[1], 1, [])
    with pytest.raises(TypeError, match="thread_num"):
        executor.run(None, *files, "two", [])
    wide = fluid.layers.fc(fluid.layers.cast(words, "float32"), 3)
    with pytest.raises(AssertionError, match="last dim"):
        executor.run(None, *files, 1, [wide])
