"""Parquet, through PyArrow: row groups of 1,000 samples, not compressed."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from shared import BATCH, W1_COUNT, W1_RECORD, W1_WIDTH, Sink, case, main, w1_arrays, w2_arrays, warm

GROUP = 1000


def _path(run, workload):
    return run.path("parquet", workload + ".parquet")


def _w1_table(x, y):
    images = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(x).reshape(-1)), W1_WIDTH)
    return pa.table({"x": images, "y": pa.array(np.ascontiguousarray(y).reshape(-1))})


def _write(path, table):
    pq.write_table(table, path, row_group_size=GROUP, compression="none", use_dictionary=False)


@case("prep", "all")
def prep(run):
    _write(_path(run, "w1"), _w1_table(*w1_arrays(run.folder)))
    data, offsets, labels = w2_arrays(run.folder)
    blobs = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(labels), [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(np.array(data))]
    )
    _write(_path(run, "w2"), pa.table({"x": blobs, "y": pa.array(labels.reshape(-1))}))


@case("w1", "row_groups")
@case("w2", "row_groups")
def read(run):
    path, sink = _path(run, run.workload), Sink(run)
    warm(path)
    with run.timed():
        for batch in pq.ParquetFile(path).iter_batches(BATCH[run.workload]):
            x, y = batch.column("x"), batch.column("y").to_numpy()
            if run.workload == "w1":
                sink.w1(x.flatten().to_numpy().reshape(-1, W1_WIDTH), y.reshape(-1, 1))
            else:
                offsets = np.frombuffer(x.buffers()[1], np.int64)[x.offset : x.offset + len(x) + 1]
                sink.w2_columns(np.frombuffer(x.buffers()[2], np.uint8), offsets, y)
    return sink.done()


@case("w4", "arrays")
def w4(run):
    x, y = (np.array(each) for each in w1_arrays(run.folder))
    path = run.path("parquet", "w4.parquet")
    with run.timed():
        _write(path, _w1_table(x, y))
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("parquet")
