"""Ids, contents and log keys before the slots of a line, and page views; what Fluid 1.8.5 delivered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio as fluid
from fluidio.errors import ReaderError


def key(rank: int, search: int) -> str:
    return "1 00000000000" + f"0de{rank:02x}{search:016x}"


VIEWS = f"{key(1, 100)} 2 1 2\n{key(1, 7)} 1 9\n{key(2, 100)} 1 3\n{key(1, 9)} 1 8\n"


def made(path: Path, text: str) -> Any:
    path.write_text(text)
    dataset = fluid.InMemoryDataset()
    dataset.set_use_var([fluid.layers.data("words", [1], dtype="int64", lod_level=1)])
    dataset.set_batch_size(2)
    dataset.set_filelist([str(path)])
    return dataset


def words(dataset: Any) -> list[list[int]]:
    return [np.array(feed["words"]).ravel().tolist() for feed in dataset.batches()]


def test_ids_contents_and_log_keys_precede_the_slots_in_this_order(tmp_path: Path) -> None:
    dataset = made(tmp_path / "a", f"1 idA 1 some {key(1, 5)} 2 1 2\n1 idB 1 more {key(2, 5)} 1 3\n")
    dataset.set_parse_logkey(True)
    dataset.set_parse_ins_id(True)
    dataset.set_parse_content(True)
    dataset.load_into_memory()
    assert words(dataset) == [[1, 2, 3]]


def test_merging_by_line_id_expects_ids_and_merges_nothing_in_one_worker(tmp_path: Path) -> None:
    dataset = made(tmp_path / "a", "1 a 2 1 2\n1 b 1 3\n1 a 3 4 5 6\n")
    dataset.set_merge_by_lineid(2)
    dataset.load_into_memory()
    assert words(dataset) == [[1, 2, 3], [4, 5, 6]]


def test_a_line_without_its_id_is_named(tmp_path: Path) -> None:
    dataset = made(tmp_path / "a", "1 a 1 5\n2 1 2\n")
    dataset.set_parse_ins_id(True)
    with pytest.raises(ReaderError, match="line 2: it does not begin with"):
        dataset.load_into_memory()


@pytest.mark.parametrize(("by_search", "views"), [(True, 3), (False, 4)])
def test_page_views_join_searches_and_come_back_in_their_order(tmp_path: Path, by_search: bool, views: int) -> None:
    dataset = made(tmp_path / "a", VIEWS)
    dataset.set_parse_logkey(True)
    dataset.set_enable_pv_merge(True)
    dataset.set_merge_by_sid(by_search)
    dataset.load_into_memory()
    dataset.set_current_phase(1)
    dataset.preprocess_instance()
    assert (dataset.get_memory_data_size(), dataset.get_pv_data_size()) == (0, views)
    assert words(dataset) == []
    dataset.postprocess_instance()
    assert dataset.get_memory_data_size() == 4
    assert words(dataset) == [[1, 2, 3], [8, 9]]


def test_samples_are_shuffled_where_page_views_are_not_enabled(tmp_path: Path) -> None:
    dataset = made(tmp_path / "a", VIEWS)
    dataset.set_parse_logkey(True)
    dataset.load_into_memory()
    dataset.preprocess_instance()
    dataset.postprocess_instance()
    assert (dataset.get_memory_data_size(), dataset.get_pv_data_size()) == (4, 0)
    assert sorted(word for batch in words(dataset) for word in batch) == [1, 2, 3, 8, 9]


def test_a_log_key_without_a_search_id_is_named(tmp_path: Path) -> None:
    dataset = made(tmp_path / "a", "1 zzzz 1 5\n")
    dataset.set_parse_logkey(True)
    dataset.set_enable_pv_merge(True)
    dataset.load_into_memory()
    with pytest.raises(ReaderError, match="hexadecimal"):
        dataset.preprocess_instance()


def test_a_pass_of_the_loader_counts_the_samples_as_delivered(tmp_path: Path) -> None:
    dataset = made(tmp_path / "a", "1 5\n1 6\n")
    dataset.load_into_memory()
    list(fluid.io.DataLoader.from_dataset(dataset, fluid.CPUPlace(), drop_last=False))
    assert (dataset.get_memory_data_size(), dataset.get_shuffle_data_size()) == (0, 2)
