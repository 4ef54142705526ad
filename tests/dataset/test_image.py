"""Pictures: resizing as OpenCV does it, cropping, flipping, decoding; flowers, voc2012 and mq2007."""

from __future__ import annotations

import importlib.util
import io
import pickle
import struct
import sys
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fluidio import recordio
from fluidio.dataset import common, flowers, image, mq2007, voc2012
from fluidio.dataset.mat5 import read_mat
from fluidio.era import use_era
from fluidio.errors import MissingDependencyError

DATA = Path(__file__).parents[1] / "data/dataset"
needs_pillow = pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="needs Pillow")


@pytest.mark.parametrize("name", ["up", "down", "down2"])
def test_resizing_gives_the_bytes_of_opencv(name: str) -> None:
    arrays = np.load(DATA / "opencv-resize.npz")
    expected = arrays[f"{name}_out"]
    got = image.resize_short(arrays[f"{name}_in"], min(expected.shape[:2]))
    assert got.dtype == np.uint8 and np.array_equal(got, expected)
    grey = image.resize_short(arrays[f"{name}_in"][:, :, 0], min(expected.shape[:2]))
    assert np.array_equal(grey, expected[:, :, 0])


def test_cropping_flipping_and_turning() -> None:
    picture = np.arange(30).reshape(5, 6, 1)
    assert image.center_crop(picture, 3)[:, :, 0].tolist() == [[7, 8, 9], [13, 14, 15], [19, 20, 21]]
    assert image.left_right_flip(picture)[0, :, 0].tolist() == [5, 4, 3, 2, 1, 0]
    assert image.to_chw(picture).shape == (1, 5, 6)
    with pytest.raises(AssertionError):
        image.to_chw(picture[:, :, 0])
    with pytest.raises(ValueError, match="7 pixels is larger than a picture of 5 x 6"):
        image.center_crop(picture, 7)


def test_training_draws_place_and_flip_as_fluid_does() -> None:
    picture = (np.arange(40 * 30 * 3) % 251).astype(np.uint8).reshape(40, 30, 3)
    small = image.resize_short(picture, 35)
    for seed in range(4):
        np.random.seed(seed)
        got = image.simple_transform(picture, 35, 32, True)
        np.random.seed(seed)
        top = np.random.randint(0, small.shape[0] - 32 + 1)
        left = np.random.randint(0, small.shape[1] - 32 + 1)
        crop = small[top : top + 32, left : left + 32]
        expected = crop[:, ::-1] if np.random.randint(2) == 0 else crop
        assert got.dtype == np.float32 and np.array_equal(got, expected.transpose(2, 0, 1))


def test_the_mean_is_per_channel_or_per_pixel() -> None:
    picture = np.full((20, 20, 3), 10, np.uint8)
    assert image.simple_transform(picture, 20, 16, False, mean=[1, 2, 3])[:, 0, 0].tolist() == [9, 8, 7]
    assert (image.simple_transform(picture, 20, 16, False, mean=np.full((3, 16, 16), 4)) == 6).all()
    assert image.simple_transform(picture[:, :, 0], 20, 16, False, is_color=False).shape == (16, 16)
    with pytest.raises(AssertionError, match="mean"):
        image.simple_transform(picture, 20, 16, False, mean=5.0)


def test_without_a_decoder_the_pip_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIL", "PIL.Image", "cv2"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'fluidio\[images\]'"):
        image.load_image_bytes(b"")


