"""Shards in object stores: a real S3 server on loopback, HTTP with ranges, `pfs://` on a configured root."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from fluidio.conversion import generate
from fluidio.conversion.copying import copy
from fluidio.errors import RecordIOError
from fluidio.recordio import File
from tests.conversion.servers import RangeHandler, s3_environment, s3_server, serving
from tests.conversion.templates import MIXED, contents, write


def fluidio(server: str, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fluidio", *args]
    done = subprocess.run(command, env=s3_environment(server), cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def s3() -> Iterator[str]:
    with s3_server() as url:
        yield url


def test_a_conversion_into_s3_and_back(s3: str, tmp_path: Path) -> None:
    script = write(tmp_path, MIXED)
    generate(script, str(tmp_path / "local" / "x"), 3, workers=1)
    output = ["--output", "s3://bucket/data/x", "--partitions", "3", "--workers", "2", "--quiet"]
    fluidio(s3, "convert", script, *output, cwd=tmp_path)
    fluidio(s3, "records", "cp", "s3://bucket/data/x*", str(tmp_path / "back"), "--quiet", cwd=tmp_path)
    assert contents(tmp_path / "back") == contents(tmp_path / "local")
    fluidio(s3, "convert", script, *output, cwd=tmp_path)  # checks what is there and keeps it
    fluidio(s3, "records", "cp", str(tmp_path / "back" / "x-*"), "s3://bucket/again/", "--quiet", cwd=tmp_path)
    done = fluidio(s3, "check", "s3://bucket/again/x-*-of-*", cwd=tmp_path)
    assert done.stdout.count(": ok: ") == 3


@pytest.fixture
def http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(RangeHandler, "folder", tmp_path / "local")
    with serving(RangeHandler) as url:
        yield url


def test_shards_behind_http_are_copied_and_exported(http: str, tmp_path: Path) -> None:
    generate(write(tmp_path, MIXED), str(tmp_path / "local" / "x"), 1, workers=1)
    name = "x-00000-of-00000"
    fluidio("", "records", "cp", f"{http}/{name}", str(tmp_path / "back"), "--quiet", cwd=tmp_path)
    assert (tmp_path / "back" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    fluidio("", "export", f"{http}/{name}", "--to", "npz", "--output", "out", "--quiet", cwd=tmp_path)
    with np.load(tmp_path / "out" / f"{name}.npz") as found:
        assert found["label"][:3, 0].tolist() == [0, 1, 2]  # the manifest beside it gave the name


def test_pfs_is_a_configured_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec", reason="extra: fsspec is not installed")
    monkeypatch.setenv("FLUIDIO_PFS_ROOT", str(tmp_path / "cloud"))
    script = write(tmp_path, MIXED)
    generate(script, "pfs://data/me/x", 2, workers=1)
    assert sorted(path.name for path in (tmp_path / "cloud" / "data" / "me").iterdir()) == [
        "x-00000-of-00001",
        "x-00001-of-00001",
        "x.manifest.json",
    ]
    copied = copy(["pfs://data/me/x-*-of-*"], str(tmp_path / "back"))
    with File(copied[0]) as file, File("pfs://data/me/x-00000-of-00001") as there:
        assert list(file) == list(there)
    monkeypatch.delenv("FLUIDIO_PFS_ROOT")
    with pytest.raises(RecordIOError, match="FLUIDIO_PFS_ROOT"):
        File("pfs://data/me/x-00000-of-00001")
