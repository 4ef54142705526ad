"""Datasets of slot text, and training from them."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import ReaderError

TEXT = "3 1 2 3 1 0.5 1 1\n2 4 5 1 1.5 1 0\n1 6 1 2.5 1 1\n"


def variables() -> list[Any]:
    return [
        fluid.layers.data("words", [1], dtype="int64", lod_level=1),
        fluid.layers.data("price", [1]),
        fluid.layers.data("label", [1], dtype="int64"),
    ]


def made(kind: str, path: Path, text: str = TEXT, batch_size: int = 2) -> Any:
    path.write_text(text)
    dataset = fluid.DatasetFactory().create_dataset(kind)
    dataset.set_use_var(variables())
    dataset.set_batch_size(batch_size)
    dataset.set_filelist([str(path)])
    dataset.set_thread(2)
    return dataset


def test_slots_become_batches(tmp_path: Path) -> None:
    first, second = made("QueueDataset", tmp_path / "part-0").batches()
    assert first["words"].recursive_sequence_lengths() == [[3, 2]]
    assert np.array(first["words"]).ravel().tolist() == [1, 2, 3, 4, 5]
    assert first["price"].tolist() == [[0.5], [1.5]] and first["label"].tolist() == [[1], [0]]
    assert second["price"].tolist() == [[2.5]]


def test_training_runs_every_batch_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dataset = made("InMemoryDataset", tmp_path / "part-0")
    words, price, _ = dataset._variables
    summed = fluid.layers.sequence_pool(fluid.layers.cast(words, "float32"), "sum")
    total = fluid.layers.reduce_sum(summed) + fluid.layers.reduce_sum(price)
    dataset.load_into_memory()
    assert dataset.get_memory_data_size() == 3
    exe = fluid.Executor(fluid.CPUPlace())
    exe.train_from_dataset(
        fluid.default_main_program(), dataset, fetch_list=[total], fetch_info=["total"], print_period=1
    )
    shown = "total\t{}\t\tlod: {{}}\n\tdim: 1\n\tlayout: NCHW\n\tdtype: float\n\tdata: [{}]\n\t\n"  # as 1.8.5 prints it
    assert capsys.readouterr().out == shown.format(total.name, "17") + shown.format(total.name, "8.5")
    exe.infer_from_dataset(dataset=dataset)
    with pytest.raises(RuntimeError, match="need a dataset"):
        exe.train_from_dataset()


def test_memory_is_shuffled_and_released(tmp_path: Path) -> None:
    text = "".join(f"1 {i} 1 0.5 1 0\n" for i in range(50))  # a 0 alone stays
    dataset = made("InMemoryDataset", tmp_path / "part-0", text, batch_size=50)
    with pytest.raises(RuntimeError, match="load_into_memory"):
        dataset.local_shuffle()
    dataset.load_into_memory()
    random.seed(1)
    dataset.local_shuffle()
    dataset.global_shuffle(None)
    (batch,) = dataset.batches()
    order = np.array(batch["words"]).ravel().tolist()
    assert order != list(range(50)) and sorted(order) == list(range(50))
    dataset.release_memory()
    with pytest.raises(RuntimeError, match="load_into_memory"):
        dataset.get_memory_data_size()


def zeros(kind: str, path: Path) -> Any:
    """Return a dataset with zeros, and numbers close to zero, in slots of both kinds."""
    path.write_text("2 0 5 2 0.0 0.5 2 0 3\n1 0 1 9e-7 2 0 0\n3 7 0 8 3 1.5 -5e-7 2.5 2 4 0\n2 0 0 1 1.1e-6 2 1 1\n")
    dataset = fluid.DatasetFactory().create_dataset(kind)
    ids, weights = fluid.layers.data("ids", [1], dtype="int64", lod_level=1), fluid.layers.data("w", [1], lod_level=1)
    dataset.set_use_var([ids, weights, fluid.layers.data("pair", [2], dtype="int64")])
    dataset.set_batch_size(4)
    dataset.set_filelist([str(path)])
    return dataset


def test_memory_leaves_zeros_out_of_sequences_and_says_so(tmp_path: Path) -> None:
    dataset = zeros("InMemoryDataset", tmp_path / "part-0")
    with pytest.warns(UserWarning, match="left out 5 zeros.*keep_zeros"):
        dataset.load_into_memory()
    (batch,) = dataset.batches()
    assert np.array(batch["ids"]).ravel().tolist() == [5, 0, 7, 8, 0]
    assert batch["ids"].recursive_sequence_lengths() == [[1, 1, 2, 1]]
    np.testing.assert_allclose(np.array(batch["w"]).ravel(), [0.5, 0, 1.5, 2.5, 1.1e-6], rtol=1e-6)
    assert batch["pair"].tolist() == [[0, 3], [0, 0], [4, 0], [1, 1]]


def test_a_queue_and_memory_that_is_told_so_keep_zeros(tmp_path: Path) -> None:
    memory = zeros("InMemoryDataset", tmp_path / "part-0")
    memory.keep_zeros = True
    memory.load_into_memory()
    for dataset in (memory, zeros("QueueDataset", tmp_path / "part-0")):
        (batch,) = dataset.batches()
        assert batch["ids"].recursive_sequence_lengths() == [[2, 1, 3, 2]]


def test_text_goes_through_the_pipe_command(tmp_path: Path) -> None:
    dataset = made("QueueDataset", tmp_path / "part-0")
    dataset.set_pipe_command("head -n 1")
    (batch,) = dataset.batches()
    assert batch["price"].tolist() == [[0.5]]
    dataset.set_pipe_command(f'"{sys.executable}" -c "import sys; sys.exit(3)"')
    with pytest.raises(ReaderError, match="status 3"):
        list(dataset.batches())


def test_leaving_early_ends_the_pipe(tmp_path: Path) -> None:
    dataset = made("QueueDataset", tmp_path / "part-0", TEXT * 10000)
    dataset.set_pipe_command("cat -")
    batches = dataset.batches()
    next(batches)
    batches.close()


def test_ids_of_64_bits_keep_their_bits(tmp_path: Path) -> None:
    dataset = made("QueueDataset", tmp_path / "part-0", f"1 {2**64 - 1} 1 0.5 1 1\n")
    (batch,) = dataset.batches()
    assert np.array(batch["words"]).view(np.uint64).tolist() == [[2**64 - 1]]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("3 1 2\n", "slot words announces 3 values, but 2 are left"),
        ("1 1 1 0.5\n", "ends before slot label"),
        ("1 1 1 0.5 1 1 7\n", "1 words are left after"),
        ("1 x 1 0.5 1 1\n", "invalid literal"),
        ("0 1 0.5 1 1\n", "announces 0"),
    ],
)
def test_a_line_of_another_form_is_named(tmp_path: Path, line: str, problem: str) -> None:
    dataset = made("QueueDataset", tmp_path / "part-0", "1 1 1 0.5 1 1\n" + line)
    with pytest.raises(ReaderError, match=f"part-0: line 2: .*{problem}"):
        list(dataset.batches())


def test_mistakes_in_the_setup_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no dataset 'X'"):
        fluid.DatasetFactory().create_dataset("X")
    with pytest.raises(NotImplementedError, match="InMemoryDataset"):
        fluid.QueueDataset().local_shuffle()
    with pytest.raises(ValueError, match="set_use_var"):
        dataset = fluid.QueueDataset()
        list(dataset.batches())
    with pytest.raises(ValueError, match="float32 or int64"):
        fluid.QueueDataset().set_use_var([fluid.layers.data("b", [1], dtype="int32")])
    uneven = made("QueueDataset", tmp_path / "part-0", "1 1 2 0.5 0.6 1 1\n1 1 1 0.5 1 1\n")
    with pytest.raises(ReaderError, match="no LoD level"):
        list(uneven.batches())


def two_files(folder: Path, kind: str) -> Any:
    """Return a dataset of two files: words 0..4 and 10..12, one in a sample; the price is half above."""
    dataset = made(kind, folder / "a", "".join(f"1 {n} 1 {n}.5 1 1\n" for n in range(5)))
    (folder / "b").write_text("".join(f"1 {n} 1 {n}.5 1 1\n" for n in range(10, 13)))
    dataset.set_filelist([str(folder / "a"), str(folder / "b")])
    if kind == "InMemoryDataset":
        dataset.load_into_memory()
    return dataset


def words_of(loader: Any) -> list[list[list[int]]]:
    """Return the words that each place gets in each step."""
    return [[np.array(feed["words"]).ravel().tolist() for feed in step] for step in loader()]


@pytest.mark.parametrize("kind", ["QueueDataset", "InMemoryDataset"])
def test_a_loader_yields_the_batches_of_a_dataset_in_every_epoch(tmp_path: Path, kind: str) -> None:
    loader = fluid.io.DataLoader.from_dataset(two_files(tmp_path, kind), fluid.CPUPlace(), drop_last=False)
    for _ in range(2):
        assert words_of(loader) == [[[0, 1]], [[2, 3]], [[4, 10]], [[11, 12]]]
    (first,) = next(iter(loader))
    assert first["words"].recursive_sequence_lengths() == [[1, 1]]
    assert np.array(first["price"]).tolist() == [[0.5], [1.5]]
    exe = fluid.Executor(fluid.CPUPlace())
    total = fluid.layers.reduce_sum(fluid.default_main_program().global_block().var("price"))
    assert [float(exe.run(feed=feed, fetch_list=[total])[0]) for feed in loader()] == [2, 6, 15, 24]


def test_each_place_reads_files_of_its_own(tmp_path: Path) -> None:
    dataset = two_files(tmp_path, "QueueDataset")
    places = fluid.cpu_places(2)
    loader = fluid.io.DataLoader.from_dataset(dataset, places, drop_last=False)
    assert words_of(loader) == [[[0, 1], [10, 11]], [[2, 3], [12]], [[4]]]
    assert dataset.thread_num == 2
    with pytest.warns(UserWarning, match="drops the last"):
        assert words_of(fluid.io.DataLoader.from_dataset(dataset, places)) == [[[0, 1], [10, 11]]]


def test_a_loader_drops_short_batches_and_says_so(tmp_path: Path) -> None:
    loader = fluid.io.DataLoader.from_dataset(made("QueueDataset", tmp_path / "a"), fluid.CPUPlace())
    with pytest.warns(UserWarning, match="drops the last 1 samples of each epoch"):
        assert words_of(loader) == [[[1, 2, 3, 4, 5]]]
    assert words_of(loader) == [[[1, 2, 3, 4, 5]]]  # said once is enough


def test_a_loader_over_a_dataset_needs_a_file_for_each_place(tmp_path: Path) -> None:
    dataset = made("QueueDataset", tmp_path / "a")
    with pytest.raises(AssertionError, match="1 files for 2 places"):
        fluid.io.DataLoader.from_dataset(dataset, fluid.cpu_places(2))
    with pytest.raises(AssertionError, match="takes a dataset"):
        fluid.io.DataLoader.from_dataset([], fluid.CPUPlace())  # type: ignore[arg-type]
    unloaded = made("InMemoryDataset", tmp_path / "a")
    with pytest.raises(ReaderError, match="load_into_memory"):
        list(fluid.io.DataLoader.from_dataset(unloaded, fluid.CPUPlace()))


def test_a_dataset_tells_its_slots_as_fluid_does(tmp_path: Path) -> None:
    dataset = made("InMemoryDataset", tmp_path / "a")
    dataset.set_rank_offset("rank")
    dataset.set_pv_batch_size(3)
    assert dataset.desc() == (
        'name: "MultiSlotInMemoryDataFeed"\nbatch_size: 2\nmulti_slot_desc {\n'
        '  slots {\n    name: "words"\n    type: "uint64"\n    is_used: true\n  }\n'
        '  slots {\n    name: "price"\n    type: "float"\n    is_dense: true\n    is_used: true\n'
        "    shape: -1\n    shape: 1\n  }\n"
        '  slots {\n    name: "label"\n    type: "uint64"\n    is_dense: true\n    is_used: true\n'
        '    shape: -1\n    shape: 1\n  }\n}\npipe_command: "cat"\nrank_offset: "rank"\npv_batch_size: 3\n'
    )
    assert fluid.QueueDataset().desc() == 'name: "MultiSlotDataFeed"\npipe_command: "cat"\n'


def test_samples_in_memory_count_as_shuffled_after_a_pass(tmp_path: Path) -> None:
    dataset = made("InMemoryDataset", tmp_path / "a")
    dataset.load_into_memory()
    assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (3, 0)
    fluid.Executor(fluid.CPUPlace()).train_from_dataset(fluid.default_main_program(), dataset)
    assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (0, 3)


def test_the_values_of_a_slot_are_shuffled_among_samples(tmp_path: Path) -> None:
    dataset = made("InMemoryDataset", tmp_path / "a", "".join(f"1 {n} 1 {n} 1 {n}\n" for n in range(9)), 9)
    dataset.load_into_memory()
    random.seed(1)
    dataset.slots_shuffle(["price"])
    (feed,) = dataset.batches()
    prices = np.array(feed["price"]).ravel().tolist()
    assert sorted(prices) == list(range(9)) != prices
    assert np.array(feed["label"]).ravel().tolist() == list(range(9))


class Shown(fluid.executor.FetchHandler):
    """Keeps what it is called with."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen: list[Any] = []

    def handler(self, res_dict: Any) -> None:
        self.seen.append({key: value.tolist() for key, value in res_dict.items()})


@pytest.mark.parametrize(("period", "seen"), [(0, [0.75, 2.5, 2.5]), (1, [2.5]), (60, [])])
def test_a_handler_sees_values_every_so_many_seconds(tmp_path: Path, period: int, seen: list[float]) -> None:
    dataset = made("QueueDataset", tmp_path / "a", TEXT.replace("0.5", "0.0"))
    mean = fluid.layers.mean(fluid.default_main_program().global_block().var("price"))
    handler = Shown({"mean": mean}, period)
    fluid.Executor(fluid.CPUPlace()).train_from_dataset(fluid.default_main_program(), dataset, fetch_handler=handler)
    assert [found["mean"][0] for found in handler.seen] == seen


def test_a_handler_prints_unless_it_is_told_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    fluid.executor.FetchHandler({}).handler({"auc": np.array([0.5, 1.0])})
    fluid.executor.FetchHandler.help()
    assert capsys.readouterr().out.startswith("auc[0]: 0.5 \n\nclass ")