def test_pictures_are_batched_from_an_archive(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for i in range(5):
            add(tar, f"jpg/{i}", b"%d" % i)
    listing = image.batch_images_from_tar(str(tmp_path / "a.tar"), "train", {f"jpg/{i}": i * 10 for i in (0, 2, 4)}, 2)
    assert image.batch_images_from_tar(str(tmp_path / "a.tar"), "train", {}) == listing
    batches = [pickle.loads(Path(line).read_bytes()) for line in Path(listing).read_text().splitlines()]
    assert batches == [{"label": [0, 20], "data": [b"0", b"2"]}, {"label": [40], "data": [b"4"]}]


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def encoded(array: np.ndarray[Any, Any], kind: str) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(array).save(out, kind)
    return out.getvalue()


def test_matlab_files_are_read() -> None:
    assert read_mat(str(DATA / "imagelabels.mat"))["labels"].tolist() == [[(i * 7) % 102 + 1 for i in range(12)]]
    parts = read_mat(str(DATA / "setid.mat"))
    assert parts["trnid"].tolist() == [[1, 2]] and parts["valid"].tolist() == [[3, 4]]
    assert parts["tstid"].tolist() == [[9, 6, 7, 5, 8, 10, 11, 12]] and parts["tstid"].dtype == np.uint16


@pytest.mark.parametrize("depth", [2, 3000])
def test_a_matlab_file_of_elements_inside_elements_is_an_error(tmp_path: Path, depth: int) -> None:
    body = b""
    for _ in range(depth):
        packed = zlib.compress(body)
        body = struct.pack("<II", 15, len(packed)) + packed
    path = tmp_path / "deep.mat"
    path.write_bytes((DATA / "imagelabels.mat").read_bytes()[:128] + body)
    with pytest.raises(RuntimeError, match="inside compressed data"):
        read_mat(str(path))


def test_a_matlab_file_that_grows_without_end_is_an_error(tmp_path: Path) -> None:
    packed = zlib.compress(bytes(1 << 20))
    path = tmp_path / "large.mat"
    path.write_bytes((DATA / "imagelabels.mat").read_bytes()[:128] + struct.pack("<II", 15, len(packed)) + packed)
    before = recordio.set_chunk_limit(1 << 19)
    try:
        with pytest.raises(RuntimeError, match="longer than 524288 bytes"):
            read_mat(str(path))
    finally:
        recordio.set_chunk_limit(before)


@pytest.mark.parametrize("cut", [0, 100, 140, 190])
def test_a_damaged_matlab_file_is_an_error(tmp_path: Path, cut: int) -> None:
    bad = tmp_path / "bad.mat"
    bad.write_bytes((DATA / "imagelabels.mat").read_bytes()[:cut])
    with pytest.raises((RuntimeError, KeyError)):
        read_mat(str(bad))["labels"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(common, "DATA_HOME", str(tmp_path))
    monkeypatch.setenv("FLUIDIO_CHECK_MD5", "0")
    monkeypatch.delenv("FLUIDIO_FAKE_DATA", raising=False)
    return tmp_path


@pytest.fixture
def flower_home(home: Path) -> Path:
    (home / "flowers").mkdir()
    for name in ("imagelabels.mat", "setid.mat"):
        (home / "flowers" / name).write_bytes((DATA / name).read_bytes())
    with tarfile.open(home / "flowers/102flowers.tgz", "w:gz") as tar:
        for i in range(1, 13):
            add(tar, f"jpg/image_{i:05d}.jpg", b"picture %d" % i)
    return home


@pytest.mark.usefixtures("flower_home")
def test_flowers_come_in_the_archives_order_with_labels_from_zero() -> None:
    def as_it_is(sample: tuple[bytes, int]) -> tuple[bytes, int]:
        return sample

    assert list(flowers.test(as_it_is, use_xmap=False)()) == [(b"picture 1", 0), (b"picture 2", 7)]
    assert [label for _, label in flowers.valid(as_it_is, use_xmap=False)()] == [14, 21]
    trained = sorted(label for _, label in flowers.train(as_it_is)())
    assert trained == [28, 35, 42, 49, 56, 63, 70, 77]


@needs_pillow
def test_flowers_are_decoded_and_cropped(flower_home: Path) -> None:
    with tarfile.open(flower_home / "flowers/102flowers.tgz", "w:gz") as tar:
        for i in (1, 2):
            add(tar, f"jpg/image_{i:05d}.jpg", encoded(np.full((300, 280, 3), 90, np.uint8), "PNG"))
    (first, _), (second, _) = flowers.test()()
    assert first.shape == (3 * 224 * 224,) and first.dtype == np.float32
    assert first[0] == pytest.approx(90 - 103.94) and second[-1] == pytest.approx(90 - 123.68)


@needs_pillow
def test_pictures_are_decoded_as_blue_green_red_or_grey() -> None:
    data = encoded(np.dstack([np.full((4, 5), c, np.uint8) for c in (10, 20, 30)]), "PNG")
    assert image.load_image_bytes(data)[0, 0].tolist() == [30, 20, 10]
    assert image.load_image_bytes(data, is_color=False).shape == (4, 5)


@needs_pillow
def test_voc2012_reads_pictures_and_the_classes_of_their_pixels(home: Path) -> None:
    (home / "voc2012").mkdir()
    with tarfile.open(home / "voc2012/VOCtrainval_11-May-2012.tar", "w") as tar:
        for part, names in (("train", "a"), ("val", "b\nc"), ("trainval", "a\nb\nc")):
            add(tar, voc2012.SET_FILE.format(part), f"{names}\n".encode())
        for width, name in enumerate("abc", start=6):
            add(tar, voc2012.DATA_FILE.format(name), encoded(np.zeros((5, width, 3), np.uint8), "JPEG"))
            add(tar, voc2012.LABEL_FILE.format(name), encoded(np.full((5, width), 7, np.uint8), "PNG"))
    shapes = [[(x.shape, y.shape) for x, y in part()()] for part in (voc2012.train, voc2012.test, voc2012.val)]
    sixth, seventh, eighth = [((5, w, 3), (5, w)) for w in (6, 7, 8)]
    assert shapes == [[sixth, seventh, eighth], [sixth], [seventh, eighth]]
    assert (next(iter(voc2012.val()()))[1] == 7).all()


def test_mq2007_gives_points_pairs_and_lists(home: Path) -> None:
    folder = home / "MQ2007/MQ2007/MQ2007/MQ2007/Fold1"
    folder.mkdir(parents=True)
    rows = [(2, 10, 0.5), (0, 10, 0.1), (1, 10, 0.3), (0, 11, 0.2), (1, 12, 0.4), (1, 12, 0.6)]
    lines = [f"{score} qid:{query} 1:{value} 46:9 #docid = X\n" for score, query, value in rows]
    (folder / "train.txt").write_text("".join(lines) + "\n")
    points = list(mq2007.train(format="pointwise"))
    assert [score for score, _ in points] == [2, 1, 0, 1, 1]
    assert points[0][1].shape == (46,) and points[0][1][[0, 1, 45]].tolist() == [0.5, -1, 9]
    pairs = list(mq2007.train())
    assert [(label.tolist(), a[0], b[0]) for label, a, b in pairs] == [
        ([1], 0.5, 0.3),
        ([1], 0.5, 0.1),
        ([1], 0.3, 0.1),
    ]
    lists = list(mq2007.train(format="listwise"))
    assert [(y.shape, x.shape) for y, x in lists] == [((3, 1), (3, 46)), ((2, 1), (2, 46))]
    assert [query for query, _, _ in mq2007.train(format="plain_txt")] == [10, 10, 10, 12, 12]
    with use_era("1.5", strict=True):
        assert len(list(mq2007.train(format="pointwise"))) == 2
    with pytest.raises(ValueError, match="format"):
        list(mq2007.train(format="other"))


def test_mq2007_says_how_to_unpack_its_archive(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "MQ2007").mkdir()
    (home / "MQ2007" / mq2007.URL.split("/")[-1]).write_bytes(b"rar")
    monkeypatch.setitem(sys.modules, "rarfile", None)
    with pytest.raises(MissingDependencyError, match="pip install rarfile"):
        list(mq2007.train())
