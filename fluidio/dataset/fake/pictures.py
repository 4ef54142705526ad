"""Stand-ins for mnist and cifar: each class is a few smooth blobs, slightly moved and mixed."""

from __future__ import annotations

import struct

import numpy as np

from fluidio.dataset.fake.dice import Array, Dice, Files, gz, tar_gz

__all__ = ["cifar", "mnist"]


def _templates(dice: Dice, classes: int, side: int, channels: int) -> Array:
    """Return one smooth random picture per class, in 0 ... 1."""
    yy, xx = np.mgrid[0:side, 0:side] / float(side - 1)
    out = np.zeros((classes, channels, side, side))
    for index in np.ndindex(classes, channels):
        for _ in range(4):
            cy, cx = 0.15 + 0.7 * dice.one(), 0.15 + 0.7 * dice.one()
            wy, wx = 0.06 + 0.12 * dice.one(), 0.06 + 0.12 * dice.one()
            out[index] += np.exp(-(((yy - cy) / wy) ** 2) - ((xx - cx) / wx) ** 2)
    return np.clip(out, 0.0, 1.0)


def _moved(dice: Dice, picture: Array) -> Array:
    """Roll a picture by up to two pixels down and sideways."""
    rows = np.roll(picture, dice.between(-2, 2), axis=-2)
    return np.roll(rows, dice.between(-2, 2), axis=-1)


def mnist() -> Files:
    """Make 2000 and 500 pictures of 28 x 28 pixels in ten classes."""
    dice = Dice(1)
    shapes = _templates(dice, 10, 28, 1)[:, 0]
    files: Files = {}
    for prefix, count in (("train", 2000), ("t10k", 500)):
        labels = np.array([dice.below(10) for _ in range(count)], dtype=np.uint8)
        images = np.zeros((count, 28, 28), dtype=np.uint8)
        for i in range(count):
            picture = _moved(dice, shapes[labels[i]] * (0.7 + 0.3 * dice.one()))
            other = shapes[dice.below(10)] * 0.35 * dice.one()
            grey = np.floor(np.clip(picture + other, 0, 1) * 12.0) / 12.0  # few grey levels: compresses well
            images[i] = (grey * 255).astype(np.uint8)
        files[f"{prefix}-images-idx3-ubyte.gz"] = gz(struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
        files[f"{prefix}-labels-idx1-ubyte.gz"] = gz(struct.pack(">II", 2049, count) + labels.tobytes())
    return files


class _Python2Pickle:
    """Write a dict as Python 2 pickled it: byte strings, and arrays through numpy's module of that time."""

    def __init__(self) -> None:
        self._parts = [b"\x80\x02}("]

    def text(self, value: bytes) -> None:
        if len(value) < 256:
            self._parts.append(b"U" + struct.pack("<B", len(value)) + value)
        else:
            self._parts.append(b"T" + struct.pack("<i", len(value)) + value)

    def integer(self, value: int) -> None:
        small = 0 <= value < 256
        self._parts.append(b"K" + struct.pack("<B", value) if small else b"J" + struct.pack("<i", value))

    def array(self, value: Array) -> None:
        """Write a matrix of bytes: an empty array first, then its state (version, shape, dtype, order, content)."""
        self._parts.append(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01")
        for n in value.shape:
            self.integer(n)
        self._parts.append(b"\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNN")
        self._parts.append(b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89")
        self.text(value.tobytes())
        self._parts.append(b"tb")

    def item(self, key: bytes, value: int | bytes | list[int] | list[bytes] | Array) -> _Python2Pickle:
        self.text(key)
        if isinstance(value, list):
            self._parts.append(b"](")
            for one in value:
                self._value(one)
            self._parts.append(b"e")
        elif isinstance(value, np.ndarray):
            self.array(value)
        else:
            self._value(value)
        return self

    def _value(self, value: int | bytes) -> None:
        if isinstance(value, bytes):
            self.text(value)
        else:
            self.integer(value)

    def bytes(self) -> bytes:
        return b"".join(self._parts) + b"u."


def _colour_pictures(dice: Dice, shapes: Array, labels: list[int]) -> Array:
    out = np.zeros((len(labels), 3, 32, 32), dtype=np.uint8)
    for i, label in enumerate(labels):
        picture = _moved(dice, 0.15 + 0.7 * shapes[label] * (0.6 + 0.4 * dice.one()))
        grain = np.kron(dice.uniform(3, 8, 8), np.ones((4, 4)))
        picture = np.clip(picture + 0.18 * (grain - 0.5), 0, 1)
        out[i] = (np.floor(picture * 16.0) / 16.0 * 255).astype(np.uint8)
    return out.reshape(len(labels), 3072)


def cifar() -> Files:
    """Make archives of 800 + 160 pictures in ten classes, and of 200 + 60 in a hundred."""
    return {"cifar-10-python.tar.gz": _cifar10(), "cifar-100-python.tar.gz": _cifar100()}


def _cifar10() -> bytes:
    dice = Dice(3)
    shapes = _templates(dice, 10, 32, 3)
    meta = _Python2Pickle().item(b"num_cases_per_batch", 160)
    meta.item(b"label_names", [b"class%d" % i for i in range(10)]).item(b"num_vis", 3072)
    members: list[tuple[str, bytes | None]] = [
        ("cifar-10-batches-py", None),
        ("cifar-10-batches-py/batches.meta", meta.bytes()),
    ]
    for name in [*(f"data_batch_{i}" for i in range(1, 6)), "readme.html", "test_batch"]:
        if name == "readme.html":
            members.append((f"cifar-10-batches-py/{name}", b"made-up data\n"))
            continue
        labels = [dice.below(10) for _ in range(160)]
        batch = _Python2Pickle().item(b"batch_label", name.encode()).item(b"labels", labels)
        batch.item(b"data", _colour_pictures(dice, shapes, labels))
        members.append((f"cifar-10-batches-py/{name}", batch.bytes()))
    return tar_gz(members)


def _cifar100() -> bytes:
    dice = Dice(4)
    shapes = _templates(dice, 100, 32, 3)
    members: list[tuple[str, bytes | None]] = [("cifar-100-python", None)]
    for name, count in (("test", 60), ("train", 200)):
        labels = [dice.below(100) for _ in range(count)]
        batch = _Python2Pickle().item(b"batch_label", b"made up, " + name.encode()).item(b"fine_labels", labels)
        batch.item(b"coarse_labels", [label // 5 for label in labels])
        batch.item(b"data", _colour_pictures(dice, shapes, labels))
        members.append((f"cifar-100-python/{name}", batch.bytes()))
    return tar_gz(members)
