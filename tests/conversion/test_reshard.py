"""Split, shuffle, recompress and copy keep every record; the commands do the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio.cli import main
from fluidio.conversion import read_manifest, read_rows, storage
from fluidio.conversion.copying import copy
from fluidio.conversion.reshard import recompress, shuffle, split
from fluidio.errors import ConversionError
from fluidio.recordio import File, Writer
from fluidio.recordio.files import ranges
from fluidio.recordio.files.index import ChunkIndex
from fluidio.recordio.files.notes import slots_beside
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.schema import Field, to_json
from fluidio.recordio.files.sidecar import open_index
from tests.house.repository import ROOT


def numbers(path: Path, start: int, count: int, dialect: str = "fluid") -> str:
    with Writer(str(path), max_num_records=7, dialect=dialect) as writer:
        for number in range(start, start + count):
            writer.write(str(number))
    return str(path)


def read(paths: list[str]) -> list[int]:
    return [int(record) for path in paths for record in File(path)]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [numbers(tmp_path / "a", 0, 50), numbers(tmp_path / "b", 50, 53)]


@pytest.mark.parametrize("shards", [1, 4, 200])
def test_split_cuts_in_order(files: list[str], tmp_path: Path, shards: int) -> None:
    paths = split(files, str(tmp_path / "out" / "s"), shards)
    assert read(paths) == list(range(103))
    counts = {len(read([path])) for path in paths}
    assert max(counts) - min(counts) <= 1


def test_split_looks_at_each_source_once_however_many_shards_there_are(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: Counter[str] = Counter()

    def counted(path: str, **options: Any) -> ChunkIndex:
        looks[path] += 1
        return open_index(path, **options)

    monkeypatch.setattr(ranges, "open_index", counted)
    split(files, str(tmp_path / "out" / "s"), 40)
    assert looks == dict.fromkeys(files, 1)


@pytest.mark.parametrize("cut", [split, shuffle])
def test_no_sources_make_no_set(cut: Any, tmp_path: Path) -> None:
    with pytest.raises(ConversionError, match="there are no files to read"):
        cut([], str(tmp_path / "s"), 2)
    assert os.listdir(tmp_path) == []


def test_split_keeps_the_dialect(tmp_path: Path) -> None:
    source = numbers(tmp_path / "go", 0, 20, "go")
    (path,) = split(source, str(tmp_path / "s"), 1)
    with Writer(path, mode="a", dialect="go") as writer:  # any other would be refused
        writer.write("20")
    assert read([path]) == list(range(21))


def test_shuffle_keeps_every_record_and_depends_on_the_seed(files: list[str], tmp_path: Path) -> None:
    orders = [read(shuffle(files, str(tmp_path / str(n) / "s"), 3, seed=seed)) for n, seed in enumerate([1, 1, 2])]
    assert all(sorted(order) == list(range(103)) for order in orders)
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != list(range(103))
    assert [path.name for path in (tmp_path / "0").iterdir() if path.name.startswith(".")] == []


def test_shuffle_through_buckets_mixes_everything(tmp_path: Path) -> None:
    with Writer(str(tmp_path / "big"), "none") as writer:
        for number in range(4000):
            writer.write(f"{number:0100d}")
    order = np.array(read(shuffle(str(tmp_path / "big"), str(tmp_path / "s"), 2, memory=1 << 16)))
    assert sorted(order.tolist()) == list(range(4000))
    assert abs(np.corrcoef(order, np.arange(4000))[0, 1]) < 0.1


def test_shuffle_makes_do_with_the_files_that_may_be_open(tmp_path: Path) -> None:
    source = tmp_path / "many"
    with Writer(str(source), "none", 100) as writer:
        for number in range(9000):
            writer.write(f"{number:01000d}")
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)); "
        "from fluidio.conversion.reshard import shuffle; shuffle(sys.argv[1], sys.argv[2], 2, memory=1 << 16)"
    )
    subprocess.run([sys.executable, "-c", script, str(source), str(tmp_path / "s")], check=True, cwd=ROOT)
    assert sorted(read(expand([f"{tmp_path}/s-*-of-*"]))) == list(range(9000))


def test_shuffle_is_fair(tmp_path: Path) -> None:
    source = numbers(tmp_path / "three", 0, 3)
    seen = Counter(tuple(read(shuffle(source, str(tmp_path / "s"), 1, seed=seed))) for seed in range(240))
    assert len(seen) == 6
    assert min(seen.values()) > 15


@pytest.mark.parametrize("cut", [split, shuffle])
def test_nothing_is_written_onto_a_source(cut: Any, tmp_path: Path) -> None:
    paths = [numbers(tmp_path / "x-00000-of-00001", 0, 90), numbers(tmp_path / "x-00001-of-00001", 90, 10)]
    with pytest.raises(ConversionError, match="x-00000-of-00001 would be overwritten by itself"):
        cut(paths, str(tmp_path / "." / "x"), 2)
    assert read(paths) == list(range(100))


SLOTS = [Field("word", "int64", (1,), kind="int"), Field("weight", "float32", (1,), kind="float")]


def told(folder: Path, name: str, slots: list[Field], start: int = 0) -> str:
    """Write a file of ten records, and beside it what its slots are called."""
    folder.mkdir(exist_ok=True)
    with Writer(str(folder / name)) as writer:
        writer.write_samples([(number, number / 2) for number in range(start, start + 10)], dtypes=["int64", "float32"])
    (folder / "fluidio-slots.json").write_text(json.dumps(to_json(slots)))
    return str(folder / name)


@pytest.mark.parametrize("cut", [split, shuffle])
def test_names_of_slots_are_passed_on(cut: Any, tmp_path: Path) -> None:
    sources = [told(tmp_path / "from", "a", SLOTS), told(tmp_path / "from", "b", SLOTS, 10)]
    output = str(tmp_path / "to" / "s")
    first = cut(sources, output, 3)[0]
    assert slots_beside(first) == SLOTS
    assert sorted(row["word"] for row in read_rows(output)) == list(range(20))
    manifest = read_manifest(output)
    assert manifest is not None and [shard["records"] for shard in manifest["shards"]] == [6, 7, 7]
    cut(first, str(tmp_path / "to" / "t"), 2)
    assert [row["weight"] for row in read_rows(str(tmp_path / "to" / "t"))]


@pytest.mark.parametrize("cut", [split, shuffle])
def test_names_that_differ_are_not_passed_on(cut: Any, files: list[str], tmp_path: Path) -> None:
    known = told(tmp_path / "from", "a", SLOTS)
    others = told(tmp_path / "others", "a", [SLOTS[0], Field("score", "float32", (1,), kind="float")])
    for number, sources in enumerate(([known, others], [known, files[0]], [files[0], known])):
        with pytest.warns(UserWarning, match="so names and text of their slots are left out"):
            first = cut(sources, str(tmp_path / str(number)), 2)[0]
        manifest = read_manifest(str(tmp_path / str(number)))
        assert manifest is not None and manifest["slots"] == []
        assert slots_beside(first) is None


@pytest.mark.parametrize("verb", ["split", "shuffle", "recompress"])
def test_a_compressor_that_the_dialect_lacks_is_refused(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a")
    with Writer(path, dialect="go") as writer:
        writer.write(b"x")
    words = ["--output", str(tmp_path / "out"), "--compressor", "zstd"]
    assert main(["records", verb, path, *words, *([] if verb == "recompress" else ["--shards", "2"])]) == 1
    assert "has the compressors none, snappy, gzip, got 'zstd': choose another" in capsys.readouterr().err


def test_recompress_changes_the_packing_only(files: list[str], tmp_path: Path) -> None:
    target = str(tmp_path / "new")
    assert recompress(files[0], target, "none") == (os.path.getsize(files[0]), os.path.getsize(target), 50)
    assert read([target]) == list(range(50))
    recompress(files[0], target, "gzip", dialect="go")
    assert read([target]) == list(range(50))


def test_copy_verifies_and_goes_on(files: list[str], tmp_path: Path) -> None:
    target = tmp_path / "there"
    assert copy(files, str(target)) == [str(target / "a"), str(target / "b")]
    stamp = (target / "a").stat().st_mtime_ns
    (target / "b").write_bytes(b"x" * os.path.getsize(files[1]))  # cut off, with the right size
    copy(files, str(target))
    assert read([str(target / "a"), str(target / "b")]) == list(range(103))
    assert (target / "a").stat().st_mtime_ns == stamp
    with pytest.raises(ConversionError, match="same name"):
        copy([files[0], files[0]], str(target))


def test_a_copy_that_failed_leaves_nothing_that_the_next_one_does_not_know(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two, three = (split(files, str(tmp_path / str(n) / "s"), n) for n in (2, 3))
    target = str(tmp_path / "to")

    whole, left = storage.copy_file, [two[1]]  # nothing goes after this one

    def fails(source: str, out: Any, *hashes: Any) -> int:
        if source in left:
            left.extend(os.path.join(tmp_path, "2", name) for name in os.listdir(tmp_path / "2"))
            raise OSError("no")
        return whole(source, out, *hashes)

    with monkeypatch.context() as patched, pytest.raises(OSError, match="no"):
        patched.setattr(storage, "copy_file", fails)
        copy(two, target, workers=1)
    copy(three, target)
    assert read(expand([f"{target}/s-*-of-*"])) == list(range(103))


def test_the_commands(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    assert main(["records", "split", *files, "--output", f"{out}/s", "--shards", "2"]) == 0
    assert main(["records", "shuffle", f"{out}/s-*", "--output", f"{out}/r", "--shards", "1", "--seed", "3"]) == 0
    command = ["records", "recompress", f"{out}/r-*", "--output", f"{out}/c", "--compressor", "none"]
    assert main(command) == 0
    assert main(command) == 1
    assert "exists" in capsys.readouterr().err
    assert main(["records", "cp", f"{out}/c/r-*", f"{out}/d", "--quiet"]) == 0
    assert sorted(read([f"{out}/d/r-00000-of-00000"])) == list(range(103))
    assert main(["records", "split", *files, "--output", f"{out}/s", "--shards", "0"]) == 2


def test_the_export_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Writer(str(tmp_path / "a.recordio")) as writer:
        writer.write_block([np.zeros((3, 2), np.float32), np.arange(3).reshape(3, 1)])
    command = ["export", str(tmp_path / "a.recordio"), "--to", "npz", "--output", str(tmp_path), "--names", "x,y"]
    assert main([*command, "--quiet"]) == 0
    with np.load(tmp_path / "a.npz") as found:
        assert found["y"].tolist() == [[0], [1], [2]]
    assert "1 file in" in capsys.readouterr().out


def unreachable(*_: Any, **__: Any) -> Any:
    raise OSError("no network")


def test_data_sets_are_converted_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fluidio import dataset, paddle

    monkeypatch.setattr(dataset.common, "DATA_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("FLUIDIO_FAKE_DATA", "1")
    output = ["--output", str(tmp_path / "h"), "--shards", "3"]
    assert main(["convert", "dataset:uci_housing.train", *output]) == 0
    found = list(paddle.reader.creator.RecordIO(str(tmp_path / "h-*-of-00002"))())
    assert len(found) == len(list(dataset.uci_housing.train()()))
    monkeypatch.delenv("FLUIDIO_FAKE_DATA")
    monkeypatch.setattr("fluidio.dataset.common.urllib.request.urlopen", unreachable)
    assert main(["convert", "dataset:mnist.train", *output]) == 1
    assert "fluidio convert: dataset:mnist.train: cannot download " in capsys.readouterr().err
    assert main(["convert", "dataset:wmt14.train", *output]) == 1
    assert "add `-- dict_size=VALUE`" in capsys.readouterr().err
    assert main(["convert", "dataset:nothing.train", *output]) == 1


COMMANDS = [
    ["export", "IN", "--to", "tfrecord", "--output", "out"],
    ["records", "split", "IN", "--shards", "1", "--output", "out/x"],
    ["records", "shuffle", "IN", "--shards", "1", "--output", "out/x"],
    ["records", "recompress", "IN", "--compressor", "none", "--output", "out"],
    ["records", "cp", "IN", "out"],
    ["records", "filter", "slot_0[0] >= 0", "IN", "--shards", "2", "--output", "out/x"],
    ["records", "select", "slot_0", "IN", "--shards", "2", "--output", "out/x"],
    ["records", "sort", "IN", "--by", "slot_1", "--output", "out/x"],
    ["check", "--repair", "IN", "out/x"],
    ["convert", "dataset:mnist.train", "--output", "out/x"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_a_full_disk_names_the_place_and_leaves_nothing(command: list[str], tmp_path: Path) -> None:
    with Writer(str(tmp_path / "in.recordio"), "none") as writer:
        writer.write_block([np.random.default_rng(0).random((100, 4000)), np.zeros((100, 1))])
    full = "import resource, signal, sys; from fluidio.cli import main\n"
    if "dataset" in command[1]:
        full += "from fluidio.dataset import mnist; next(mnist.train()())\n"  # its cache is not at stake
    full += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, -1))\n"
    full += "sys.exit(main(sys.argv[1:]))"
    words = [word.replace("IN", str(tmp_path / "in.recordio")) for word in command]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}  # it writes, too
    environment = {**kept, "PYTHONPATH": str(ROOT), "FLUIDIO_FAKE_DATA": "1"}
    done = subprocess.run(
        [sys.executable, "-c", full, *words], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"fluidio {command[0]}: ") and last.endswith(": File too large while writing")
    assert "out" in last
    assert not [path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".in")]


@pytest.mark.parametrize("url", ["pfs://home/x", "nonsense://home/x"])
def test_a_url_that_leads_nowhere_is_an_error_in_a_line(
    url: str, files: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    monkeypatch.delenv("FLUIDIO_PFS_ROOT", raising=False)
    split = ["records", "split", url, "--output", "out", "--shards", "2"]
    for command in (["records", "cp", *files, url, "--quiet"], ["inspect", url], split):
        assert main(command) == 1
        assert capsys.readouterr().err.startswith(f"fluidio {command[0]}: {url}: ")
