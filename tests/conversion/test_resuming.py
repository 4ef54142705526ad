"""An interrupted copy of one large file goes on where it stopped, and never trusts what it finds blindly."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fluidio.conversion import resuming, storage
from fluidio.conversion.copying import copy
from fluidio.errors import ConversionError
from tests.conversion.servers import RangeHandler, s3_environment, s3_server, serving
from tests.house.repository import ROOT

MB = 1 << 20
CONTENT = random.Random(1).randbytes(6 * MB + 12345)


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "CHECKPOINT", 2 * MB)


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "local").mkdir()
    (tmp_path / "local" / "big").write_bytes(CONTENT)
    return str(tmp_path / "local" / "big")


class Stop(Exception):
    pass


def interrupted(source: str, target: Path, at: int) -> None:
    """Copy until so many bytes are there."""

    def told(count: int) -> None:
        if count >= at:
            raise Stop

    target.mkdir(exist_ok=True)
    with pytest.raises(Stop):
        resuming.copy_to_disk(source, str(target / "big"), told)
    assert not (target / "big").exists()


class Offsets:
    """Notes where reading of the source began."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
        self.first: list[int] = []
        opened = storage.opened

        def open_and_note(path: str, mode: str = "rb") -> Any:
            file = opened(path, mode)
            if path == source:
                read = file.read
                began: list[int] = []

                class Noting:
                    def __enter__(self) -> Any:
                        return self

                    def __exit__(self, *_: object) -> None:
                        file.close()

                    def seek(self, offset: int) -> None:
                        file.seek(offset)

                    def read(self, size: int) -> bytes:
                        if not began:
                            began.append(1)
                            offsets.append(file.tell())
                        return bytes(read(size))

                return Noting()
            return file

        offsets = self.first
        monkeypatch.setattr(storage, "opened", open_and_note)


@pytest.mark.parametrize(("at", "kept"), [(MB, 0), (2 * MB, 0), (3 * MB, 2 * MB), (6 * MB, 4 * MB)])
def test_a_copy_goes_on_at_the_last_note(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int, kept: int
) -> None:
    interrupted(source, tmp_path / "to", at)
    offsets = Offsets(monkeypatch, source)
    assert copy([source], str(tmp_path / "to")) == [str(tmp_path / "to" / "big")]
    assert offsets.first == [kept]
    assert [path.name for path in (tmp_path / "to").iterdir()] == ["big"]
    assert (tmp_path / "to" / "big").read_bytes() == CONTENT


def test_a_copy_may_be_interrupted_again_and_again(source: str, tmp_path: Path) -> None:
    for at in (3 * MB, 4 * MB, 5 * MB, 6 * MB):
        interrupted(source, tmp_path / "to", at)
    copy([source], str(tmp_path / "to"))
    assert (tmp_path / "to" / "big").read_bytes() == CONTENT


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[MB] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("what", ["flipped", "cut", "gone", "note garbage", "note empty", "source changed"])
def test_what_does_not_agree_is_copied_again(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    interrupted(source, tmp_path / "to", 5 * MB)
    part, note, content = tmp_path / "to" / ".big.part", tmp_path / "to" / ".big.part.json", CONTENT
    if what == "flipped":
        flip(part)
    elif what == "cut":
        os.truncate(part, 3 * MB)
    elif what == "gone":
        part.unlink()
    elif what == "source changed":
        content = random.Random(2).randbytes(len(CONTENT))
        Path(source).write_bytes(content)
    else:
        note.write_text("{" if what == "note garbage" else "{}")
    offsets = Offsets(monkeypatch, source)
    copy([source], str(tmp_path / "to"))
    assert offsets.first == [0]
    assert (tmp_path / "to" / "big").read_bytes() == content


KILLED = """
import sys
from fluidio.conversion import resuming
resuming.CHECKPOINT = 2 << 20
def told(count):
    if count >= 5 << 20:
        print("there", flush=True)
        sys.stdin.read()
resuming.copy_to_disk(sys.argv[1], sys.argv[2], told)
"""


def test_a_killed_copy_goes_on_and_a_living_one_is_not_disturbed(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "to"
    target.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, source, str(target / "big")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"there\n"
        with pytest.raises(ConversionError, match="another process is copying"):
            copy([source], str(target))
        child.send_signal(signal.SIGKILL)
    offsets = Offsets(monkeypatch, source)
    copy([source], str(target))
    assert offsets.first == [4 * MB]
    assert (target / "big").read_bytes() == CONTENT


def test_a_source_that_changes_under_way_is_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()

    def told(count: int) -> None:
        if count == 4 * MB:
            os.utime(source, (1, 1))

    with pytest.raises(ConversionError, match="changed while it was being copied"):
        resuming.copy_to_disk(source, str(tmp_path / "to" / "big"), told)
    copy([source], str(tmp_path / "to"))
    assert (tmp_path / "to" / "big").read_bytes() == CONTENT


class NotingHandler(RangeHandler):
    """Notes the ranges that are asked for; has an ETag or none."""

    tag = ""
    asked: list[int]

    def do_GET(self) -> None:
        self.asked.append(int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0]))
        super().do_GET()

    def end_headers(self) -> None:
        if self.tag:
            self.send_header("ETag", self.tag)
        super().end_headers()


