"""A shard set is read whole or not at all, whatever happened while it was made."""

from __future__ import annotations

import functools
import glob
import json
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import fluidio
from fluidio import paddle
from fluidio.cli import main
from fluidio.conversion import generate, read_manifest
from fluidio.conversion.export import export
from fluidio.conversion.new_set import making
from fluidio.conversion.reshard import shuffle, split
from fluidio.errors import ConversionError, FluidioError, RecordIOError
from fluidio.recordio import File, Writer, iter_batches, load, tasks
from fluidio.recordio.files.paths import expand
from tests.conversion.servers import need
from tests.conversion.templates import NUMBERS, write


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"")


def names(paths: list[Any]) -> list[str]:
    return [Path(path).name for path in paths]


def test_a_mixed_set_is_refused(tmp_path: Path) -> None:
    touch(tmp_path, "x-00000-of-00000", "x-00000-of-00001", "x-00001-of-00001", "y-00000-of-00000")
    for pattern in ("x-*-of-*", "*"):
        with pytest.raises(RecordIOError, match=r"files of 2 shard sets.*x-\*-of-00000 and .*x-\*-of-00001"):
            expand(str(tmp_path / pattern))
    with pytest.raises(RecordIOError, match="mixed"):  # a shell expanded it
        expand(sorted(map(str, tmp_path.iterdir())))
    assert names(expand(str(tmp_path / "x-*-of-00001"))) == ["x-00000-of-00001", "x-00001-of-00001"]
    assert len(expand([str(tmp_path / "x-*-of-00000"), str(tmp_path / "x-*-of-00001")])) == 3  # asked for


def test_an_incomplete_set_is_refused(tmp_path: Path) -> None:
    touch(tmp_path, "x-00000-of-00003", "x-00002-of-00003", "x-00003-of-00003")
    with pytest.raises(RecordIOError, match="3 of 4 shards are there; .*x-00001-of-00003 is missing"):
        expand(str(tmp_path / "x-*-of-*"))
    assert names(expand(str(tmp_path / "x-0000[23]-of-*"))) == ["x-00002-of-00003", "x-00003-of-00003"]
    with pytest.raises(RecordIOError, match="missing"):
        expand(str(tmp_path / "x-0000[12]-of-*"))
    assert len(expand([str(tmp_path / "x-00000-of-00003")])) == 1  # named


def test_an_incomplete_set_that_a_shell_found_is_told(tmp_path: Path) -> None:
    touch(tmp_path, "x-00000-of-00003", "x-00002-of-00003", "x-00003-of-00003", "y-00000-of-00002.parquet")
    touch(tmp_path, "y-00001-of-00002.parquet")
    with pytest.warns(UserWarning, match="3 of 4 shards are given, and .*x-00001-of-00003 is not there"):
        assert len(expand(sorted(map(str, tmp_path.glob("x-*"))))) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(expand([str(tmp_path / "x-00000-of-00003")])) == 1
        assert len(expand(sorted(map(str, tmp_path.glob("y-*"))))) == 2  # of 2, as others count
        touch(tmp_path, "x-00001-of-00003")
        assert len(expand(sorted(map(str, tmp_path.glob("x-*")))[1:])) == 3  # these are wanted


def test_brackets_may_be_part_of_a_name(tmp_path: Path) -> None:
    touch(tmp_path, "s[1]-00000-of-00001", "s[1]-00001-of-00001", "s1-00000-of-00000")
    assert names(expand(str(tmp_path / "s[1]-0*"))) == ["s1-00000-of-00000"]  # as everywhere
    (tmp_path / "s1-00000-of-00000").unlink()
    assert names(expand(str(tmp_path / "s[1]-*-of-*"))) == ["s[1]-00000-of-00001", "s[1]-00001-of-00001"]
    (tmp_path / "s[1]-00001-of-00001").unlink()
    with pytest.raises(RecordIOError, match="is missing"):
        expand(str(tmp_path / "s[1]-*-of-*"))


