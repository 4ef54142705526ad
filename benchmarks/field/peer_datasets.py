"""Hugging Face datasets: memory-mapped Arrow tables, read by batches as NumPy arrays or as Arrow tables."""

import numpy as np
import pyarrow as pa
from datasets import Dataset, disable_progress_bars, load_from_disk
from shared import BATCH, W1_COUNT, W1_RECORD, W1_WIDTH, Sink, case, main, w1_arrays, w2_arrays, w3_arrays

disable_progress_bars()


def _path(run, workload):
    return run.path("datasets", workload)


def _w1_table(x, y):
    images = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(x).reshape(-1)), W1_WIDTH)
    return pa.table({"x": images, "y": pa.array(np.ascontiguousarray(y).reshape(-1))})


@case("prep", "all")
def prep(run):
    Dataset(_w1_table(*w1_arrays(run.folder))).save_to_disk(_path(run, "w1"))
    data, offsets, labels = w2_arrays(run.folder)
    buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(np.array(data))]
    blobs = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(labels), buffers)
    Dataset(pa.table({"x": blobs, "y": pa.array(labels.reshape(-1))})).save_to_disk(_path(run, "w2"))
    tokens, offsets, labels = w3_arrays(run.folder)
    rows = pa.LargeListArray.from_arrays(pa.array(offsets.astype(np.int64)), pa.array(np.array(tokens)))
    Dataset(pa.table({"x": rows, "y": pa.array(labels.reshape(-1))})).save_to_disk(_path(run, "w3"))


def _batches(run, form):
    rows = load_from_disk(_path(run, run.workload)).with_format(form)
    return rows.iter(BATCH[run.workload])


@case("w1", "numpy")
def w1(run):
    sink = Sink(run)
    list(_batches(run, "arrow"))
    with run.timed():
        for batch in _batches(run, "numpy"):
            sink.w1(batch["x"], batch["y"])
    return sink.done()


@case("w1", "arrow")
@case("w2", "arrow")
@case("w3", "arrow")
def by_tables(run):
    """Copy each batch out of its table, as a training step needs it."""
    sink = Sink(run)
    use = {"w1": _use_w1, "w2": _use_w2, "w3": _use_w3}[run.workload]
    for warm in (True, False):
        with run.timed():
            for batch in _batches(run, "arrow"):
                x, y = batch.column("x").combine_chunks(), np.array(batch.column("y"))
                use(Sink(run) if warm else sink, x, y)
    return sink.done()


def _use_w1(sink, x, y):
    sink.w1(np.array(x.flatten()).reshape(-1, W1_WIDTH), y.reshape(-1, 1))


def _use_w2(sink, x, y):
    offsets = np.frombuffer(x.buffers()[1], np.int64)[x.offset : x.offset + len(x) + 1]
    sink.w2_columns(np.frombuffer(x.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].copy(), offsets - offsets[0], y)


def _use_w3(sink, x, y):
    sink.w3(np.array(x.flatten()), np.array(x.offsets) - x.offsets[0].as_py(), y)


@case("w4", "arrays")
def w4(run):
    x, y = (np.array(each) for each in w1_arrays(run.folder))
    with run.timed():
        Dataset(_w1_table(x, y)).save_to_disk(_path(run, "w4"))
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("datasets")
