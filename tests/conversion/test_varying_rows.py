"""Records whose number of rows changes later in the file: every tool keeps all rows, and describes them so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.conversion import looking
from fluidio.conversion.stats import stats
from fluidio.conversion.tools import diff, mapped, select
from fluidio.errors import ConversionError
from fluidio.recordio import Writer
from fluidio.recordio.files.paths import expand
from tests.conversion.servers import need

HEIGHTS = [1, 1, 3, 2, 0, 4]


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A file whose first chunk holds records of one row, as of a last, short batch."""
    path = str(tmp_path / "a.recordio")
    with Writer(path, max_num_records=2) as writer:
        for height in HEIGHTS:
            numbers = np.arange(height, dtype=np.int64).reshape(-1, 1)
            writer.write_tensors([(numbers, ()), (np.ones((height, 2), np.float32), ())])
    return path


def expected(width: int) -> list[Any]:
    return [[[1.0] * width] * height for height in HEIGHTS]


def test_rows_are_shown_and_counted_whole(data: str) -> None:
    found = [np.asarray(row["slot_1"]).reshape(-1, 2).tolist() for row in looking.rows([data])]
    assert found == expected(2)
    assert [np.asarray(row["slot_0"]).reshape(-1).tolist() for row in looking.rows([data])] == [
        list(range(height)) for height in HEIGHTS
    ]
    first, _ = stats([data])
    assert (first.type, first.shortest, first.longest, first.mean_length) == ("int64 (*, 1)", 0, 4, sum(HEIGHTS) / 6)


@pytest.mark.parametrize("name", ["npz", "tfrecord", "webdataset", "parquet", "arrow"])
def test_they_survive_every_format(name: str, data: str, tmp_path: Path) -> None:
    if name in ("parquet", "arrow"):
        need("pyarrow")
    assert main(["export", data, "--to", name, "--output", str(tmp_path / "there"), "--quiet"]) == 0
    (there,) = (path for path in expand(str(tmp_path / "there" / "*")) if not path.endswith(".json"))
    assert main(["export", there, "--to", "recordio", "--output", str(tmp_path / "back"), "--quiet"]) == 0
    assert main(["records", "diff", data, str(tmp_path / "back" / "a.recordio")]) == 0


def test_selected_columns_are_described_as_they_are(data: str, tmp_path: Path) -> None:
    (made,) = select([data], ["slot_1"], str(tmp_path / "out" / "x"))
    manifest = json.loads((tmp_path / "out" / "x.manifest.json").read_text())
    assert [slot["rows"] for slot in manifest["slots"]] == [None]
    assert [row["slot_1"].tolist() for row in looking.rows([made])] == expected(2)


def test_a_file_of_two_kinds_of_records_is_not_described_by_the_first(tmp_path: Path) -> None:
    path = str(tmp_path / "mixed.recordio")
    with Writer(path, max_num_records=1) as writer:
        writer.write_tensors([(np.ones((1, 2), np.float32), ())])
        writer.write_tensors([(np.ones((1, 4), np.float32), ())])
    for name in ("npz", "webdataset", "tfrecord"):
        assert main(["export", path, "--to", name, "--output", str(tmp_path / name), "--quiet"]) == 1
        assert not [file for file in (tmp_path / name).iterdir() if not file.name.startswith(".")]
    with pytest.raises(ConversionError, match=r"the records differ: some are slot_0: float32 \(1, 2\), others .*1, 4"):
        select([path], ["slot_0"], str(tmp_path / "out" / "x"))


def test_a_column_of_one_number_each_is_sorted_by_whatever_it_is_called(tmp_path: Path) -> None:
    path = str(tmp_path / "b.recordio")
    with Writer(path) as writer:
        writer.write_block([np.array([[3], [1], [2]], np.int64)])
    words = ["export", path, "--to", "recordio", "--names", "label", "--quiet"]
    assert main([*words, "--output", str(tmp_path / "n")]) == 0
    (made,) = (file for file in expand(str(tmp_path / "n" / "*")) if not file.endswith(".json"))
    assert main(["records", "sort", made, "--by", "label", "--output", str(tmp_path / "sorted" / "s")]) == 0
    assert [row["label"] for row in looking.rows(expand(str(tmp_path / "sorted" / "s-*-of-*")))] == [1, 2, 3]


def test_sequences_without_a_description_can_be_mapped(tmp_path: Path) -> None:
    path = str(tmp_path / "a.recordio")
    inner = np.array([0, 0, 2], np.int64)
    with Writer(path) as writer:
        for count in (2, 0, 5):
            words = np.arange(count, dtype=np.int32).reshape(-1, 1)
            vectors = np.ones((count, 3), np.float32)
            sequence = (np.array([0, count], np.int64),)
            nested = (np.array([[7], [8]], np.int32), (np.array([0, 2], np.int64), inner))
            writer.write_tensors([(words, sequence), (vectors, sequence), nested])
    made, rows = mapped([path], lambda row: row, str(tmp_path / "out" / "x"))
    assert rows == 3
    assert diff([path], made) == (0, [])
    again, _ = mapped(made, lambda row: row, str(tmp_path / "again" / "x"))
    assert diff([path], again) == (0, [])


def test_records_of_several_rows_do_not_become_arrays_without_a_word(tmp_path: Path) -> None:
    path = str(tmp_path / "a.recordio")
    with Writer(path) as writer:
        writer.write_tensors([(np.ones((2, 3), np.float32), ())])
    with pytest.warns(UserWarning, match=r"slot_0: several rows in a record become one row, an array \(2, 3\)"):
        mapped([path], lambda row: row, str(tmp_path / "out" / "x"))
