"""Write the data of all workloads to a folder, reproducible bytes: python make_data.py FOLDER [SCALE]"""

import json
import os
import sys

import numpy as np
from shared import W1_BATCH, W1_COUNT, W1_RECORD, W1_WIDTH, W2_BATCH, W2_COUNT, W3_BATCH, W3_COUNT


def make(folder):
    """Write W1 (images), W2 (10 KB blobs) and W3 (ragged sequences), and the expected results of reading them."""
    os.makedirs(folder, exist_ok=True)
    random = np.random.default_rng(20180601)
    expect = {"w1": _images(folder, random), "w2": _blobs(folder, random), "w3": _sequences(folder, random)}
    with open(os.path.join(folder, "expect.json"), "w") as file:
        json.dump(expect, file)


def _images(folder, random):
    """Like MNIST: most of the 784 values are background; a darker band for each class makes them learnable."""
    grey = random.integers(1, 256, (W1_COUNT, W1_WIDTH), dtype=np.int32).astype(np.float32)
    grey[random.random((W1_COUNT, W1_WIDTH), dtype=np.float32) < 0.81] = 0
    y = random.integers(0, 10, (W1_COUNT, 1))
    for kind in range(10):
        grey[np.ix_((y[:, 0] == kind).nonzero()[0], range(kind * 78, kind * 78 + 39))] *= 0.3
    x = (np.rint(grey) / np.float32(127.5) - np.float32(1)).astype(np.float32)
    np.save(os.path.join(folder, "w1_x.npy"), x)
    np.save(os.path.join(folder, "w1_y.npy"), y)
    total = float(x[::W1_BATCH, 0].sum(dtype=np.float64))
    return {"count": W1_COUNT, "bytes": W1_COUNT * W1_RECORD, "total": total}


def _blobs(folder, random):
    sizes = random.integers(8000, 12241, W2_COUNT)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    data = random.integers(0, 256, offsets[-1], dtype=np.uint8)
    data[offsets[:-1] + 2] = np.arange(W2_COUNT) % 251
    data.tofile(os.path.join(folder, "w2_bytes.bin"))
    np.save(os.path.join(folder, "w2_offsets.npy"), offsets)
    np.save(os.path.join(folder, "w2_y.npy"), random.integers(0, 1000, W2_COUNT))
    total = float((np.arange(0, W2_COUNT, W2_BATCH) % 251).sum())
    return {"count": W2_COUNT, "bytes": int(offsets[-1] + 8 * W2_COUNT), "total": total}


def _sequences(folder, random):
    lengths = np.clip(random.gamma(2.0, 30.0, W3_COUNT).astype(np.int64), 1, 1000)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = (random.zipf(1.3, offsets[-1]) % 30000).astype(np.int64)
    tokens.tofile(os.path.join(folder, "w3_tokens.bin"))
    np.save(os.path.join(folder, "w3_offsets.npy"), offsets)
    np.save(os.path.join(folder, "w3_y.npy"), random.integers(0, 2, W3_COUNT))
    total = float(tokens[offsets[:-1][::W3_BATCH]].sum())
    return {"count": W3_COUNT, "bytes": int(8 * offsets[-1] + 8 * W3_COUNT), "total": total}


if __name__ == "__main__":
    make(sys.argv[1])
