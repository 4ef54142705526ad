"""MindSpore: MindRecord files."""

import glob
import os

import mindspore.dataset as dataset
from mindspore.mindrecord import FileWriter
from shared import W1_BATCH, W1_COUNT, W1_RECORD, Sink, case, main, w1_samples, warm

SCHEMA = {"x": {"type": "float32", "shape": [784]}, "y": {"type": "int64", "shape": [1]}}


def _write(folder, path):
    for old in glob.glob(path + "*"):
        os.remove(old)
    writer = FileWriter(path, shard_num=1)
    writer.add_schema(SCHEMA, "images")
    rows = []
    for x, y in w1_samples(folder):
        rows.append({"x": x, "y": y})
        if len(rows) == 1000:
            writer.write_raw_data(rows)
            rows = []
    if rows:
        writer.write_raw_data(rows)
    writer.commit()


@case("prep", "all")
def prep(run):
    _write(run.folder, run.path("mindspore", "w1.mindrecord"))


@case("w1", "one_worker")
def w1(run):
    path, sink = run.path("mindspore", "w1.mindrecord"), Sink(run)
    warm(path)
    with run.timed():
        rows = dataset.MindDataset(path, columns_list=["x", "y"], num_parallel_workers=1, shuffle=False)
        for x, y in rows.batch(W1_BATCH).create_tuple_iterator(output_numpy=True, num_epochs=1):
            sink.w1(x, y)
    return sink.done()


@case("w4", "generator")
def w4(run):
    path = run.path("mindspore", "w4.mindrecord")
    with run.timed():
        _write(run.folder, path)
    for name in glob.glob(path + "*"):
        os.remove(name)
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("mindspore")
