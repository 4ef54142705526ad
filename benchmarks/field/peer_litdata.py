"""LitData: optimised chunks, read in order in this process."""

import os
import shutil

os.environ["DATA_OPTIMIZER_CACHE_FOLDER"] = os.environ.get("DATA_OPTIMIZER_CACHE_FOLDER", "/tmp/litdata-cache")

import torch
from litdata import StreamingDataLoader, StreamingDataset
from litdata.streaming.cache import Cache
from shared import BATCH, W1_COUNT, W1_RECORD, Sink, case, main, w1_samples, w2_arrays

torch.set_num_threads(1)


def _path(run, workload):
    return run.path("litdata", workload)


def _write(path, samples):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    cache = Cache(path, chunk_bytes=1 << 26)
    for index, (x, y) in enumerate(samples):
        cache[index] = (x, y)
    cache.done()
    cache.merge()


def _tensors(folder):
    for x, y in w1_samples(folder):
        yield torch.from_numpy(x), torch.from_numpy(y)


def _blobs(folder):
    data, offsets, labels = w2_arrays(folder)
    for index, label in enumerate(labels):
        yield data[offsets[index] : offsets[index + 1]].tobytes(), int(label)


@case("prep", "all")
def prep(run):
    _write(_path(run, "w1"), _tensors(run.folder))
    _write(_path(run, "w2"), _blobs(run.folder))


def _blob_list(samples):
    return [x for x, _ in samples], torch.tensor([y for _, y in samples])


@case("w1", "in_order")
@case("w2", "in_order")
def read(run):
    size, sink = BATCH[run.workload], Sink(run)
    use = getattr(sink, run.workload)
    data = StreamingDataset(_path(run, run.workload), shuffle=False)
    more = {"collate_fn": _blob_list} if run.workload == "w2" else {}
    loader = StreamingDataLoader(data, batch_size=size, num_workers=0, **more)
    with run.timed():
        for x, y in loader:
            use(x, y)
    return sink.done()


@case("w4", "generator")
def w4(run):
    with run.timed():
        _write(_path(run, "w4"), _tensors(run.folder))
    return {"records": W1_COUNT, "bytes": W1_COUNT * W1_RECORD}


if __name__ == "__main__":
    main("litdata")
