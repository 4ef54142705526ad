"""What the golden cases do not show: second passes, options, odd files."""

from __future__ import annotations

import gzip
import itertools
import pickle
import re
import struct
from pathlib import Path

import numpy as np
import pytest

from fluidio.dataset import cifar, common, conll05, imdb, imikolov, mnist, movielens, uci_housing, wmt14, wmt16
from fluidio.dataset.fake.dice import tar_gz
from fluidio.errors import UnsafePickleError

pytestmark = pytest.mark.usefixtures("cache")


def test_readers_can_be_read_again() -> None:
    for read in (
        mnist.test(),
        uci_housing.test(),
        movielens.test(),
        wmt16.test(60, 60),
        imikolov.test({"<unk>": 0}, 2),
    ):
        first, second = (str(list(itertools.islice(read(), 3))) for _ in range(2))
        assert first == second


def test_cifar_cycles_without_end() -> None:
    assert sum(1 for _ in itertools.islice(cifar.test10(cycle=True)(), 400)) == 400


def test_the_first_test_house_is_there_for_prediction() -> None:
    (features,) = uci_housing.predict_reader()
    assert np.array_equal(features, next(iter(uci_housing.test()()))[0])


def test_imikolov_refuses_an_unknown_kind_of_data() -> None:
    with pytest.raises(ValueError, match="NGRAM"):
        imikolov.train({}, 5, 7)


def test_imikolov_counts_what_it_is_given() -> None:
    counts = imikolov.word_count([b"a b", b"a"])
    assert dict(counts) == {b"a": 2, b"b": 1, "<s>": 2, "<e>": 2}


def test_imdb_dictionaries_follow_pattern_and_cutoff() -> None:
    words = imdb.build_dict(re.compile(r"aclImdb/test/pos/.*\.txt$"), 20)
    assert words["<unk>"] == len(words) - 1
    assert 0 < len(words) < len(imdb.build_dict(re.compile(r"aclImdb/test/pos/.*\.txt$"), 5))


def test_movielens_cuts_by_seed_and_ratio() -> None:
    half = sum(1 for _ in movielens.train(rand_seed=1, test_ratio=0.5)())
    other = sum(1 for _ in movielens.test(rand_seed=1, test_ratio=0.5)())
    assert half + other == 6200 and half == 3164  # as Fluid 1.8.5
    assert repr(movielens.movie_info()[1]).startswith("<MovieInfo id(1), title(")


def test_wmt14_has_pairs_to_generate_and_dictionaries_by_number() -> None:
    assert sum(1 for _ in wmt14.gen(30)()) == 10
    source, target = wmt14.get_dict(10)
    assert source[0] == target[0] == "<s>" and len(source) == 10


def test_wmt16_makes_dictionaries_by_itself_and_knows_two_languages() -> None:
    assert wmt16.get_dict("en", 10, reverse=True)[2] == "<unk>"
    with pytest.raises(ValueError, match="language"):
        wmt16.get_dict("fr", 10)
    with pytest.raises(ValueError, match="language"):
        wmt16.train(10, 10, "fr")
    with pytest.raises(ValueError, match="no room"):
        wmt16.train(2, 10)


def test_wmt16_uses_a_dictionary_that_paddle_saved(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wmt16").mkdir()
    (tmp_path / "wmt16/wmt16.tar.gz").symlink_to(cache / "wmt16/wmt16.tar.gz")
    (tmp_path / "wmt16/en_4.dict").write_text("<s>\n<e>\n<unk>\nown\n")
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))
    assert wmt16.get_dict("en", 4) == {"<s>": 0, "<e>": 1, "<unk>": 2, "own": 3}
    assert "own" not in wmt16.get_dict("en", 5)


def test_conll05_labels_follow_the_brackets() -> None:
    column = ["*", "(A0*", "*", "*)", "(V*)", "*", "(A1*)"]
    assert list(conll05._labels(column)) == ["O", "B-A0", "I-A0", "I-A0", "B-V", "O", "B-A1"]


