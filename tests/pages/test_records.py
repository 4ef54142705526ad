"""The records page: its figures are those of `inspect --json`, its size is bounded, and text stays text."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.conversion.looking import row_of_record
from fluidio.pages.columns import ColumnSketch, bins
from fluidio.pages.page import as_json, page
from fluidio.pages.records import records_data, records_page
from fluidio.pages.samples import cell
from fluidio.recordio import Writer
from fluidio.recordio.format.tensor_codec import encode_record
from tests.pages.data_of import data_of

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"


def written(path: Path, records: list[bytes], **options: Any) -> str:
    with Writer(str(path), **options) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def sequence(length: int) -> bytes:
    rows = np.arange(length, dtype=np.int64).reshape(-1, 1)
    return encode_record([(rows, (np.array([0, length]),)), (np.array([[length]]), ())])


@pytest.mark.parametrize("verify", [False, True])
def test_every_figure_about_files_is_the_one_of_inspect(verify: bool, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(path) for path in sorted(DATA.glob("*.recordio"))]
    main(["inspect", "--json", "--preview", "0", *paths, *(["--verify"] if verify else [])])
    told = json.loads(capsys.readouterr().out)
    found = json.loads(as_json(records_data(paths, verify=verify)))
    assert found["files"] == told
    assert found["totals"]["records"] == sum(each["records"] for each in told)
    assert found["totals"]["damage"] == sum(len(each["damage"]) for each in told)


def test_all_records_of_a_small_set_are_counted_in_the_columns(tmp_path: Path) -> None:
    path = written(tmp_path / "a.recordio", [sequence(n) for n in range(1, 101)], max_chunk_bytes=500)
    found = records_data([path])
    words, label = found["columns"]
    assert found["drawn"] == 100
    assert words["lengths"]["least"] == 1
    assert words["lengths"]["most"] == 100
    assert words["lengths"]["mean"] == 50.5
    assert label["kind"] == "int64"
    assert label["values"]["median"] == 50.5
    assert sum(label["values"]["counts"]) == 100


def test_a_sample_shows_the_sequences_lod() -> None:
    shown = cell(np.arange(5).reshape(5, 1), (np.array([0, 2, 5]),))
    assert shown["lod"] == [[0, 2, 5]]
    assert shown["first"] == [0, 1, 2, 3, 4]


def test_a_sequence_of_which_nothing_is_told_keeps_all_its_rows() -> None:
    assert row_of_record(sequence(5))["slot_0"].tolist() == [[0], [1], [2], [3], [4]]
    two = encode_record([(np.ones((3, 2), np.float32), (np.array([0, 2]), np.array([0, 1, 3])))])
    assert [part.shape for part in row_of_record(two)["slot_0"]] == [(1, 2), (2, 2)]


def test_damage_is_a_range_on_the_map_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    written(path, [sequence(9)] * 200, max_chunk_bytes=2000)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    found = records_data([str(path)], verify=True)
    ((start, stop, kind, _),) = found["maps"][0]["damage"]
    assert start < len(data) // 2 < stop
    assert kind == found["files"][0]["damage"][0]["kind"]
    assert found["totals"]["damage"] == 1
    assert 0 < found["drawn"] < 200


def test_a_file_that_is_no_recordio_is_damage_not_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.recordio"
    path.write_bytes(b"\x89PNG nothing of ours")
    found = records_data([str(path)])
    assert found["totals"]["damage"] == 1
    assert found["samples"] == []


def test_a_large_set_gives_a_small_page(tmp_path: Path) -> None:
    record = encode_record([(np.random.default_rng(0).random((1, 3, 64, 64), np.float32), ())])
    paths = [written(tmp_path / f"{n}.recordio", [record] * 40) for n in range(20)]
    text = records_page(paths)
    assert len(text) < 5_000_000
    found = data_of(text)
    assert found["totals"]["records"] == 800
    assert len({sample["file"] for sample in found["samples"]}) > 10


def test_many_small_chunks_are_drawn_from_evenly(tmp_path: Path) -> None:
    path = written(tmp_path / "a.recordio", [sequence(1 + n // 100) for n in range(6000)], max_chunk_bytes=200)
    found = records_data([path])
    assert found["drawn"] < 6000
    assert abs(found["columns"][1]["values"]["mean"] - 30.5) < 1.5


def test_pictures_are_shown_and_vectors_that_may_be_pictures_are_folded() -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (2).to_bytes(4, "big") * 2
    assert cell(png)["src"].startswith("data:image/png;base64,")
    assert cell(png)["note"] == "PNG 2x2"
    assert cell(np.zeros(784))["grid"] == [28, 28]
    assert cell(np.arange(3072.0))["grid"] == [32, 32]
    assert cell(np.arange(3072.0))["colours"] is True
    assert cell(np.zeros((3, 200, 100)))["grid"] == [50, 50]
    assert cell(np.full(64, np.nan)).get("pixels") is None


def test_values_of_every_kind_have_a_cell() -> None:
    kinds = [cell(value)["as"] for value in (1, 2.5, True, "a", b"\xff\0", b"text", [1, 2], {"a": 1}, None, ["x"])]
    assert kinds == ["number", "number", "number", "text", "bytes", "text", "tensor", "other", "other", "other"]


def test_text_that_is_cut_says_how_long_it_was() -> None:
    assert cell("x" * 5000)["length"] == 5000
    assert len(cell("x" * 5000)["value"]) == 4000


def test_a_column_of_few_texts_counts_them() -> None:
    column = ColumnSketch("animal")
    for text in ["cat", "dog", "cat", "cat"] * 20:
        column.add(text)
    told = column.as_json()
    assert told["top"] == [("cat", 60), ("dog", 20)]
    assert told["kind"] == "text"


def test_values_that_are_not_finite_are_counted_beside_the_bins() -> None:
    told = bins(np.array([1.0, 2.5, np.nan, np.inf, 4.0]))
    assert told["not_finite"] == 2
    assert (told["least"], told["most"]) == (1.0, 4.0)
    assert sum(told["counts"]) == 3
    assert "counts" not in bins(np.array([np.nan]))


def test_no_text_can_end_the_element_that_holds_the_data() -> None:
    text = page("records", "</title><script>", {"x": "</script><script>alert(1)</script><!--", "n": float("nan")})
    assert "</script><script>alert" not in text
    assert "</title><script>" not in text
    assert data_of(text)["x"] == "</script><script>alert(1)</script><!--"
    assert data_of(text)["n"] == "nan"


def test_a_page_without_data_is_small() -> None:
    for kind in ("records",):
        assert len(page(kind, "x", {}).encode()) < 1_000_000


def test_view_writes_the_page_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a.recordio", [sequence(3)] * 4)
    target = tmp_path / "new" / "page.html"
    assert main(["view", path, "--no-open", "--output", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}\n"
    assert data_of(target.read_text("utf-8"))["totals"]["records"] == 4


def test_a_pickle_that_asks_for_more_than_data_is_not_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ("touch " + str(tmp_path / "ran"),)

    path = written(tmp_path / "a.recordio", [pickle.dumps(Evil())])
    found = records_data([path])
    assert found["samples"][0]["cells"]["record"]["as"] == "bytes"
    assert not (tmp_path / "ran").exists()


def test_what_view_cannot_find_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", str(tmp_path / "nothing"), "--no-open"]) == 1
    assert "nothing" in capsys.readouterr().err