def test_a_prefix_without_a_glob_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    touch(tmp_path, "x-00000-of-00001", "x-00001-of-00001")
    assert main(["records", "count", str(tmp_path / "x")]) == 1
    assert f"there is no such file; its shards are {tmp_path / 'x'}-*-of-*" in capsys.readouterr().err
    assert main(["records", "count", str(tmp_path / "y")]) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_sets_of_other_formats_may_count_their_files(tmp_path: Path) -> None:
    touch(tmp_path, "x-00000-of-00002.tfrecord", "x-00001-of-00002.tfrecord")
    assert len(expand(str(tmp_path / "*.tfrecord"))) == 2
    (tmp_path / "x-00000-of-00002.tfrecord").unlink()
    with pytest.raises(RecordIOError, match="missing"):
        expand(str(tmp_path / "*.tfrecord"))


def test_a_manifest_says_which_shard_of_another_format_is_missing(tmp_path: Path) -> None:
    samples(str(tmp_path / "x"), 3, range(9))
    (tmp_path / "to").mkdir()
    export(str(tmp_path / "x-*-of-*"), "tfrecord", str(tmp_path / "to"))
    (tmp_path / "to" / "x-00002-of-00002.tfrecord").unlink()
    with pytest.raises(RecordIOError, match="x-00002-of-00002.tfrecord is missing"):
        expand(str(tmp_path / "to" / "*.tfrecord"))


@pytest.mark.parametrize("to", ["npz", "parquet", "arrow", "tfrecord", "webdataset"])
def test_a_missing_last_shard_of_our_own_is_noticed_without_a_manifest(to: str, tmp_path: Path) -> None:
    if to in ("parquet", "arrow"):
        pytest.importorskip("pyarrow", reason="extra: pyarrow is not installed")
    MAKERS["split"](str(tmp_path / "x"), 3, range(9))
    made = export(str(tmp_path / "x-*-of-*"), to, str(tmp_path / "there"))
    os.unlink(tmp_path / "there" / "x.manifest.json")
    assert len(expand(str(tmp_path / "there" / "x-*-of-*"))) == 3
    os.unlink(made[-1])
    with pytest.raises(RecordIOError, match="2 of 3 shards are there; .*x-00002-of-00002.* is missing"):
        expand(str(tmp_path / "there" / "x-*-of-*"))


