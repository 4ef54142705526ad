"""safetensors: one memory-mapped array for each slot, without records or checksums: the limit for reading."""

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file
from shared import BATCH, W1_COUNT, W1_RECORD, Sink, case, main, w1_arrays, warm


def _path(run, name):
    return run.path("safetensors", name + ".safetensors")


def _arrays(run):
    x, y = w1_arrays(run.folder)
    return {"x": np.array(x), "y": np.array(y)}


@case("prep", "all")
def prep(run):
    save_file(_arrays(run), _path(run, "w1"))


@case("w1", "slices")
def read(run):
    path, sink, size = _path(run, "w1"), Sink(run), BATCH["w1"]
    warm(path)
    with run.timed(), safe_open(path, framework="numpy") as file:
        x, y = file.get_slice("x"), file.get_slice("y")
        for start in range(0, W1_COUNT, size):
            stop = min(start + size, W1_COUNT)
            sink.w1(x[start:stop], y[start:stop])
    return sink.done()


@case("w4", "arrays")
def w4(run):
    arrays, path = _arrays(run), _path(run, "w4")
    with run.timed():
        save_file(arrays, path)
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("safetensors")
