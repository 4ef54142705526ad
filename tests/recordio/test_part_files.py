"""Unfinished files are hidden, matched by no glob, and removed when their process is dead, and only then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fluidio.conversion.copying import copy
from fluidio.conversion.reshard import split
from fluidio.recordio import File, Writer
from fluidio.recordio.files import part_files
from fluidio.recordio.files.part_files import claimed, create_part, is_part, remove_dead_parts, temporary_folder
from fluidio.recordio.files.paths import expand
from fluidio.recordio.files.repair import repair
from fluidio.recordio.files.sidecar import open_index, sidecar_path
from tests.house.repository import ROOT

WAYS = {
    "an atomic writer": "w = Writer(sys.argv[1], atomic=True); w.write(b'doubled'); w.flush()",
    "a file of the storage": "c = storage.writing(sys.argv[1]); f = c.__enter__(); f.write(b'x')",
    "a temporary folder": "c = temporary_folder('.'); f = c.__enter__(); open(f + '/0', 'w').close()",
}
SCRIPT = """
import sys
from fluidio.conversion import storage
from fluidio.recordio import Writer
from fluidio.recordio.files.part_files import temporary_folder
{}
print("ready", flush=True)
sys.stdin.read()
"""


def numbers(path: Path, count: int = 10) -> str:
    with Writer(str(path)) as writer:
        for number in range(count):
            writer.write(str(number))
    return str(path)


@pytest.mark.parametrize("way", WAYS)
def test_what_a_killed_process_leaves_is_never_read_and_removed_by_the_next_one(way: str, tmp_path: Path) -> None:
    source = numbers(tmp_path / "in")
    (tmp_path / "out").mkdir()
    target = "X-00000-of-00001"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(WAYS[way]), target],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path / "out",
        env={"PYTHONPATH": str(ROOT)},
    )
    with process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        left = [path.name for path in (tmp_path / "out").iterdir()]
        assert len(left) == 1 and left[0].startswith(".")
        remove_dead_parts(str(tmp_path / "out"))
        assert [path.name for path in (tmp_path / "out").iterdir()] == left  # it lives
        process.kill()
    with pytest.raises(FileNotFoundError):
        expand(str(tmp_path / "out" / "*"))
    remove_dead_parts(str(tmp_path / "out"))
    assert list((tmp_path / "out").iterdir()) == []
    paths = split(source, str(tmp_path / "out" / "X"), 2)
    assert [record for path in paths for record in File(path)] == [str(n).encode() for n in range(10)]


def test_shards_that_earlier_versions_left_unfinished_are_not_matched(tmp_path: Path) -> None:
    good = numbers(tmp_path / "X-00000-of-00000")
    numbers(tmp_path / "X-00000-of-00000.part-999999999")
    assert expand(str(tmp_path / "X-*-of-*")) == [good]


@pytest.mark.parametrize("name", ["train.part-999999999", "train.part-30000-1", "x.part-0", "a\n.part-7-7"])
def test_files_that_users_call_parts_are_data_and_stay(name: str, tmp_path: Path) -> None:
    path = numbers(tmp_path / name)
    (tmp_path / ".fluidio-notes").mkdir()
    (tmp_path / ".fluidio-a-b").mkdir()
    assert expand(str(tmp_path / "*")) == [path]
    remove_dead_parts(str(tmp_path))
    paths = split(path, str(tmp_path / "o"), 2)
    assert len(list(File(path))) == sum(len(File(each)) for each in paths) == 10
    assert (tmp_path / ".fluidio-notes").exists() and (tmp_path / ".fluidio-a-b").exists()


def test_a_repair_that_is_killed_leaves_nothing_that_a_glob_matches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = numbers(tmp_path / "in")
    seen: list[str] = []
    monkeypatch.setattr(os, "replace", lambda part, target: seen.extend([part, target]))
    repair(source, tmp_path / "X-00000-of-00000")  # as far as the rename
    assert is_part(os.path.basename(seen[0])) and seen[1].endswith("X-00000-of-00000")
    with pytest.raises(FileNotFoundError):
        expand(str(tmp_path / "X*"))


@pytest.mark.parametrize("write", ["an atomic writer", "a repair", "a copy", "an index"])
def test_names_may_be_as_long_as_the_disk_takes(write: str, tmp_path: Path) -> None:
    source, target = numbers(tmp_path / "in"), str(tmp_path / ("\u00e9" * 125))
    if write == "a repair":
        repair(source, target)
    elif write == "a copy":
        os.rename(source, target)
        source, target = target, str(tmp_path / "to" / os.path.basename(target))
        copy([source], os.path.dirname(target))
    elif write == "an index":
        os.rename(source, target)
        open_index(target, sidecar=True)
        assert os.path.exists(sidecar_path(target))
    else:
        with Writer(target, atomic=True) as writer:
            for number in range(10):
                writer.write(str(number))
    assert len(list(File(target))) == 10


def test_manifests_and_hidden_files_are_no_data(tmp_path: Path) -> None:
    good = numbers(tmp_path / "a")
    for name in ("a.manifest.json", "fluidio-slots.json", ".a.index"):
        (tmp_path / name).write_text("{}")
    assert expand(str(tmp_path / "*")) == [good]
    pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    assert expand(f"file://{tmp_path}/*") == [f"file://{good}"]
    assert expand(str(tmp_path / ".a*")) == [str(tmp_path / ".a.index")]


def test_two_writers_of_one_process_have_parts_of_their_own(tmp_path: Path) -> None:
    with Writer(str(tmp_path / "a"), atomic=True) as one, Writer(str(tmp_path / "a"), atomic=True) as other:
        one.write(b"one")
        other.write(b"other")
        assert len(list(tmp_path.glob(".a.part-*"))) == 2
    assert list(File(str(tmp_path / "a"))) == [b"one"]  # whoever closes last; whole in any case
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_error_in_a_temporary_folder_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), temporary_folder(str(tmp_path)) as folder:
        create_part(f"{folder}/x")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_names_of_parts_are_known() -> None:
    assert is_part(".a.part-1-2") and is_part("a-00000-of-00001.part-17") and not is_part("a.part-17")
    assert not is_part("a.part-x") and not is_part("part-00001") and not is_part("a.part")


def test_a_manifest_among_names_that_a_shell_expanded_is_no_data(tmp_path: Path) -> None:
    good = numbers(tmp_path / "a")
    for name in ("a.manifest.json", "fluidio-slots.json"):
        (tmp_path / name).write_text("{}")
    names = [str(path) for path in sorted(tmp_path.iterdir())]
    assert expand(names) == [good]
    assert expand(names, notes=True) == names
    assert expand(names[1]) == [names[1]]


@pytest.fixture
def someone_cleans_up(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Have somebody who takes a new file for dead lock it before its owner does; yield the names of such files."""
    found: list[str] = []
    held: list[int] = []
    real = part_files.lock

    def late(descriptor: int) -> bool | None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        if not held:
            found.append(path)
            held.append(os.open(path, os.O_RDONLY))
            assert real(held[0])
            return real(descriptor)
        if held[0] >= 0:
            (shutil.rmtree if os.path.isdir(found[0]) else os.unlink)(found[0])
            os.close(held[0])
            held[0] = -1
        return real(descriptor)

    monkeypatch.setattr(part_files, "lock", late)
    yield found
    if held and held[0] >= 0:
        os.close(held[0])


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc to look up names")
def test_a_new_file_that_is_taken_for_dead_is_given_up(tmp_path: Path, someone_cleans_up: list[str]) -> None:
    path, descriptor = create_part(str(tmp_path / "x"))
    os.close(descriptor)
    assert someone_cleans_up and path not in someone_cleans_up


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc to look up names")
def test_a_new_folder_that_is_taken_for_dead_is_given_up(tmp_path: Path, someone_cleans_up: list[str]) -> None:
    with temporary_folder(str(tmp_path)) as folder:
        assert someone_cleans_up and folder not in someone_cleans_up
        assert os.path.isdir(folder)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc to look up names")
def test_a_claim_that_is_taken_for_dead_is_tried_again(tmp_path: Path, someone_cleans_up: list[str]) -> None:
    with claimed(str(tmp_path / "x")) as ours:
        assert someone_cleans_up and ours


def test_many_threads_may_begin_files_in_one_folder(tmp_path: Path) -> None:
    """The first one looks for dead files there while the others create theirs."""
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        with ThreadPoolExecutor(8) as pool:
            parts = list(pool.map(create_part, [str(folder / str(each)) for each in range(8)]))
        assert sorted(os.listdir(folder)) == sorted(os.path.basename(path) for path, _ in parts)
        for _, descriptor in parts:
            os.close(descriptor)


def test_errors_name_what_the_user_named(tmp_path: Path) -> None:
    """The names of hidden files tell nobody anything."""
    missing = str(tmp_path / "missing" / "x")
    with pytest.raises(FileNotFoundError) as part:
        create_part(missing)
    with pytest.raises(FileNotFoundError) as lock, claimed(missing):
        pass
    with pytest.raises(FileNotFoundError) as folder, temporary_folder(str(tmp_path / "missing")):
        pass
    assert [each.value.filename for each in (part, lock, folder)] == [missing, missing, str(tmp_path / "missing")]