def test_a_store_is_checked_the_same_way(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    memory = fsspec.filesystem("memory")
    memory.pipe("/sets/x-00000-of-00001", b"")
    with pytest.raises(RecordIOError, match="missing"):
        expand("memory://sets/x-*-of-*")


# -- making a set ------------------------------------------------------------------------------------------------------


def samples(output: str, shards: int, content: range) -> None:
    fluidio.convert(os.path.dirname(output), lambda: iter(content), shards, os.path.basename(output))


def source(output: str, content: range) -> str:
    path = os.path.join(os.path.dirname(output), "source")
    with Writer(path, mode="w") as writer:
        for number in content:
            writer.write(str(number))
    return path


MAKERS: dict[str, Callable[[str, int, range], Any]] = {
    "convert": samples,
    "split": lambda output, shards, content: split(source(output, content), output, shards),
    "shuffle": lambda output, shards, content: shuffle(source(output, content), output, shards),
}


def content_of(output: str) -> list[int]:
    """Return what readers find under a prefix."""
    paths = expand(f"{output}-*-of-*")
    if File(paths[0])._index.num_records and next(iter(File(paths[0]))).isdigit():
        return sorted(int(record) for path in paths for record in File(path))
    return sorted(paddle.reader.creator.RecordIO(f"{output}-*-of-*")())


@pytest.mark.parametrize("maker", MAKERS)
def test_a_new_set_takes_the_place_of_the_old_one(maker: str, tmp_path: Path) -> None:
    output = str(tmp_path / "x")
    for shards, total in ((3, 10), (1, 7), (2, 9), (2, 5)):
        MAKERS[maker](output, shards, range(total))
        assert content_of(output) == list(range(total))
        manifest = read_manifest(output)
        assert manifest is not None and manifest["records"] == total
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize("maker", MAKERS)
def test_a_failure_keeps_the_old_set(maker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = str(tmp_path / "x")
    MAKERS[maker](output, 2, range(10))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "flush", full)
        with pytest.raises(OSError):
            (samples if maker == "convert" else lambda o, s, _: split(str(tmp_path / "source"), o, s))(
                output, 3, range(20)
            )
    assert content_of(output) == list(range(10))


@pytest.mark.parametrize("maker", MAKERS)
def test_shards_that_no_manifest_lists_are_not_written_beside(maker: str, tmp_path: Path) -> None:
    touch(tmp_path, "x-00000-of-00007")
    with pytest.raises(ConversionError, match="1 shards of another set, for example x-00000-of-00007"):
        MAKERS[maker](str(tmp_path / "x"), 2, range(4))
    assert (tmp_path / "x-00000-of-00007").exists()
    assert not (tmp_path / "x-00000-of-00001").exists()


def test_a_manifest_cannot_name_files_of_others_for_removal(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    touch(other, "x-00000-of-00000")
    touch(tmp_path, "y-00000-of-00000")
    manifest = tmp_path / "x.manifest.json"
    for name in ("../other/x-00000-of-00000", str(other / "x-00000-of-00000")):
        manifest.write_text(f'{{"shards": [{{"name": "{name}"}}]}}')
        with pytest.raises(ConversionError, match="not a manifest"):
            samples(str(tmp_path / "x"), 1, range(3))
    manifest.write_text('{"shards": [{"name": "y-00000-of-00000"}]}')
    samples(str(tmp_path / "x"), 1, range(3))
    assert (other / "x-00000-of-00000").exists() and (tmp_path / "y-00000-of-00000").exists()


def test_a_conversion_into_fewer_partitions_removes_the_others(tmp_path: Path) -> None:
    script, output = write(tmp_path, NUMBERS), str(tmp_path / "out" / "x")
    generate(script, output, 4, workers=1, args=["3", "5"])
    with pytest.raises(ConversionError, match="--restart"):
        generate(script, output, 2, workers=1, args=["3", "5"])
    generate(script, output, 2, workers=1, args=["3", "5"], restart=True)
    assert names(expand(f"{output}-*")) == ["x-00000-of-00001", "x-00001-of-00001"]
    touch(tmp_path / "out", "z-00000-of-00003")
    with pytest.raises(ConversionError, match="1 shards, for example z-00000-of-00003"):
        generate(script, str(tmp_path / "out" / "z"), 2, workers=1, args=["3", "5"])


def test_only_one_process_makes_a_set(tmp_path: Path) -> None:
    output = str(tmp_path / "x")
    with making(output, 2):
        with pytest.raises(ConversionError, match="another process is writing this set"):
            samples(output, 3, range(5))
        with pytest.raises(ConversionError, match="another process is writing this set"):
            generate(write(tmp_path, NUMBERS), output, 2, workers=1, args=["1", "1"])
    samples(output, 3, range(5))
    assert content_of(output) == list(range(5))


# -- kills -------------------------------------------------------------------------------------------------------------


def killed_after(steps: int, work: Callable[[], Any]) -> bool:
    """Do some work in a forked process that dies before step number `steps` on the disk; tell whether it died."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        dying(steps, work)
    return os.waitpid(child, 0)[1] != 0


def dying(steps: int, work: Callable[[], Any]) -> NoReturn:
    """Do some work and end this process: with status 9 before step number `steps` on the disk, 1 after an error."""
    left = steps

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)
            return call(*args, **options)

        return step

    try:
        for name in ("replace", "unlink", "open", "mkdir"):
            setattr(os, name, counted(getattr(os, name)))
        work()
        os._exit(0)
    except BaseException:
        os._exit(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="platform: there is no fork")
@pytest.mark.parametrize("seed", range(8))
def test_each_record_once_or_an_error_after_any_kills(seed: int, tmp_path: Path) -> None:
    dice, output = random.Random(seed), str(tmp_path / "x")
    made: list[list[int]] = []
    for _ in range(12):
        maker, shards = dice.choice(sorted(MAKERS)), dice.randint(1, 4)
        content = range(dice.randint(shards, 30))
        steps = dice.choice([dice.randint(0, 40), 10**9])
        died = killed_after(steps, functools.partial(MAKERS[maker], output, shards, content))
        made.append(list(content))
        try:
            found = content_of(output)
        except (FluidioError, FileNotFoundError):
            assert died or len(made) > 1
        else:
            assert found in made
            assert died or found == made[-1]
    MAKERS["split"](output, 2, range(9))
    assert content_of(output) == list(range(9))
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_check_finds_shards_that_have_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Writer(tmp_path / "all", max_num_records=5) as writer:
        writer.write_block([np.arange(20)])
    assert main(["records", "split", str(tmp_path / "all"), "--shards", "1", "--output", str(tmp_path / "x")]) == 0
    shard = tmp_path / "x-00000-of-00000"
    assert main(["check", str(shard)]) == 0
    shard.write_bytes(shard.read_bytes() + (tmp_path / "all").read_bytes())  # sound, but not what was written
    capsys.readouterr()
    assert main(["check", str(shard)]) == 1
    told = capsys.readouterr().out
    assert "CHANGED: 40 good records" in told and "its manifest says 20 records" in told


@pytest.fixture
def cut_set(tmp_path: Path) -> str:
    """Return the pattern of a set with a shard that lost its last chunk: sound, but not what its manifest says."""
    with Writer(tmp_path / "all", max_num_records=5) as writer:
        writer.write_block([np.arange(20)])
    assert main(["records", "split", str(tmp_path / "all"), "--shards", "2", "--output", str(tmp_path / "x")]) == 0
    shard = tmp_path / "x-00001-of-00001"
    with Writer(shard, max_num_records=2) as writer:
        writer.write_block([np.arange(6)])
    return str(tmp_path / "x-*-of-*")


READERS: dict[str, Callable[[str], object]] = {
    "batches": lambda pattern: list(iter_batches(pattern, 4)),
    "load": load,
    "tasks": lambda pattern: tasks(pattern, 4),
    "names": lambda pattern: load(sorted(glob.glob(pattern))),
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_tell_that_a_shard_has_changed(cut_set: str, reader: str) -> None:
    with pytest.warns(UserWarning, match=r"x-00001-of-00001 has \d+ bytes and \d+ in its manifest: the file was cut"):
        READERS[reader](cut_set)


@pytest.mark.parametrize("store", ["disk", "memory"])
@pytest.mark.parametrize(
    "words",
    [
        "records count",
        "records head",
        "records split --shards 1 --output OUT",
        "export --to npz --output OUT",
        "cp OUT",
    ],
)
def test_tools_tell_that_a_shard_has_changed(words: str, store: str, cut_set: str, tmp_path: Path) -> None:
    if store == "memory":
        need("fsspec")
        import fsspec

        fsspec.filesystem("memory").put(str(tmp_path), f"/{tmp_path.name}", recursive=True)
        cut_set = f"memory://{tmp_path.name}/x-*-of-*"
    command = [str(tmp_path / "new" / "x") if word == "OUT" else word for word in words.split()]
    command[1 if command[0] == "cp" else len(command) : 0] = [cut_set]
    before = warnings.formatwarning
    with pytest.warns(UserWarning, match="`fluidio check` tells more"):
        assert main(command) == 0
    assert warnings.formatwarning is before


def test_warnings_of_commands_are_one_line(cut_set: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fluidio", "records", "count", cut_set], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("16 records in 2 files")
    assert done.stderr.startswith("fluidio records: warning: ") and done.stderr.count("\n") == 1


def test_check_compares_more_than_the_number_of_records(cut_set: str, capsys: pytest.CaptureFixture[str]) -> None:
    shard = Path(cut_set.replace("*-of-*", "00001-of-00001"))
    with Writer(shard, "none") as writer:
        writer.write_block([np.arange(10)])
    assert main(["check", str(shard)]) == 1
    assert "bytes, and there are" in capsys.readouterr().out
    manifest = Path(cut_set.replace("-*-of-*", ".manifest.json"))
    told = json.loads(manifest.read_text())
    told["shards"][1].update(bytes=shard.stat().st_size, sha256="0" * 64)
    manifest.write_text(json.dumps(told))
    assert main(["check", str(shard)]) == 1
    assert "SHA-256 0000000000000000..., and it is another one" in capsys.readouterr().out