@pytest.fixture
def http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(NotingHandler, "folder", tmp_path / "local")
    NotingHandler.asked = []
    with serving(NotingHandler) as url:
        yield url


DOWNLOAD = """
import sys
from fluidio.conversion import resuming
resuming.CHECKPOINT = 2 << 20
def told(count):
    if count >= int(sys.argv[3]):
        raise SystemExit(3)
resuming.copy_to_disk(sys.argv[1], sys.argv[2], told)
"""


@pytest.mark.parametrize(("tag", "first"), [('"one"', 4 * MB), ("", 0)])
def test_a_download_goes_on_with_a_range_if_the_source_can_be_told(
    http: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, first: int
) -> None:
    monkeypatch.setattr(NotingHandler, "tag", tag)
    (tmp_path / "to").mkdir()

    def download(stop: int) -> int:
        command = [sys.executable, "-c", DOWNLOAD, f"{http}/big", str(tmp_path / "to" / "big"), str(stop)]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}).returncode

    assert download(5 * MB) == 3
    NotingHandler.asked.clear()
    assert download(100 * MB) == 0
    assert min(NotingHandler.asked) == first
    assert (tmp_path / "to" / "big").read_bytes() == CONTENT


def test_a_copy_to_a_folder_behind_pfs_goes_on(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    monkeypatch.setenv("FLUIDIO_PFS_ROOT", str(tmp_path))
    interrupted(source, tmp_path / "to", 5 * MB)
    offsets = Offsets(monkeypatch, source)
    assert copy([source], "pfs://to/") == ["pfs://to/big"]
    assert offsets.first == [4 * MB]
    assert (tmp_path / "to" / "big").read_bytes() == CONTENT


UPLOAD = """
import os, sys
from fluidio.conversion import copying, storage, uploading
from fluidio.recordio.files.source import filesystem_of
uploading.PART = 5 << 20
stop = int(sys.argv[2])
filesystem = filesystem_of("s3://bucket/")[0]._inner
call = filesystem.call_s3
def noting(method, **facts):
    if method == "upload_part":
        if facts["PartNumber"] == stop:
            os.kill(os.getpid(), 9)
        print(facts["PartNumber"], flush=True)
    return call(method, **facts)
filesystem.call_s3 = noting
copying.copy([sys.argv[1]], "s3://bucket/to/")
assert storage.digest("s3://bucket/to/big") == storage.digest(sys.argv[1])
assert filesystem.list_multipart_uploads("bucket") == []
"""


def test_a_killed_upload_goes_on_with_the_parts_that_are_not_there(tmp_path: Path) -> None:
    source = tmp_path / "big"
    content = bytearray(random.Random(1).randbytes(17 * MB))
    source.write_bytes(content)
    with s3_server() as server:

        def upload(stop: int) -> tuple[int, list[str]]:
            command = [sys.executable, "-W", "ignore", "-c", UPLOAD, str(source), str(stop)]
            done = subprocess.run(command, env=s3_environment(server), stdout=subprocess.PIPE, text=True)
            return done.returncode, done.stdout.split()

        assert upload(stop=3) == (-signal.SIGKILL, ["1", "2"])
        content[6 * MB] ^= 1  # the second part is another one now
        source.write_bytes(content)
        assert upload(stop=4) == (-signal.SIGKILL, ["2", "3"])
        assert upload(stop=0) == (0, ["4"])
        assert upload(stop=0) == (0, [])
