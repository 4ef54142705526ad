"""`fluidio inspect` and `fluidio check`: what is in a file, is it whole, and save what is good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.recordio import File, Writer

DATA = Path(__file__).resolve().parents[1] / "data" / "recordio"


def inspect(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    status = main(["inspect", *args])
    return status, capsys.readouterr().out


def test_dense_tensors_and_a_call_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(DATA / "mnist_snappy.recordio")
    status, out = inspect(capsys, path, "--verify")
    assert status == 0
    assert "dialect  fluid" in out
    assert "chunks   4 (4 snappystream)" in out
    assert "records  1000\n" in out
    assert "3.2 MB unpacked" in out
    assert "slot 0   float32 (1, 784)" in out
    assert "record 1: float32 (1, 784) [-0.7569" in out
    assert "damage   none\n" in out
    call = out[out.index("reader = ") :]
    given: dict[str, Any] = {}

    class layers:
        @staticmethod
        def open_files(**arguments: Any) -> None:
            given.update(arguments)

    class fluid:
        pass

    fluid.layers = layers  # type: ignore[attr-defined]
    exec(call, {"fluid": fluid})
    assert given == {
        "filenames": [path],
        "shapes": [(-1, 784), (-1, 1)],
        "lod_levels": [0, 0],
        "dtypes": ["float32", "int64"],
    }


def test_records_of_several_rows_are_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = inspect(capsys, str(DATA / "seq_lod1_batch3_none.recordio"))
    assert "slot 0   int64 (15..54, 1), lod_level 1" in out
    assert "A record holds 3 rows. batch(reader, batch_size) counts records" in out
    assert "lod_levels=[1, 0]" in out
    _, out = inspect(capsys, str(DATA / "mnist_none.recordio"))
    assert "counts records" not in out


def test_files_of_one_layout_share_a_call(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = inspect(capsys, str(DATA / "multi-*.recordio"), str(DATA / "dtypes_all.recordio"))
    assert out.count("dialect  fluid") == 4
    assert "# 1 files have another layout" in out
    assert out.count("multi-0000") == 6


def test_dims_that_differ_become_minus_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.recordio"
    with Writer(path) as writer:
        for width in (5, 5, 7):
            writer.write_tensors([(np.zeros((1, 3, width), np.float32), ())])
    _, out = inspect(capsys, str(path))
    assert "slot 0   float32 (1, 3, ?)" in out
    assert "shapes=[(-1, 3, -1)]" in out


def test_pickles_text_and_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = inspect(capsys, str(DATA / "v2lines-00000"))
    assert "content  pickles" in out
    assert "dtype=float32), 0)" in out
    assert "creator.recordio" in out
    _, out = inspect(capsys, str(DATA / "raw_none_basic.recordio"))
    assert "content  text" in out
    assert "'hello fluid'" in out
    _, out = inspect(capsys, str(DATA / "badtensor_short_data.recordio"))
    assert "content  bytes" in out
    assert "not tensors: a tensor of shape (1, 4) float32 at" in out


def test_damage_is_shown_and_gives_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    for verify in ([], ["--verify"]):
        status, out = inspect(capsys, str(DATA / "bad_magic_second.recordio"), *verify)
        assert status == 1
        assert "DAMAGE   chunk 1 at byte 335: chunk starts with 05 03 02 01" in out
        assert "records  15" in out
    status, out = inspect(capsys, str(DATA / "bad_payload_bit_none.recordio"))
    assert status == 0
    assert "none seen in the headers" in out
    status, out = inspect(capsys, str(DATA / "bad_payload_bit_none.recordio"), "--verify")
    assert status == 1
    status, out = inspect(capsys, str(DATA / "bad_snappy_inner_crc.recordio"), "--verify")
    assert status == 1


def test_json_holds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    status, out = inspect(capsys, str(DATA / "bad_trunc_payload_snappy.recordio"), "--json", "--verify")
    (found,) = json.loads(out)
    assert status == 1
    assert (found["records"], found["chunks"], found["dialects"]) == (20, 2, ["fluid"])
    assert found["damage"][0]["kind"] == "CutTailError"
    status, out = inspect(capsys, str(DATA / "empty.recordio"), "--json")
    assert json.loads(out)[0]["content"] == "nothing"
    assert status == 0


def test_foreign_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\x1f\x8b" + bytes(50))
    status, out = inspect(capsys, str(path))
    assert status == 1
    assert "not RecordIO: this is gzip data" in out


def test_check_says_ok_or_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(DATA / "mnist_none.recordio"), str(DATA / "go_*")]) == 0
    assert capsys.readouterr().out.count(": ok: ") == 9
    assert main(["check", str(DATA / "bad_crc_field.recordio"), str(DATA / "bad_trailing_3.recordio")]) == 1
    out = capsys.readouterr().out
    assert "DAMAGED: 15 good records in 2 chunks" in out
    assert "chunk 1 at byte 335: checksum 0x0064888c, header says 0x0064888d" in out
    assert "ok: 25 good records" in out
    assert "note: 3 stray bytes" in out
    assert main(["check"]) == 2
    assert main(["check", "--repair", "a", "b", "c"]) == 2


def test_repair_saves_the_good_chunks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "good.recordio"
    assert main(["check", "--repair", str(DATA / "bad_magic_second.recordio"), str(target)]) == 0
    assert "15 records in 2 chunks saved, 835 of 1785 bytes dropped" in capsys.readouterr().out
    with File(target) as file, File(DATA / "raw_none_multichunk.recordio") as whole:
        records = list(whole)
        assert list(file) == records[:10] + records[20:]
    assert main(["check", "--repair", str(DATA / "raw_none_basic.recordio"), str(target)]) == 1
    assert "exists already: name a new file" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == [target]


def test_repair_of_a_healthy_file_is_a_copy(tmp_path: Path) -> None:
    for name in ("elasticdl_gzip_basic.recordio", "go_wky_snappy_basic.recordio", "mnist_snappy.recordio"):
        assert main(["check", "--repair", str(DATA / name), str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_missing_files_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(tmp_path / "missing")]) == 1
    assert "No such file" in capsys.readouterr().err