def test_the_names_of_newer_and_older_releases_are_found(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imdb").mkdir()
    (tmp_path / "imdb/imdb%2FaclImdb_v1.tar.gz").symlink_to(cache / "imdb/aclImdb_v1.tar.gz")
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))
    assert len(imdb.word_dict()) > 100


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not gzip",
        gzip.compress(b"short"),
        gzip.compress(struct.pack(">IIII", 2052, 1, 2, 2) + b"1234"),
        gzip.compress(struct.pack(">IIII", 2051, 1 << 31, 1 << 31, 1 << 31) + b"1234"),
        gzip.compress(struct.pack(">IIII", 2051, 1, 2, 2) + b"12345"),
        gzip.compress(struct.pack(">IIII", 2051, 1, 2, 2) + b"1234")[:-9],
    ],
)
def test_a_damaged_idx_file_is_an_error_that_names_it(tmp_path: Path, data: bytes) -> None:
    images, labels = tmp_path / "images.gz", tmp_path / "labels.gz"
    images.write_bytes(data)
    labels.write_bytes(gzip.compress(struct.pack(">II", 2049, 1) + b"1"))
    with pytest.raises(RuntimeError, match=r"images\.gz"):
        list(mnist.reader_creator(str(images), str(labels), 100)())


def test_images_and_labels_must_be_equal_in_number(tmp_path: Path) -> None:
    (tmp_path / "i.gz").write_bytes(gzip.compress(struct.pack(">IIII", 2051, 1, 2, 2) + b"1234"))
    (tmp_path / "l.gz").write_bytes(gzip.compress(struct.pack(">II", 2049, 2) + b"12"))
    with pytest.raises(RuntimeError, match="1 images, .* 2 labels"):
        list(mnist.reader_creator(str(tmp_path / "i.gz"), str(tmp_path / "l.gz"), 100)())


def test_a_pickle_that_runs_code_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "cifar.tar.gz"
    archive.write_bytes(tar_gz([("data_batch_1", b"cos\nsystem\n(S'true'\ntR.")]))
    with pytest.raises(UnsafePickleError, match=r"data_batch_1: the pickle asks for os\.system"):
        list(cifar.reader_creator(str(archive), "data_batch")())


@pytest.mark.parametrize("data", [b"", b"no tar", tar_gz([("a", b"x" * 5000)])[:60]])
def test_a_damaged_archive_is_an_error_that_names_it(tmp_path: Path, data: bytes) -> None:
    archive = tmp_path / "cifar.tar.gz"
    archive.write_bytes(data)
    with pytest.raises(RuntimeError, match=r"cifar\.tar\.gz"):
        list(cifar.reader_creator(str(archive), "data_batch")())


def test_an_archive_of_something_else_is_an_error(tmp_path: Path) -> None:
    archive = tmp_path / "cifar.tar.gz"
    archive.write_bytes(tar_gz([("other", b"x")]))
    with pytest.raises(RuntimeError, match="none of the expected files"):
        list(cifar.reader_creator(str(archive), "data_batch")())


def test_a_housing_table_of_another_width_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "housing.data").write_text("1 2 3")
    with pytest.raises(RuntimeError, match="3 numbers, .* rows of 14"):
        uci_housing.load_data(str(tmp_path / "housing.data"))


def test_words_are_texts_in_programs_for_python_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reviews, sentences = tmp_path / "imdb.tgz", tmp_path / "ptb.tgz"
    reviews.write_bytes(tar_gz([("aclImdb/train/pos/1.txt", b"A film.")]))
    folder = "./simple-examples/data/ptb."
    sentences.write_bytes(tar_gz([(f"{folder}train.txt", b"a <unk> b"), (f"{folder}valid.txt", b"a <unk>")]))
    monkeypatch.setattr(common, "download", lambda url, *_: str(reviews if "Imdb" in url else sentences))
    anything = re.compile(".*")
    assert list(imdb.build_dict(anything, 0)) == [b"a", b"film", "<unk>"]
    assert list(imikolov.build_dict(0)) == ["<e>", "<s>", b"<unk>", b"a", b"b", "<unk>"]
    monkeypatch.setenv("FLUIDIO_PROGRAM_PYTHON", "2")
    assert list(imdb.build_dict(anything, 0)) == ["a", "film", "<unk>"]
    assert list(imikolov.build_dict(0)) == ["<e>", "<s>", "a", "b", "<unk>"]
    assert list(imikolov.train(imikolov.build_dict(0), 2)()) == [(1, 2), (2, 4), (4, 3), (3, 0)]


def test_cifar_files_that_python_3_wrote_are_read(tmp_path: Path) -> None:
    archive = tmp_path / "cifar.tar.gz"
    batch = pickle.dumps({"data": np.full((1, 3), 255, np.uint8), "labels": [4]}, 2)
    archive.write_bytes(tar_gz([("data_batch_1", batch)]))
    ((picture, label),) = cifar.reader_creator(str(archive), "data_batch")()
    assert (picture.tolist(), label) == ([1.0, 1.0, 1.0], 4)
