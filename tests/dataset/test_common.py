"""Finding, downloading, checking, splitting and converting files."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluidio.dataset
from fluidio.dataset import common, fake, mnist, uci_housing
from fluidio.era import use_era
from fluidio.errors import UnsafePickleError
from fluidio.reader import creator

MD5_OF_HELLO = "5d41402abc4b2a76b9719d911017c592"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setattr(common, "DATA_HOME", str(home))
    for name in ("FLUIDIO_CHECK_MD5", "FLUIDIO_FAKE_DATA"):
        monkeypatch.delenv(name, raising=False)
    return home


def test_a_missing_file_is_downloaded_once(tmp_path: Path, home: Path) -> None:
    source = tmp_path / "data.bin"
    source.write_bytes(b"hello")
    path = common.download(source.as_uri(), "mod", MD5_OF_HELLO)
    assert path == str(home / "mod/data.bin") and Path(path).read_bytes() == b"hello"
    source.unlink()
    assert common.download(source.as_uri(), "mod", MD5_OF_HELLO) == path
    assert os.listdir(home / "mod") == ["data.bin"]


def test_another_name_and_the_short_name_are_used(tmp_path: Path, home: Path) -> None:
    (home / "mod").mkdir(parents=True)
    (home / "mod/own").write_bytes(b"hello")
    (home / "mod/short.bin").write_bytes(b"hello")
    assert common.download("http://127.0.0.1:9/x", "mod", MD5_OF_HELLO, "own").endswith("own")
    assert common.download("http://127.0.0.1:9/mod%2Fshort.bin", "mod", MD5_OF_HELLO).endswith("short.bin")


def test_a_wrong_checksum_says_what_to_do_and_can_be_switched_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "mod").mkdir(parents=True)
    (home / "mod/x").write_bytes(b"other")
    with pytest.raises(RuntimeError, match=r"mod/x has md5 \w+, but .*FLUIDIO_CHECK_MD5=0"):
        common.download("http://127.0.0.1:9/x", "mod", MD5_OF_HELLO)
    assert (home / "mod/x").read_bytes() == b"other"
    monkeypatch.setenv("FLUIDIO_CHECK_MD5", "0")
    assert common.download("http://127.0.0.1:9/x", "mod", MD5_OF_HELLO) == str(home / "mod/x")


def test_a_download_with_a_wrong_checksum_leaves_nothing(tmp_path: Path, home: Path) -> None:
    (tmp_path / "x").write_bytes(b"other")
    with pytest.raises(RuntimeError, match="cannot download"):
        common.download((tmp_path / "x").as_uri(), "mod", MD5_OF_HELLO)
    assert os.listdir(home / "mod") == []


def test_without_network_the_expected_path_and_the_ways_out_are_named(home: Path) -> None:
    with pytest.raises(RuntimeError) as caught:
        common.download("http://127.0.0.1:9/train.gz", "mnist", None)
    text = str(caught.value)
    for part in (str(home / "mnist/train.gz"), "FLUIDIO_DATA_HOME", "FLUIDIO_FAKE_DATA=1", "--fake-data"):
        assert part in text
    assert os.listdir(home / "mnist") == []


def test_the_usual_cache_is_found_and_the_environment_names_another() -> None:
    code = "from fluidio.dataset import common; print(common.DATA_HOME)"

    def run(**extra: str) -> str:
        environment = {k: v for k, v in os.environ.items() if k != "FLUIDIO_DATA_HOME"} | extra
        return subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).strip()

    assert run(HOME="/somewhere") == "/somewhere/.cache/paddle/dataset"
    assert run(FLUIDIO_DATA_HOME="/other") == "/other"


def test_generated_data_needs_no_files_and_can_be_learnt(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLUIDIO_FAKE_DATA", "1")
    monkeypatch.setattr("fluidio.dataset.fake.cache._root", lambda: str(tmp_path / "fake"))
    importlib.import_module("fluidio.dataset.fake.cache")._say.cache_clear()
    images, labels = map(np.array, zip(*mnist.train()()))
    means = np.array([images[labels == digit].mean(axis=0) for digit in range(10)])
    test_images, test_labels = map(np.array, zip(*mnist.test()()))
    guesses = ((test_images[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert images.shape == (2000, 784) and (guesses == test_labels).mean() > 0.7
    x, y = map(np.array, zip(*uci_housing.train()()))
    fit = np.linalg.lstsq(np.c_[x, np.ones(len(x))], y, rcond=None)[0]
    test_x, test_y = map(np.array, zip(*uci_housing.test()()))
    assert (np.c_[test_x, np.ones(len(test_x))] @ fit - test_y).var() < 0.3 * test_y.var()
    assert capsys.readouterr().err.count("mnist is generated data, not the real one") == 1
    assert not home.exists()


def test_real_files_are_used_before_generated_ones_and_never_mixed_with_them(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUIDIO_FAKE_DATA", "1")
    (home / "mnist").mkdir(parents=True)
    (home / "mnist/images.gz").write_bytes(b"hello")
    assert common.download("http://127.0.0.1:9/images.gz", "mnist", MD5_OF_HELLO) == str(home / "mnist/images.gz")
    with pytest.raises(RuntimeError, match="cannot download"):
        common.download("http://127.0.0.1:9/labels.gz", "mnist", MD5_OF_HELLO)


def test_generated_data_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no generated data for flowers"):
        fake.path("flowers", "x")


def count(n: int) -> Any:
    return lambda: iter(range(n))


@pytest.mark.parametrize(("total", "sizes"), [(7, [3, 3, 1]), (6, [3, 3]), (2, [2]), (0, [])])
def test_split_and_cluster_files_reader_share_all_samples(tmp_path: Path, total: int, sizes: list[int]) -> None:
    common.split(count(total), 3, suffix=str(tmp_path / "part-%05d.pickle"))
    files = sorted(tmp_path.iterdir())
    assert [len(pickle.loads(file.read_bytes())) for file in files] == sizes
    if files:
        shares = [list(common.cluster_files_reader(str(tmp_path / "part-*"), 2, i)()) for i in range(2)]
        assert sorted(shares[0] + shares[1]) == list(range(total))


def test_a_strict_era_splits_as_fluid_did(tmp_path: Path) -> None:
    with use_era("1.5", strict=True):
        common.split(count(8), 3, suffix=str(tmp_path / "%d"))
    assert [len(pickle.loads(file.read_bytes())) for file in sorted(tmp_path.iterdir())] == [4, 3, 1]


def test_cluster_files_reader_reads_data_only_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "a.pickle").write_bytes(pickle.dumps([os.getpid]))
    with pytest.raises(UnsafePickleError):
        list(common.cluster_files_reader(str(tmp_path / "*.pickle"), 1, 0)())
    assert list(common.cluster_files_reader(str(tmp_path / "*.pickle"), 1, 0, pickle.load)()) == [os.getpid]


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="dumper"):
        common.split(count(1), 1, dumper="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="loader"):
        common.cluster_files_reader("x", 1, 0, loader="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="trainer_id"):
        common.cluster_files_reader("x", 2, 2)
    with pytest.raises(FileNotFoundError, match="no file matches"):
        list(common.cluster_files_reader(str(tmp_path / "none-*"), 1, 0)())
    with pytest.raises(AssertionError, match="line_count"):
        common.convert(str(tmp_path), count(1), 0, "x")


def test_converted_files_are_read_by_the_recordio_creator(tmp_path: Path) -> None:
    rows = [(np.arange(3, dtype="float32") + i, i) for i in range(7)]
    common.convert(str(tmp_path / "out"), lambda: rows, 3, "train")
    assert sorted(os.listdir(tmp_path / "out")) == ["train-00000", "train-00001", "train-00002"]
    got = list(creator.recordio(str(tmp_path / "out/train-*"))())
    assert [label for _, label in got] == list(range(7))
    assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(got, rows))


def test_every_module_can_be_fetched_and_names_what_it_has() -> None:
    assert list(fluidio.dataset.__all__) == sorted(fluidio.dataset.__all__)
    for name in fluidio.dataset.__all__:
        module = getattr(fluidio.dataset, name)
        assert list(module.__all__) == sorted(module.__all__)
        assert all(hasattr(module, item) for item in module.__all__)
        assert hasattr(module, "fetch") or name in ("common", "image")
