"""A cache of tiny data sets, made once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from fluidio.dataset import common, fake

_MODULES = ["cifar", "conll05st", "corpora", "imdb", "imikolov", "mnist", "movielens", "uci_housing", "wmt14", "wmt16"]


@pytest.fixture(scope="session")
def made_up_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dataset")
    for module in _MODULES:
        fake.make(str(root), module)
    return root


@pytest.fixture
def cache(made_up_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point the data sets at the tiny cache, whose files have checksums of their own."""
    monkeypatch.setattr(common, "DATA_HOME", str(made_up_cache))
    monkeypatch.setenv("FLUIDIO_CHECK_MD5", "0")
    monkeypatch.delenv("FLUIDIO_FAKE_DATA", raising=False)
    return made_up_cache
